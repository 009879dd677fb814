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
STEP = 0.5  # between waypoints of a reference path, metres
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
        """Mark cells whose centre lies in a rectangle; blocked ones also where they touch it."""
        grow = 0.5 if blocked else 0.0
        c0, r0 = np.floor((np.array([x0, y0]) - self.origin) / CELL + 0.5 - grow).astype(int)
        c1, r1 = np.ceil((np.array([x1, y1]) - self.origin) / CELL - 0.5 + grow).astype(int)
        self.blocked[max(r0, 0) : max(r1, 0), max(c0, 0) : max(c1, 0)] = blocked

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
    return csr_matrix(
        (np.tile(d, 2), (np.concatenate([i, j]), np.concatenate([j, i]))), (size, size)
    )


def resampled(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thin a chain of cells to one point every STEP metres; ends are kept."""
    if len(points) < 2:
        return points
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    count = max(2, int(round(travelled[-1] / STEP)) + 1)
    wanted = np.linspace(0.0, travelled[-1], count)
    indices = np.abs(travelled[None, :] - wanted[:, None]).argmin(1)
    return np.round(points[np.unique(indices)], 4)


def walk_over(
    clearance: NDArray[np.float64], origin: NDArray[np.float64],
    start: tuple[float, float], goal: tuple[float, float], body: float,
) -> tuple[NDArray[np.float64], float]:  # fmt: skip
    """Find the best way between two points of a clearance map with cells of CELL metres.

    Args:
        clearance: (rows, columns) metres to the nearest obstacle.
        origin: World (x, y) of the centre of cell (0, 0), metres.
        start: World (x, y), metres.
        goal: World (x, y), metres.
        body: Clearance that the robot's centre needs, metres.

    Returns:
        (N, 2) waypoints about every 0.5 m, and the length of the shortest walk; inf without one.
    """
    free = clearance > body
    ends = [
        tuple(np.round((np.array(p)[::-1] - origin[::-1]) / CELL).astype(int))
        for p in (start, goal)
    ]
    factor = np.where(free, 1.0 + 2.5 * np.maximum(0.0, 0.6 - clearance), np.inf)
    best, parent = distances_from(factor, ends[1])
    if not np.isfinite(best[ends[0]]):
        return np.empty((0, 2)), float('inf')
    length = distances_from(np.where(free, 1.0, np.inf), ends[1])[0][ends[0]]
    columns = clearance.shape[1]
    index = int(ends[0][0]) * columns + int(ends[0][1])
    cells = [index]
    while parent.flat[index] >= 0:
        index = int(parent.flat[index])
        cells.append(index)
    rows_columns = np.stack(np.divmod(np.array(cells), columns), 1)
    return resampled(origin + rows_columns[:, ::-1] * CELL), float(length)
