# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The rules: what is refused, what is forgotten, and which exception says what."""

import logging

import pytest
from rclpy.duration import Duration
from tf2_messages import message, stamp, values
from tf2_py import (
    BufferCore,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TransformException,
)

NAN = float('nan')


def filled() -> BufferCore:
    """Return a buffer with odom-base at 1 s and 2 s, odom-single at 1 s, and another tree."""
    buffer = BufferCore()
    for seconds in (1.0, 2.0):
        buffer.set_transform(message('odom', 'base', seconds, (seconds, 0, 0)), 'test')
    buffer.set_transform(message('odom', 'single', 1.0), 'test')
    buffer.set_transform(message('island', 'palm', 1.0), 'test')
    return buffer


WAY = ', when looking up transform from frame [base] to frame [odom]'


@pytest.mark.parametrize(
    ('target', 'source', 'seconds', 'kind', 'text'),
    [
        (
            'odom',
            'base',
            3.0,
            ExtrapolationException,
            'Lookup would require extrapolation into the future.  Requested time 3.000000 but the '
            'latest data is at time 2.000000' + WAY,
        ),
        (
            'odom',
            'base',
            0.5,
            ExtrapolationException,
            'Lookup would require extrapolation into the past.  Requested time 0.500000 but the '
            'earliest data is at time 1.000000' + WAY,
        ),
        (
            'single',
            'odom',
            1.25,
            ExtrapolationException,
            'Lookup would require extrapolation at time 1.250000, but only time 1.000000 is in '
            'the buffer, when looking up transform from frame [odom] to frame [single]',
        ),
        (
            'odom',
            'palm',
            0.0,
            ConnectivityException,
            "Could not find a connection between 'odom' and 'palm' because they are not part of "
            'the same tree.Tf has two or more unconnected trees.',
        ),
        (
            'odom',
            'palm',
            1.0,
            ConnectivityException,
            "Could not find a connection between 'odom' and 'palm' because they are not part of "
            'the same tree.Tf has two or more unconnected trees.',
        ),
        (
            'odom',
            'ghost',
            0.0,
            LookupException,
            '"ghost" passed to lookupTransform argument source_frame does not exist. ',
        ),
        (
            'NO_PARENT',
            'base',
            0.0,
            LookupException,
            '"NO_PARENT" passed to lookupTransform argument target_frame does not exist. ',
        ),
        (
            '',
            'base',
            0.0,
            InvalidArgumentException,
            'Invalid argument "" passed to lookupTransform argument target_frame - in tf2 '
            'frame_ids cannot be empty',
        ),
        (
            'odom',
            '/base',
            0.0,
            InvalidArgumentException,
            'Invalid argument "/base" passed to lookupTransform argument source_frame - in tf2 '
            "frame_ids cannot start with a '/'",
        ),
    ],
)
def test_lookup_raises(target, source, seconds, kind, text):
    with pytest.raises(kind) as caught:
        filled().lookup_transform_core(target, source, stamp(seconds))
    assert str(caught.value) == text
    assert isinstance(caught.value, TransformException)


@pytest.mark.parametrize(
    ('target', 'source', 'text'),
    [
        ('', 'base', 'argument target_frame - in tf2 frame_ids cannot be empty'),
        ('odom', '/x', "argument source_frame - in tf2 frame_ids cannot start with a '/'"),
        ('odom', 'ghost', 'argument source_frame - frame does not exist'),
    ],
)
def test_can_transform_says_why_not(target, source, text):
    possible, reason = filled().can_transform_core(target, source, stamp(0))
    assert not possible
    name = target if 'target' in text else source
    assert reason == f'Invalid frame ID "{name}" passed to canTransform {text}'


def test_can_transform_and_lookup_agree_at_every_time():
    buffer = filled()
    for tenth in range(0, 40):
        time = stamp(tenth / 10)
        for target, source in [('odom', 'base'), ('base', 'single'), ('palm', 'base')]:
            possible, reason = buffer.can_transform_core(target, source, time)
            if possible:
                buffer.lookup_transform_core(target, source, time)
            else:
                with pytest.raises(TransformException) as caught:
                    buffer.lookup_transform_core(target, source, time)
                assert str(caught.value) == reason


@pytest.mark.parametrize(
    ('bad', 'tag'),
    [
        (message('a', 'a', 1.0), 'TF_SELF_TRANSFORM'),
        (message('a', '/a', 1.0), 'TF_SELF_TRANSFORM'),
        (message('a', '', 1.0), 'TF_NO_CHILD_FRAME_ID'),
        (message('', 'b', 1.0), 'TF_NO_FRAME_ID'),
        (message('a', 'b', 1.0, (NAN, 0, 0)), 'TF_NAN_INPUT'),
        (message('a', 'b', 1.0, xyzw=(0, 0, 0, NAN)), 'TF_NAN_INPUT'),
        (message('a', 'b', 1.0, xyzw=(0, 0, 0, 0)), 'TF_DENORMALIZED_QUATERNION'),
    ],
)
def test_bad_input_is_logged_and_ignored(bad, tag, caplog):
    buffer = BufferCore()
    with caplog.at_level(logging.ERROR, 'tf2'):
        buffer.set_transform(bad, 'me')
    assert any(tag in record.getMessage() for record in caplog.records)
    assert buffer._getFrameStrings() == []


