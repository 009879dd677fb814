# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What cameras send, into rectified pictures with their depth; each bad input has its message."""

import math
import struct

import cv2
import numpy as np
import pytest

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.perception import camera_checks, intake

CAMERA = PinholeCamera(320, 240, 250.0, 250.0, 159.5, 119.5)
LENSES = [
    ('plumb_bob', (-0.2, 0.05, 0.001, -0.001, 0.0)),
    ('rational_polynomial', (-0.2, 0.05, 0.0, 0.0, 0.01, 0.02, 0.01, 0.0)),
    ('equidistant', (0.05, -0.01, 0.0, 0.0)),
]


def distorted(points, model, lens):
    """Project (N, 3) points through the lens by OpenCV's forward model."""
    project = cv2.fisheye.projectPoints if model == 'equidistant' else cv2.projectPoints
    zero = np.zeros(3)
    shape = (-1, 1, 3)
    matrix = intake.matrix_of(CAMERA)
    if model == 'equidistant':
        found, _ = project(points.reshape(shape), zero, zero, matrix, np.array(lens))
    else:
        found, _ = project(points.reshape(shape), zero, zero, matrix, np.array(lens))
    return found.reshape(-1, 2)


@pytest.mark.parametrize(('model', 'lens'), LENSES)
def test_a_point_seen_through_a_lens_lands_where_a_pinhole_sees_it(model, lens):
    points = np.array([[x, y, 2.0] for x in (-0.8, 0.0, 0.8) for y in (-0.5, 0.5)])
    rgb = np.zeros((240, 320, 3), np.uint8)
    depth = np.full((240, 320), np.nan, np.float32)
    for u, v in distorted(points, model, lens):
        cv2.circle(rgb, (round(u), round(v)), 3, (255, 255, 255), -1)
        depth[round(v) - 3 : round(v) + 4, round(u) - 3 : round(u) + 4] = 2.0
    rectifier = intake.Rectifier(intake.Distortion(model, lens, CAMERA), CAMERA)
    straight, flat = rectifier.color(rgb), rectifier.depth(depth)
    for x, y, z in points:
        u, v = CAMERA.fx * x / z + CAMERA.cx, CAMERA.fy * y / z + CAMERA.cy
        patch = straight[round(v) - 1 : round(v) + 2, round(u) - 1 : round(u) + 2]
        assert patch.mean() > 200, (x, y)
        assert flat[round(v), round(u)] == pytest.approx(2.0)
    assert np.isnan(flat).mean() > 0.9


def test_unknown_lenses_are_refused():
    with pytest.raises(GeometryError, match='plumb_bob'):
        intake.Rectifier(intake.Distortion('magic', (0.1,), CAMERA), CAMERA)
    with pytest.raises(GeometryError, match='4 or 5'):
        intake.Rectifier(intake.Distortion('plumb_bob', (0.1, 0.2), CAMERA), CAMERA)


def test_depth_is_moved_into_the_colour_camera():
    depth = np.full((120, 160), 3.0, np.float32)
    depth[40:80, 60:100] = 1.0
    small = PinholeCamera(160, 120, 125.0, 125.0, 79.5, 59.5)
    shift = np.eye(4)
    shift[0, 3] = -0.05
    moved = intake.register_depth(depth, small, CAMERA, shift)
    centre = (CAMERA.fx * -0.05 / 1.0) + CAMERA.cx
    assert moved[120, round(centre)] == pytest.approx(1.0)
    assert moved[120, 300] == pytest.approx(3.0) or np.isnan(moved[120, 300])
    # Without occlusion edges nothing is torn open: holes only behind the near box.
    inside = moved[20:220, 20:300]
    assert np.isnan(inside).mean() < 0.08
    edges = np.flatnonzero(moved[120] < 2.0)
    left = CAMERA.fx * ((60 - 0.5 - 79.5) / 125.0 - 0.05) + CAMERA.cx
    assert edges[0] == pytest.approx(left, abs=1.5)


def test_identity_registration_changes_nothing():
    depth = np.random.default_rng(0).uniform(1, 4, (240, 320)).astype(np.float32)
    depth[:10] = np.nan
    moved = intake.register_depth(depth, CAMERA, CAMERA, np.eye(4))
    np.testing.assert_array_equal(moved, depth)


def compressed_depth(depth, encoding):
    if encoding == '16UC1':
        raw, header = np.nan_to_num(np.rint(depth * 1000)).astype(np.uint16), (0, 0.0, 0.0)
    else:
        # As compressed_depth_image_transport does: depth_max 10 m, depth_quantization 100.
        quant_a, quant_b = 100.0 * 101.0, 1.0 - 100.0 * 101.0 / 10.0
        raw = np.nan_to_num(np.rint(quant_a / depth + quant_b)).astype(np.uint16)
        header = (0, quant_a, quant_b)
    return struct.pack('<i2f', *header) + cv2.imencode('.png', raw)[1].tobytes()


