# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where a disc-shaped robot can stand and walk: a raster of the plan with shortest paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

CELL = 0.05
BODY_HEIGHT = (0.05, 1.3)  # things between these heights stand in the robot's way, metres


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
    """Walk outwards from a cell (Dijkstra, 8 neighbours, no corner is cut).

    Args:
        cost: (rows, columns) factor on the length of a step; inf where nobody can stand.
        start: (row, column).

    Returns:
        (rows, columns) cost in metres, inf where unreachable; and the flat index each cell was
        reached from, negative for none.
    """
    best, parent = dijkstra(
        walking_graph(cost), indices=start[0] * cost.shape[1] + start[1], return_predecessors=True
    )
    return best.reshape(cost.shape), parent.reshape(cost.shape)


def walking_graph(cost: NDArray[np.float64]) -> csr_matrix:
    """Return the graph of steps between neighbouring cells whose cost is finite, in metres."""
    rows, columns = cost.shape
    index = np.arange(rows * columns).reshape(rows, columns)
    sources, targets, lengths = [], [], []
    for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
        here = (slice(0, rows - dr), slice(max(0, -dc), columns - max(0, dc)))
        there = (slice(dr, rows), slice(max(0, dc), columns + min(0, dc)))
        step = np.hypot(dr, dc) * CELL * (cost[here] + cost[there]) / 2
        ok = np.isfinite(step)
        if dr and dc:
            ok &= np.isfinite(cost[here[0], there[1]]) & np.isfinite(cost[there[0], here[1]])
        sources.append(index[here][ok])
        targets.append(index[there][ok])
        lengths.append(step[ok])
    i, j, d = (np.concatenate(v) for v in (sources, targets, lengths))
    size = rows * columns
    return csr_matrix((np.tile(d, 2), (np.concatenate([i, j]), np.concatenate([j, i]))), (size, size))
