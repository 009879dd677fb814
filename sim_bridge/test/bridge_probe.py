# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A bridge in a process of its own, and a node that listens to it and steers it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import rclpy
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image

from vln_interfaces.msg import GroundTruth, LabelTable
from vln_nodes import qos
from vln_nodes.conversions import stamp_msg, stamp_ns

DISCOVERY = 60.0
SENSOR_TOPICS: dict[str, tuple[str, type]] = {
    'odom': ('odom', Odometry),
    'rgb': ('camera/color/image_raw', Image),
    'rgb_info': ('camera/color/camera_info', CameraInfo),
    'depth': ('camera/depth/image_raw', Image),
    'depth_info': ('camera/depth/camera_info', CameraInfo),
    'semantic': ('sim/semantic', Image),
}


class Probe:
    """Starts ``sim_bridge`` with parameters and keeps everything it publishes."""

    def __init__(self, domain: int, log: str, **settings: Any) -> None:
        self._lockstep = bool(settings.get('lockstep'))
        arguments = ['--ros-args']
        for name, value in settings.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            arguments += ['-p', f'{name.replace("__", ".")}:={text}']
        self._log = open(log, 'wb')  # noqa: SIM115 - lives as long as the probe
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'vln_sim_bridge.bridge_node', *arguments],
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain)},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('probe', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._code: int | None = None
        self.received: dict[str, list[Any]] = {}
        profile = qos.sensor(is_lockstep=self._lockstep)
        for key, (topic, kind) in SENSOR_TOPICS.items():
            self.listen(key, kind, topic, profile)
        truth = qos.COMMAND_LOCKSTEP if self._lockstep else qos.VISUAL
        self.listen('truth', GroundTruth, 'sim/ground_truth', truth)
        self.listen('labels', LabelTable, 'sim/labels', qos.LATCHED)
        self.listen('clock', Clock, '/clock', QoSProfile(depth=10))
        stamped = settings.get('enable_stamped_cmd_vel', True)
        kind = TwistStamped if stamped else Twist
        command = qos.COMMAND_LOCKSTEP if self._lockstep else qos.COMMAND
        self._commands = self.node.create_publisher(kind, 'cmd_vel', command)

    def listen(self, key: str, kind: type, topic: str, profile: QoSProfile) -> None:
        self.received[key] = []
        self.node.create_subscription(kind, topic, self.received[key].append, profile)

    def wait(self, condition: Callable[[], Any], timeout: float = DISCOVERY) -> bool:
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline or self.process.poll() is not None:
                return False
            self.executor.spin_once(timeout_sec=0.05)
        return True

    def spin(self, seconds: float) -> None:
        self.wait(lambda: False, seconds)

    def ready(self) -> None:
        """Wait until both sides know each other."""
        assert self.wait(lambda: all(self.received.values())), {
            key: len(value) for key, value in self.received.items()
        }
        assert self.wait(lambda: self._commands.get_subscription_count() == 1)

    def send(self, v: float, w: float, stamp: int = 0) -> None:
        if self._commands.msg_type is TwistStamped:
            message = TwistStamped()
            message.header.stamp = stamp_msg(stamp)
            twist = message.twist
        else:
            message = twist = Twist()
        twist.linear.x, twist.angular.z = float(v), float(w)
        self._commands.publish(message)

    def call(self, kind: type, name: str, request: Any, timeout: float = 60.0) -> Any:
        client = self.node.create_client(kind, name)
        assert self.wait(client.service_is_ready), f'{name} is not there'
        future = client.call_async(request)
        assert self.wait(future.done, timeout), f'{name} did not answer'
        self.node.destroy_client(client)
        return future.result()

    def tick(self, v: float, w: float) -> GroundTruth:
        """In lock-step: release the current tick and return the state of the next one."""
        stamp = self.now()
        self.send(v, w, stamp)
        assert self.wait(lambda: self.now() > stamp), 'the tick was not released'
        return self.received['truth'][-1]

    def now(self) -> int:
        return stamp_ns(self.received['truth'][-1].header.stamp)

    def stamps(self, key: str) -> list[int]:
        return [stamp_ns(message.header.stamp) for message in self.received[key]]

    def stop(self, number: int = signal.SIGINT) -> int:
        """End the bridge and return its exit code."""
        if self._code is not None:
            return self._code
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self._code = self.process.wait(timeout=15.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self._code = -99
        self.executor.remove_node(self.node)
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)
        self._log.close()
        return self._code
