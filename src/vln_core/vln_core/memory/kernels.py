# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Inner loops of the memory: lines through the seen space, and known objects in new views."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

MARGIN = 0.06
"""Of the picture, on each side, where nothing is judged."""
PLAIN, THROUGH = 1, 2


@numba.njit(cache=True, nogil=True)
def blocked_lines(
    evidence: NDArray[np.int8],
    first_cell: tuple[int, int],
    cell: float,
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    skips: NDArray[np.float64],
    steps: int,
) -> NDArray[np.bool_]:
    """Return (N,): does a line meet an occupied cell.

    Args:
        evidence: (R, C), positive where occupied.
        first_cell: Row and column of its corner.
        cell: Metres.
        starts: (1, 2) or (N, 2) metres.
        ends: (N, 2) metres.
        skips: (N,) length before each end that is not tested, metres.
        steps: Points that are tested on each line, 2 at least.
    """
    height, width = evidence.shape
    blocked = np.zeros(len(ends), np.bool_)
    for n in range(len(ends)):
        start = starts[n if len(starts) > 1 else 0]
        dx, dy = ends[n, 0] - start[0], ends[n, 1] - start[1]
        length = np.hypot(dx, dy)
        for k in range(steps):
            ratio = k / (steps - 1)
            if ratio * length > length - skips[n]:
                break
            row = int(np.floor((start[1] + dy * ratio) / cell)) - first_cell[0]
            column = int(np.floor((start[0] + dx * ratio) / cell)) - first_cell[1]
            if 0 <= row < height and 0 <= column < width and evidence[row, column] > 0:
                blocked[n] = True
                break
    return blocked


@numba.njit(cache=True, nogil=True)
def seen_in_vain(
    depth: NDArray[np.float32],
    intrinsics: tuple[float, float, float, float],
    tform: NDArray[np.float64],
    positions: NDArray[np.float64],
    halves: NDArray[np.float64],
) -> NDArray[np.int8]:
    """Return (N,): ``THROUGH`` or ``PLAIN`` where a view shows the spot without the object, or 0.

    Args:
        depth: (H, W) metres, NaN where unknown.
        intrinsics: fx, fy, cx, cy in pixels.
        tform: (4, 4) pose of the camera in the frame of the positions.
        positions: (N, 3) metres.
        halves: (N,) half of the largest extent, metres.
    """
    fx, fy, cx, cy = intrinsics
    height, width = depth.shape
    verdicts = np.zeros(len(positions), np.int8)
    for n in range(len(positions)):
        dx = positions[n, 0] - tform[0, 3]
        dy = positions[n, 1] - tform[1, 3]
        dz = positions[n, 2] - tform[2, 3]
        z = dx * tform[0, 2] + dy * tform[1, 2] + dz * tform[2, 2]
        half = halves[n]
        if z <= 0.6 or half * fx / z <= 5.0:
            continue
        u = fx * (dx * tform[0, 0] + dy * tform[1, 0] + dz * tform[2, 0]) / z + cx
        v = fy * (dx * tform[0, 1] + dy * tform[1, 1] + dz * tform[2, 1]) / z + cy
        if not (MARGIN * width < u < (1 - MARGIN) * width):
            continue
        if not (MARGIN * height < v < (1 - MARGIN) * height):
            continue
        spread = min(max(0.4 * half * fx / z, 1.0), 30.0)
        behind = near = 0
        for i in range(-1, 2):
            for j in range(-1, 2):
                row = min(max(int(np.rint(v + i * spread)), 0), height - 1)
                column = min(max(int(np.rint(u + j * spread)), 0), width - 1)
                behind += depth[row, column] > z + half + 0.3
                near += abs(depth[row, column] - z) <= half + 0.3
        if behind >= 7:
            verdicts[n] = THROUGH
        elif near >= 5:
            verdicts[n] = PLAIN
    return verdicts


def warm_up() -> None:
    """Compile, or load what was compiled before: half a second that the first panorama waited."""
    corner, depth = np.zeros((1, 2)), np.ones((2, 2), np.float32)
    blocked_lines(np.zeros((1, 1), np.int8), (0, 0), 0.1, corner, corner, np.zeros(1), 2)
    for is_writeable in (True, False):  # pictures of messages are read-only: another type
        depth.flags.writeable = is_writeable
        seen_in_vain(depth, (1.0, 1.0, 1.0, 1.0), np.eye(4), np.zeros((1, 3)), np.ones(1))
