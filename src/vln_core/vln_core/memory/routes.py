# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Shortest ways over known-free cells from where the robot stands."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from vln_core.memory.space_map import SpaceMap

# Walls closer than this make a step dearer, so that ways keep to the middle of doors.
_COMFORT = 0.6
_SHYNESS = 2.0
_NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))


class Reach:
    """Every cell that the body can get to from one spot, with the way there.

    Attributes:
        clearance: (R, C) float32 distance to the nearest occupied cell, metres.
        length: (R, C) float32 length of the way, metres; inf where there is none.
    """

    def __init__(self, space: SpaceMap, start_xy: tuple[float, float], radius: float) -> None:
        self._space = space
        occupied, free = space.masks()
        self.clearance = (
            cv2.distanceTransform((~occupied).astype(np.uint8), cv2.DIST_L2, 5) * space.cell
        ).astype(np.float32)
        self.length = np.full(space.shape, np.inf, np.float32)
        self._previous = np.full(space.shape, -1, np.int64)
        # A robot squeezed between furniture still knows where it can go: try with less room.
        for room in (radius, 0.6 * radius):
            self.passable = free & (self.clearance >= room)
            start = self._start_cell(start_xy)
            if start is not None:
                self._search(start)
                if np.isfinite(self.length).sum() * space.cell**2 > 0.3:
                    break

    def _start_cell(self, start_xy: tuple[float, float]) -> tuple[int, int] | None:
        cells = np.argwhere(self.passable)
        if not len(cells):
            return None
        distance = np.hypot(*(self._space.points_of(cells) - np.asarray(start_xy)).T)
        near = np.flatnonzero(distance <= 0.6)
        for k in near[np.argsort(distance[near], kind='stable')][:40]:
            if self._space.lines_free(np.asarray(start_xy), self._space.points_of(cells[k]))[0]:
                return int(cells[k][0]), int(cells[k][1])
        return None

    def _search(self, start: tuple[int, int]) -> None:
        number, labels = cv2.connectedComponents(self.passable.astype(np.uint8), connectivity=8)
        del number
        region = (labels == labels[start]) & self.passable
        index = np.full(region.shape, -1, np.int64)
        cells = np.argwhere(region)
        index[region] = np.arange(len(cells))
        cost = 1.0 + _SHYNESS * np.maximum(0.0, (_COMFORT - self.clearance) / _COMFORT)
        heads, tails, weights = [], [], []
        for dr, dc in _NEIGHBOURS:
            a = index[: index.shape[0] - dr, max(0, -dc) : index.shape[1] - max(0, dc)]
            b = index[dr:, max(0, dc) : index.shape[1] + min(0, dc)]
            both = (a >= 0) & (b >= 0)
            ca = cost[: index.shape[0] - dr, max(0, -dc) : index.shape[1] - max(0, dc)][both]
            cb = cost[dr:, max(0, dc) : index.shape[1] + min(0, dc)][both]
            heads.append(a[both])
            tails.append(b[both])
            weights.append(0.5 * (ca + cb) * math.hypot(dr, dc))
        graph = coo_matrix(
            (np.concatenate(weights), (np.concatenate(heads), np.concatenate(tails))),
            shape=(len(cells), len(cells)),
        ).tocsr()
        source = int(index[start])
        _, previous = dijkstra(graph, directed=False, indices=source, return_predecessors=True)
        previous = previous.astype(np.int64)
        previous[source] = source
        lost = previous < 0
        previous[lost] = np.flatnonzero(lost)
        step = np.hypot(*(cells - cells[previous]).T) * self._space.cell
        # Pointer doubling sums the steps of every way at once.
        length, jump = step, previous.copy()
        for _ in range(int(math.ceil(math.log2(max(2, len(cells)))))):
            length = length + length[jump]
            jump = jump[jump]
        length[lost] = np.inf
        self.length[:] = np.inf
        self.length[region] = length
        self._previous[:] = -1
        self._previous[region] = cells[previous, 0] * region.shape[1] + cells[previous, 1]

    def sees(
        self, start_xy: NDArray[np.float64], ends_xy: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return (N,) bool: is the line from a point (2,) to each of (N, 2) free of obstacles."""
        return self._space.lines_free(start_xy, ends_xy)

    def lengths_to(self, points_xy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (N,) lengths of the ways to the cells nearest to (N, 2) points; inf: none."""
        points = np.asarray(points_xy, dtype=np.float64).reshape(-1, 2)
        result = np.full(len(points), np.inf)
        cells = self._space.cells_of(points)
        inside = self._space.inside(cells)
        result[inside] = self.length[cells[inside, 0], cells[inside, 1]]
        for k in np.flatnonzero(~np.isfinite(result)):
            cell = self.nearest(points[k], 0.5)
            if cell is not None:
                gap = float(np.hypot(*(self._space.points_of(np.array([cell]))[0] - points[k])))
                result[k] = float(self.length[cell]) + gap
        return result

    def nearest(self, point_xy: NDArray[np.float64], within: float) -> tuple[int, int] | None:
        """Return the reachable cell nearest to a point, or None if none is that near."""
        row, column = self._space.cells_of(np.asarray(point_xy)[None])[0]
        span = int(math.ceil(within / self._space.cell)) + 1
        top, left = max(0, int(row) - span), max(0, int(column) - span)
        patch = self.length[
            top : max(0, int(row) + span + 1), left : max(0, int(column) + span + 1)
        ]
        cells = np.argwhere(np.isfinite(patch))
        if not len(cells):
            return None
        cells += (top, left)
        gap = np.hypot(*(self._space.points_of(cells) - np.asarray(point_xy)).T)
        best = int(np.argmin(gap))
        return (int(cells[best][0]), int(cells[best][1])) if gap[best] <= within else None

    def way_to(self, cell: tuple[int, int], spacing: float = 0.8) -> NDArray[np.float64] | None:
        """Return (N, 2) points of the way to a cell, start first, simplified; None: no way."""
        if not np.isfinite(self.length[cell]):
            return None
        columns = self.length.shape[1]
        flat, chain = cell[0] * columns + cell[1], []
        while True:
            chain.append(flat)
            following = int(self._previous.flat[flat])
            if following in (flat, -1):
                break
            flat = following
        cells = np.array([(c // columns, c % columns) for c in reversed(chain)])
        points = self._space.points_of(cells)
        keep = [0]
        while keep[-1] < len(points) - 1:
            keep.append(self._farthest(points, keep[-1], spacing))
        return points[keep]

    def _farthest(self, points: NDArray[np.float64], start: int, spacing: float) -> int:
        limit = start + 1
        while limit < len(points) - 1 and np.hypot(*(points[limit] - points[start])) < spacing:
            limit += 1
        for end in range(limit, start + 1, -1):
            steps = max(
                2, int(np.hypot(*(points[end] - points[start])) / (0.5 * self._space.cell))
            )
            line = np.linspace(points[start], points[end], steps)
            cells = self._space.cells_of(line)
            if self.passable[cells[:, 0], cells[:, 1]].all():
                return end
        return start + 1
