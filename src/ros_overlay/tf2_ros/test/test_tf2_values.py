# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers: poses chained and interpolated, against matrices and closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp
from tf2_messages import matrix, message, nanoseconds, stamp, values
from tf2_py import BufferCore

TOLERANCE = 1e-9

coordinates = st.tuples(*[st.floats(-100, 100) for _ in range(3)])
quaternions = (
    st.tuples(*[st.floats(-1, 1) for _ in range(4)])
    .filter(lambda q: 0.1 < math.hypot(*q))
    .map(lambda q: tuple(v / math.hypot(*q) for v in q))
)
poses = st.tuples(coordinates, quaternions)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), poses), min_size=1, max_size=8), st.data())
def test_any_two_frames_of_a_tree_agree_with_matrices(nodes, data):
    buffer = BufferCore()
    root_tform = [np.eye(4)]
    for number, (choice, (xyz, xyzw)) in enumerate(nodes, start=1):
        parent = choice % number
        transform = message(f'f{parent}', f'f{number}', 5.0, xyz, xyzw)
        buffer.set_transform(transform, 'test')
        root_tform.append(root_tform[parent] @ matrix(transform))
    indices = st.integers(0, len(nodes))
    target, source = data.draw(indices), data.draw(indices)
    result = buffer.lookup_transform_core(f'f{target}', f'f{source}', stamp(0))
    expected = np.linalg.inv(root_tform[target]) @ root_tform[source]
    assert matrix(result) == pytest.approx(expected, abs=1e-9 * 1e3)
    assert result.header.frame_id == f'f{target}'
    assert result.child_frame_id == f'f{source}'


@settings(max_examples=60, deadline=None)
@given(poses, poses, st.floats(0, 1))
def test_between_two_stamps_position_is_linear_and_rotation_spherical(first, second, ratio):
    buffer = BufferCore()
    buffer.set_transform(message('a', 'b', 10.0, *first), 'test')
    buffer.set_transform(message('a', 'b', 11.0, *second), 'test')
    time = stamp(10.0 + ratio)
    exact = (time.nanoseconds - 10_000_000_000) / 1e9
    xyz, xyzw = values(buffer.lookup_transform_core('a', 'b', time))
    expected = (1 - exact) * np.array(first[0]) + exact * np.array(second[0])
    assert xyz == pytest.approx(expected, abs=TOLERANCE)
    turn = Rotation.from_quat([first[1], second[1]])
    if (turn[0].inv() * turn[1]).magnitude() < math.pi - 1e-3:  # at pi either way is right
        spherical = Slerp([0.0, 1.0], turn)(exact)
        assert (Rotation.from_quat(xyzw).inv() * spherical).magnitude() < 1e-7


def test_interpolation_by_hand():
    buffer = BufferCore()
    quarter = math.sin(math.pi / 4)
    buffer.set_transform(message('a', 'b', 1.0, (0, 0, 0)), 'test')
    buffer.set_transform(message('a', 'b', 2.0, (4, 2, 0), (0, 0, quarter, quarter)), 'test')
    xyz, xyzw = values(buffer.lookup_transform_core('a', 'b', stamp(1.25)))
    half = math.pi / 16
    assert xyz == pytest.approx([1.0, 0.5, 0.0], abs=TOLERANCE)
    assert xyzw == pytest.approx([0, 0, math.sin(half), math.cos(half)], abs=TOLERANCE)


def test_inverse_by_hand():
    buffer = BufferCore()
    quarter = math.sin(math.pi / 4)
    buffer.set_transform(message('a', 'b', 1.0, (1, 2, 3), (0, 0, quarter, quarter)), 'test')
    xyz, xyzw = values(buffer.lookup_transform_core('b', 'a', stamp(0)))
    assert xyz == pytest.approx([-2.0, 1.0, -3.0], abs=TOLERANCE)
    assert xyzw == pytest.approx([0, 0, -quarter, quarter], abs=TOLERANCE)


