# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities that follow a path: limits on speed, acceleration and jerk, turns in place."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError
from vln_core.geometry.transforms import wrap_angle


@dataclass(frozen=True)
class FollowerConfig:
    """What the base can and may do.

    Attributes:
        max_speed: m/s.
        max_turn_rate: rad/s.
        max_acceleration: m/s^2, also when slowing down for the goal.
        max_turn_acceleration: rad/s^2.
        max_jerk: m/s^3.
        max_turn_jerk: rad/s^3.
        lookahead: Distance of the point aimed at, metres; shrinks to ``min_lookahead`` when slow.
        min_lookahead: metres.
        turn_in_place_from: Heading error from which the robot stops and turns, rad.
        turn_in_place_until: Heading error at which it drives on, rad.
        turn_gain: Turn rate per heading error, 1/s.
        approach_speed: Least speed of the last centimetres, m/s.
        goal_tolerance: Distance that counts as reached, metres.
        heading_tolerance: Error at which a turn in place is done, rad.
    """

    max_speed: float = 0.6
    max_turn_rate: float = 1.2
    max_acceleration: float = 0.8
    max_turn_acceleration: float = 2.5
    max_jerk: float = 4.0
    max_turn_jerk: float = 20.0
    lookahead: float = 0.45
    min_lookahead: float = 0.2
    turn_in_place_from: float = 0.7
    turn_in_place_until: float = 0.12
    turn_gain: float = 2.5
    approach_speed: float = 0.06
    goal_tolerance: float = 0.10
    heading_tolerance: float = 0.02

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value <= 0.0:
                raise ConfigError(f'follower.{name} = {value} must be a positive number')
        if self.turn_in_place_until >= self.turn_in_place_from:
            raise ConfigError('follower.turn_in_place_until must be below turn_in_place_from')
        if self.min_lookahead > self.lookahead:
            raise ConfigError('follower.min_lookahead must not exceed lookahead')


class RateLimiter:
    """One velocity with limited acceleration and jerk."""

    def __init__(self, max_acceleration: float, max_jerk: float) -> None:
        self._max_acceleration, self._max_jerk = max_acceleration, max_jerk
        self.value = 0.0
        self._acceleration = 0.0

    def reset(self, value: float = 0.0) -> None:
        """Forget the motion and start from ``value``."""
        self.value, self._acceleration = value, 0.0

    def step(self, wanted: float, dt: float) -> float:
        """Move towards ``wanted`` for ``dt`` s and return the new velocity."""
        gap = wanted - self.value
        # So fast that the acceleration can still be taken back to zero when the gap closes.
        bound = min(
            self._max_acceleration, math.sqrt(2.0 * self._max_jerk * abs(gap)), abs(gap) / dt
        )
        change = self._max_jerk * dt
        target = math.copysign(bound, gap)
        low, high = self._acceleration - change, self._acceleration + change
        self._acceleration = min(max(target, low), high)
        if self._acceleration * gap >= 0.0 and abs(self._acceleration * dt) >= abs(gap):
            # Closed; acceleration kept from here would carry the value past it.
            self.value, self._acceleration = wanted, 0.0
        else:
            self.value += self._acceleration * dt
        return self.value

    def brake(self, deceleration: float, dt: float) -> float:
        """Go to zero with ``deceleration``, whatever the jerk."""
        change = deceleration * dt
        self._acceleration = 0.0
        self.value = math.copysign(max(0.0, abs(self.value) - change), self.value)
        return self.value


@dataclass(frozen=True)
class Steering:
    """What the path asks for now: wanted velocities before the limits.

    Attributes:
        v: m/s; negative is backwards.
        w: rad/s.
        remaining: Length of the path still ahead, metres.
        distance: Straight distance to its end, metres.
        is_turning: The robot turns in place.
        is_at_end: Nothing is left to drive.
        bearing: Of the point aimed at, rad from ahead, or from behind when driving backwards.
    """

    v: float
    w: float
    remaining: float
    distance: float
    is_turning: bool
    is_at_end: bool
    bearing: float = 0.0