@pytest.mark.parametrize(('encoding', 'error'), [('16UC1', 0.0006), ('32FC1', 0.01)])
def test_compressed_depth_is_read_to_within_quantisation(encoding, error):
    depth = np.random.default_rng(0).uniform(0.5, 5.0, (48, 64)).astype(np.float32)
    depth[0, :5] = np.nan
    data = compressed_depth(depth, encoding)
    read = intake.decode_compressed_depth(data, f'{encoding}; compressedDepth png')
    np.testing.assert_allclose(read, depth, atol=error)
    assert read.dtype == np.float32 and np.isnan(read[0, :5]).all()


@pytest.mark.parametrize(
    ('data', 'text', 'message'),
    [
        (b'', '16UC1; compressedDepth png', 'broken'),
        (b'x' * 40, '16UC1; compressedDepth png', 'broken'),
        (b'x' * 40, '16UC1; compressedDepth rvl', 'to png'),
        (b'x' * 40, 'jpeg', 'raw depth'),
    ],
)
def test_broken_compressed_depth_is_refused(data, text, message):
    with pytest.raises(PerceptionError, match=message):
        intake.decode_compressed_depth(data, text)


def test_blur_lowers_the_sharpness():
    rgb = np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    assert intake.sharpness(cv2.blur(rgb, (9, 1))) < 0.3 * intake.sharpness(rgb)


@pytest.mark.parametrize(
    ('value', 'encoding', 'message'),
    [
        (2.5, '32FC1', ''),
        (2500.0, '32FC1', 'millimetres'),
        (2.5, '16UC1', ''),
        (0.0025, '16UC1', 'metres or centimetres'),
        (25.0, '16UC1', 'finer than a millimetre'),
        (np.nan, '16UC1', ''),
    ],
)
def test_the_unit_of_depth(value, encoding, message):
    said = camera_checks.depth_unit_problem(np.full((10, 10), value, np.float32), encoding)
    assert message in said and bool(said) == bool(message)


def test_a_body_frame_is_not_an_optical_frame():
    optical = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=0.2)
    assert camera_checks.mount_problem(optical, 'cam') == ''
    assert 'optical frame' in camera_checks.mount_problem(np.eye(4), 'camera_link')
    down = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=math.pi / 2)
    assert 'not outward' in camera_checks.mount_problem(down, 'cam')


def test_a_camera_must_not_look_through_its_robot():
    back = transforms.camera_mount_tform(0.3, 0.0, 1.0, yaw=math.pi)
    assert 'z must look outward' in camera_checks.inward_problem(back, 'cam')
    over = transforms.camera_mount_tform(-0.3, 0.0, 1.0)
    assert camera_checks.inward_problem(over, 'cam') == ''


def test_a_thing_of_known_hue_tells_the_order_of_channels():
    rgb = np.full((60, 90, 3), 128, np.uint8)
    assert 'hold a red thing' in camera_checks.hue_problem(rgb, 'red')
    rgb[20:40, 30:60] = (210, 30, 25)
    assert camera_checks.hue_problem(rgb, 'red') == ''
    said = camera_checks.hue_problem(np.ascontiguousarray(rgb[..., ::-1]), 'red')
    assert 'swapped' in said and 'swap_red_blue' in said
    assert 'nothing can be said' in camera_checks.hue_problem(rgb, 'yellow')
    with pytest.raises(PerceptionError, match='red, orange, yellow, blue'):
        camera_checks.hue_problem(rgb, 'green')


def test_the_floor_must_be_seen():
    tilted = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=0.2)
    assert camera_checks.floor_problem(tilted, CAMERA) == ''
    upward = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=-0.6)
    assert 'tilt it down' in camera_checks.floor_problem(upward, CAMERA)
    sunk = transforms.camera_mount_tform(0.1, 0.0, 0.0)
    assert 'above the floor' in camera_checks.floor_problem(sunk, CAMERA)
    turned = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=0.2, roll=math.pi / 2)
    assert camera_checks.floor_problem(turned, CAMERA) == ''


def test_stamps():
    now = 1_800_000_000_000_000_000
    assert camera_checks.stamp_problem(now - 100_000_000, now, 1.0) == ''
    assert 'chrony' in camera_checks.stamp_problem(now - 3_000_000_000, now, 1.0)
    assert 'future' in camera_checks.stamp_problem(now + 3_000_000_000, now, 1.0)
    assert 'use_sim_time' in camera_checks.stamp_problem(12_000_000_000, now, 1.0)


def test_depth_must_lie_on_colour():
    assert camera_checks.size_problem((4, 3), (4, 3), 'a', 'a') == ''
    assert 'align_depth' in camera_checks.size_problem((4, 3), (2, 1), 'a', 'a')
    assert 'frame b' in camera_checks.size_problem((4, 3), (4, 3), 'a', 'b')
