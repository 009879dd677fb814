# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps away from what moves: speed and separation monitoring (ISO 13855, ISO/TS 15066).

What has not stood at its place for half a second may be somebody who walks; it counts as long as
it is seen like that. If it is also seen to leave places, it is somebody, and remembered. Nothing
is believed about where a person will go: who was seen moving may turn at once and walk straight
at the robot, also out of its view. While it waits the robot looks at where it saw the person last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError
from vln_core.geometry.transforms import wrap_angle

# Well inside of what a camera sees, rad.
_FACING = 0.5


@dataclass(frozen=True)
class MoverConfig:
    """How motion is recognised, and what is kept from it.

    Attributes:
        walking_speed: Of a person who walks at the robot, m/s; 1.6 is that of ISO 13855.
        reaction: From the motion to the wheels: two pictures and the base, s.
        separation: Kept between the bodies once the robot stands, metres.
        memory: How long somebody who left the view may come back at any place, s.
        look: Where the robot looks and nothing has moved for so long, nobody is, s.
        min_cells: Cells that make a thing.
        reach: ... within this distance of each other, metres.
        max_range: Motion farther than this from the robot does not matter, metres.
        resume_speed: A robot that waits goes on once it may go so fast, m/s.
        glance: Turn to either side before it drives off, to see who comes, rad; 0: none.
    """

    walking_speed: float = 1.6
    reaction: float = 0.25
    separation: float = 0.10
    memory: float = 5.0
    look: float = 1.2
    min_cells: int = 4
    reach: float = 0.35
    max_range: float = 3.5
    resume_speed: float = 0.25
    glance: float = 0.0

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value < 0.0 or (value == 0.0 and name != 'glance'):
                raise ConfigError(f'movers.{name} = {value} must be a positive number')


class MoverWatch:
    """Where something was seen moving lately, and how fast the robot may go beside it."""

    def __init__(self, config: MoverConfig, deceleration: float) -> None:
        """Take the limits; ``deceleration`` is what the base brakes with, m/s^2."""
        self.config, self._deceleration = config, deceleration
        self.forget()

    def forget(self) -> None:
        """Nothing moves."""
        self._left = np.empty((0, 3))
        self._marks = np.empty((0, 3))
        self._present = np.empty((0, 3))

    def observe(
        self,
        unsettled_xy: NDArray[np.float64],
        left_xy: NDArray[np.float64],
        now: float,
        pose: tuple[float, float, float],
    ) -> NDArray[np.float64]:
        """Take what one picture showed.

        Args:
            unsettled_xy: (K, 2) centres of cells with what has not stood there long, metres.
            left_xy: (L, 2) centres of cells that something left just now, metres.
            now: Stamp of the picture, s.
            pose: Of the robot: x, y, yaw, metres and rad; it looks ahead.

        Returns:
            (M, 2) cells with something that moves for certain.
        """
        config = self.config
        self._marks = self._marks[self._marks[:, 2] > now - config.memory]
        self._left = np.vstack([self._left, _at(left_xy, now)])
        self._left = self._left[self._left[:, 2] > now - 0.5]
        near = unsettled_xy[np.hypot(*(unsettled_xy - pose[:2]).T) <= config.max_range]
        apart = np.linalg.norm(near[:, None] - near[None], axis=2)
        near = near[(apart <= config.reach).sum(axis=1) >= config.min_cells]
        self._present = _at(near, now)
        away = np.linalg.norm(near[:, None] - self._left[None, :, :2], axis=2)
        moving = near[(away <= 2.0 * config.reach).sum(axis=1) >= config.min_cells]
        self._marks = np.vstack([self._marks, _at(moving, now)])[-600:]
        self._drop_seen(now, pose)
        return moving

    def _drop_seen(self, now: float, pose: tuple[float, float, float]) -> None:
        """Forget who is not there any more where the robot looks."""
        if len(self._marks) and now - self._marks[-1, 2] > self.config.look:
            if abs(self.bearing(pose) or 0.0) < _FACING:
                self._marks = self._marks[:0]

    def bearing(self, pose: tuple[float, float, float]) -> float | None:
        """Return where somebody was seen last, rad from ahead; None: nobody is remembered."""
        if len(self._marks) == 0:
            return None
        newest = self._marks[self._marks[:, 2] == self._marks[-1, 2], :2].mean(axis=0)
        return wrap_angle(math.atan2(newest[1] - pose[1], newest[0] - pose[0]) - pose[2])

    def gap(self, now: float, robot_xy: tuple[float, float], radius: float) -> float:
        """Return the least distance that may be between the robot and what moves.

        Args:
            now: s.
            robot_xy: The robot, metres.
            radius: Of its body, metres.

        Returns:
            Metres, negative for a contact that cannot be ruled out; inf when nothing moves.
        """
        present = self._present[now - self._present[:, 2] < 0.25]
        marks = self._marks[now - self._marks[:, 2] <= self.config.memory]
        points = np.vstack([present, marks])
        away = np.hypot(points[:, 0] - robot_xy[0], points[:, 1] - robot_xy[1])
        walked = self.config.walking_speed * np.maximum(0.0, now - points[:, 2])
        return float(np.min(away - walked, initial=math.inf)) - radius

    def speed_limit(self, now: float, robot_xy: tuple[float, float], radius: float) -> float:
        """Return the speed from which the robot stands before anybody can touch it, m/s.

        The protective separation distance of ISO/TS 15066: with speed v, deceleration a, reaction
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


def _at(points_xy: NDArray[np.float64], now: float) -> NDArray[np.float64]:
    return np.column_stack([points_xy, np.full(len(points_xy), now)])
