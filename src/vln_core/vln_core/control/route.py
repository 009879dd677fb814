# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Long routes through the rolling window: legs to the farthest point that is known reachable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.control.body_fit import BodyFit
from vln_core.control.fast_marching import Plan, PlannerConfig, SearchSpace, plan, resample
from vln_core.control.traversability import UNKNOWN, TraversabilityGrid
from vln_core.outcome import MotionCode


@dataclass(frozen=True, eq=False)
class Leg:
    """Plan to a point of the route.

    Attributes:
        plan: Path or refusal.
        is_final: The point is the end of the route.
    """

    plan: Plan
    is_final: bool


class Route:
    """Points to drive along and how far the robot has come on them."""

    spacing = 0.1
    horizon = 4.0
    border = 0.6

    def __init__(self, points_xy: NDArray[np.float64], start_xy: tuple[float, float]) -> None:
        """Take (N, 2) points, metres, N >= 1; the way to the first one is part of the route."""
        points = np.asarray(points_xy, dtype=np.float64).reshape(-1, 2)
        if math.dist(start_xy, points[0]) > self.spacing or len(points) == 1:
            points = np.vstack([[start_xy], points])
        self.points_xy = resample(points, self.spacing)
        step = np.linalg.norm(np.diff(self.points_xy, axis=0), axis=1)
        self._along = np.concatenate([[0.0], np.cumsum(step)])
        self._index = 0

    @property
    def length(self) -> float:
        """Length of the whole route, metres."""
        return float(self._along[-1])

    @property
    def remaining(self) -> float:
        """Length of the part ahead, metres."""
        return float(self._along[-1] - self._along[self._index])

    def advance(self, here: tuple[float, float]) -> None:
        """Move the progress to the nearest point of the next stretch; never backwards."""
        last = int(np.searchsorted(self._along, self._along[self._index] + 2.0))
        stretch = self.points_xy[self._index : last + 1]
        apart = np.linalg.norm(stretch - np.asarray(here), axis=1)
        self._index += int(np.argmin(apart))

    def leg(
        self,
        grid: TraversabilityGrid,
        here: tuple[float, float],
        config: PlannerConfig,
        tolerate_unknown: bool,
        fits: Callable[[NDArray[np.bool_] | None], BodyFit] | None = None,
    ) -> Leg:
        """Plan to the farthest point of the route that can be reached in the window.

        Args:
            grid: Where the robot may drive.
            here: Robot, metres.
            config: Clearances.
            tolerate_unknown: Floor beside the route that is not known counts as free.
            fits: Makes the outline of a body from the tolerated cells; None: a circle.
        """
        self.advance(here)
        tolerated = self._tolerated(grid, here) if tolerate_unknown else None
        space = SearchSpace(grid, here, config, tolerated)
        body = None if fits is None else fits(space.tolerated)
        last = len(self.points_xy) - 1
        end = int(np.searchsorted(self._along, self._along[self._index] + self.horizon))
        candidates = [*range(min(end, last), self._index, -4)]
        if last <= end and last not in candidates:
            candidates.insert(0, last)
        tries = 0
        refusal = Plan(
            MotionCode.NO_PATH, 'no part of the route ahead can be reached', np.empty((0, 2))
        )
        for index in candidates:
            point = (float(self.points_xy[index, 0]), float(self.points_xy[index, 1]))
            if not self._in_window(grid, point) or space.snap(point) is None:
                continue
            way = float(self._along[index] - self._along[self._index])
            found = plan(
                grid, here, point, config, max_length=2.0 * way + 1.5, space=space, fits=body
            )
            if found.is_ok:
                return Leg(found, index == last)
            refusal = found
            tries += 1
            if tries == 3:
                break
        if not candidates:  # at the end already
            point = (float(self.points_xy[last, 0]), float(self.points_xy[last, 1]))
            return Leg(
                plan(grid, here, point, config, max_length=3.0, space=space, fits=body), True
            )
        return Leg(refusal, False)

    def _in_window(self, grid: TraversabilityGrid, point: tuple[float, float]) -> bool:
        x0, y0 = grid.origin
        edge = grid.config.size - self.border
        return self.border <= point[0] - x0 <= edge and self.border <= point[1] - y0 <= edge

    def _tolerated(self, grid: TraversabilityGrid, here: tuple[float, float]) -> NDArray[np.bool_]:
        """Unknown cells beside the way ahead: it was driven, or seen open, before."""
        n = grid.config.num_cells
        mask = np.zeros((n, n), dtype=np.uint8)
        ahead = np.vstack([[here], self.points_xy[self._index :]])
        cells = grid.cells_rc(ahead)[:, ::-1].astype(np.int32)
        thickness = max(1, int(round(0.8 / grid.config.cell)))
        cv2.polylines(mask, [cells.reshape(-1, 1, 2)], False, 1, thickness)
        return (mask > 0) & (grid.state == UNKNOWN)
