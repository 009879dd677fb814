# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Stands between the simulator and the stack and spoils messages as it is told.

A process of its own: ``python -m vln_cli.chaos_interposer``. Orders come as lines of JSON on the
standard input, ``{"topic", "kind", ...}`` or ``{"kind": "clear"}``; each is answered with the
steady time from which it holds. Without orders every message passes as it came.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import struct
import sys
import threading
import time
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage

SENSORS: dict[str, Any] = {
    'camera/color/image_raw': Image,
    'camera/color/camera_info': CameraInfo,
    'camera/depth/image_raw': Image,
    'camera/depth/camera_info': CameraInfo,
    'odom': Odometry,
    'tf': TFMessage,
    'clock': ClockMessage,
    'sim/semantic': Image,
}
PREFIX = 'chaos/'
_STAMPED = (Image, CameraInfo, Odometry, ClockMessage)


class Interposer(Node):
    """Passes the messages of all sensors on, or not."""

    def __init__(self, seed: int) -> None:
        super().__init__('chaos_interposer')
        self._random = random.Random(seed)
        self._rules: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._last: dict[str, bytes] = {}
        self._held: dict[str, bytes] = {}
        self._late: list[tuple[float, int, str, bytes]] = []
        self._count = 0
        self._drift = 0.0
        fast = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        sure = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
        self._out = {}
        for name, kind in SENSORS.items():
            is_event = name in ('tf', 'clock')
            out = '/clock' if name == 'clock' else name
            self._out[name] = self.create_publisher(kind, out, sure if is_event else fast)
            self.create_subscription(
                kind,
                PREFIX + name,
                lambda data, name=name: self._on_message(name, bytes(data)),
                sure if is_event else fast,
                raw=True,
            )
        self.create_timer(0.01, self._send_late, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def order(self, order: dict[str, Any]) -> None:
        """Take a rule for one topic, or clear all."""
        with self._lock:
            if order['kind'] == 'clear':
                self._rules.clear()
                self._held.clear()
                self._drift = 0.0
            else:
                self._rules[order['topic']] = order

    def _on_message(self, name: str, data: bytes) -> None:
        with self._lock:
            rule = self._rules.get(name)
            if rule is None:
                self._last[name] = data
                self._out[name].publish(data)
                return
            for one in self._spoiled(name, data, rule):
                self._out[name].publish(one)

    def _spoiled(self, name: str, data: bytes, rule: dict[str, Any]) -> list[bytes]:
        kind = rule['kind']
        if self._random.random() >= rule.get('share', 1.0):
            return [data]
        if kind == 'drop':
            return []
        if kind == 'delay':
            self._count += 1
            late = time.monotonic() + rule['seconds']
            heapq.heappush(self._late, (late, self._count, name, data))
            return []
        if kind == 'duplicate':
            return [data] * rule.get('times', 3)
        if kind == 'reorder':
            held = self._held.pop(name, None)
            if held is None:
                self._held[name] = data
                return []
            return [data, held]
        if kind == 'freeze':
            return [self._last.setdefault(name, data)]
        if kind == 'corrupt':
            return [self._corrupted(data)]
        if kind == 'shift':
            return [_shifted(SENSORS[name], data, rule['seconds'])]
        return [serialize_message(self._changed(name, data, kind, rule))]

    def _corrupted(self, data: bytes) -> bytes:
        """Return the message with random bytes of its contents replaced, as a bad cable does."""
        spoiled = bytearray(data)
        # The first bytes hold lengths: a message that is no message never leaves the middleware.
        for _ in range(max(1, len(spoiled) // 50)):
            spoiled[self._random.randrange(min(64, len(spoiled) - 1), len(spoiled))] = (
                self._random.randrange(256)
            )
        return bytes(spoiled)

    def _changed(self, name: str, data: bytes, kind: str, rule: dict[str, Any]) -> Any:
        message = deserialize_message(data, SENSORS[name])
        if isinstance(message, Image):
            return _changed_image(message, kind, self._random)
        if isinstance(message, Odometry):
            self._move(message.pose.pose, kind, rule)
        elif isinstance(message, TFMessage):
            for transform in message.transforms:
                if transform.child_frame_id == 'base_link':
                    self._move(transform.transform, kind, rule)
            if kind == 'loop':
                message.transforms.append(_loop_of(message.transforms[0]))
        return message

    def _move(self, pose: Any, kind: str, rule: dict[str, Any]) -> None:
        place = pose.position if hasattr(pose, 'position') else pose.translation
        if kind == 'drift':
            # Odometry and TF come from one driver, so both wander with the same steady time.
            self._drift = rule['rate'] * (time.monotonic() - rule['since'])
            place.x += self._drift
        elif kind == 'jump':
            place.x += rule['metres']
        elif kind == 'nan':
            place.x = float('nan')

    def _send_late(self) -> None:
        with self._lock:
            while self._late and self._late[0][0] <= time.monotonic():
                _, _, name, data = heapq.heappop(self._late)
                self._out[name].publish(data)


def _shifted(kind: Any, data: bytes, seconds: float) -> bytes:
    """Return a message whose stamps are moved."""
    if kind in _STAMPED:  # the stamp comes first, after the four bytes of the encapsulation
        sec, nanosec = struct.unpack_from('<iI', data, 4)
        stamp = max(0, sec * 10**9 + nanosec + int(seconds * 1e9))
        spoiled = bytearray(data)
        struct.pack_into('<iI', spoiled, 4, min(stamp // 10**9, 2**31 - 1), stamp % 10**9)
        return bytes(spoiled)
    message = deserialize_message(data, kind)
    for transform in message.transforms:
        stamp = transform.header.stamp
        total = max(0, stamp.sec * 10**9 + stamp.nanosec + int(seconds * 1e9))
        stamp.sec, stamp.nanosec = total // 10**9, total % 10**9
    return bytes(serialize_message(message))


def _changed_image(message: Image, kind: str, chooser: random.Random) -> Image:
    size = message.height * message.width
    if message.encoding == '32FC1':
        depth = np.frombuffer(bytes(message.data), np.float32).copy()
        values = {'nan': np.nan, 'near': 0.2, 'far': 10.0, 'zero': 0.0}
        if kind == 'unit':
            depth *= 1000.0  # millimetres where metres are meant
        else:
            depth[:] = values[kind]
        message.data = depth.tobytes()
    elif message.encoding == '16UC1':
        # Ids of the semantic picture: a detector that is sure of things that are not there.
        ids = np.zeros((message.height, message.width), np.uint16)
        if kind == 'lie':
            top, left = (
                chooser.randrange(message.height // 2),
                chooser.randrange(message.width // 2),
            )
            ids[top : top + 90, left : left + 120] = chooser.randrange(1, 40)
        message.data = ids.tobytes()
    else:
        value = {'black': 0, 'white': 255}.get(kind, 0)
        message.data = bytes([value]) * (size * 3)
    return message


def _loop_of(transform: TransformStamped) -> TransformStamped:
    loop = TransformStamped()
    loop.header.stamp = transform.header.stamp
    loop.header.frame_id, loop.child_frame_id = 'base_link', transform.header.frame_id
    loop.transform.rotation.w = 1.0
    return loop


def main() -> None:
    """Run until the standard input ends."""
    rclpy.init(args=[])
    node = Interposer(int(os.environ.get('VLN_CHAOS_SEED', '0')))

    def listen() -> None:
        for line in sys.stdin:
            node.order(json.loads(line))
            print(time.monotonic(), flush=True)
        rclpy.try_shutdown()

    threading.Thread(target=listen, daemon=True).start()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()
