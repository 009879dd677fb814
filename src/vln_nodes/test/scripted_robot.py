# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A scripted robot for node tests: sensors, heartbeats and commands that can be switched off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from std_srvs.srv import SetBool
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_interfaces.msg import Heartbeat, SafetyStatus, VelocityCommand
from vln_nodes import conversions, qos
from vln_nodes.base import STEADY

CAMERA = PinholeCamera.from_hfov(64, 48, 1.5)
MOUNT = transforms.camera_mount_tform(0.0, 0.0, 1.0, pitch=0.3)
OPTICAL = 'camera_color_optical_frame'


def depth_of_hall(wall: float) -> np.ndarray:
    """Return (48, 64) metres: a floor, and a wall across at ``wall`` metres ahead of base_link."""
    columns, rows = np.meshgrid(np.arange(CAMERA.width), np.arange(CAMERA.height))
    rays = np.stack(
        [
            (columns - CAMERA.cx) / CAMERA.fx,
            (rows - CAMERA.cy) / CAMERA.fy,
            np.ones(columns.shape),
        ],
        axis=-1,
    )
    body = rays @ MOUNT[:3, :3].T
    with np.errstate(divide='ignore'):
        to_floor = np.where(body[..., 2] < -1e-6, MOUNT[2, 3] / -body[..., 2], np.inf)
        to_wall = np.where(body[..., 0] > 1e-6, wall / body[..., 0], np.inf)
    return np.minimum(to_floor, to_wall).astype(np.float32)


class ScriptedRobot:
    """Publishes what a robot would, 20 Hz; ``silent`` names the streams that are switched off."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        self.command = (0.0, 0.0, True)
        self.teleop: tuple[float, float] | None = None
        self.wall = 5.0
        self.has_intrinsics = True
        self.clock_error = 0.0  # of every stamp, s
        self.sent: dict[str, float] = {}
        self.received: list[tuple[float, float, float]] = []
        self.status = SafetyStatus(state=SafetyStatus.STARTING)
        self.node = Node('scripted_robot')
        node, sensor = self.node, qos.sensor(is_lockstep=False)
        self._odom = node.create_publisher(Odometry, 'odom', sensor)
        self._depth = node.create_publisher(Image, 'camera/depth/image_raw', sensor)
        self._info = node.create_publisher(CameraInfo, 'camera/depth/camera_info', sensor)
        self._heartbeat = node.create_publisher(Heartbeat, 'heartbeat', qos.HEARTBEAT)
        self._command = node.create_publisher(VelocityCommand, 'velocity_command', qos.COMMAND)
        self._teleop = node.create_publisher(
            VelocityCommand, 'teleop/velocity_command', qos.COMMAND
        )  # fmt: skip
        self._tf = TransformBroadcaster(node)
        self._static = StaticTransformBroadcaster(node)
        mount = transform_msg('base_link', OPTICAL, MOUNT, 0)
        self._static.sendTransform(mount)
        node.create_subscription(TwistStamped, 'cmd_vel', self._on_cmd_vel, qos.COMMAND)
        node.create_subscription(SafetyStatus, 'safety_status', self._on_status, qos.LATCHED)
        self._stop_client = node.create_client(SetBool, 'emergency_stop')
        node.create_timer(0.05, self._beat, clock=STEADY)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._is_running = True
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while self._is_running:
            self._executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        """Stop publishing."""
        self._is_running = False
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()

    def _on_cmd_vel(self, message: TwistStamped) -> None:
        twist = message.twist
        self.received.append((time.monotonic(), twist.linear.x, twist.angular.z))

    def _on_status(self, status: SafetyStatus) -> None:
        self.status = status

    def _beat(self) -> None:
        stamp = self.node.get_clock().now().nanoseconds + round(self.clock_error * 1e9)
        for name in ('tf', 'odom', 'depth', 'heartbeat', 'command'):
            if name not in self.silent:
                getattr(self, f'_send_{name}')(stamp)
                self.sent[name] = time.monotonic()
        if self.teleop is not None:
            self._teleop.publish(_command(stamp, *self.teleop, False))

    def _send_tf(self, stamp: int) -> None:
        self._tf.sendTransform(transform_msg('odom', 'base_link', np.eye(4), stamp))

    def _send_odom(self, stamp: int) -> None:
        message = Odometry()
        message.header.stamp = conversions.stamp_msg(stamp)
        message.pose.pose.orientation.w = 1.0
        self._odom.publish(message)

    def _send_depth(self, stamp: int) -> None:
        info = conversions.info_of_camera(CAMERA, stamp, OPTICAL)
        if not self.has_intrinsics:
            info = CameraInfo(header=info.header, width=info.width, height=info.height)
        self._info.publish(info)
        depth = depth_of_hall(self.wall)
        image = Image(height=48, width=64, encoding='32FC1', step=256)
        image.data = array('B', depth.tobytes())
        image.header = info.header
        self._depth.publish(image)

    def _send_heartbeat(self, _: int) -> None:
        self._heartbeat.publish(Heartbeat(node='robot'))

    def _send_command(self, stamp: int) -> None:
        self._command.publish(_command(stamp, *self.command))

    def emergency_stop(self, *, is_on: bool) -> bool:
        """Call the service; False when it did not answer."""
        assert self._stop_client.wait_for_service(10.0)
        future = self._stop_client.call_async(SetBool.Request(data=is_on))
        return wait_until(future.done, 5.0) and future.result().success

    def velocity(self) -> tuple[float, float]:
        """Return what the base was told last."""
        return self.received[-1][1:] if self.received else (0.0, 0.0)

    def first_zero_after(self, moment: float) -> float:
        """Return when (monotonic s) zero was first sent after ``moment``; inf if never."""
        return next(
            (when for when, v, w in self.received if when >= moment and v == 0.0 and w == 0.0),
            float('inf'),
        )


def _command(stamp: int, v: float, w: float, is_hold: bool) -> VelocityCommand:
    message = VelocityCommand(is_hold=is_hold)
    message.header.stamp = conversions.stamp_msg(stamp)
    message.twist.linear.x, message.twist.angular.z = v, w
    return message


def transform_msg(parent: str, child: str, tform: np.ndarray, stamp: int) -> TransformStamped:
    """Return a transform; stamp in nanoseconds."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp = conversions.stamp_msg(stamp)
    pose = conversions.pose_msg(tform)
    message.transform.translation.x = pose.position.x
    message.transform.translation.y = pose.position.y
    message.transform.translation.z = pose.position.z
    message.transform.rotation = pose.orientation
    return message


def wait_until(is_met: Callable[[], bool], timeout: float = 30.0) -> bool:
    """Wait, at most ``timeout`` seconds, until something holds."""
    deadline = time.monotonic() + timeout
    while not is_met():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class Process:
    """A node in a process of its own."""

    def __init__(self, module: str, arguments: Sequence[str] = ()) -> None:
        command = [sys.executable, '-m', module, '--ros-args', *arguments]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=child_env()
        )

    def end(self, number: int = signal.SIGINT, timeout: float = 60.0) -> tuple[int, str]:
        """Send a signal; return exit code and output."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self.wait(timeout)

    def wait(self, timeout: float = 60.0) -> tuple[int, str]:
        """Wait for the end; return exit code and output."""
        try:
            output, _ = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, _ = self._process.communicate()
            raise AssertionError(
                f'the process did not end within {timeout} s:\n{output}'
            ) from None
        return self._process.returncode, output


def child_env() -> dict[str, Any]:
    """Return the environment for a child: ROS wheels must bootstrap again or not at all."""
    return dict(os.environ)
