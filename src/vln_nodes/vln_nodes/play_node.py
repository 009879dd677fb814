# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Plays a bag into the graph with the time of its recording on /clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from vln_core.errors import VlnError
from vln_nodes import conversions, qos
from vln_nodes.bag_reader import Bag, BagError, Recorded, message_class

COMMANDS = ('cmd_vel', 'velocity_command', 'teleop/velocity_command', 'emergency_stop')
"""Never played: a robot that listens would drive."""
_CLOCK = '/clock'
_CLOCK_PERIOD = 10_000_000


class PlayError(VlnError):
    """A bag must not be played here."""


class Player:
    """Publishes the messages of a bag at the pace of their recording."""

    def __init__(
        self, node: Node, path: Path, *, rate: float = 1.0, start: float = 0.0,
        duration: float = float('inf'), topics: set[str] | None = None,
    ) -> None:  # fmt: skip
        """Make the publishers.

        Args:
            node: Whose publishers are used.
            path: Of the bag.
            rate: Speed; 2.0 is twice as fast.
            start: Seconds of the bag that are left out; latched topics are caught up with.
            duration: Seconds of the bag that are played.
            topics: Only these, by full name.

        Raises:
            BagError: No bag, or nothing in it to play.
            PlayError: A robot's safety process runs in this graph.
        """
        self._node, self._bag = node, Bag(path)
        self._rate, self._start, self._duration = rate, start, duration
        stack = [name for name, _ in node.get_node_names_and_namespaces() if name == 'safety']
        if stack:
            raise PlayError(
                'a stack runs in this ROS domain: what was recorded would mix with what it does; '
                'stop it, or set another ROS_DOMAIN_ID for both player and viewer'
            )
        latched = self._bag.latched()
        self._publishers: dict[str, Publisher] = {}
        self.left_out: list[str] = []
        for name, type_name in self._bag.topics().items():
            if topics is not None and name not in topics and name != _CLOCK:
                continue
            if any(name.endswith(f'/{command}') for command in COMMANDS):
                self.left_out.append(name)
                continue
            try:
                kind = message_class(type_name)
            except BagError:
                self.left_out.append(name)
                continue
            profile = qos.PANORAMA if name in latched else QoSProfile(depth=50)
            self._publishers[name] = node.create_publisher(kind, name, profile)
        self._latched = latched
        self._has_clock = _CLOCK in self._publishers
        if not self._publishers:
            raise BagError(f'{path} has nothing to play')
        if not self._has_clock:
            self._publishers[_CLOCK] = node.create_publisher(Clock, _CLOCK, QoSProfile(depth=10))

    def play(
        self, stop: threading.Event, on_progress: Callable[[float], None] = lambda _: None
    ) -> int:
        """Play until the end or until ``stop`` is set; return the number of messages."""
        first: int | None = None
        started, count, next_clock = time.monotonic(), 0, 0
        for recorded in self._bag.messages(set(self._publishers)):
            first = recorded.log_time if first is None else first
            offset = (recorded.log_time - first) * 1e-9 - self._start
            if stop.is_set() or offset > self._duration:
                break
            if offset < 0.0:
                if recorded.topic in self._latched:
                    self._publish(recorded)
                continue
            while (wait := offset / self._rate - (time.monotonic() - started)) > 0:
                if not self._has_clock:
                    next_clock = self._tick(first, started, next_clock)
                if stop.wait(min(wait, 0.01)):
                    return count
            self._publish(recorded)
            count += 1
            on_progress(offset)
        return count

    def _tick(self, first: int, started: float, due: int) -> int:
        """Publish the time of the recording; the next time it is due, ns."""
        elapsed = (time.monotonic() - started) * self._rate + self._start
        now = first + int(elapsed * 1e9)
        if now < due:
            return due
        stamp: Time = conversions.stamp_msg(now)
        self._publishers[_CLOCK].publish(Clock(clock=stamp))
        return now + _CLOCK_PERIOD

    def _publish(self, recorded: Recorded) -> None:
        publisher: Any = self._publishers[recorded.topic]
        publisher.publish(recorded.data)
