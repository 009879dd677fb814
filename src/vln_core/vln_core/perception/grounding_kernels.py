# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The per-pixel part of grounding, compiled: array by array it would cost a frame."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def measured_pixels(
    depth: NDArray[np.float32],
    mask: NDArray[np.uint8],
    first_uv: tuple[int, int],
    step: int,
    limits: tuple[float, float],
    edge_step: float,
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return which pixels of a mask have a depth, and which of those lie on a depth edge.

    Args:
        depth: (H, W) metres, NaN or inf where there is no reading.
        mask: (h, w) window of the picture, 0 where a pixel does not count.
        first_uv: Column and row of the window's first pixel; all of it lies in the picture.
        step: Every how many rows and columns a pixel is taken.
        limits: Least and greatest depth that counts, metres.
        edge_step: A neighbour that is nearer or farther by this fraction of the depth (at least
            5 cm) makes an edge; one without reading does not.

    Returns:
        How many pixels were looked at; rows, columns (px of the picture), depths (m) of those
        with a depth; True for those not on an edge.
    """
    height, width = depth.shape
    most = ((mask.shape[0] + step - 1) // step) * ((mask.shape[1] + step - 1) // step)
    rows = np.empty(most, np.int64)
    columns = np.empty(most, np.int64)
    depths = np.empty(most, np.float64)
    flat = np.empty(most, np.bool_)
    looked = 0
    found = 0
    for i in range(0, mask.shape[0], step):
        for j in range(0, mask.shape[1], step):
            if not mask[i, j]:
                continue
            looked += 1
            v, u = i + first_uv[1], j + first_uv[0]
            z = depth[v, u]
            if not limits[0] <= z <= limits[1]:  # NaN too
                continue
            limit = max(0.05, edge_step * z)
            is_flat = True
            if u > 0 and abs(depth[v, u - 1] - z) > limit:
                is_flat = False
            elif u + 1 < width and abs(depth[v, u + 1] - z) > limit:
                is_flat = False
            elif v > 0 and abs(depth[v - 1, u] - z) > limit:
                is_flat = False
            elif v + 1 < height and abs(depth[v + 1, u] - z) > limit:
                is_flat = False
            rows[found], columns[found], depths[found], flat[found] = v, u, z, is_flat
            found += 1
    return looked, rows[:found], columns[:found], depths[:found], flat[:found]
