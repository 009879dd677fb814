# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities within the limits of the base, of what stands in the way and of what moves."""

from __future__ import annotations

import math

from vln_core.control.follower import RateLimiter, turn_rate
from vln_core.control.guard import Guard
from vln_core.control.motion_config import MotionConfig
from vln_core.control.movers import MoverWatch
from vln_core.control.traversability import TraversabilityGrid

# Slower than this is standing.
_STANDING = 0.02


class Wheels:
    """The last stage before a command; keeps the velocities commanded last."""

    def __init__(self, config: MotionConfig) -> None:
        follower = config.follower
        self._config = config
        self._v = RateLimiter(follower.max_acceleration, follower.max_jerk)
        self._w = RateLimiter(follower.max_turn_acceleration, follower.max_turn_jerk)
        self._body = config.body
        self.guard = Guard(self._body, config.emergency_deceleration, config.latency)
        self.movers = MoverWatch(config.movers, config.emergency_deceleration)
        self.is_held = False
        """Something stands in the way: the last command would have gone on."""
        self.is_waiting = False
        """Somebody moves so near that the robot stands."""

    @property
    def v(self) -> float:
        """Speed commanded last, m/s."""
        return self._v.value

    @property
    def w(self) -> float:
        """Turn rate commanded last, rad/s."""
        return self._w.value

    @property
    def stands(self) -> bool:
        """Whether the last command was zero."""
        return self.v == 0.0 and self.w == 0.0

    def reset(self) -> None:
        """The robot stands and nothing is asked of it."""
        self._v.reset()
        self._w.reset()
        self.is_held = self.is_waiting = False

    def brake(self, dt: float) -> tuple[float, float]:
        """Stop as hard as the base can; returns (v, w) for this period."""
        v = self._v.brake(self._config.emergency_deceleration, dt)
        w = self._w.brake(2.0 * self._config.follower.max_turn_acceleration, dt)
        return v, w

    def turn(
        self, rate: float, dt: float, grid: TraversabilityGrid, pose: tuple[float, float, float]
    ) -> tuple[float, float]:
        """Turn in place at up to ``rate`` rad/s; returns (v, w) for this period."""
        v = self._v.step(0.0, dt)
        return v, self._turn(rate, dt, grid, pose)

    def _turn(
        self, rate: float, dt: float, grid: TraversabilityGrid, pose: tuple[float, float, float]
    ) -> float:
        """Approach a turn rate as far as what sticks out of the body may swing."""
        w = self._w.step(rate, dt)
        limit = self.guard.turn_limit(
            grid, pose, w, self._config.follower.max_turn_acceleration
        )  # fmt: skip
        self.is_held = limit <= _STANDING < abs(rate)
        if abs(w) > limit:
            self._w.reset(math.copysign(limit, w) if limit > _STANDING else 0.0)
        return self._w.value

    def go(
        self,
        wanted: tuple[float, float],
        dt: float,
        grid: TraversabilityGrid,
        pose: tuple[float, float, float],
        now: float,
    ) -> tuple[float, float]:
        """Approach the wanted (v, w), m/s and rad/s, as far as what is around allows.

        Args:
            wanted: What the path asks for.
            dt: Period, s.
            grid: Where obstacles are.
            pose: x, y, yaw, odometry frame.
            now: Stamp of the odometry, s.

        Returns:
            (v, w) for this period.
        """
        before = self._v.value
        moving = self.movers.speed_limit(now, pose[:2], self._body.outer)
        enough = self._config.movers.resume_speed if self.is_waiting else _STANDING
        self.is_waiting = moving <= enough
        if self.is_waiting:
            return self._wait(dt, grid, pose)
        v = self._v.step(wanted[0], dt)
        if wanted[0] == 0.0 and v == 0.0:
            return v, self._turn(wanted[1], dt, grid, pose)
        w = self._w.step(wanted[1], dt)
        still = self.guard.speed_limit(grid, pose, v, w)
        limit = min(still, moving)
        self.is_held = still <= _STANDING < abs(wanted[0])
        if abs(v) > limit:
            limit = limit if limit > _STANDING else 0.0
            if moving < still:  # what comes nearer needs a base that brakes, not one that jerks
                limit = max(limit, abs(before) - self._config.emergency_deceleration * dt)
            self._v.reset(math.copysign(limit, v))
        return self._v.value, w

    def _wait(
        self, dt: float, grid: TraversabilityGrid, pose: tuple[float, float, float]
    ) -> tuple[float, float]:
        """Stand, and look at who moves."""
        self.is_held = False
        v = self._v.brake(self._config.emergency_deceleration, dt)
        bearing = self.movers.bearing(pose)
        rate = 0.0 if bearing is None or v != 0.0 else turn_rate(bearing, self._config.follower)
        return v, self._turn(rate, dt, grid, pose)