def test_a_leading_slash_is_stripped_on_input():
    buffer = BufferCore()
    buffer.set_transform(message('/odom', '/base', 1.0), 'test')
    assert buffer._getFrameStrings() == ['base', 'odom']


def test_old_data_are_ignored(caplog):
    buffer = BufferCore(Duration(seconds=5))
    buffer.set_transform(message('a', 'b', 100.0), 'test')
    buffer.set_transform(message('a', 'b', 94.0), 'test')
    assert 'TF_OLD_DATA ignoring data from the past for frame b at time 94.000000' in caplog.text
    buffer.set_transform(message('a', 'b', 95.0), 'test')  # just inside
    buffer.lookup_transform_core('a', 'b', stamp(97))


def test_the_cache_reaches_ten_seconds_back():
    buffer = BufferCore()
    for seconds in range(100, 126):
        buffer.set_transform(message('a', 'b', seconds), 'test')
    # What the newest insertion pushed out is dropped by the next one only, as upstream.
    assert buffer.can_transform_core('a', 'b', stamp(114.0))[0]
    assert not buffer.can_transform_core('a', 'b', stamp(113.9))[0]


def test_of_equal_stamps_the_last_wins():
    buffer = BufferCore()
    buffer.set_transform(message('a', 'b', 1.0, (1, 0, 0)), 'test')
    buffer.set_transform(message('a', 'b', 1.0, (2, 0, 0)), 'test')
    assert values(buffer.lookup_transform_core('a', 'b', stamp(0)))[0][0] == 2.0


def test_data_out_of_order_are_sorted():
    buffer = BufferCore()
    for seconds in (3.0, 1.0, 2.0):
        buffer.set_transform(message('a', 'b', seconds, (seconds, 0, 0)), 'test')
    assert values(buffer.lookup_transform_core('a', 'b', stamp(1.5)))[0][0] == pytest.approx(1.5)
    assert values(buffer.lookup_transform_core('a', 'b', stamp(0)))[0][0] == 3.0


def test_a_change_of_parent_holds_from_its_stamp_on():
    buffer = BufferCore()
    buffer.set_transform_static(message('root', 'left', 0.0, (-1, 0, 0)), 'test')
    buffer.set_transform_static(message('root', 'right', 0.0, (1, 0, 0)), 'test')
    buffer.set_transform(message('left', 'hand', 1.0), 'test')
    buffer.set_transform(message('right', 'hand', 2.0), 'test')
    for seconds, x in ((1.0, -1.0), (1.5, -1.0), (2.0, 1.0)):
        xyz, _ = values(buffer.lookup_transform_core('root', 'hand', stamp(seconds)))
        assert xyz[0] == x
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform_core('root', 'hand', stamp(2.1))


def test_a_loop_is_found():
    buffer = BufferCore()
    for parent, child in [('a', 'b'), ('b', 'c'), ('c', 'a'), ('x', 'y')]:
        buffer.set_transform(message(parent, child, 1.0), 'test')
    for time in (stamp(0), stamp(1)):
        with pytest.raises(LookupException, match='contains a loop'):
            buffer.lookup_transform_core('a', 'y', time)


def test_clear_forgets_what_moved_only():
    buffer = filled()
    buffer.set_transform_static(message('base', 'camera', 0.0), 'test')
    buffer.clear()
    assert buffer.can_transform_core('base', 'camera', stamp(0))[0]
    with pytest.raises(ConnectivityException):
        buffer.lookup_transform_core('odom', 'base', stamp(0))


def test_a_frame_may_turn_static_and_back():
    buffer = BufferCore()
    buffer.set_transform(message('a', 'b', 1.0, (1, 0, 0)), 'test')
    buffer.set_transform_static(message('a', 'b', 0.0, (2, 0, 0)), 'test')
    assert values(buffer.lookup_transform_core('a', 'b', stamp(50)))[0][0] == 2.0
    buffer.set_transform(message('a', 'b', 3.0, (3, 0, 0)), 'test')
    assert not buffer.can_transform_core('a', 'b', stamp(50))[0]


def test_full_form_validates_all_three_frames():
    buffer = filled()
    with pytest.raises(LookupException, match='argument fixed_frame does not exist'):
        buffer.lookup_transform_full_core('odom', stamp(1), 'base', stamp(1), 'ghost')
    possible, reason = buffer.can_transform_full_core('odom', stamp(1), 'base', stamp(9), 'odom')
    assert not possible
    assert 'extrapolation into the future' in reason


def test_listings():
    buffer = BufferCore()
    assert buffer.all_frames_as_yaml() == '[]'
    buffer.set_transform(message('a', 'b', 1.0), 'me')
    assert buffer.all_frames_as_string() == 'Frame b exists with parent a.\n'
    assert "b: \n  parent: 'a'\n  broadcaster: 'me'\n" in buffer.all_frames_as_yaml()


def test_no_common_time_is_a_transform_exception():
    with pytest.raises(TransformException, match='unconnected trees'):
        filled().get_latest_common_time('odom', 'palm')
    with pytest.raises(TypeError, match='sec and nanosec'):
        filled().lookup_transform_core('odom', 'base', 1.0)
