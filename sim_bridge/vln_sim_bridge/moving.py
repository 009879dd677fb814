# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Somebody who walks up and down through the scene: a cylinder on a line of points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vln_core.errors import ConfigError


@dataclass(frozen=True)
class MovingObstacle:
    """A cylinder that walks along ``points`` and back again for ever, or once and stays.

    Attributes:
        points: World (x, y) of the corners of its way, metres.
        speed: m/s.
        radius: m.
        height: m.
        stays: At the end of its way, instead of going back.
    """

    points: tuple[tuple[float, float], ...]
    speed: float
    radius: float
    height: float = 1.7
    stays: bool = False

    def __post_init__(self) -> None:
        numbers = [self.speed, self.radius, self.height, *(c for p in self.points for c in p)]
        if not all(map(math.isfinite, numbers)) or min(numbers[:3]) <= 0.0:
            raise ConfigError('moving obstacle: speed, radius and height must be positive')
        if len(self.points) < 2 or self.length == 0.0:
            raise ConfigError('moving obstacle: its way needs two different points')

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> MovingObstacle:
        """Return the obstacle written as speed, radius, x1, y1, x2, y2, ...

        Raises:
            ConfigError: There are too few numbers, or one is out of range.
        """
        if len(numbers) < 6 or len(numbers) % 2:
            raise ConfigError('moving obstacle: give speed, radius, x1, y1, x2, y2, ...')
        xy = numbers[2:]
        return cls(tuple(zip(xy[::2], xy[1::2])), numbers[0], numbers[1])

    @property
    def length(self) -> float:
        """Length of the way, metres."""
        return sum(math.dist(a, b) for a, b in zip(self.points, self.points[1:]))

    def position(self, time: float) -> tuple[float, float]:
        """Return its world (x, y) after ``time`` seconds, metres."""
        gone = self.speed * time
        if self.stays:
            gone = min(gone, self.length)
        else:
            gone = math.fmod(gone, 2.0 * self.length)
            gone = min(gone, 2.0 * self.length - gone)
        for a, b in zip(self.points, self.points[1:]):
            side = math.dist(a, b)
            if gone <= side and side > 0.0:
                part = gone / side
                return a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])
            gone -= side
        return self.points[-1]
