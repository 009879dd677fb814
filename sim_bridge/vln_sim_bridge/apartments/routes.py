# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Shortest walks through an apartment, and what a walk looks like to the one who walks it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vln_sim_bridge.apartments.raster import distances_from, footprint_distance

STEP = 0.5  # between waypoints of a reference path, metres


class Walker:
    """Finds ways over the free cells of an apartment."""

    def __init__(self, apartment) -> None:
        """Prepare the cost of every cell: walls are kept at a distance where there is room."""
        self.apartment = apartment
        self.raster = apartment.raster
        clearance = self.raster.clearance()
        self.clearance = clearance
        factor = 1.0 + 2.0 * np.maximum(0.0, 0.6 - clearance)
        self.cost = np.where(apartment.free, factor, np.inf)
        self.length = np.where(apartment.free, 1.0, np.inf)
        self._from: dict[tuple[int, int], tuple] = {}

    def _walks(self, cell: tuple[int, int]):
        if cell not in self._from:
            self._from[cell] = (*distances_from(self.cost, cell), distances_from(self.length, cell)[0])
        return self._from[cell]

    def path(self, start, goal) -> tuple[NDArray[np.float64], float]:
        """Return (N, 2) waypoints about every 0.5 m and the length of the shortest walk, metres."""
        end = self.raster.cell(*goal)
        _, parent, length = self._walks(end)
        columns = parent.shape[1]
        cell = self.raster.cell(*start)
        index = cell[0] * columns + cell[1]
        cells = [index]
        flat = parent.ravel()
        while flat[index] >= 0:
            index = int(flat[index])
            cells.append(index)
        points = np.array([self.raster.point(*divmod(c, columns)) for c in cells])
        return _resampled(points), float(length[cell])

    def stand_near(self, item) -> tuple[float, float]:
        """Return a free place to stand next to a piece, before its front where there is one."""
        distance = footprint_distance(self.raster, *item.bounds[:, :2])
        rows, columns = np.nonzero(self.apartment.free & (distance < 1.25))
        points = self.raster.origin + (np.stack([columns, rows], 1) + 0.5) * 0.05
        offset = points - item.bounds.mean(0)[:2]
        side = offset @ np.array(item.front) / np.maximum(np.linalg.norm(offset, axis=1), 1e-6)
        own = np.array([_room_id(self.apartment.plan, p) == item.room for p in points])
        score = np.abs(distance[rows, columns] - 0.6) - 0.3 * side + np.where(own, 0.0, 5.0)
        best = int(score.argmin())
        return float(points[best, 0]), float(points[best, 1])

    def spot_in(self, room, rng: np.random.Generator) -> tuple[float, float]:
        """Return a roomy free place in a room."""
        rows, columns = np.nonzero(self.apartment.free)
        points = self.raster.origin + (np.stack([columns, rows], 1) + 0.5) * 0.05
        inside = np.array([_room_id(self.apartment.plan, p) == room.id for p in points])
        room_y = self.clearance[rows, columns] * inside
        best = np.nonzero(room_y >= min(0.55, 0.9 * room_y.max()))[0]
        pick = int(best[int(rng.integers(len(best)))])
        return float(points[pick, 0]), float(points[pick, 1])


def _room_id(plan, point) -> int | None:
    room = plan.room_at(float(point[0]), float(point[1]))
    return None if room is None else room.id


def _resampled(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thin a chain of cells to one point every STEP metres; ends are kept."""
    if len(points) < 2:
        return points
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    count = max(2, int(round(travelled[-1] / STEP)) + 1)
    wanted = np.linspace(0.0, travelled[-1], count)
    indices = np.abs(travelled[None, :] - wanted[:, None]).argmin(1)
    return np.round(points[np.unique(indices)], 4)
