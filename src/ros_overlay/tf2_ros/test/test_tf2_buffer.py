# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting, awaiting, and transforms over DDS."""

import gc
import threading
import time

import pytest
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from tf2_messages import message, stamp, values
from tf2_ros import (
    Buffer,
    ExtrapolationException,
    LookupException,
    StaticTransformBroadcaster,
    TransformBroadcaster,
    TransformListener,
)
from tf2_ros.buffer_interface import TransformRegistration, TypeException

DISCOVERY = 10.0


@pytest.fixture
def context():
    rclpy.init()
    yield
    gc.collect()
    rclpy.try_shutdown()


def wait_for(condition, timeout=DISCOVERY):
    """Return whether a condition became true in time."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_lookup_waits_for_a_transform_that_is_on_its_way():
    buffer = Buffer()
    later = threading.Timer(0.2, buffer.set_transform, (message('a', 'b', 1.0), 'test'))
    later.start()
    start = time.monotonic()
    buffer.lookup_transform('a', 'b', stamp(0), Duration(seconds=5))
    assert 0.1 < time.monotonic() - start < 1.0
    later.join()


def test_a_wait_ends_after_its_time():
    buffer = Buffer()
    start = time.monotonic()
    with pytest.raises(LookupException):
        buffer.lookup_transform('a', 'b', stamp(0), Duration(seconds=0.2))
    assert 0.15 < time.monotonic() - start < 0.6
    possible, reason = buffer.can_transform('a', 'b', stamp(0), return_debug_tuple=True)
    assert not possible
    assert 'does not exist' in reason


def test_full_form_waits_too():
    buffer = Buffer()
    buffer.set_transform(message('odom', 'base', 1.0, (1, 0, 0)), 'test')
    later = threading.Timer(
        0.1, buffer.set_transform, (message('odom', 'base', 2.0, (3, 0, 0)), 'test')
    )
    later.start()
    result = buffer.lookup_transform_full(
        'base', stamp(2), 'base', stamp(1), 'odom', Duration(seconds=5)
    )
    assert values(result)[0][0] == -2.0
    later.join()
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform_full('base', stamp(9), 'base', stamp(1), 'odom')


def test_futures_complete_when_the_transform_comes():
    buffer = Buffer()
    waiting = buffer.wait_for_transform_async('a', 'b', stamp(1.5))
    cancelled = buffer.wait_for_transform_async('a', 'b', stamp(1.5))
    cancelled.cancel()
    buffer.set_transform(message('a', 'b', 1.0), 'test')
    assert not waiting.done()
    buffer.set_transform(message('a', 'b', 2.0, (2, 0, 0)), 'test')
    assert values(waiting.result())[0][0] == pytest.approx(1.0)
    at_once = buffer.wait_for_transform_full_async('b', stamp(2), 'b', stamp(1), 'a')
    assert values(at_once.result())[0][0] == pytest.approx(-2.0)
    assert buffer._new_data_callbacks == []


def test_awaited_inside_a_callback_of_one_thread(context):
    node = rclpy.create_node('waiter')
    buffer = Buffer(node=node)
    results = []

    async def look() -> None:
        timer.cancel()
        results.append(await buffer.lookup_transform_async('a', 'b', stamp(0)))

    timer = node.create_timer(0.01, look)
    later = node.create_timer(
        0.2,
        lambda: buffer.set_transform(message('a', 'b', 1.0, (7, 0, 0)), 'test'),
        # The waiting callback holds the default group until it has its answer.
        callback_group=ReentrantCallbackGroup(),
    )
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    deadline = time.monotonic() + 5.0
    while not results and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    later.cancel()
    assert values(results[0])[0][0] == 7.0


def test_broadcast_and_listen(context):
    sender = rclpy.create_node('sender')
    receiver = rclpy.create_node('receiver')
    buffer = Buffer(node=receiver)
    static = StaticTransformBroadcaster(sender)
    static.sendTransform(message('base', 'camera', 0.0, (0, 0, 1)))
    moving = TransformBroadcaster(sender)
    listener = TransformListener(buffer, receiver, spin_thread=True)
    try:

        def arrived() -> bool:
            moving.sendTransform([message('odom', 'base', 5.0, (1, 2, 0))])
            return buffer.can_transform('odom', 'camera', stamp(0))

        # The static one was sent before the listener existed: transient local brings it.
        assert wait_for(arrived)
        result = buffer.lookup_transform('odom', 'camera', stamp(5.0))
        assert values(result)[0] == pytest.approx([1.0, 2.0, 1.0])
    finally:
        rclpy.shutdown()
        listener.dedicated_listener_thread.join(timeout=5)
    assert not listener.dedicated_listener_thread.is_alive()


def test_a_jump_back_of_the_clock_clears_the_buffer(context):
    node = rclpy.create_node('jumper', parameter_overrides=[Parameter('use_sim_time', value=True)])
    buffer = Buffer(node=node)
    clock = node.create_publisher(Clock, '/clock', 10)
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def run_to(seconds: float) -> bool:
        clock.publish(Clock(clock=stamp(seconds).to_msg()))
        executor.spin_once(timeout_sec=0.05)
        return node.get_clock().now().nanoseconds == stamp(seconds).nanoseconds

    assert wait_for(lambda: run_to(100.0))
    buffer.set_transform(message('a', 'b', 99.0), 'test')
    assert wait_for(lambda: run_to(99.5))
    assert buffer.can_transform('a', 'b', stamp(0)), 'half a second back is no new run'
    assert wait_for(lambda: run_to(3.0))
    assert not buffer.can_transform('a', 'b', stamp(0))


def test_transform_uses_the_registered_function():
    buffer = Buffer()
    buffer.set_transform_static(message('a', 'b', 0.0, (1, 0, 0)), 'test')
    with pytest.raises(TypeException, match='not loaded or supported'):
        buffer.transform(message('b', 'c'), 'a')
    TransformRegistration().add(
        type(message('b', 'c')), lambda thing, pose: (thing.child_frame_id, values(pose)[0][0])
    )
    assert buffer.transform(message('b', 'c'), 'a') == ('c', 1.0)
