# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Sign of life of every node: 5 Hz on a steady clock, from the executor that does the work."""

from __future__ import annotations

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from vln_interfaces.msg import Heartbeat
from vln_nodes import qos

PERIOD = 0.2


class HeartbeatPublisher:
    """Publishes ``heartbeat``. A node whose executor hangs falls silent, as it should."""

    def __init__(self, node: Node) -> None:
        self._name = node.get_name()
        self._sequence = 0
        self._publisher = node.create_publisher(Heartbeat, 'heartbeat', qos.HEARTBEAT)
        self._timer = node.create_timer(
            PERIOD, self._beat, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def _beat(self) -> None:
        self._publisher.publish(Heartbeat(node=self._name, sequence=self._sequence))
        self._sequence = (self._sequence + 1) % 2**32