@settings(max_examples=60, deadline=None)
@given(quaternions)
def test_sign_of_the_quaternion_is_that_of_a_rotation_matrix(xyzw):
    buffer = BufferCore()
    buffer.set_transform(message('a', 'b', 1.0, xyzw=xyzw), 'test')
    _, result = values(buffer.lookup_transform_core('a', 'b', stamp(0)))
    assert abs(np.dot(result, xyzw)) == pytest.approx(1.0, abs=TOLERANCE)
    if 4 * xyzw[3] ** 2 - 1 > 1e-6:  # trace of the matrix
        assert result[3] > 0
    elif 4 * xyzw[3] ** 2 - 1 < -1e-6:
        assert result[np.argmax(np.abs(result[:3]))] > 0


def test_a_quaternion_of_another_length_is_normalised():
    buffer = BufferCore()
    buffer.set_transform(message('a', 'b', 1.0, xyzw=(0, 0, 0, 2)), 'test')
    _, xyzw = values(buffer.lookup_transform_core('a', 'b', stamp(0)))
    assert xyzw == pytest.approx([0, 0, 0, 1], abs=TOLERANCE)


def test_time_zero_is_the_latest_time_common_to_the_way():
    buffer = BufferCore()
    for seconds in (1.0, 2.0, 3.0):
        buffer.set_transform(message('map', 'odom', seconds, (seconds, 0, 0)), 'test')
    for seconds in (1.5, 2.5):
        buffer.set_transform(message('odom', 'base', seconds, (0, seconds, 0)), 'test')
    buffer.set_transform_static(message('base', 'camera', 0.0, (0, 0, 1)), 'test')
    result = buffer.lookup_transform_core('map', 'camera', stamp(0))
    assert nanoseconds(result) == 2_500_000_000
    assert values(result)[0] == pytest.approx([2.5, 2.5, 1.0], abs=TOLERANCE)
    assert buffer.get_latest_common_time('map', 'camera') == stamp(2.5)


def test_static_alone_has_time_zero_and_holds_at_any_time():
    buffer = BufferCore()
    buffer.set_transform_static(message('base', 'camera', 7.0, (0, 0, 1)), 'test')
    assert nanoseconds(buffer.lookup_transform_core('base', 'camera', stamp(0))) == 0
    result = buffer.lookup_transform_core('camera', 'base', stamp(1234.5))
    assert nanoseconds(result) == 1_234_500_000_000
    assert values(result)[0] == pytest.approx([0, 0, -1], abs=TOLERANCE)


def test_time_travel_keeps_the_fixed_frame():
    buffer = BufferCore()
    for seconds in range(1, 5):
        buffer.set_transform(message('odom', 'base', seconds, (seconds, 0, 0)), 'test')
    result = buffer.lookup_transform_full_core('base', stamp(4), 'base', stamp(1.5), 'odom')
    assert values(result)[0] == pytest.approx([-2.5, 0, 0], abs=TOLERANCE)
    assert nanoseconds(result) == 4_000_000_000
    assert buffer.can_transform_full_core('base', stamp(4), 'base', stamp(1.5), 'odom') == (
        True,
        '',
    )


@settings(max_examples=40, deadline=None)
@given(poses, poses, poses, poses)
def test_time_travel_agrees_with_matrices(base_1, base_2, camera, _unused):
    buffer = BufferCore()
    first, second = message('odom', 'base', 1.0, *base_1), message('odom', 'base', 2.0, *base_2)
    fixed = message('base', 'camera', 0.0, *camera)
    buffer.set_transform(first, 'test')
    buffer.set_transform(second, 'test')
    buffer.set_transform_static(fixed, 'test')
    result = buffer.lookup_transform_full_core('base', stamp(2), 'camera', stamp(1), 'odom')
    expected = np.linalg.inv(matrix(second)) @ matrix(first) @ matrix(fixed)
    assert matrix(result) == pytest.approx(expected, abs=1e-6)


def test_a_frame_to_itself_is_the_identity_even_when_unknown():
    buffer = BufferCore()
    result = buffer.lookup_transform_core('nowhere', 'nowhere', stamp(5))
    assert matrix(result) == pytest.approx(np.eye(4))
    assert nanoseconds(result) == 5_000_000_000
    buffer.set_transform(message('a', 'b', 3.0), 'test')
    assert nanoseconds(buffer.lookup_transform_core('b', 'b', stamp(0))) == 3_000_000_000
