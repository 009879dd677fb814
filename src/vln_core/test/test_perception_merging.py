# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One thing in overlapping views is one observation; neighbours of its kind stay apart."""

import math

import numpy as np
import pytest

from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Segment, View
from vln_core.perception.grounding import GroundingConfig
from vln_core.perception.merging import visible_in
from vln_core.perception.panorama import PanoramaBuilder

CAMERA = PinholeCamera.from_hfov(320, 240, math.radians(100))
NUM_VIEWS = 4


def look(pillars, yaw, index, *, offset=0.15):
    """Render upright pillars (x, y, radius) 1.6 m high before a wall 8 m away, with masks.

    The camera sits ``offset`` m before the axis that the robot turns about.
    """
    mount = transforms.camera_mount_tform(offset, 0.0, 1.0, pitch=0.1)
    odom_tform_camera = transforms.planar_tform(0.0, 0.0, yaw) @ mount
    u, v = np.meshgrid(np.arange(320), np.arange(240))
    rays = np.stack([(u - CAMERA.cx) / CAMERA.fx, (v - CAMERA.cy) / CAMERA.fy, np.ones(u.shape)])
    rays = np.tensordot(odom_tform_camera[:3, :3], rays, axes=1)
    eye = odom_tform_camera[:3, 3]
    depth = np.full(u.shape, 8.0)
    owner = np.full(u.shape, -1)
    for number, (x, y, radius) in enumerate(pillars):
        a = rays[0] ** 2 + rays[1] ** 2
        b = rays[0] * (eye[0] - x) + rays[1] * (eye[1] - y)
        c = (eye[0] - x) ** 2 + (eye[1] - y) ** 2 - radius**2
        root = b * b - a * c
        with np.errstate(invalid='ignore'):
            z = (-b - np.sqrt(root)) / a
            height = eye[2] + z * rays[2]
            hit = (root > 0) & (z > 0.1) & (z < depth) & (height >= 0.0) & (height <= 1.6)
        depth[hit], owner[hit] = z[hit], number
    view = View(
        index, yaw, np.zeros((240, 320, 3), np.uint8), depth.astype(np.float32), CAMERA,
        odom_tform_camera, index + 1,
    )  # fmt: skip
    masks = [owner == number for number in range(len(pillars))]
    return view, [mask for mask in masks if np.count_nonzero(mask) >= 30]


class Detector:
    """Names every pillar 'sofa'; without masks it gives boxes only."""

    def __init__(self, segments_of, has_masks=True):
        self.segments_of, self.has_masks = segments_of, has_masks

    def detect(self, view, words):
        found = []
        for mask in self.segments_of[view.index]:
            rows, columns = np.nonzero(mask)
            box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            own = mask if self.has_masks else None
            found.append(Segment('sofa', 0.9, tuple(float(e) for e in box), own))
        return found


def panorama_of(pillars, *, has_masks=True, depth=None):
    looks = [look(pillars, 2 * math.pi * k / NUM_VIEWS, k) for k in range(NUM_VIEWS)]
    detector = Detector({view.index: masks for view, masks in looks}, has_masks)
    builder = PanoramaBuilder(detector, GroundingConfig(max_depth=6.0))
    builder.begin()
    for view, _ in looks:
        if depth is not None:
            view.depth[:] = depth
        builder.add(view, [])
    seen = sum(len(masks) for _, masks in looks)
    return builder.finish(np.eye(4)), seen


def at(bearing_deg, distance, radius=0.3):
    angle = math.radians(bearing_deg)
    return (distance * math.cos(angle), distance * math.sin(angle), radius)


@pytest.mark.parametrize('has_masks', [True, False])
@pytest.mark.parametrize('bearing', [45.0, 135.0, -45.0, -135.0])
def test_what_two_views_show_is_one_observation(bearing, has_masks):
    panorama, seen = panorama_of([at(bearing, 3.0)], has_masks=has_masks)
    assert seen == 2, 'the scene must show it twice'
    (found,) = panorama.detections
    middle = found.position_odom[:2]
    np.testing.assert_allclose(middle, at(bearing, 3.0)[:2], atol=0.3)
    # View and box to recall are those of a view that shows it.
    view = panorama.views[found.view]
    u, v = found.pixel_uv
    assert found.box_xyxy[0] <= u < found.box_xyxy[2] and found.box_xyxy[1] <= v
    assert view.depth[v, u] < 4.0


def test_a_thing_cut_by_both_views_is_put_together():
    wide, seen = panorama_of([at(45.0, 2.0, 0.9)])
    assert seen == 2
    (found,) = wide.detections
    assert found.extent[:2].max() > 0.75, 'each view alone shows 0.6 m of it'
    bearing = math.degrees(math.atan2(found.position_odom[1], found.position_odom[0]))
    assert bearing == pytest.approx(45.0, abs=4.0)


def test_neighbours_of_a_kind_stay_several():
    pillars = [at(40.0, 3.0, 0.2), at(50.0, 3.0, 0.2), at(45.0, 4.5, 0.2), at(0.0, 2.0, 0.2)]
    panorama, seen = panorama_of(pillars)
    assert seen > len(pillars)
    places = np.array([d.position_odom[:2] for d in panorama.detections])
    assert len(places) == len(pillars)
    for pillar in pillars:
        assert np.min(np.hypot(*(places - pillar[:2]).T)) < 0.3


def test_without_depth_bearings_of_one_thing_are_merged():
    panorama, seen = panorama_of([at(45.0, 3.0)], depth=np.nan)
    assert seen == 2
    (found,) = panorama.detections
    assert found.position_odom is None
    assert math.degrees(found.bearing) == pytest.approx(45.0, abs=4.0)


def test_the_other_view_still_finds_what_was_merged():
    panorama, _ = panorama_of([at(45.0, 3.0), at(0.0, 2.0)])
    merged = next(d for d in panorama.detections if d.bearing > 0.5)
    other = panorama.views[1 if merged.view == 0 else 0]
    (seen,) = [d for d in visible_in(panorama, other) if d.bearing > 0.5]
    assert seen.view == other.index
    u, v = seen.pixel_uv
    assert other.depth[v, u] == pytest.approx(merged.position_odom[0] / math.cos(0.785), abs=1.2)
    opposite = panorama.views[2]
    assert visible_in(panorama, opposite) == []
