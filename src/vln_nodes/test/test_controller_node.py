# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The controller against a scripted robot in lock-step and free running, over real DDS."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

import numpy as np
import pytest
import rclpy
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient
from scripted_robot import (
    CAMERA,
    MOUNT,
    OPTICAL,
    Process,
    depth_of_hall,
    transform_msg,
)
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

from vln_core.geometry import transforms
from vln_core.outcome import MotionCode
from vln_interfaces.action import MoveToPixel, Spin
from vln_interfaces.msg import SafetyStatus, VelocityCommand
from vln_nodes import conversions, qos
from vln_nodes.base import STEADY, steady_now

TICK = 50_000_000


class LockstepWorld:
    """A kinematic simulator: a command with the present stamp releases one tick."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('lockstep_world')
        node, sensor = self.node, qos.sensor(is_lockstep=True)
        self.tick, self.pose, self.velocity = 0, (0.0, 0.0, 0.0), (0.0, 0.0)
        self.trace: list[tuple[int, float, float]] = []
        self.holds: list[int] = []
        self._odom = node.create_publisher(Odometry, 'odom', sensor)
        self._depth = node.create_publisher(Image, 'camera/depth/image_raw', sensor)
        self._info = node.create_publisher(CameraInfo, 'camera/depth/camera_info', sensor)
        self._status = node.create_publisher(SafetyStatus, 'safety_status', qos.LATCHED)
        self._tf, self._static = TransformBroadcaster(node), StaticTransformBroadcaster(node)
        self._static.sendTransform(transform_msg('base_link', OPTICAL, MOUNT, 0))
        node.create_subscription(
            VelocityCommand, 'velocity_command', self._on_command, qos.COMMAND_LOCKSTEP
        )
        node.create_timer(0.3, self.publish, clock=STEADY)  # repeats the present tick
        self.spins = ActionClient(node, Spin, 'spin')

    @property
    def stamp(self) -> int:
        return 1_000_000_000 + self.tick * TICK

    def _on_command(self, message: VelocityCommand) -> None:
        stamp = conversions.stamp_ns(message.header.stamp)
        if message.is_hold:
            self.holds.append(stamp)
        elif stamp == self.stamp:
            v, w = message.twist.linear.x, message.twist.angular.z
            self.trace.append((stamp, v, w))
            x, y, yaw = self.pose
            self.pose = (
                x + v * 0.05 * math.cos(yaw),
                y + v * 0.05 * math.sin(yaw),
                transforms.wrap_angle(yaw + w * 0.05),
            )
            self.velocity = (v, w)
            self.tick += 1
            self.publish()

    def publish(self) -> None:
        status = SafetyStatus(state=SafetyStatus.OK)
        self._status.publish(status)
        tform = transforms.planar_tform(*self.pose)
        self._tf.sendTransform(transform_msg('odom', 'base_link', tform, self.stamp))
        odom = Odometry()
        odom.header.stamp = conversions.stamp_msg(self.stamp)
        odom.pose.pose = conversions.pose_msg(tform)
        odom.twist.twist.linear.x, odom.twist.twist.angular.z = self.velocity
        self._odom.publish(odom)
        if self.tick % 2 == 0:
            self._info.publish(conversions.info_of_camera(CAMERA, self.stamp, OPTICAL))
            image = Image(height=48, width=64, encoding='32FC1', step=256)
            image.header.stamp = odom.header.stamp
            image.header.frame_id = OPTICAL
            image.data = array('B', np.ascontiguousarray(depth_of_hall(3.0)).tobytes())
            self._depth.publish(image)

    def run(self, client: ActionClient, goal: object, *, cancel_at: int | None = None) -> object:
        """Send a goal, return its result."""
        deadline = 60.0
        assert wait_until_spinning(self.node, client.server_is_ready, 240.0)  # imports, compiles
        sent = client.send_goal_async(goal)
        assert wait_until_spinning(self.node, sent.done, deadline)
        handle = sent.result()
        assert handle.accepted
        result = handle.get_result_async()
        if cancel_at is not None:
            start = self.tick
            assert wait_until_spinning(self.node, lambda: self.tick - start >= cancel_at, deadline)
            handle.cancel_goal_async()
        assert wait_until_spinning(self.node, result.done, deadline)
        return result.result().result


def wait_until_spinning(node: object, is_met, timeout: float) -> bool:  # noqa: ANN001
    """Spin the node until something holds."""
    deadline = steady_now() + timeout
    while not is_met():
        if steady_now() > deadline:
            return False
        rclpy.spin_once(node, timeout_sec=0.05)
    return True


@pytest.fixture
def world(ros: None) -> Iterator[LockstepWorld]:
    made = LockstepWorld()
    yield made
    made.node.destroy_node()


@pytest.fixture
def controller(world: LockstepWorld) -> Iterator[Process]:
    process = Process('vln_nodes.controller_node', ['-p', 'lockstep:=true'])
    yield process
    code, output = process.end()
    assert code == 0, output
    assert 'Traceback' not in output


def test_spin_in_lockstep(world: LockstepWorld, controller: Process) -> None:
    result = world.run(world.spins, Spin.Goal(angle=math.pi / 2))
    assert result.error_code == MotionCode.REACHED, result.error_msg
    assert abs(world.pose[2] - math.pi / 2) < 0.05
    # It ends on an image tick, and from then on simulated time stands still.
    assert conversions.stamp_ns(result.stamp) == world.stamp
    assert world.tick % 2 == 0
    ticks = world.tick
    wait_until_spinning(world.node, lambda: False, 1.0)
    assert world.tick == ticks
    assert world.holds and world.holds[-1] == world.stamp
    # One command a tick, none left out, none twice.
    stamps = [stamp for stamp, _, _ in world.trace]
    assert stamps == [1_000_000_000 + k * TICK for k in range(len(stamps))]


def test_cancel_in_lockstep_ends_on_an_image_tick(
    world: LockstepWorld, controller: Process
) -> None:
    result = world.run(world.spins, Spin.Goal(angle=3.0), cancel_at=11)
    assert result.error_code == MotionCode.CANCELLED
    # Commands come on another topic than the result: the last one is in when time is held.
    assert wait_until_spinning(world.node, lambda: world.stamp in world.holds, 20.0)
    assert world.tick % 2 == 0
    assert world.trace[-1][1:] == (0.0, 0.0)
    assert world.pose[2] < 2.5


def test_unknown_panorama_is_refused_without_motion(
    world: LockstepWorld, controller: Process
) -> None:
    client = ActionClient(world.node, MoveToPixel, 'move_to_pixel')
    goal = MoveToPixel.Goal()
    goal.goal.panorama_id = 77
    result = world.run(client, goal)
    assert result.error_code == MotionCode.UNKNOWN_PANORAMA
    assert world.tick == 0
