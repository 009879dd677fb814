# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The way that was driven, thinned so that it never grows beyond a bound."""

from __future__ import annotations

import math


class Trail:
    """Points of the odometry frame, metres; a jump begins a new trail."""

    MAX_POINTS = 1000

    def __init__(self, step: float = 0.05, jump: float = 1.0) -> None:
        self._step = step
        self._first_step = step
        self._jump = jump
        self._points: list[list[float]] = []
        self.is_changed = False

    def add(self, x: float, y: float) -> None:
        """Take a position."""
        if self._points:
            moved = math.dist(self._points[-1], (x, y))
            if moved < self._step:
                return
            if moved > max(self._jump, 2.0 * self._step):
                self._points, self._step = [], self._first_step
        self._points.append([round(x, 2), round(y, 2)])
        if len(self._points) > self.MAX_POINTS:
            self._points = self._points[::2]
            self._step *= 2.0
        self.is_changed = True

    def take(self) -> list[list[float]]:
        """Return the points and note that they were shown."""
        self.is_changed = False
        return list(self._points)
