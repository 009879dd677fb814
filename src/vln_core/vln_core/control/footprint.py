# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Outline of the body on the floor: a circle about base_link, or a polygon."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError

_SPACING = 0.03


class Footprint:
    """The body as seen from above, base_link at the origin, x forward, y left.

    Attributes:
        corners: (K, 2) of the polygon, counter-clockwise, metres; (0, 2) for a circle.
        inner: Radius of the largest circle about base_link inside of the body, metres.
        outer: Radius of the circle about base_link that holds the body, metres.
        front: How far it reaches ahead of base_link, metres.
        half_width: How far it reaches to the wider side, metres.
    """

    def __init__(self, radius: float, polygon: Sequence[float] = ()) -> None:
        """Take a radius, metres, or a polygon x1, y1, x2, y2, ..., which then counts alone.

        Raises:
            ConfigError: The polygon has less than three corners, a corner is not finite, or
                base_link is not inside.
        """
        if len(polygon) == 0:
            self.corners = np.empty((0, 2))
            self.inner = self.outer = self.front = self.half_width = radius
            return
        if len(polygon) < 6 or len(polygon) % 2 or not all(map(math.isfinite, polygon)):
            raise ConfigError(
                'footprint: give at least three corners as x1, y1, x2, y2, ... in metres'
            )
        corners = np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
        following = np.roll(corners, -1, axis=0)
        area = np.sum(corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1])
        self.corners = corners if area > 0.0 else corners[::-1].copy()
        self.inner = -outside(self.corners, 0.0, 0.0)
        if self.inner <= 0.0:
            raise ConfigError('footprint: base_link (0, 0) must lie inside of the polygon')
        self.outer = float(np.hypot(*corners.T).max())
        self.front = float(corners[:, 0].max())
        self.half_width = float(np.abs(corners[:, 1]).max())

    @property
    def is_round(self) -> bool:
        """Whether the body is a circle."""
        return len(self.corners) == 0

    def rim(self) -> NDArray[np.float64]:
        """Return (M, 2) points on the outline, at most 3 cm apart; the centre of a circle."""
        if self.is_round:
            return np.zeros((1, 2))
        parts = []
        for a, b in zip(self.corners, np.roll(self.corners, -1, axis=0)):
            count = max(1, int(math.ceil(math.dist(a, b) / _SPACING)))
            parts.append(a + (b - a) * (np.arange(count) / count)[:, None])
        return np.concatenate(parts)

    def placed(self, path_xyyaw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (N, M, 2) points of the rim at (N, 3) poses x, y, yaw."""
        poses = np.asarray(path_xyyaw, dtype=np.float64).reshape(-1, 3)
        c, s = np.cos(poses[:, 2, None]), np.sin(poses[:, 2, None])
        x, y = self.rim().T
        return np.stack(
            [poses[:, 0, None] + c * x - s * y, poses[:, 1, None] + s * x + c * y], axis=-1
        )


@numba.njit(cache=True, nogil=True)
def outside(corners: NDArray[np.float64], x: float, y: float) -> float:
    """Return the distance of a point from a polygon, metres; negative inside."""
    nearest = np.inf
    is_inside = False
    count = len(corners)
    for k in range(count):
        ax, ay = corners[k, 0], corners[k, 1]
        bx, by = corners[(k + 1) % count, 0], corners[(k + 1) % count, 1]
        dx, dy = bx - ax, by - ay
        length = dx * dx + dy * dy
        t = 0.0 if length == 0.0 else min(1.0, max(0.0, ((x - ax) * dx + (y - ay) * dy) / length))
        nearest = min(nearest, np.hypot(x - ax - t * dx, y - ay - t * dy))
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            is_inside = not is_inside
    return -nearest if is_inside else nearest


@numba.njit(cache=True, nogil=True)
def free_sweep(
    corners: NDArray[np.float64],
    obstacles: NDArray[np.float64],
    curvature: float,
    sign: float,
    is_turn: bool,
    reach: float,
    step: float,
    margin: float,
) -> float:
    """Return how far a polygon may move before it touches one of some points.

    Args:
        corners: (K, 2) of the polygon in base_link, metres.
        obstacles: (N, 2) points of base_link, metres.
        curvature: Of the arc, signed for forward motion, 1/m; unused for a turn in place.
        sign: 1 forward or counter-clockwise, -1 backward or clockwise.
        is_turn: A turn in place.
        reach: Farthest way of interest, metres, or rad of a turn.
        step: Between two looks, metres or rad.
        margin: Distance that counts as touching, metres.

    Returns:
        Metres or rad before the first touch, at most ``reach``; inf where nothing is touched. What
        is touched already counts only if the motion goes into it.
    """
    first = np.inf
    for k in range(len(obstacles)):
        ox, oy = obstacles[k, 0], obstacles[k, 1]
        last = outside(corners, ox, oy)
        way = 0.0
        while way < min(reach, first):
            way += step
            if is_turn:
                yaw, px, py = sign * way, 0.0, 0.0
            else:
                yaw = sign * curvature * way
                chord = way
                if abs(curvature) > 1e-6:
                    chord = 2.0 * np.sin(0.5 * curvature * way) / curvature
                px, py = sign * chord * np.cos(0.5 * yaw), sign * chord * np.sin(0.5 * yaw)
            dx, dy = ox - px, oy - py
            c, s = np.cos(yaw), np.sin(yaw)
            here = outside(corners, c * dx + s * dy, -s * dx + c * dy)
            if here < margin and here < last - 1e-9:
                first = min(first, way - step)
                break
            last = here
    return first