class PathFollower:
    """Pure pursuit on a polyline, with turns in place where the path starts sideways."""

    def __init__(self, config: FollowerConfig) -> None:
        self.config = config
        self.path_xy: NDArray[np.float64] = np.empty((0, 2))
        self._along: NDArray[np.float64] = np.empty(0)
        self._nearest = 0
        self._is_turning = False
        self._is_backwards = False

    def clear(self) -> None:
        """Forget path and turn."""
        self.path_xy = np.empty((0, 2))
        self._nearest = 0
        self._is_turning = self._is_backwards = False

    def set_path(self, path_xy: NDArray[np.float64], *, backwards: bool = False) -> None:
        """Take a new path; a turn under way goes on.

        Args:
            path_xy: (M, 2) points, M >= 2, metres, odometry frame.
            backwards: Follow it with the back ahead.
        """
        self._is_backwards = backwards
        self.path_xy = np.asarray(path_xy, dtype=np.float64)
        segments = np.linalg.norm(np.diff(self.path_xy, axis=0), axis=1)
        self._along = np.concatenate([[0.0], np.cumsum(segments)])
        self._nearest = 0

    def ahead(self) -> NDArray[np.float64]:
        """Return the part of the path that is not driven yet, (K, 2)."""
        return self.path_xy[self._nearest :]

    def steer(self, x: float, y: float, yaw: float, speed: float) -> Steering:
        """Return what the path asks for at a pose.

        Args:
            x: metres, odometry frame.
            y: metres.
            yaw: rad.
            speed: Size of the current commanded speed, m/s.
        """
        config = self.config
        if self._is_backwards:
            yaw += math.pi
        here = np.array([x, y])
        window = slice(self._nearest, min(len(self.path_xy), self._nearest + 40))
        apart = np.linalg.norm(self.path_xy[window] - here, axis=1)
        self._nearest += int(np.argmin(apart))
        end = self.path_xy[-1]
        distance = float(np.linalg.norm(end - here))
        remaining = max(distance, float(self._along[-1] - self._along[self._nearest]))
        reach = config.lookahead * speed / config.max_speed
        reach = min(config.lookahead, max(config.min_lookahead, reach))
        aim_at = int(np.searchsorted(self._along, self._along[self._nearest] + reach))
        aim = self.path_xy[min(aim_at, len(self.path_xy) - 1)]
        error = wrap_angle(math.atan2(aim[1] - y, aim[0] - x) - yaw)
        near = 0.4 * config.goal_tolerance
        is_past = distance <= 0.8 * config.goal_tolerance and abs(error) > 0.6
        if distance <= near or is_past:
            self._is_turning = False
            return Steering(0.0, 0.0, remaining, distance, False, True)
        if self._is_turning:
            self._is_turning = abs(error) > config.turn_in_place_until
        else:
            self._is_turning = abs(error) > config.turn_in_place_from
        if self._is_turning:
            return Steering(0.0, turn_rate(error, config), remaining, distance, True, False, error)
        aim_distance = max(float(np.linalg.norm(aim - here)), 1e-3)
        curvature = 2.0 * math.sin(error) / aim_distance
        v = math.sqrt(2.0 * 0.6 * config.max_acceleration * max(0.0, remaining - 0.5 * near))
        v = min(config.max_speed, max(config.approach_speed, v))
        if abs(curvature) > 1e-6:
            v = min(v, 0.8 * config.max_turn_rate / abs(curvature))
        v *= max(0.3, math.cos(error)) if abs(error) > 0.2 else 1.0
        w = min(config.max_turn_rate, max(-config.max_turn_rate, v * curvature))
        return Steering(
            -v if self._is_backwards else v, w, remaining, distance, False, False, error
        )


def turn_rate(error: float, config: FollowerConfig) -> float:
    """Return the turn rate that closes a heading error (rad) without overshoot, rad/s."""
    size = abs(error)
    rate = min(
        config.max_turn_rate,
        config.turn_gain * size,
        math.sqrt(2.0 * 0.5 * config.max_turn_acceleration * size),
    )
    return math.copysign(rate, error)
