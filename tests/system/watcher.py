# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a test sees of a running stack, and says to it, over ROS."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import rclpy
from geometry_msgs.msg import Pose2D, TwistStamped
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from stack import PATIENCE, Stack, wait_until

from vln_interfaces.action import Navigate
from vln_interfaces.msg import DecisionRecord, GroundTruth, Panorama, SafetyStatus
from vln_interfaces.srv import GeodesicDistance, PlaceRobot
from vln_nodes import qos

_STILL = 1e-3


class Watcher:
    """A node in a context of its own that records with the steady time of arrival."""

    def __init__(self, stack: Stack, namespace: str = '') -> None:
        self._stack = stack
        self.commands: list[tuple[float, float, float]] = []
        """Every ``cmd_vel``: time of arrival (s), v (m/s), w (rad/s)."""
        self.truths: list[tuple[float, int, float, float, float]] = []
        """Every ``sim/ground_truth``: time of arrival (s), stamp (ns), x, y (m), yaw (rad)."""
        self.decisions: list[DecisionRecord] = []
        self.panoramas: dict[int, Panorama] = {}
        self.feedback: list[str] = []
        self.feedback_times: list[float] = []
        self.status = SafetyStatus(state=SafetyStatus.STARTING)
        self.num_collisions = 0
        self._context = rclpy.Context()
        rclpy.init(args=[], context=self._context, domain_id=stack.domain)
        node = self._node = rclpy.create_node(
            'watcher', namespace=namespace or None, context=self._context
        )
        best_effort = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(TwistStamped, 'cmd_vel', self._on_command, best_effort)
        node.create_subscription(GroundTruth, 'sim/ground_truth', self._on_truth, best_effort)
        node.create_subscription(SafetyStatus, 'safety_status', self._on_status, qos.LATCHED)
        node.create_subscription(
            DecisionRecord, 'decisions', self.decisions.append, QoSProfile(depth=100)
        )
        node.create_subscription(Panorama, 'panorama', self._on_panorama, qos.PANORAMA)
        self._navigate = ActionClient(node, Navigate, 'navigate')
        self._place = node.create_client(PlaceRobot, 'sim/place_robot')
        self._distance = node.create_client(GeodesicDistance, 'sim/geodesic_distance')
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)
        self._is_closed = False
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._is_closed:
            self._executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        """Leave the graph."""
        self._is_closed = True
        self._thread.join(5.0)
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _on_command(self, message: TwistStamped) -> None:
        twist = message.twist
        self.commands.append((time.monotonic(), twist.linear.x, twist.angular.z))

    def _on_truth(self, message: GroundTruth) -> None:
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        pose = message.pose
        self.truths.append((time.monotonic(), stamp, pose.x, pose.y, pose.theta))
        self.num_collisions = message.num_collisions

    def _on_status(self, message: SafetyStatus) -> None:
        self.status = message

    def _on_panorama(self, message: Panorama) -> None:
        self.panoramas[message.id] = message

    # -- what the stack does --------------------------------------------------------------------

    def wait_navigate(self, timeout: float = PATIENCE) -> None:
        """Wait until somebody takes instructions."""
        wait_until(self._navigate.server_is_ready, timeout, self._stack)

    def wait_ready(self, timeout: float = PATIENCE) -> None:
        """Wait until the stack answers and safety lets the robot move."""

        def is_ready() -> bool:
            return (
                self._navigate.server_is_ready()
                and self._place.service_is_ready()
                and self._distance.service_is_ready()
                and bool(self.truths)
                and self.status.state == SafetyStatus.OK
            )

        wait_until(is_ready, timeout, self._stack)

    def wait_motion(self, timeout: float = PATIENCE) -> None:
        """Wait until the base is driven for half a second without a break."""
        count = 10

        def moves() -> bool:
            last = self.commands[-count:]
            return len(last) == count and all(abs(v) + abs(w) > _STILL for _, v, w in last)

        wait_until(moves, timeout, self._stack)

    def moved_after(self, moment: float) -> float:
        """Return for how long after a steady time the robot moved, in its own, simulated time.

        While the bridge is held up, time and robot stand still together; only what the robot did
        counts. Zero if it did not move.
        """
        before = [truth for truth in self.truths if truth[0] <= moment]
        after = [before[-1], *(truth for truth in self.truths if truth[0] > moment)]
        moving = [
            later[1]
            for earlier, later in zip(after, after[1:], strict=False)
            if math.dist(earlier[2:], later[2:]) > 1e-6
        ]
        return (moving[-1] - after[0][1]) * 1e-9 if moving else 0.0

    def topics(self) -> list[str]:
        """Return the names of all topics of the domain."""
        return [name for name, _ in self._node.get_topic_names_and_types()]

    def trajectory(self) -> dict[int, tuple[float, float, float]]:
        """Return the true pose (m, m, rad) by stamp (ns)."""
        return {stamp: (x, y, yaw) for _, stamp, x, y, yaw in self.truths}

    # -- what it is told ------------------------------------------------------------------------

    def place(self, x: float, y: float, yaw: float) -> str:
        """Put the robot somewhere (m, rad); returns the error, empty if there is none."""
        pose = Pose2D(x=x, y=y, theta=yaw)
        response = self._result(self._place.call_async(PlaceRobot.Request(pose=pose)), PATIENCE)
        return response.error_msg if response.error_code else ''

    def start(self, instruction: str) -> Any:
        """Give an instruction; returns the goal handle."""
        goal = Navigate.Goal(instruction=instruction)
        # From the thread that takes the answers, see Caller._in_executor.
        task = self._executor.create_task(
            lambda: self._navigate.send_goal_async(goal, feedback_callback=self._on_feedback)
        )
        handle = self._result(self._result(task, PATIENCE), PATIENCE)
        assert handle.accepted
        return handle

    def follow(self, instruction: str, timeout: float) -> Navigate.Result:
        """Give an instruction and wait for its end."""
        return self._result(self.start(instruction).get_result_async(), timeout).result

    def distance_to(self, x: float, y: float) -> float:
        """Return the geodesic distance (m) from the robot to a point of the world."""
        request = GeodesicDistance.Request()
        request.start.x, request.start.y = self.truths[-1][2:4]
        request.goal.x, request.goal.y = x, y
        return float(self._result(self._distance.call_async(request), PATIENCE).distance)

    def _on_feedback(self, message: Any) -> None:
        feedback = message.feedback
        self.feedback_times.append(time.monotonic())
        self.feedback.append(f'{feedback.step} {feedback.state} {feedback.text}')

    def _result(self, future: Any, timeout: float) -> Any:
        wait_until(future.done, timeout, self._stack)
        return future.result()


class Stalls:
    """How long this machine kept a thread from running: no test is more punctual than that."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed.set()
        self._thread.join()

    def _run(self) -> None:
        last = time.monotonic()
        while not self._is_closed.is_set():
            time.sleep(0.01)
            now = time.monotonic()
            self.longest = max(self.longest, now - last - 0.01)
            last = now
