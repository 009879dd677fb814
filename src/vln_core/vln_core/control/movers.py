# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps away from what moves: speed and separation monitoring (ISO 13855, ISO/TS 15066).

Evidence of motion is floor that was known free and is occupied now, in at least two pictures.
Nothing is believed about where a person will go: whoever was seen moving may turn at once and walk
straight at the robot, also after leaving the view, until the memory of it ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError


@dataclass(frozen=True)
class MoverConfig:
    """How motion is recognised, and what is kept from it.

    Attributes:
        walking_speed: Of a person who walks at the robot, m/s; 1.6 is that of ISO 13855.
        reaction: From the motion to the wheels: two pictures and the base, s.
        separation: Kept between the bodies once the robot stands, metres.
        memory: How long something that left the view may come back at any place, s.
        window: Pictures of this long are looked at together, s.
        min_cells: Newly occupied cells in the window that make a mover.
        reach: ... within this distance of each other, metres.
        max_range: Motion farther than this from the robot does not matter, metres.
    """

    walking_speed: float = 1.6
    reaction: float = 0.25
    separation: float = 0.10
    memory: float = 4.0
    window: float = 0.45
    min_cells: int = 4
    reach: float = 0.35
    max_range: float = 4.0

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value <= 0.0:
                raise ConfigError(f'movers.{name} = {value} must be a positive number')


class MoverWatch:
    """Where something was seen moving lately, and how fast the robot may go beside it."""

    def __init__(self, config: MoverConfig, deceleration: float) -> None:
        """Take the limits; ``deceleration`` is what the base brakes with, m/s^2."""
        self.config, self._deceleration = config, deceleration
        self.forget()

    def forget(self) -> None:
        """Nothing moves."""
        self._fresh = np.empty((0, 3))
        self._marks = np.empty((0, 3))

    @property
    def marks_xyt(self) -> NDArray[np.float64]:
        """(K, 3) where and when something moved: x, y, metres, odometry frame, and s."""
        return self._marks

    def observe(
        self, fresh_xy: NDArray[np.float64], now: float, robot_xy: tuple[float, float]
    ) -> NDArray[np.float64]:
        """Take what one picture showed.

        Args:
            fresh_xy: (K, 2) centres of cells that were free and are occupied now, metres.
            now: Stamp of the picture, s.
            robot_xy: The robot, metres.

        Returns:
            (M, 2) those that are part of something that moves.
        """
        config = self.config
        self._marks = self._marks[self._marks[:, 2] > now - config.memory]
        self._fresh = self._fresh[self._fresh[:, 2] > now - config.window]
        fresh = np.asarray(fresh_xy, dtype=np.float64).reshape(-1, 2)
        fresh = fresh[np.hypot(*(fresh - robot_xy).T) <= config.max_range]
        if len(fresh) == 0:
            return fresh
        new = np.column_stack([fresh, np.full(len(fresh), now)])
        self._fresh = np.vstack([self._fresh, new])[-400:]
        near = np.linalg.norm(fresh[:, None] - self._fresh[None, :, :2], axis=2) <= config.reach
        is_older = self._fresh[:, 2] < now
        # A thing that is seen late for the first time comes all at once, what moves in waves.
        moves = (near.sum(axis=1) >= config.min_cells) & (near & is_older).any(axis=1)
        self._marks = np.vstack([self._marks, new[moves]])[-600:]
        return fresh[moves]

    def gap(self, now: float, robot_xy: tuple[float, float], radius: float) -> float:
        """Return the least distance that may be between the robot and what moves.

        Args:
            now: s.
            robot_xy: The robot, metres.
            radius: Of its body, metres.

        Returns:
            Metres, negative for a contact that cannot be ruled out; inf when nothing moves.
        """
        if len(self._marks) == 0:
            return math.inf
        away = np.hypot(self._marks[:, 0] - robot_xy[0], self._marks[:, 1] - robot_xy[1])
        walked = self.config.walking_speed * np.maximum(0.0, now - self._marks[:, 2])
        alive = now - self._marks[:, 2] <= self.config.memory
        return float(np.min((away - walked)[alive], initial=math.inf)) - radius

    def speed_limit(self, now: float, robot_xy: tuple[float, float], radius: float) -> float:
        """Return the speed from which the robot stands before anybody can touch it, m/s.

        The protective separation distance of ISO/TS 15066: with speed v, deceleration a, latency
        t and a person's speed s the gap must be s (t + v/a) + v t + v^2/2a + separation.
        """
        gap = self.gap(now, robot_xy, radius)
        if gap == math.inf:
            return math.inf
        config, a = self.config, self._deceleration
        spare = gap - config.separation - config.walking_speed * config.reaction
        if spare <= 0.0:
            return 0.0
        b = config.walking_speed / a + config.reaction
        return a * (math.sqrt(b * b + 2.0 * spare / a) - b)
