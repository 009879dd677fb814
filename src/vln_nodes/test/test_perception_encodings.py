# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The same pictures in every encoding and transport give the same observations."""

from __future__ import annotations

import struct
from array import array

import cv2
import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import CompressedImage, Image

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Segment, View
from vln_core.perception.grounding import GroundingConfig, ground_segments
from vln_nodes import conversions
from vln_nodes.awaiting import Changed
from vln_nodes.camera_intake import CameraIntake, IntakeParameters

CAMERA = PinholeCamera.from_hfov(64, 48, 1.2)
STREAM = range(3)


def scene(number):
    """Return a smooth picture, so that Bayer and 4:2:2 lose little, and depth with a box."""
    v, u = np.mgrid[:48, :64]
    rgb = np.stack([60 + 2 * u, 40 + 3 * v, 200 - u - v + 5 * number], axis=2).astype(np.uint8)
    depth = (2.0 + 0.02 * v + 0.001 * number).astype(np.float32)
    depth[16:32, 20 : 40 + number] = 1.2345
    depth[0, :5] = np.nan
    return rgb, depth


def raw(pixels, encoding, *, padding=0, big=False):
    pixels = pixels.astype(pixels.dtype.newbyteorder('>' if big else '<'))
    rows = [row.tobytes() + b'\xab' * padding for row in pixels]
    message = Image(height=48, width=64, encoding=encoding, is_bigendian=int(big))
    message.step = len(rows[0])
    message.data = array('B', b''.join(rows))
    return message


def bayer(rgb, pattern):
    layers = {'r': 0, 'g': 1, 'b': 2}
    mosaic = np.empty((48, 64), np.uint8)
    for k, name in enumerate(pattern):
        mosaic[k // 2 :: 2, k % 2 :: 2] = rgb[k // 2 :: 2, k % 2 :: 2, layers[name]]
    return mosaic


def yuv(rgb, order):
    # BT.601 with luma from 16 to 235, as cameras send it.
    matrix = np.array([[65.738, 129.057, 25.064], [-37.945, -74.494, 112.439],
                       [112.439, -94.154, -18.285]]) / 256.0  # fmt: skip
    full = np.rint(rgb @ matrix.T + [16.0, 128.0, 128.0]).astype(np.uint8)
    packed = np.empty((48, 64, 2), np.uint8)
    luma, chroma = (0, 1) if order == 'yuyv' else (1, 0)
    packed[..., luma] = full[..., 0]
    packed[:, 0::2, chroma], packed[:, 1::2, chroma] = full[:, 0::2, 1], full[:, 0::2, 2]
    return packed


def color_message(rgb, kind):
    bgr = np.ascontiguousarray(rgb[..., ::-1])
    alpha = np.full((48, 64, 1), 255, np.uint8)
    if kind in ('jpeg', 'png'):
        data = cv2.imencode('.' + kind, bgr, [cv2.IMWRITE_JPEG_QUALITY, 98])[1].tobytes()
        return CompressedImage(format=kind, data=array('B', data))
    if kind.startswith('bayer'):
        return raw(bayer(rgb, kind[6:10]), kind)
    pixels = {
        'rgb8': rgb,
        'bgr8': bgr,
        'rgba8': np.concatenate([rgb, alpha], axis=2),
        'bgra8': np.concatenate([bgr, alpha], axis=2),
        '8UC3': bgr,
        'mono8': cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY),
    }
    if kind in ('yuv422', 'yuv422_yuy2'):
        return raw(yuv(rgb, 'yuyv' if kind.endswith('yuy2') else 'uyvy'), kind)
    return raw(pixels[kind], kind, padding=12)


def depth_message(depth, kind, **options):
    mm = np.nan_to_num(np.rint(depth * 1000)).astype(np.uint16)
    if kind == '32FC1':
        return raw(depth, kind, **options)
    if kind == 'compressedDepth':
        data = struct.pack('<i2f', 0, 0.0, 0.0) + cv2.imencode('.png', mm)[1].tobytes()
        return CompressedImage(format='16UC1; compressedDepth png', data=array('B', data))
    return raw(mm, kind, **options)


@pytest.fixture(scope='module')
def intake():
    rclpy.init()
    node = rclpy.create_node('encodings')
    changed = Changed(node)
    camera = CameraIntake(
        node, changed, IntakeParameters(), slop=0, is_lockstep=True, is_simulated=False
    )
    camera.info = conversions.info_of_camera(CAMERA, 0, 'optical')
    yield camera
    changed.close()
    node.destroy_node()
    rclpy.try_shutdown()


def observed(intake, color, depth):
    """Return picture and grounded position of a box and a mask."""
    rgb, metres = intake.convert({'color': color, 'depth': depth, 'stamp': 1}, None)
    view = View(0, 0.0, rgb, metres, CAMERA, np.eye(4), 1)
    mask = np.zeros((48, 64), bool)
    mask[16:32, 20:40] = True
    segments = [Segment('box', 0.9, (20.0, 16.0, 40.0, 32.0), own) for own in (None, mask)]
    found = ground_segments(view, segments, GroundingConfig())
    return rgb, [d.position_odom for d in found]


