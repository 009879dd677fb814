# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from vln_core.errors import ConfigError, PerceptionError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Segment, View
from vln_core.perception.detector import box_iou, prompt_words, suppress_overlaps
from vln_core.perception.grounding import GroundingConfig, ground_segments
from vln_core.perception.panorama import PanoramaBuilder, num_views
from vln_core.perception.simulated import SimulatedDetector, SimulatedDetectorConfig

CAMERA = PinholeCamera.from_hfov(160, 120, math.radians(90))


def view_of(depth, *, yaw=0.0, index=0, stamp=1, pitch=0.0):
    mount = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=pitch)
    return View(
        index=index,
        yaw=yaw,
        rgb=np.zeros((120, 160, 3), np.uint8),
        depth=np.asarray(depth, np.float32),
        camera=CAMERA,
        odom_tform_camera=transforms.planar_tform(2.0, -1.0, yaw) @ mount,
        stamp=stamp,
    )


def mask_of(left, top, right, bottom):
    mask = np.zeros((120, 160), bool)
    mask[top:bottom, left:right] = True
    return mask


def ground_one(view, segment, config=None):
    return ground_segments(view, [segment], config or GroundingConfig())[0]


def test_a_centred_mask_is_placed_straight_ahead():
    segment = Segment('couch', 0.9, (70, 50, 90, 70), mask_of(70, 50, 90, 70))
    detection = ground_one(view_of(np.full((120, 160), 3.0)), segment)
    assert detection.category == 'sofa'
    np.testing.assert_allclose(detection.position_odom, [5.1, -1.0, 1.0], atol=0.03)
    assert abs(detection.bearing) < 0.02


def test_the_camera_pose_is_applied_in_full():
    depth = np.full((120, 160), 2.0)
    segment = Segment('bed', 0.9, (70, 50, 90, 70), mask_of(70, 50, 90, 70))
    detection = ground_one(view_of(depth, yaw=math.pi / 2, pitch=0.4), segment)
    expected = [2.0, -1.0 + 0.1 + 2.0 * math.cos(0.4), 1.0 - 2.0 * math.sin(0.4)]
    np.testing.assert_allclose(detection.position_odom, expected, atol=0.03)


def test_background_inside_the_mask_does_not_move_the_object():
    depth = np.full((120, 160), 2.0)
    depth[50:70, 85:90] = 5.5
    segment = Segment('chair', 0.9, (70, 50, 90, 70), mask_of(70, 50, 90, 70))
    detection = ground_one(view_of(depth), segment)
    assert detection.position_odom[0] == pytest.approx(4.1, abs=0.02)
    assert detection.extent[0] < 0.1


def test_flying_pixels_at_the_rim_do_not_stretch_the_object():
    depth = np.full((120, 160), 5.0)
    depth[40:80, 60:100] = 2.0
    depth[40:80, 58:60] = depth[40:80, 100:102] = 3.5
    mask = mask_of(58, 40, 102, 80)
    detection = ground_one(view_of(depth), Segment('chair', 0.9, (58, 40, 102, 80), mask))
    assert detection.position_odom[0] == pytest.approx(4.1, abs=0.02)
    assert detection.extent[0] < 0.05


def test_a_surface_at_a_slant_is_kept_to_its_far_end():
    columns = np.arange(160)
    depth = np.tile(1.2 / (0.16 + 0.006 * np.clip(columns - 60, 0, 60)), (120, 1))
    mask = mask_of(60, 50, 120, 70)
    segment = Segment('kitchen counter', 0.9, (60, 50, 120, 70), mask)
    detection = ground_one(view_of(depth), segment, GroundingConfig(max_depth=8.0))
    near, far = depth[60, 118], depth[60, 61]
    assert far - near > 4.0 and detection.extent[0] > 0.85 * (far - near)


def test_a_mask_that_leaks_far_out_of_its_box_is_cut():
    depth = np.full((120, 160), 2.0)
    leak = mask_of(70, 50, 90, 70) | mask_of(130, 50, 150, 70)
    detection = ground_one(view_of(depth), Segment('chair', 0.9, (70, 50, 90, 70), leak))
    assert detection.extent[1] < 0.7


@pytest.mark.parametrize('invalid', [np.nan, np.inf, -np.inf, 0.05, 9.0])
def test_without_valid_depth_only_the_bearing_is_kept(invalid):
    segment = Segment('plant', 0.5, (20, 50, 40, 70), mask_of(20, 50, 40, 70))
    detection = ground_one(view_of(np.full((120, 160), invalid)), segment)
    assert detection.position_odom is None and detection.covariance is None
    assert detection.bearing == pytest.approx(math.atan2(79.5 - 29.5, CAMERA.fx), abs=0.01)


def test_a_box_without_mask_is_measured_in_its_core():
    depth = np.full((120, 160), 5.0)
    depth[45:75, 65:95] = 1.5
    detection = ground_one(view_of(depth), Segment('toilet', 0.8, (60, 40, 100, 80)))
    assert detection.position_odom[0] == pytest.approx(3.6, abs=0.02)


