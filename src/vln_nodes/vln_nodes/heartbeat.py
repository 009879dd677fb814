# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Sign of life of every node: 5 Hz on a steady clock, from a thread of its own.

A timer of the node's executor would fall silent on a busy machine while the node is well: each
turn of an executor takes Python's lock dozens of times, and four nodes and their workers share
it. This thread takes it once a beat. The executor only proves that it still turns.
"""

from __future__ import annotations

import threading
import time

from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node

from vln_interfaces.msg import Heartbeat
from vln_nodes import qos

PERIOD = 0.2
HANG_LIMIT = 2.0
"""An executor that has not turned for so long hangs: the node falls silent, s."""


class HeartbeatPublisher:
    """Publishes ``heartbeat`` while the process lives, the executor turns, and it is enabled."""

    def __init__(self, node: Node) -> None:
        """Begin to beat with the first turn of the node's executor."""
        self.is_enabled = True
        self._name = node.get_name()
        self._publisher = node.create_publisher(Heartbeat, 'heartbeat', qos.HEARTBEAT)
        self._last_turn = float('-inf')
        self._timer = node.create_timer(
            PERIOD, self._on_turn, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._is_closed = threading.Event()
        self._thread = threading.Thread(
            target=self._beat_on, name=f'{self._name}-heartbeat', daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Fall silent; no message is sent after this."""
        self._is_closed.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=1.0)

    def _on_turn(self) -> None:
        self._last_turn = time.monotonic()

    def _beat_on(self) -> None:
        sequence = 0
        while not self._is_closed.wait(PERIOD):
            if not self.is_enabled or time.monotonic() - self._last_turn > HANG_LIMIT:
                continue
            try:
                self._publisher.publish(Heartbeat(node=self._name, sequence=sequence))
            except (InvalidHandle, _rclpy.RCLError):
                return  # the context was shut down under a node that was not closed
            sequence = (sequence + 1) % 2**32
