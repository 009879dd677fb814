# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the campaign sees of the stack, and what must hold at all times."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import rclpy
from geometry_msgs.msg import Pose2D, TwistStamped
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from vln_interfaces.action import Navigate
from vln_interfaces.msg import (
    GroundTruth,
    ProgressRecord,
    SafetyStatus,
    VelocityCommand,
    WorldGraph,
)
from vln_interfaces.srv import PlaceRobot

MAX_SPEED, MAX_TURN = 0.6, 1.2
# The gate measures a period of at most 0.2 s, so no step of a command may be larger.
MAX_STEP, MAX_TURN_STEP = 1.0 * 0.2, 4.0 * 0.2
_EPS = 1e-3
_LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
_FAST = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass
class Acknowledged:
    """What the memory said that it holds."""

    instruction: str = ''
    waypoints: int = 0


@dataclass
class Stalls:
    """How long this machine kept a thread from running: no reaction can be judged finer."""

    times: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=5000))

    def within(self, start: float, end: float) -> float:
        """Return the sum of the stalls between two steady times, s."""
        return sum(length for at, length in list(self.times) if start <= at <= end + length)


class Watch(Node):
    """Listens to everything; a violation is a line of text with its time."""

    def __init__(self, number: int) -> None:
        super().__init__(f'chaos_watch_{number}')
        self.violations: list[str] = []
        self.commands: deque[tuple[float, float, float]] = deque(maxlen=4000)
        self.acknowledged = Acknowledged()
        self.truth: GroundTruth | None = None
        self.status = SafetyStatus(state=SafetyStatus.STARTING)
        self.stalls = Stalls()
        self.is_rogue = False
        self._instruction = ''
        self._collisions: int | None = None
        self._ended = threading.Event()
        self.create_subscription(TwistStamped, 'cmd_vel', self._on_command, _FAST)
        self.create_subscription(GroundTruth, 'sim/ground_truth', self._on_truth, _FAST)
        self.create_subscription(SafetyStatus, 'safety_status', self._on_status, _LATCHED)
        self.create_subscription(WorldGraph, 'world_graph', self._on_graph, _LATCHED)
        self.create_subscription(ProgressRecord, 'progress', self._on_progress, _LATCHED)
        self.navigate = ActionClient(self, Navigate, 'navigate')
        self._place = self.create_client(PlaceRobot, 'sim/place_robot')
        self._rogues: dict[str, Any] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        for work in (self._spin, self._measure_stalls):
            threading.Thread(target=work, daemon=True).start()

    def _spin(self) -> None:
        while not self._ended.is_set():
            try:
                self._executor.spin_once(timeout_sec=0.1)
            except (rclpy.executors.ExternalShutdownException, RuntimeError):
                return

    def _measure_stalls(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(0.01):
            now = time.monotonic()
            if now - last > 0.03:
                self.stalls.times.append((now, now - last - 0.01))
            last = now

    def close(self) -> None:
        """End the threads."""
        self._ended.set()
        time.sleep(0.3)

    def violate(self, text: str) -> None:
        """Note that an invariant was broken."""
        self.violations.append(text)

    # -- what comes ---------------------------------------------------------------------------

    def _on_command(self, message: TwistStamped) -> None:
        now, v, w = time.monotonic(), message.twist.linear.x, message.twist.angular.z
        if not (math.isfinite(v) and math.isfinite(w)):
            self.violate(f'cmd_vel is not finite: {v}, {w}')
        elif abs(v) > MAX_SPEED + _EPS or abs(w) > MAX_TURN + _EPS:
            self.violate(f'cmd_vel beyond the limits: {v:.3f} m/s, {w:.3f} rad/s')
        elif self.commands and not self.is_rogue:
            _, old_v, old_w = self.commands[-1]
            up, turn = abs(v) - abs(old_v), abs(w) - abs(old_w)
            # A message may be lost on the way here, which makes two steps of one.
            gap = 1 + int((now - self.commands[-1][0]) / 0.05)
            if up > MAX_STEP * gap + _EPS or turn > MAX_TURN_STEP * gap + _EPS:
                self.violate(f'cmd_vel speeds up by {up:.3f} m/s, {turn:.3f} rad/s in one step')
        self.commands.append((now, v, w))

    def _on_truth(self, message: GroundTruth) -> None:
        if self._collisions is not None and message.num_collisions > self._collisions:
            place = f'({message.pose.x:.2f}, {message.pose.y:.2f})'
            self.violate(f'collision at {place}')
        self._collisions = message.num_collisions
        self.truth = message

    def _on_status(self, message: SafetyStatus) -> None:
        self.status = message

    def _on_progress(self, message: ProgressRecord) -> None:
        self._instruction = message.instruction

    def _on_graph(self, message: WorldGraph) -> None:
        # The record of progress is published after the graph of the same write: an episode that
        # just began is only counted from its second write on.
        count = len(message.waypoints)
        self.acknowledged = Acknowledged(self._instruction if count > 1 else '', count)

    # -- what is asked ---------------------------------------------------------------------------

    def wait(self, is_met: Any, seconds: float) -> bool:
        """Return whether a condition came true in time."""
        deadline = time.monotonic() + seconds
        while not is_met():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def place(self, x: float, y: float, yaw: float) -> bool:
        """Put the robot somewhere in the world (m, rad)."""
        request = PlaceRobot.Request(pose=Pose2D(x=x, y=y, theta=yaw))
        self._collisions = None
        answer = self._place.call_async(request)
        is_done = self.wait(answer.done, 20.0)
        self._collisions = None
        return is_done and answer.result().error_code == 0

    @property
    def is_moving(self) -> bool:
        """Whether the last command moves the robot."""
        return bool(self.commands) and max(map(abs, self.commands[-1][1:])) > 0.02

    def reaction(self, start: float, end: float, *, may_turn: bool = False) -> float:
        """Return how long after ``start`` (steady) the last velocity other than zero came, s."""
        moving = [
            at
            for at, v, w in list(self.commands)
            if start < at < end and (v or (w and not may_turn))
        ]
        return max(moving, default=start) - start

    def first_zero(self, start: float, end: float) -> float:
        """Return how long after ``start`` (steady) the first zero came, s; inf: none."""
        stops = [at for at, v, w in list(self.commands) if start < at < end and not (v or w)]
        return min(stops, default=math.inf) - start

    def rogue(self, topic: str, v: float) -> None:
        """Publish a velocity beside the one who should: zero to the base, or v to the gate."""
        kind = TwistStamped if topic == 'cmd_vel' else VelocityCommand
        if topic not in self._rogues:
            self._rogues[topic] = self.create_publisher(kind, topic, 1)
        message = kind()
        message.header.stamp = self.get_clock().now().to_msg()
        if kind is VelocityCommand:
            message.twist.linear.x, message.twist.angular.z = v, 0.3
        self._rogues[topic].publish(message)

    def end_rogue(self) -> None:
        """Leave the topics to those who own them."""
        for publisher in self._rogues.values():
            self.destroy_publisher(publisher)
        self._rogues.clear()


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process, 0 if it is gone."""
    try:
        with open(f'/proc/{pid}/statm', encoding='ascii') as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def slope(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return least-squares slope per second and its standard error; inf with few points."""
    count = len(points)
    if count < 3:
        return 0.0, math.inf
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread <= 0.0:
        return 0.0, math.inf
    rate = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - rate * (x - mean_x)) ** 2 for x, y in points)
    return rate, math.sqrt(rest / (count - 2) / spread)
