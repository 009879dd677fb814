# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where a disc-shaped robot can stand and walk: a raster of the plan with shortest paths."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

CELL = 0.05
BODY_HEIGHT = (0.05, 1.3)  # things between these heights stand in the robot's way, metres
_NEIGHBOURS = [(dr, dc, float(np.hypot(dr, dc)))
               for dr in (-1, 0, 1) for dc in (-1, 0, 1) if dr or dc]  # fmt: skip


class Raster:
    """Occupancy of a rectangle of floor.

    Attributes:
        origin: World (x, y) of the lower corner of cell (0, 0), metres.
        blocked: (rows along y, columns along x) bool.
    """

    def __init__(self, low: tuple[float, float], high: tuple[float, float]) -> None:
        """Start with everything blocked between two corners, metres."""
        self.origin = np.array(low, float)
        size = np.ceil((np.array(high, float) - self.origin) / CELL).astype(int)
        self.blocked = np.ones((int(size[1]), int(size[0])), bool)

    def copy(self) -> Raster:
        """Return an independent copy."""
        other = object.__new__(Raster)
        other.origin, other.blocked = self.origin, self.blocked.copy()
        return other

    def fill(self, x0: float, y0: float, x1: float, y1: float, blocked: bool) -> None:
        """Mark every cell whose centre lies in a rectangle; a blocked one also where it touches."""
        grow = 0.5 if blocked else 0.0
        c0, r0 = np.floor((np.array([x0, y0]) - self.origin) / CELL + 0.5 - grow).astype(int)
        c1, r1 = np.ceil((np.array([x1, y1]) - self.origin) / CELL - 0.5 + grow).astype(int)
        self.blocked[max(r0, 0):max(r1, 0), max(c0, 0):max(c1, 0)] = blocked

    def clearance(self) -> NDArray[np.float64]:
        """Return (rows, columns) metres from each cell's centre to the nearest blocked cell."""
        padded = np.pad(self.blocked, 1, constant_values=True)
        return ndimage.distance_transform_edt(~padded)[1:-1, 1:-1] * CELL - CELL / 2

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return (row, column) of a point, clipped into the raster."""
        column, row = np.floor((np.array([x, y]) - self.origin) / CELL + 1e-9).astype(int)
        rows, columns = self.blocked.shape
        return min(max(int(row), 0), rows - 1), min(max(int(column), 0), columns - 1)

    def point(self, row: int, column: int) -> tuple[float, float]:
        """Return the centre of a cell, metres."""
        return (float(self.origin[0] + (column + 0.5) * CELL),
                float(self.origin[1] + (row + 0.5) * CELL))  # fmt: skip


def footprint_distance(raster: Raster, lo, hi) -> NDArray[np.float64]:
    """Return (rows, columns) metres from each cell's centre to a rectangle on the floor."""
    rows, columns = raster.blocked.shape
    x = raster.origin[0] + (np.arange(columns) + 0.5) * CELL
    y = raster.origin[1] + (np.arange(rows) + 0.5) * CELL
    dx = np.maximum(np.maximum(lo[0] - x, x - hi[0]), 0.0)
    dy = np.maximum(np.maximum(lo[1] - y, y - hi[1]), 0.0)
    return np.hypot(dy[:, None], dx[None, :])


def distances_from(
    cost: NDArray[np.float64], start: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Walk outwards from a cell (Dijkstra, 8 neighbours).

    Args:
        cost: (rows, columns) factor on the length of a step; inf where nobody can stand.
        start: (row, column).

    Returns:
        (rows, columns) cost in metres, inf where unreachable; and the flat index each cell was
        reached from, -1 for none.
    """
    rows, columns = cost.shape
    best = np.full(rows * columns, np.inf).tolist()
    parent = np.full(rows * columns, -1).tolist()
    flat = cost.ravel().tolist()
    first = start[0] * columns + start[1]
    best[first] = 0.0
    queue = [(0.0, first)]
    while queue:
        so_far, index = heapq.heappop(queue)
        if so_far > best[index]:
            continue
        row, column = divmod(index, columns)
        for dr, dc, length in _NEIGHBOURS:
            r, c = row + dr, column + dc
            if not (0 <= r < rows and 0 <= c < columns):
                continue
            other = r * columns + c
            value = so_far + length * CELL * (flat[index] + flat[other]) / 2
            if value < best[other]:
                best[other], parent[other] = value, index
                heapq.heappush(queue, (value, other))
    return np.array(best).reshape(rows, columns), np.array(parent).reshape(rows, columns)
