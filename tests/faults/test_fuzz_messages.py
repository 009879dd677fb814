# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever drivers send: it becomes a picture of the right kind or is refused with a reason."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import EXAMPLES, FEW, spoiled

pytest.importorskip('rclpy', reason='needs ROS 2: run ./vln test, or source the environment')

from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2, PointField

from vln_core.errors import VlnError
from vln_nodes import conversions, image_conversions, memory_conversions

ENCODINGS = st.sampled_from(
    ['rgb8', 'bgr8', 'rgba8', 'mono8', 'mono16', '16UC1', '32FC1', '8UC3', 'yuv422', 'bayer_rggb8',
     '', 'rgb', '99UC9', 'jpeg', '64FC1', '32FC3', '\x00']
)  # fmt: skip
SIZES = st.sampled_from([0, 1, 2, 3, 7, 8, 2**16, 2**31, 2**32 - 1])


@st.composite
def images(draw):
    height, width = draw(SIZES), draw(SIZES)
    honest = draw(st.booleans())
    encoding = draw(ENCODINGS)
    pixel = {'rgb8': 3, 'bgr8': 3, 'rgba8': 4, '16UC1': 2, '32FC1': 4}.get(encoding, 1)
    step = min(width * pixel, 2**32 - 1) if honest else draw(SIZES)
    size = step * height if honest and step * height < 5000 else draw(st.integers(0, 300))
    message = Image(height=height, width=width, encoding=encoding, step=step)
    message.is_bigendian = draw(st.sampled_from([0, 1, 255]))
    message.data = draw(st.binary(min_size=size, max_size=size))
    return message


@EXAMPLES
@given(images())
def test_images(message):
    for convert in (image_conversions.rgb_of_image, image_conversions.depth_of_image):
        try:
            picture = convert(message)
        except VlnError as error:
            assert str(error)
            continue
        assert picture.shape[:2] == (message.height, message.width)
        assert picture.dtype in (np.uint8, np.float32)


@EXAMPLES
@given(
    st.lists(st.floats(), min_size=9, max_size=9),
    st.lists(st.floats(), min_size=12, max_size=12),
    st.lists(st.floats(), max_size=8),
    SIZES,
    SIZES,
    st.sampled_from(['', 'plumb_bob', 'rational_polynomial', 'equidistant', 'nonsense']),
    st.integers(0, 2**32 - 1),
)
def test_camera_infos(k, p, d, height, width, model, offset):
    info = CameraInfo(k=k, p=p, d=d, height=height, width=width, distortion_model=model)
    info.binning_x = info.roi.x_offset = info.roi.width = offset
    try:
        camera = image_conversions.camera_of_info(info)
    except VlnError as error:
        assert str(error)
        return
    assert camera.fx > 0 and camera.fy > 0 and camera.width > 0 and camera.height > 0
    assert all(map(math.isfinite, (camera.fx, camera.fy, camera.cx, camera.cy)))


def _jpeg() -> bytes:
    return bytes(conversions.jpeg_of_rgb(np.full((24, 32, 3), 90, np.uint8)).data)


@FEW
@given(spoiled(_jpeg()))
def test_compressed_images(data):
    message = CompressedImage(format='jpeg')
    message.data = data
    try:
        picture = image_conversions.rgb_of_compressed(message)
    except VlnError as error:
        assert str(error)
        return
    assert picture.dtype == np.uint8 and picture.ndim == 3


@FEW
@given(spoiled(b'{"version":1,"action":{"type":"go","view":0,"target":"door"}}'))
def test_records_for_the_memory(data):
    try:
        memory_conversions.record_of(data.decode('utf-8', errors='replace'))
    except ValueError as error:
        assert str(error)


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(0, 255), SIZES, SIZES, st.binary(max_size=200))
def test_point_clouds(offset, datatype, width, step, data):
    point_cloud2 = pytest.importorskip('sensor_msgs_py.point_cloud2')
    cloud = PointCloud2(height=1, width=width, point_step=step, row_step=step)
    cloud.fields = [PointField(name='x', offset=offset, datatype=datatype, count=1)]
    cloud.data = data
    try:
        points = point_cloud2.read_points(cloud)
    except (ValueError, TypeError, KeyError, AssertionError) as error:
        assert str(error) or isinstance(error, AssertionError)
        return
    assert len(points) == width
