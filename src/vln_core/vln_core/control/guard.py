# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Speed at which the body can still stop before what the grid shows, along the commanded arc."""

from __future__ import annotations

import math

import cv2
import numba
import numpy as np
from numpy.typing import NDArray

from vln_core.control.footprint import Footprint
from vln_core.control.planning_kernels import clearance_at
from vln_core.control.traversability import OCCUPIED, TraversabilityGrid


@numba.njit(cache=True, nogil=True)
def _free_way(
    distance: NDArray[np.float64],
    x: float,
    y: float,
    yaw: float,
    curvature: float,
    sign: float,
    reach: float,
    step: float,
    cell: float,
    radius: float,
) -> float:
    """Return how far the body's centre may move on the arc, metres, at most ``reach``."""
    own = clearance_at(distance, x, y) * 1.0
    way = 0.0
    last = own
    while way < reach:
        way += step
        heading = yaw + 0.5 * sign * curvature * way
        if abs(curvature) > 1e-6:
            chord = 2.0 * np.sin(0.5 * curvature * way) / curvature
        else:
            chord = way
        px = x + sign * chord * np.cos(heading) / cell
        py = y + sign * chord * np.sin(heading) / cell
        rows, columns = distance.shape
        if px < 0.0 or py < 0.0 or px > columns - 1 or py > rows - 1:
            return way - step
        here = clearance_at(distance, px, py)
        # Where the body is already closer than that it may only move away.
        if here < radius and here < last - 1e-4:
            return way - step
        last = here
    return reach


@numba.njit(cache=True, nogil=True)
def _free_rim(
    distance: NDArray[np.float64],
    rim: NDArray[np.float64],
    x: float,
    y: float,
    yaw: float,
    curvature: float,
    sign: float,
    is_turn: bool,
    reach: float,
    step: float,
    cell: float,
    needed: float,
) -> float:
    """Return how far an outline may move on the arc, metres, or turn in place, rad."""
    free = reach
    for k in range(len(rim)):
        last = np.inf
        way = 0.0
        while way <= free:
            turned, px, py = sign * way, x, y
            if not is_turn:
                turned = sign * curvature * way
                chord = way
                if abs(curvature) > 1e-6:
                    chord = 2.0 * np.sin(0.5 * curvature * way) / curvature
                px += sign * chord * np.cos(yaw + 0.5 * turned) / cell
                py += sign * chord * np.sin(yaw + 0.5 * turned) / cell
            c, s = np.cos(yaw + turned), np.sin(yaw + turned)
            here = clearance_at(
                distance,
                px + (c * rim[k, 0] - s * rim[k, 1]) / cell,
                py + (s * rim[k, 0] + c * rim[k, 1]) / cell,
            )
            # What is as near already may only be left.
            if here < needed and here < last - 1e-4 and way > 0.0:
                free = min(free, way - step)
                break
            last = here
            way += step
    return free


class Guard:
    """Distance to obstacles of one version of the grid, asked every control period."""

    margin = 0.01

    def __init__(self, body: Footprint, deceleration: float, latency: float) -> None:
        """Take the outline of the body, its braking, m/s^2, and the delay of it, s."""
        self._body, self._rim = body, np.ascontiguousarray(body.rim())
        self._deceleration, self._latency = deceleration, latency
        self._version = -1
        self._distance: NDArray[np.float64] = np.zeros((1, 1))

    def distance(self, grid: TraversabilityGrid) -> NDArray[np.float64]:
        """Return (N, N) metres from cell centres to the edge of the nearest obstacle cell."""
        if self._version != grid.version:
            open_cells = (grid.state < OCCUPIED).view(np.uint8)
            if open_cells.all():
                pixels = np.full(open_cells.shape, 1e3)
            else:
                pixels = cv2.distanceTransform(open_cells, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
            self._distance = np.maximum(0.0, (pixels - 0.5) * grid.config.cell).astype(np.float64)
            self._version = grid.version
        return self._distance

    def speed_limit(
        self, grid: TraversabilityGrid, pose: tuple[float, float, float], v: float, w: float
    ) -> float:
        """Return the largest speed along the arc of (v, w) that can still be stopped in time.

        Args:
            grid: Where obstacles are.
            pose: x, y, yaw in the odometry frame.
            v: Wanted speed, m/s; negative is backwards.
            w: Wanted turn rate, rad/s.

        Returns:
            Limit of abs(v), m/s.
        """
        if abs(v) < 1e-6:
            return math.inf
        cell = grid.config.cell
        x = (pose[0] - grid.origin[0]) / cell - 0.5
        y = (pose[1] - grid.origin[1]) / cell - 0.5
        reach = v * v / (2.0 * self._deceleration) + abs(v) * self._latency + 0.05
        sign = math.copysign(1.0, v)
        if self._body.is_round:
            way = _free_way(
                self.distance(grid), x, y, pose[2], w / v, sign, reach, 0.025, cell,
                self._body.outer + self.margin,
            )  # fmt: skip
        else:
            way = _free_rim(
                self.distance(grid), self._rim, x, y, pose[2], w / v, sign, False, reach, 0.025,
                cell, 2.0 * self.margin,
            )  # fmt: skip
        if way >= reach:
            return math.inf
        # way = v t + v^2 / 2a, solved for v.
        a, t = self._deceleration, self._latency
        return max(0.0, a * (math.sqrt(t * t + 2.0 * max(0.0, way - 0.025) / a) - t))

    def turn_limit(
        self,
        grid: TraversabilityGrid,
        pose: tuple[float, float, float],
        w: float,
        deceleration: float,
    ) -> float:
        """Return the largest turn rate in place that can still be stopped in time.

        Args:
            grid: Where obstacles are.
            pose: x, y, yaw in the odometry frame.
            w: Wanted turn rate, rad/s.
            deceleration: Of the turn, rad/s^2.

        Returns:
            Limit of abs(w), rad/s; inf for a circle.
        """
        if self._body.is_round or abs(w) < 1e-6:
            return math.inf
        cell = grid.config.cell
        x = (pose[0] - grid.origin[0]) / cell - 0.5
        y = (pose[1] - grid.origin[1]) / cell - 0.5
        reach = w * w / (2.0 * deceleration) + abs(w) * self._latency + 0.06
        way = _free_rim(
            self.distance(grid), self._rim, x, y, pose[2], 0.0, math.copysign(1.0, w), True,
            reach, 0.03, cell, 2.0 * self.margin,
        )  # fmt: skip
        if way >= reach:
            return math.inf
        a, t = deceleration, self._latency
        return max(0.0, a * (math.sqrt(t * t + 2.0 * max(0.0, way - 0.03) / a) - t))
