# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Clouds written and read back, padded, in the other byte order, with gaps between fields."""

import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sensor_msgs.msg import PointCloud2, PointField
from sensor_msgs_py import point_cloud2
from std_msgs.msg import Header

HEADER = Header(frame_id='odom')
FIELDS = [
    PointField(name='x', offset=0, datatype=PointField.FLOAT32, count=1),
    PointField(name='label', offset=4, datatype=PointField.UINT16, count=1),
    PointField(name='y', offset=8, datatype=PointField.FLOAT64, count=1),
]


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 20).flatmap(
        lambda n: arrays(np.float32, (n, 3), elements=st.floats(-1e6, 1e6, width=32))
    )
)
def test_xyz_round_trip(points):
    cloud = point_cloud2.create_cloud_xyz32(HEADER, points)
    assert (cloud.height, cloud.width, cloud.point_step) == (1, len(points), 12)
    assert cloud.row_step == 12 * len(points) == len(cloud.data)
    assert cloud.header.frame_id == 'odom'
    np.testing.assert_array_equal(point_cloud2.read_points_numpy(cloud), points)


def test_lists_and_mixed_types():
    points = [(1.5, 7, 2.5), (3.5, 9, 4.5)]
    cloud = point_cloud2.create_cloud(HEADER, FIELDS, points)
    assert cloud.point_step == 16
    read = point_cloud2.read_points(cloud)
    assert read.tolist() == points
    assert point_cloud2.read_points(cloud, ['y', 'x']).tolist() == [(2.5, 1.5), (4.5, 3.5)]
    first = point_cloud2.read_points_list(cloud)[0]
    assert (first.x, first.label, first.y) == points[0]
    with pytest.raises(AssertionError, match='same datatype'):
        point_cloud2.read_points_numpy(cloud)
    np.testing.assert_array_equal(point_cloud2.read_points_numpy(cloud, ['x']), [[1.5], [3.5]])


def test_structured_arrays_must_have_the_types_of_the_fields():
    dtype = point_cloud2.dtype_from_fields(FIELDS)
    points = np.array([(1.0, 2, 3.0)], dtype=dtype)
    read = point_cloud2.read_points(point_cloud2.create_cloud(HEADER, FIELDS, points))
    assert read.tolist() == [(1.0, 2, 3.0)]
    with pytest.raises(AssertionError, match='do not match for all fields'):
        point_cloud2.create_cloud(HEADER, FIELDS, np.array([(1.0,)], dtype=[('x', '<f4')]))


def test_point_step_leaves_room():
    cloud = point_cloud2.create_cloud_xyz32(HEADER, [(1, 2, 3), (4, 5, 6)], point_step=32)
    assert cloud.point_step == 32
    assert len(cloud.data) == 64
    np.testing.assert_array_equal(point_cloud2.read_points_numpy(cloud), [[1, 2, 3], [4, 5, 6]])


def test_big_endian_and_padded_rows():
    fields = [PointField(name='x', offset=2, datatype=PointField.FLOAT32, count=1)]
    cloud = PointCloud2(height=2, width=2, fields=fields, point_step=7, row_step=17)
    cloud.is_bigendian = True
    data = bytearray(34)
    for row in range(2):
        for column in range(2):
            at = row * 17 + column * 7 + 2
            data[at : at + 4] = np.array(10 * row + column, '>f4').tobytes()
    cloud.data = array.array('B', data)
    read = point_cloud2.read_points_numpy(cloud)
    np.testing.assert_array_equal(read.ravel(), [0, 1, 10, 11])


def test_nan_points_are_skipped_unless_the_cloud_claims_to_be_dense():
    cloud = point_cloud2.create_cloud_xyz32(HEADER, [(1, 2, 3), (np.nan, 0, 0), (4, 5, 6)])
    assert len(point_cloud2.read_points(cloud, skip_nans=True)) == 2
    cloud.is_dense = True
    assert len(point_cloud2.read_points(cloud, skip_nans=True)) == 3


def test_selection_by_index():
    cloud = point_cloud2.create_cloud_xyz32(HEADER, [(i, 0, 0) for i in range(5)])
    read = point_cloud2.read_points(cloud, ['x'], uvs=[3, 1])
    assert read['x'].tolist() == [3.0, 1.0]


def test_organised_clouds_keep_their_shape():
    points = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    cloud = point_cloud2.create_cloud_xyz32(HEADER, points)
    assert (cloud.width, cloud.height) == (4, 2)
    read = point_cloud2.read_points_numpy(cloud, reshape_organized_cloud=True)
    np.testing.assert_array_equal(read, points)


def test_fields_with_counts_and_without_names():
    fields = [
        PointField(name='', offset=0, datatype=PointField.INT8, count=1),
        PointField(name='n', offset=1, datatype=PointField.UINT8, count=2),
    ]
    assert point_cloud2.dtype_from_fields(fields).names == ('unnamed_field_0', 'n_0', 'n_1')
    with pytest.raises(AssertionError, match='Duplicate'):
        point_cloud2.dtype_from_fields([FIELDS[0], FIELDS[0]])
    with pytest.raises(AssertionError, match='not in the fields'):
        point_cloud2.read_points(point_cloud2.create_cloud_xyz32(HEADER, [(1, 2, 3)]), ['z', 'q'])