COLORS = ['rgb8', 'bgr8', 'rgba8', 'bgra8', '8UC3', 'png', 'jpeg', 'yuv422', 'yuv422_yuy2']
COLORS += [f'bayer_{pattern}8' for pattern in ('rggb', 'bggr', 'gbrg', 'grbg')]


@pytest.mark.parametrize('kind', COLORS)
def test_colour_in_every_encoding(intake, kind):
    slack = 1 if kind in COLORS[:6] else 8
    for number in STREAM:
        rgb, depth = scene(number)
        seen, _ = observed(intake, color_message(rgb, kind), depth_message(depth, '32FC1'))
        inner = np.abs(seen.astype(int) - rgb)[2:-2, 2:-2]
        assert inner.max() <= slack, f'{kind}: {inner.max()}'


def test_grey_pictures_stay_grey(intake):
    rgb, depth = scene(0)
    seen, _ = observed(intake, color_message(rgb, 'mono8'), depth_message(depth, '32FC1'))
    np.testing.assert_array_equal(seen, np.repeat(color_grey(rgb)[..., None], 3, axis=2))


def color_grey(rgb):
    return cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)


@pytest.mark.parametrize('kind', ['16UC1', 'mono16', '32FC1', 'compressedDepth'])
@pytest.mark.parametrize('options', [{}, {'padding': 8}, {'big': True}])
def test_depth_in_every_encoding(intake, kind, options):
    for number in STREAM:
        rgb, depth = scene(number)
        color = color_message(rgb, 'rgb8')
        _, expected = observed(intake, color, raw(depth, '32FC1'))
        _, found = observed(intake, color, depth_message(depth, kind, **options))
        np.testing.assert_allclose(found, expected, atol=0.0006)
        assert expected[0][2] == pytest.approx(1.2345, abs=1e-3)


def test_colour_of_sixteen_bits_keeps_its_brightness(intake):
    rgb, depth = scene(0)
    grey = color_grey(rgb)
    message = raw(grey.astype(np.uint16) * 257, 'mono16', padding=6, big=True)
    seen, _ = observed(intake, message, depth_message(depth, '32FC1'))
    assert np.abs(seen.astype(int) - grey[..., None]).max() <= 1


def test_depth_of_another_size_is_refused(intake):
    rgb, _ = scene(0)
    half = Image(height=24, width=32, encoding='16UC1', step=64, data=array('B', bytes(1536)))
    with pytest.raises(GeometryError, match='32 x 24 px is not registered.*align_depth'):
        intake.convert({'color': color_message(rgb, 'rgb8'), 'depth': half, 'stamp': 1}, None)


def test_a_window_of_a_binned_lens_is_rectified_to_the_same_rays(intake):
    """CameraInfo is of the full sensor; the picture is a binned region of it."""
    full = PinholeCamera(256, 192, 180.0, 180.0, 127.5, 95.5)
    lens = np.array([-0.3, 0.08, 0.0, 0.0, 0.0])
    info = conversions.info_of_camera(full, 0, 'optical')
    info.d, info.binning_x, info.binning_y = list(lens), 2, 2
    info.roi.x_offset, info.roi.y_offset, info.roi.width, info.roi.height = 90, 70, 128, 96
    point = np.array([[[0.35, 0.25, 1.0]]])
    matrix = np.array([[180.0, 0.0, 127.5], [0.0, 180.0, 95.5], [0.0, 0.0, 1.0]])
    ((u, v),) = cv2.projectPoints(point, np.zeros(3), np.zeros(3), matrix, lens)[0][0]
    rgb, depth = np.zeros((48, 64, 3), np.uint8), np.full((48, 64), 2.0, np.float32)
    column, row = (u - 90 + 0.5) / 2 - 0.5, (v - 70 + 0.5) / 2 - 0.5
    cv2.circle(rgb, (round(column), round(row)), 2, (255, 255, 255), -1)
    before, intake.info = intake.info, info
    try:
        frame = {'color': color_message(rgb, 'rgb8'), 'depth': raw(depth, '32FC1'), 'stamp': 1}
        straight, _ = intake.convert(frame, None)
        camera = intake.camera()
    finally:
        intake.info = before
    rows, columns = np.nonzero(straight[..., 0] > 128)
    seen = np.array([columns.mean(), rows.mean()])
    expected = [camera.fx * 0.35 + camera.cx, camera.fy * 0.25 + camera.cy]
    np.testing.assert_allclose(seen, expected, atol=0.7)
    assert np.hypot(*(seen - [column, row])) > 1.0, 'the lens bends enough to tell'


def test_colour_that_is_none_is_refused(intake):
    _, depth = scene(0)
    wrong = raw(depth, '32FC1')
    with pytest.raises(PerceptionError, match='cannot be read'):
        intake.convert({'color': wrong, 'depth': raw(depth, '32FC1'), 'stamp': 1}, None)
