# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Messages and core types must survive the way there and back."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from sensor_msgs.msg import CameraInfo, Image

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera, back_project, project
from vln_core.observation import Detection, Panorama, View
from vln_nodes import conversions as conv


def _depth_image(raw: np.ndarray, encoding: str, padding: int = 0, big: bool = False) -> Image:
    """Return an image with ``padding`` bytes after each row and the given byte order."""
    data = raw.astype(raw.dtype.newbyteorder('>' if big else '<'))
    rows = [row.tobytes() + b'\xab' * padding for row in data]
    message = Image(height=raw.shape[0], width=raw.shape[1], encoding=encoding)
    message.step = raw.shape[1] * raw.itemsize + padding
    message.is_bigendian = int(big)
    message.data = array('B', b''.join(rows))
    return message


def _tform(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return transforms.tform_from_quat(rng.normal(size=3), rng.normal(size=4))


@pytest.mark.parametrize('nanoseconds', [0, 1, 999_999_999, 1_700_000_000_123_456_789])
def test_stamps_keep_every_nanosecond(nanoseconds: int) -> None:
    assert conv.stamp_ns(conv.stamp_msg(nanoseconds)) == nanoseconds


@pytest.mark.parametrize('seed', range(20))
def test_pose_round_trip(seed: int) -> None:
    tform = _tform(seed)
    np.testing.assert_allclose(conv.tform_of_pose(conv.pose_msg(tform)), tform, atol=1e-12)


def test_null_quaternion_is_refused() -> None:
    pose = conv.pose_msg(np.eye(4))
    pose.orientation.w = 0.0
    with pytest.raises(GeometryError, match='not a rotation'):
        conv.tform_of_pose(pose)


@pytest.mark.parametrize('padding', [0, 6])
@pytest.mark.parametrize('big', [False, True])
def test_depth_in_millimetres(padding: int, big: bool) -> None:
    raw = np.array([[0, 1, 1500], [65535, 250, 3999]], dtype=np.uint16)
    depth = conv.depth_of_image(_depth_image(raw, '16UC1', padding, big))
    assert depth.dtype == np.float32
    assert math.isnan(depth[0, 0])
    np.testing.assert_allclose(depth.ravel()[1:], raw.ravel()[1:] * 1e-3, rtol=1e-6)


@pytest.mark.parametrize('padding', [0, 8])
@pytest.mark.parametrize('big', [False, True])
def test_depth_in_metres(padding: int, big: bool) -> None:
    raw = np.array([[np.nan, np.inf, -np.inf], [0.0, -1.0, 2.5]], dtype=np.float32)
    depth = conv.depth_of_image(_depth_image(raw, '32FC1', padding, big))
    assert math.isnan(depth[0, 0]) and depth[0, 1] == np.inf and depth[0, 2] == -np.inf
    assert math.isnan(depth[1, 0]) and math.isnan(depth[1, 1]) and depth[1, 2] == 2.5


def test_depth_of_unknown_encoding_is_refused() -> None:
    with pytest.raises(PerceptionError, match='32FC1 .* or 16UC1'):
        conv.depth_of_image(_depth_image(np.zeros((2, 2), np.uint8), 'mono8'))


def test_truncated_image_is_refused() -> None:
    message = _depth_image(np.ones((4, 4), np.float32), '32FC1')
    message.data = message.data[:-8]
    with pytest.raises(PerceptionError, match='cannot be read'):
        conv.depth_of_image(message)


@pytest.mark.parametrize(
    ('encoding', 'order'), [('rgb8', [0, 1, 2]), ('bgr8', [2, 1, 0]), ('rgba8', [0, 1, 2, 3])]
)
def test_red_stays_red(encoding: str, order: list[int]) -> None:
    rgb = np.zeros((3, 5, 4), np.uint8)
    rgb[..., 0], rgb[..., 1], rgb[..., 2] = 200, 100, 50
    picture = conv.rgb_of_image(_depth_image_of_channels(rgb[..., order], encoding))
    assert picture.shape == (3, 5, 3)
    np.testing.assert_array_equal(picture, rgb[..., :3])


def _depth_image_of_channels(pixels: np.ndarray, encoding: str) -> Image:
    message = Image(height=pixels.shape[0], width=pixels.shape[1], encoding=encoding)
    message.step = pixels.shape[1] * pixels.shape[2]
    message.data = array('B', np.ascontiguousarray(pixels).tobytes())
    return message


def test_image_of_rgb_round_trip() -> None:
    rgb = np.random.default_rng(0).integers(0, 255, (7, 9, 3), dtype=np.uint8)
    message = conv.image_of_rgb(rgb, 5_000_000_001, 'camera')
    assert (message.header.frame_id, conv.stamp_ns(message.header.stamp)) == (
        'camera',
        5_000_000_001,
    )
    np.testing.assert_array_equal(conv.rgb_of_image(message), rgb)


def test_depth_png_round_trip() -> None:
    depth = np.array([[np.nan, np.inf, -np.inf, 0.0], [0.002, 1.2345, 65.0, 99.0]], np.float32)
    back = conv.depth_of_png(conv.png_of_depth(depth))
    assert math.isnan(back[0, 0]) and back[0, 1] == np.inf and back[0, 2] == -np.inf
    assert math.isnan(back[0, 3])
    np.testing.assert_allclose(back[1, :3], depth[1, :3], atol=0.00051)
    assert back[1, 3] == pytest.approx(65.534)


def test_camera_info_round_trip() -> None:
    camera = PinholeCamera(320, 240, 134.2, 135.1, 158.7, 121.3)
    assert conv.camera_of_info(conv.info_of_camera(camera, 1, 'optical')) == camera


def test_uncalibrated_camera_is_refused() -> None:
    with pytest.raises(GeometryError, match='no intrinsics'):
        conv.camera_of_info(CameraInfo(width=320, height=240))


def test_rectified_picture_uses_p() -> None:
    info = conv.info_of_camera(PinholeCamera(320, 240, 100.0, 100.0, 160.0, 120.0), 0, 'c')
    info.p = [150.0, 0.0, 161.0, 0.0, 0.0, 151.0, 122.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    camera = conv.camera_of_info(info)
    assert (camera.fx, camera.fy, camera.cx, camera.cy) == (150.0, 151.0, 161.0, 122.0)


def test_binning_and_roi_keep_rays() -> None:
    """A pixel of the binned window must look along the ray of the pixels that it merges."""
    full = PinholeCamera(640, 480, 500.0, 490.0, 322.0, 241.0)
    info = conv.info_of_camera(full, 0, 'c')
    info.binning_x = info.binning_y = 2
    info.roi.x_offset, info.roi.y_offset, info.roi.width, info.roi.height = 100, 40, 400, 300
    camera = conv.camera_of_info(info)
    assert (camera.width, camera.height) == (200, 150)
    point = back_project(np.array([[100.0, 75.0]]), np.full((150, 200), 2.0, np.float32), camera)
    np.testing.assert_allclose(project(point, full), [[100 + 200.5, 40 + 150.5]], atol=1e-9)


def test_roi_outside_is_refused() -> None:
    info = conv.info_of_camera(PinholeCamera(64, 48, 50.0, 50.0, 32.0, 24.0), 0, 'c')
    info.roi.x_offset, info.roi.width, info.roi.height = 40, 30, 48
    with pytest.raises(GeometryError, match='outside'):
        conv.camera_of_info(info)


def _view(index: int) -> View:
    rng = np.random.default_rng(index)
    depth = rng.uniform(0.3, 9.0, (48, 64)).astype(np.float32)
    depth[0, :3] = (np.nan, np.inf, -np.inf)
    return View(
        index=index,
        yaw=index * math.pi / 2,
        rgb=np.full((48, 64, 3), (250, 120, 10), np.uint8),
        depth=depth,
        camera=PinholeCamera.from_hfov(64, 48, math.radians(100)),
        odom_tform_camera=_tform(index),
        stamp=1_000_000_000 + index,
    )


def test_panorama_round_trip() -> None:
    placed = Detection(
        1, 'couch', 'sofa', 0.75, (1.5, 2.0, 30.25, 40.0), (12, 17), -0.5,
        np.array([1.0, 2.0, 0.4]), np.diag([0.1, 0.2, 0.3]), np.array([1.0, 0.5, 0.25]),
    )  # fmt: skip
    bearing_only = Detection(0, 'tv', 'television', 0.5, (0.0, 0.0, 4.0, 4.0), (2, 2), 0.25)
    panorama = Panorama(
        7,
        1_000_000_000,
        _tform(9),
        (_view(0), _view(1)),
        (bearing_only, placed),
        False,
        'a note',
        ('a bed: by a window', 'a door'),
    )
    back = conv.panorama_of(conv.panorama_msg(panorama, 'odom', 'optical'))
    assert (back.id, back.stamp, back.is_complete, back.note) == (
        7,
        1_000_000_000,
        False,
        'a note',
    )
    assert back.captions == panorama.captions
    np.testing.assert_allclose(back.odom_tform_base, panorama.odom_tform_base, atol=1e-12)
    for view, other in zip(panorama.views, back.views):
        assert (view.index, view.yaw, view.stamp) == (other.index, other.yaw, other.stamp)
        assert view.camera == other.camera
        np.testing.assert_allclose(other.odom_tform_camera, view.odom_tform_camera, atol=1e-12)
        np.testing.assert_allclose(other.depth, view.depth, atol=0.00051)
        assert np.abs(other.rgb.astype(int) - view.rgb).max() <= 6  # JPEG
    assert back.detections[0].position_odom is None and back.detections[0].covariance is None
    assert back.detections[0].category == 'television'
    got = back.detections[1]
    assert (got.view, got.label, got.category, got.pixel_uv) == (1, 'couch', 'sofa', (12, 17))
    assert got.box_xyxy == placed.box_xyxy and got.bearing == -0.5
    np.testing.assert_array_equal(got.position_odom, placed.position_odom)
    np.testing.assert_array_equal(got.covariance, placed.covariance)
    np.testing.assert_array_equal(got.extent, placed.extent)


def test_broken_picture_in_panorama_is_refused() -> None:
    message = conv.panorama_msg(Panorama(0, 0, np.eye(4), (_view(0),)), 'odom', 'optical')
    message.views[0].depth.data = array('B', b'nothing')
    with pytest.raises(PerceptionError, match='broken'):
        conv.panorama_of(message)
