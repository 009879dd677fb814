# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Watches a motion for the ways it can fail without touching anything; all of them bounded."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from vln_core.errors import ConfigError
from vln_core.geometry.transforms import wrap_angle
from vln_core.outcome import MotionCode


@dataclass(frozen=True)
class RecoveryConfig:
    """When to give up.

    Attributes:
        blocked_timeout: Standing before an obstacle, or without a path, for so long, s.
        stuck_timeout: Commanded motion without odometry motion for so long, s.
        stuck_fraction: Less than this part of the commanded motion counts as none.
        progress_timeout: The way left has not shrunk for so long, s.
        progress_step: ... by so much, metres.
        max_turn_reversals: Changes of turning direction without progress.
        max_spin: Net turning without progress, rad.
    """

    blocked_timeout: float = 6.0
    stuck_timeout: float = 2.0
    stuck_fraction: float = 0.2
    progress_timeout: float = 15.0
    progress_step: float = 0.10
    max_turn_reversals: int = 8
    max_spin: float = 4.0 * math.pi

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value <= 0.0:
                raise ConfigError(f'recovery.{name} = {value} must be a positive number')


class RecoveryMonitor:
    """Fed once a control period; says when a motion has failed, and how."""

    def __init__(self, config: RecoveryConfig) -> None:
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Start watching a new motion."""
        self._time = 0.0
        self._blocked_since: float | None = None
        self._history: deque[tuple[float, float, float, float, float, float, float]] = deque()
        self._least_remaining = math.inf
        self._progress_time = 0.0
        self._net_turn = 0.0
        self._reversals = 0
        self._turn_sign = 0
        self._last_yaw: float | None = None

    def step(
        self,
        dt: float,
        pose: tuple[float, float, float],
        command: tuple[float, float],
        remaining: float | None,
        is_blocked: bool,
    ) -> tuple[MotionCode, str] | None:
        """Advance by one period.

        Args:
            dt: Period, s.
            pose: x, y, yaw of the odometry, metres and rad.
            command: Velocities that were commanded in the period, m/s and rad/s.
            remaining: Way left, metres; None for a turn in place by order.
            is_blocked: The robot wants to drive on and may not.

        Returns:
            What failed and why, or None.
        """
        self._time += dt
        turn = 0.0 if self._last_yaw is None else wrap_angle(pose[2] - self._last_yaw)
        self._last_yaw = pose[2]
        if is_blocked:
            if self._blocked_since is None:
                self._blocked_since = self._time
            if self._time - self._blocked_since >= self.config.blocked_timeout:
                return MotionCode.BLOCKED, (
                    f'something has stood in the way for {self.config.blocked_timeout:.0f} s and '
                    'there is no way around it'
                )
        else:
            self._blocked_since = None
        failed = self._stuck(dt, pose, command, turn)
        if failed is None and remaining is not None:
            failed = self._aimless(command, remaining, turn)
        return failed

    def wait(self, dt: float, pose: tuple[float, float, float]) -> tuple[MotionCode, str] | None:
        """Advance by one period in which the robot stands for somebody who moves.

        Turning to look at them is no failure; waiting for ever is.
        """
        self._time += dt
        self._last_yaw = pose[2]
        self._blocked_since = None
        self._history.clear()
        if self._time - self._progress_time > self.config.progress_timeout:
            return MotionCode.BLOCKED, (
                f'somebody has been moving near the way for {self.config.progress_timeout:.0f} s'
            )
        return None

    def _stuck(
        self,
        dt: float,
        pose: tuple[float, float, float],
        command: tuple[float, float],
        turn: float,
    ) -> tuple[MotionCode, str] | None:
        previous = self._history[-1] if self._history else None
        moved = 0.0 if previous is None else math.dist(pose[:2], (previous[5], previous[6]))
        self._history.append(
            (self._time, abs(command[0]) * dt, moved, abs(command[1]) * dt, abs(turn), *pose[:2])
        )
        while self._history[0][0] < self._time - self.config.stuck_timeout:
            self._history.popleft()
        if self._time < self.config.stuck_timeout:
            return None
        wanted_way, way, wanted_turn, turned = (
            sum(entry[k] for entry in self._history) for k in (1, 2, 3, 4)
        )
        fraction = self.config.stuck_fraction
        if wanted_way > 0.1 and way < fraction * wanted_way:
            return MotionCode.STUCK, 'the wheels are told to drive and the robot does not move'
        if wanted_turn > 0.4 and turned < fraction * wanted_turn and way < 0.02:
            return MotionCode.STUCK, 'the wheels are told to turn and the robot does not turn'
        return None

    def _aimless(
        self, command: tuple[float, float], remaining: float, turn: float
    ) -> tuple[MotionCode, str] | None:
        if remaining < self._least_remaining - self.config.progress_step:
            self._least_remaining = remaining
            self._progress_time = self._time
            self._net_turn = 0.0
            self._reversals = 0
        self._net_turn += turn
        sign = 0 if abs(command[1]) < 0.3 else (1 if command[1] > 0.0 else -1)
        if sign != 0:
            self._reversals += sign == -self._turn_sign
            self._turn_sign = sign
        if abs(self._net_turn) > self.config.max_spin:
            return MotionCode.OSCILLATING, 'the robot turned round and round without coming nearer'
        if self._reversals > self.config.max_turn_reversals:
            return MotionCode.OSCILLATING, 'the robot turned to and fro without coming nearer'
        if self._time - self._progress_time > self.config.progress_timeout:
            return MotionCode.BLOCKED, (
                f'no nearer to the goal for {self.config.progress_timeout:.0f} s'
            )
        return None
