# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Point clouds as NumPy arrays, and back."""

from __future__ import annotations

import array
import sys
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured, unstructured_to_structured
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

_DATATYPES: dict[int, np.dtype] = {
    PointField.INT8: np.dtype(np.int8),
    PointField.UINT8: np.dtype(np.uint8),
    PointField.INT16: np.dtype(np.int16),
    PointField.UINT16: np.dtype(np.uint16),
    PointField.INT32: np.dtype(np.int32),
    PointField.UINT32: np.dtype(np.uint32),
    PointField.FLOAT32: np.dtype(np.float32),
    PointField.FLOAT64: np.dtype(np.float64),
}
DUMMY_FIELD_PREFIX = 'unnamed_field'


def dtype_from_fields(fields: Iterable[PointField], point_step: int | None = None) -> np.dtype:
    """Return the structured type of one point.

    Args:
        fields: Of the cloud. A field with a count above 1 becomes that many fields, name_0,
            name_1 ...; one without a name becomes unnamed_field_<its index>.
        point_step: Bytes of one point; by default the end of the last field.

    Raises:
        AssertionError: Two fields have one name, or a count is 0.
    """
    names: list[str] = []
    offsets: list[int] = []
    formats: list[str] = []
    for index, field in enumerate(fields):
        dtype = _DATATYPES[field.datatype]
        name = field.name or f'{DUMMY_FIELD_PREFIX}_{index}'
        assert field.count > 0, "Can't process fields with count = 0."
        for part in range(field.count):
            part_name = f'{name}_{part}' if field.count > 1 else name
            assert part_name not in names, 'Duplicate field names are not allowed!'
            names.append(part_name)
            offsets.append(field.offset + part * dtype.itemsize)
            formats.append(dtype.str)
    layout: dict[str, Any] = {'names': names, 'formats': formats, 'offsets': offsets}
    if point_step is not None:
        layout['itemsize'] = point_step
    return np.dtype(layout)


def read_points(
    cloud: PointCloud2,
    field_names: list[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable | None = None,
    reshape_organized_cloud: bool = False,
) -> np.ndarray:
    """Return the points of a cloud as a structured array, in native byte order.

    Args:
        cloud: Rows may be padded (row_step) and values big-endian.
        field_names: Which fields, in which order; all by default.
        skip_nans: Leave out points with a NaN in any of the fields read. As upstream, a cloud
            that says is_dense is believed to have none.
        uvs: Indices of the points to return, flat or, for an organised cloud, in rows of (u, v).
        reshape_organized_cloud: Return (width, height), as upstream, instead of (N,).

    Raises:
        AssertionError: cloud is no PointCloud2, or a field is missing.
    """
    assert isinstance(cloud, PointCloud2), 'Cloud is not a sensor_msgs.msg.PointCloud2'
    dtype = dtype_from_fields(cloud.fields, point_step=cloud.point_step)
    points = np.ndarray(
        shape=(cloud.height, cloud.width),
        dtype=dtype,
        buffer=cloud.data,
        strides=(cloud.row_step or cloud.point_step * cloud.width, cloud.point_step),
    ).reshape(-1)
    if field_names is not None:
        assert all(name in dtype.names for name in field_names), (
            'Requests field is not in the fields of the PointCloud!'
        )
        points = points[list(field_names)]
    if bool(sys.byteorder != 'little') != bool(cloud.is_bigendian):
        points = points.byteswap()
    if skip_nans and not cloud.is_dense:
        is_finite = np.ones(len(points), dtype=bool)
        for name in points.dtype.names:
            is_finite &= ~np.isnan(points[name])
        points = points[is_finite]
    if uvs is not None:
        points = points[uvs if isinstance(uvs, np.ndarray) else np.fromiter(uvs, int)]
    if reshape_organized_cloud and cloud.height > 1:
        points = points.reshape(cloud.width, cloud.height)
    return points


def read_points_numpy(
    cloud: PointCloud2,
    field_names: list[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable | None = None,
    reshape_organized_cloud: bool = False,
) -> np.ndarray:
    """Return the points of a cloud as a plain array, (N, fields); arguments as read_points.

    Raises:
        AssertionError: The fields are not of one type.
    """
    wanted = [f for f in cloud.fields if field_names is None or f.name in field_names]
    assert len({field.datatype for field in wanted}) <= 1, (
        'All fields need to have the same datatype. Use `read_points()` otherwise.'
    )
    points = read_points(cloud, field_names, skip_nans, uvs, reshape_organized_cloud)
    return structured_to_unstructured(points)


def read_points_list(
    cloud: PointCloud2,
    field_names: list[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable | None = None,
) -> list[Any]:
    """Return the points of a cloud as named tuples; arguments as read_points."""
    assert isinstance(cloud, PointCloud2), 'cloud is not a sensor_msgs.msg.PointCloud2'
    if field_names is None:
        field_names = [field.name for field in cloud.fields]
    point_type = namedtuple('Point', field_names)
    return [point_type._make(p) for p in read_points(cloud, field_names, skip_nans, uvs)]


def create_cloud(
    header: Header,
    fields: list[PointField],
    points: Iterable,
    step: int | None = None,
    point_step: int | None = None,
) -> PointCloud2:
    """Return a cloud message.

    Args:
        header: Of the message.
        fields: What a point consists of; structured points must have just these types.
        points: Structured array (N,) or, as upstream, (width, height); or plain array or sequence
            of tuples, (N, fields) or (width, height, fields).
        step: Same as point_step, upstream's newer name for it.
        point_step: Bytes of one point; by default the end of the last field.

    Raises:
        AssertionError: The points do not fit the fields.
    """
    dtype = dtype_from_fields(fields, step if step is not None else point_step)
    if isinstance(points, np.ndarray) and points.dtype.names is not None:
        assert points.dtype == dtype, (
            'PointFields and structured NumPy array dtype do not match for all fields! '
            f'Check their field order, names and types: {dtype} and {points.dtype}'
        )
    else:
        if not isinstance(points, np.ndarray):
            points = list(points)
        kinds = {_DATATYPES[field.datatype] for field in fields}
        if len(kinds) == 1 or isinstance(points, np.ndarray):
            plain = np.asarray(points, dtype=kinds.pop() if len(kinds) == 1 else None)
            plain = plain.reshape(0, len(dtype.names)) if plain.size == 0 else plain
            assert plain.shape[-1] == len(dtype.names), (
                'The number of fields in the points and in the PointFields differs'
            )
            points = unstructured_to_structured(plain, dtype=dtype)
        else:
            points = np.array([tuple(point) for point in points], dtype=dtype)
    assert points.ndim <= 2, 'Too many dimensions: points are (N,) or (width, height)'
    width, height = (points.shape[0], 1) if points.ndim == 1 else points.shape
    return PointCloud2(
        header=header,
        height=height,
        width=width,
        is_dense=False,
        is_bigendian=sys.byteorder != 'little',
        fields=fields,
        point_step=dtype.itemsize,
        row_step=dtype.itemsize * width,
        # An array is taken over as it is; anything else is checked element by element.
        data=array.array('B', points.tobytes()),
    )


def create_cloud_xyz32(
    header: Header,
    points: Iterable,
    step: int | None = None,
    point_step: int | None = None,
) -> PointCloud2:
    """Return a cloud of points (x, y, z) in float32."""
    fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate('xyz')
    ]
    return create_cloud(header, fields, points, step, point_step)
