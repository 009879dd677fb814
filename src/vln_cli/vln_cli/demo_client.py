# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""ROS client of the demo: places the robot, gives instructions, collects what the stack says."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Pose2D
from numpy.typing import NDArray
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future

from vln_cli.health import NODES
from vln_interfaces.action import Navigate
from vln_interfaces.msg import (
    DecisionRecord,
    GroundTruth,
    Heartbeat,
    Panorama,
    ProgressRecord,
    WorldGraph,
)
from vln_interfaces.srv import GeodesicDistance, GetMapImage, PlaceRobot
from vln_nodes import qos

_LATCHED = QoSProfile(
    depth=5, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)


class StackError(Exception):
    """The stack did not start, did not answer, or refused a request."""


@dataclass(eq=False)
class Recording:
    """What one instruction left behind."""

    decisions: list[DecisionRecord] = field(default_factory=list)
    progress: list[ProgressRecord | None] = field(default_factory=list)
    panoramas: dict[int, Panorama] = field(default_factory=dict)
    graph: WorldGraph | None = None
    path_xy: list[tuple[float, float]] = field(default_factory=list)
    result: Navigate.Result | None = None
    num_collisions: int = 0
    seconds: float = 0.0


class DemoClient(Node):
    """Talks to a running simulation stack in the current namespace."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        super().__init__('vln_demo')
        self._on_text = on_text
        self._recording = Recording()
        self._progress: ProgressRecord | None = None
        self._truth: GroundTruth | None = None
        self._silent = set(NODES)
        self._navigate = ActionClient(self, Navigate, 'navigate')
        self._place = self.create_client(PlaceRobot, 'sim/place_robot')
        self._distance = self.create_client(GeodesicDistance, 'sim/geodesic_distance')
        self._map_image = self.create_client(GetMapImage, 'memory/map_image')
        reliable = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
        self.create_subscription(DecisionRecord, 'decisions', self._on_decision, reliable)
        self.create_subscription(Panorama, 'panorama', self._on_panorama, _LATCHED)
        self.create_subscription(ProgressRecord, 'progress', self._on_progress, _LATCHED)
        self.create_subscription(WorldGraph, 'world_graph', self._on_graph, _LATCHED)
        self.create_subscription(GroundTruth, 'sim/ground_truth', self._on_truth, reliable)
        self.create_subscription(
            Heartbeat,
            'heartbeat',
            lambda message: self._silent.discard(message.node),
            qos.HEARTBEAT,
        )

    def wait_for_stack(self, timeout: float, is_alive: Callable[[], bool]) -> None:
        """Wait until the stack answers.

        Args:
            timeout: Seconds.
            is_alive: Whether the launch process still runs.

        Raises:
            StackError: It ended or did not answer in time.
        """
        deadline = time.monotonic() + timeout
        waiting = {
            'action navigate': self._navigate.server_is_ready,
            'service sim/place_robot': self._place.service_is_ready,
            'service sim/geodesic_distance': self._distance.service_is_ready,
            'topic sim/ground_truth': lambda: self._truth is not None,
            # An instruction given while a node still loads would fail for want of it.
            **{f'heartbeat of {name}': partial(self._is_heard, name) for name in NODES},
        }
        while waiting:
            if not is_alive():
                raise StackError('the stack ended before it was ready')
            if time.monotonic() > deadline:
                raise StackError(
                    f'after {timeout:.0f} s the stack does not answer: no ' + ', '.join(waiting)
                )
            rclpy.spin_once(self, timeout_sec=0.1)
            waiting = {name: ready for name, ready in waiting.items() if not ready()}

    def _is_heard(self, node: str) -> bool:
        return node not in self._silent

    def place(self, x: float, y: float, yaw: float) -> None:
        """Put the robot at a pose of the world (m, rad) and wait until the truth says so.

        Raises:
            StackError: Something is in the way.
        """
        request = PlaceRobot.Request(pose=Pose2D(x=x, y=y, theta=yaw))
        response = self._call(self._place, request, 10.0)
        if response.error_code:
            raise StackError(response.error_msg)
        deadline = time.monotonic() + 5.0
        while (
            self._truth is None or abs(self._truth.pose.x - x) + abs(self._truth.pose.y - y) > 0.2
        ):
            if time.monotonic() > deadline:
                raise StackError('the simulator does not report the new pose of the robot')
            rclpy.spin_once(self, timeout_sec=0.1)

    def follow(self, instruction: str, is_alive: Callable[[], bool]) -> Recording:
        """Give one instruction and wait for its end.

        Raises:
            StackError: The stack ended or refused the goal.
        """
        self._recording = Recording()
        started = time.monotonic()
        goal = self._navigate.send_goal_async(
            Navigate.Goal(instruction=instruction), feedback_callback=self._on_feedback
        )
        handle = self._wait(goal, 20.0, is_alive)
        if not handle.accepted:
            raise StackError('the stack refused the instruction; is another one running?')
        try:
            answer = self._wait(handle.get_result_async(), None, is_alive)
        except KeyboardInterrupt:
            self._wait(handle.cancel_goal_async(), 5.0, is_alive)
            raise
        self._spin_for(0.5)
        self._recording.result = answer.result
        self._recording.seconds = time.monotonic() - started
        if self._truth is not None:
            self._recording.num_collisions = self._truth.num_collisions
        return self._recording

    def distance_to(self, x: float, y: float) -> float:
        """Return the geodesic distance (m) from the robot to a point of the world."""
        assert self._truth is not None
        request = GeodesicDistance.Request()
        request.start.x, request.start.y = self._truth.pose.x, self._truth.pose.y
        request.goal.x, request.goal.y = x, y
        return float(self._call(self._distance, request, 30.0).distance)

    def map_image(self) -> bytes:
        """Return the PNG of the map image that a model sees."""
        response = self._call(self._map_image, GetMapImage.Request(size_px=512), 20.0)
        return bytes(response.image.data)

    def _call(self, client: Client, request: Any, timeout: float) -> Any:
        return self._wait(client.call_async(request), timeout, lambda: True)

    def _wait(self, future: Future, timeout: float | None, is_alive: Callable[[], bool]) -> Any:
        deadline = time.monotonic() + timeout if timeout else float('inf')
        while not future.done():
            rclpy.spin_once(self, timeout_sec=0.1)
            if not is_alive():
                raise StackError('the stack ended while it was working')
            if time.monotonic() > deadline:
                raise StackError(f'no answer from the stack within {timeout:.0f} s')
        return future.result()

    def _spin_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            rclpy.spin_once(self, timeout_sec=0.05)

    def _on_feedback(self, message: Any) -> None:
        feedback = message.feedback
        self._on_text(f'{feedback.step:3d} {feedback.state:9s} {feedback.text}')

    def _on_decision(self, message: DecisionRecord) -> None:
        self._recording.decisions.append(message)
        self._recording.progress.append(self._progress)

    def _on_panorama(self, message: Panorama) -> None:
        self._recording.panoramas[message.id] = message

    def _on_progress(self, message: ProgressRecord) -> None:
        self._progress = message

    def _on_graph(self, message: WorldGraph) -> None:
        self._recording.graph = message

    def _on_truth(self, message: GroundTruth) -> None:
        self._truth = message
        self._recording.path_xy.append((message.pose.x, message.pose.y))


def positions(recording: Recording) -> NDArray[np.float64]:
    """Return the (N, 2) driven path in the world, metres."""
    return np.array(recording.path_xy, dtype=np.float64).reshape(-1, 2)
