# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled loops of the path planner: descent of the arrival time, shortcuts, smoothing.

Points are (column, row) in cells, fractions counted from the centre of cell (0, 0).
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def descend(time: NDArray[np.float64], start_row: int, start_column: int) -> NDArray[np.float64]:
    """Walk down the arrival time from cell to cell.

    Args:
        time: (R, C) float64 arrival time, +inf where it cannot be reached, 0 at the goal.
        start_row: Row of the first cell.
        start_column: Column of the first cell.

    Returns:
        (M, 2) float64 columns and rows, start first; ends where nothing is lower.
    """
    rows, columns = time.shape
    path = np.empty((rows * columns, 2))
    row, column = start_row, start_column
    count = 0
    while count < rows * columns:
        path[count, 0] = column
        path[count, 1] = row
        count += 1
        best = 0.0
        next_row, next_column = row, column
        for dr in range(-1, 2):
            for dc in range(-1, 2):
                r, c = row + dr, column + dc
                if (dr == 0 and dc == 0) or r < 0 or c < 0 or r >= rows or c >= columns:
                    continue
                if not np.isfinite(time[r, c]):
                    continue
                if dr != 0 and dc != 0:
                    # No squeezing between two cells that cannot be entered.
                    if not (np.isfinite(time[row, c]) and np.isfinite(time[r, column])):
                        continue
                    slope = (time[row, column] - time[r, c]) / 1.4142135623730951
                else:
                    slope = time[row, column] - time[r, c]
                if slope > best:
                    best = slope
                    next_row, next_column = r, c
        if next_row == row and next_column == column:
            break
        row, column = next_row, next_column
    return path[:count]


@numba.njit(cache=True, nogil=True)
def clearance_at(clearance: NDArray[np.float64], x: float, y: float) -> float:
    """Return the bilinear clearance at (column, row); 0 outside."""
    rows, columns = clearance.shape
    if x < 0.0 or y < 0.0 or x > columns - 1 or y > rows - 1:
        return 0.0
    c, r = min(int(x), columns - 2), min(int(y), rows - 2)
    fx, fy = x - c, y - r
    return (
        clearance[r, c] * (1 - fx) * (1 - fy)
        + clearance[r, c + 1] * fx * (1 - fy)
        + clearance[r + 1, c] * (1 - fx) * fy
        + clearance[r + 1, c + 1] * fx * fy
    )


@numba.njit(cache=True, nogil=True)
def line_clearance(
    clearance: NDArray[np.float64], x0: float, y0: float, x1: float, y1: float
) -> float:
    """Return the least clearance on a segment, sampled every half cell."""
    length = np.hypot(x1 - x0, y1 - y0)
    steps = int(length * 2.0) + 1
    least = 1e9
    for k in range(steps + 1):
        t = k / steps
        least = min(least, clearance_at(clearance, x0 + t * (x1 - x0), y0 + t * (y1 - y0)))
    return least


@numba.njit(cache=True, nogil=True)
def pull_string(
    path: NDArray[np.float64], clearance: NDArray[np.float64], enough: float
) -> NDArray[np.float64]:
    """Replace parts of a path by segments that keep its clearance, or have ``enough`` of it.

    Returns:
        (K, 2) corners, first and last point kept.
    """
    count = len(path)
    keep = np.empty((count, 2))
    keep[0] = path[0]
    kept = 1
    i = 0
    while i < count - 1:
        least = clearance_at(clearance, path[i, 0], path[i, 1])
        best = i + 1
        failures = 0
        for j in range(i + 1, count):
            least = min(least, clearance_at(clearance, path[j, 0], path[j, 1]))
            on_line = line_clearance(clearance, path[i, 0], path[i, 1], path[j, 0], path[j, 1])
            if on_line >= min(enough, least) - 1e-6:
                best = j
                failures = 0
            else:
                failures += 1
                if failures > 6:
                    break
        keep[kept] = path[best]
        kept += 1
        i = best
    return keep[:kept]


@numba.njit(cache=True, nogil=True)
def relax(
    path: NDArray[np.float64], clearance: NDArray[np.float64], least: float, rounds: int
) -> NDArray[np.float64]:
    """Round the corners of a densely sampled path; points that would lose clearance stay."""
    count = len(path)
    points = path.copy()
    for _ in range(rounds):
        for i in range(1, count - 1):
            x = 0.5 * points[i, 0] + 0.25 * (points[i - 1, 0] + points[i + 1, 0])
            y = 0.5 * points[i, 1] + 0.25 * (points[i - 1, 1] + points[i + 1, 1])
            now = clearance_at(clearance, points[i, 0], points[i, 1])
            if clearance_at(clearance, x, y) >= min(now, least):
                points[i, 0] = x
                points[i, 1] = y
    return points