def test_uncertainty_grows_with_depth():
    def sigma(distance):
        segment = Segment('lamp', 0.9, (70, 50, 90, 70), mask_of(70, 50, 90, 70))
        detection = ground_one(view_of(np.full((120, 160), distance)), segment)
        return math.sqrt(detection.covariance[0, 0])

    assert sigma(1.0) < sigma(3.0) < sigma(5.0)


def test_a_doorway_is_placed_in_the_middle_of_its_opening():
    depth = np.full((120, 160), 6.0)
    mask = mask_of(50, 20, 110, 110)
    mask[26:110, 56:104] = False
    depth[mask] = 2.5
    detection = ground_one(view_of(depth), Segment('doorway', 0.9, (50, 20, 110, 110), mask))
    assert detection.position_odom[:2] == pytest.approx([4.6, -1.0], abs=0.05)
    assert mask[detection.pixel_uv[1], detection.pixel_uv[0]]


def test_impossible_depth_limits_are_refused():
    with pytest.raises(ConfigError, match='not a range'):
        GroundingConfig(min_depth=3.0, max_depth=1.0)


@pytest.mark.parametrize(
    ('hfov_deg', 'expected'), [(100, 4), (95, 4), (94, 6), (69, 6), (50, 8), (35, 12)]
)
def test_number_of_views(hfov_deg, expected):
    assert num_views(math.radians(hfov_deg)) == expected


def test_a_needle_eye_camera_is_refused():
    with pytest.raises(ConfigError, match='35 deg'):
        num_views(math.radians(34))


def detector_of(semantic, config=None):
    return SimulatedDetector({1: 'sofa', 2: 'bed'}, lambda view: semantic, config)


def test_the_simulated_detector_reports_what_is_seen_and_asked_for():
    semantic = np.zeros((120, 160), np.uint32)
    semantic[10:40, 20:60] = 1
    semantic[60:64, 60:64] = 2
    view = view_of(np.full((120, 160), 2.0))
    segments = detector_of(semantic).detect(view, ['couch', 'bed'])
    assert [s.label for s in segments] == ['sofa']
    assert segments[0].box_xyxy == (20, 10, 60, 40)
    assert detector_of(semantic).detect(view, ['bed']) == []


def test_noise_is_seeded_and_has_its_rate():
    semantic = np.zeros((120, 160), np.uint32)
    semantic[10:40, 20:60] = 1
    config = SimulatedDetectorConfig(miss_rate=0.3, seed=5)
    views = [view_of(np.full((120, 160), 2.0), stamp=k) for k in range(400)]
    detector = detector_of(semantic, config)
    seen = [len(detector.detect(v, ['sofa'])) for v in views]
    assert seen == [len(detector_of(semantic, config).detect(v, ['sofa'])) for v in views]
    assert 0.6 < np.mean(seen) < 0.8


def test_an_unknown_semantic_id_is_an_error():
    semantic = np.full((120, 160), 9, np.uint32)
    with pytest.raises(PerceptionError, match='label table'):
        detector_of(semantic).detect(view_of(np.ones((120, 160))), ['sofa'])


def test_overlapping_boxes_of_a_class_are_suppressed():
    boxes = [
        Segment('sofa', 0.8, (0, 0, 10, 10)),
        Segment('couch', 0.9, (0, 0, 10, 11)),
        Segment('bed', 0.7, (0, 0, 10, 10)),
    ]
    assert [s.label for s in suppress_overlaps(boxes)] == ['couch', 'bed']
    assert box_iou((0, 0, 2, 2), (1, 0, 3, 2)) == pytest.approx(1 / 3)


def test_landmarks_extend_the_standing_list_once():
    words = prompt_words(['couch', 'telescope'])
    assert words.count('sofa') == 1 and words[-1] == 'telescope'


def test_views_must_come_in_order():
    builder = PanoramaBuilder(detector_of(np.zeros((120, 160), np.uint32)))
    builder.begin()
    builder.add(view_of(np.ones((120, 160))), [])
    with pytest.raises(PerceptionError, match='view 2 arrived when view 1'):
        builder.add(view_of(np.ones((120, 160)), index=2), [])
    panorama = builder.finish(np.eye(4))
    assert (panorama.id, len(panorama.views), panorama.captions) == (0, 1, ())
    with pytest.raises(PerceptionError, match='at least one view'):
        builder.finish(np.eye(4))


def test_captions_go_with_their_views():
    class Captioner:
        def caption(self, view, segments):
            return f'towards {view.yaw:.1f}'

    depth = np.ones((120, 160))
    builder = PanoramaBuilder(detector_of(np.zeros((120, 160), np.uint32)), None, Captioner())
    # Mounted to the left: the first picture taken is not the first of the panorama.
    builder.add_all([view_of(depth, yaw=y, index=k) for k, y in enumerate((1.6, 3.1, 0.0))], [])
    panorama = builder.finish(np.eye(4))
    assert panorama.captions == ('towards 0.0', 'towards 1.6', 'towards 3.1')
