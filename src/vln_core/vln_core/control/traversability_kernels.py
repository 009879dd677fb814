# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled loops of the traversability grid: one pass over the pixels, one over the cells.

Obstacles come from every pixel. Freedom and clearing come from projecting each cell's floor, and
each remembered obstacle, back into the depth image: that is ray clearing without walking rays, it
leaves no gaps at grazing angles, and it knows at which height a ray passed.
"""

from __future__ import annotations

import numba
import numpy as np

# Seen along a ray: nothing can be said, the point is still there, the ray went past it.
UNSEEN, CONFIRMED, PASSED = 0, 1, 2


@numba.njit(cache=True, nogil=True)
def mark_hits(
    depth, ray_x, ray_y, tform, limits, origin_cells, cell, self_xy_r2, use_mask, body_mask,
    hits, low, high,
):  # fmt: skip
    """Bin every pixel whose point lies in the body-height band.

    Args:
        depth: (H, W) float32, metres; NaN and 0 unknown, +inf far, -inf too near.
        ray_x: (W,) float32 (u - cx) / fx.
        ray_y: (H,) float32 (v - cy) / fy.
        tform: (3, 4) float32 pose of the optical frame, odometry frame, z above the floor.
        limits: (5,) float32 min depth, max depth, band bottom, band top, band growth per metre.
        origin_cells: (2,) int64 global column and row of cell (0, 0).
        cell: Edge of a cell, metres.
        self_xy_r2: (3,) float32 centre of the own body and its squared radius, m and m^2.
        use_mask: Whether ``body_mask`` counts.
        body_mask: (H, W) bool, True where the picture shows the robot itself.
        hits: (N, N) int32, zeroed here; number of points in the cell.
        low: (N, N, 3) float32, the lowest point of the cell in this frame.
        high: (N, N, 3) float32, the highest.
    """
    hits[:] = 0
    size = hits.shape[0]
    height, width = depth.shape
    min_depth, max_depth, bottom, top, growth = limits
    r00, r01, r02, tx = tform[0, 0], tform[0, 1], tform[0, 2], tform[0, 3]
    r10, r11, r12, ty = tform[1, 0], tform[1, 1], tform[1, 2], tform[1, 3]
    r20, r21, r22, tz = tform[2, 0], tform[2, 1], tform[2, 2], tform[2, 3]
    inverse_cell = np.float32(1.0 / cell)
    shift_x = np.float32(tx * inverse_cell - origin_cells[0])
    shift_y = np.float32(ty * inverse_cell - origin_cells[1])
    for v in range(height):
        ry = ray_y[v]
        row_z = r21 * ry + r22
        row_x = r01 * ry + r02
        row_y = r11 * ry + r12
        for u in range(width):
            d = depth[v, u]
            if not d <= max_depth:  # NaN, +inf and far readings are no obstacle
                continue
            if d < min_depth:
                if d == 0.0:
                    continue
                d = min_depth  # -inf and too near: something is right in front of the lens
            rx = ray_x[u]
            z = tz + d * (r20 * rx + row_z)
            if z < bottom + growth * d or z > top:
                continue
            if use_mask and body_mask[v, u]:
                continue
            dx = d * (r00 * rx + row_x)
            dy = d * (r10 * rx + row_y)
            column_f = dx * inverse_cell + shift_x
            row_f = dy * inverse_cell + shift_y
            if not (0.0 <= column_f < size and 0.0 <= row_f < size):
                continue
            own_x = dx + tx - self_xy_r2[0]
            own_y = dy + ty - self_xy_r2[1]
            if own_x * own_x + own_y * own_y < self_xy_r2[2]:
                continue
            column = int(column_f)
            row = int(row_f)
            count = hits[row, column]
            if count == 0 or z < low[row, column, 2]:
                low[row, column, 0] = dx + tx
                low[row, column, 1] = dy + ty
                low[row, column, 2] = z
            if count == 0 or z > high[row, column, 2]:
                high[row, column, 0] = dx + tx
                high[row, column, 1] = dy + ty
                high[row, column, 2] = z
            hits[row, column] = count + 1


@numba.njit(cache=True, nogil=True, inline='always')
def _look(depth, intrinsics, tform, max_depth, x, y, z, margin, margin_growth):
    """Compare a remembered point with the picture: UNSEEN, CONFIRMED or PASSED."""
    px, py, pz = x - tform[0, 3], y - tform[1, 3], z - tform[2, 3]
    zc = tform[0, 2] * px + tform[1, 2] * py + tform[2, 2] * pz
    if zc < 0.05:
        return UNSEEN
    xc = tform[0, 0] * px + tform[1, 0] * py + tform[2, 0] * pz
    yc = tform[0, 1] * px + tform[1, 1] * py + tform[2, 1] * pz
    u = int(np.floor(intrinsics[0] * xc / zc + intrinsics[2] + 0.5))
    v = int(np.floor(intrinsics[1] * yc / zc + intrinsics[3] + 0.5))
    height, width = depth.shape
    if u < 1 or v < 1 or u >= width - 1 or v >= height - 1:
        return UNSEEN
    slack = margin + margin_growth * zc
    any_valid = False
    for j in range(v - 1, v + 2):
        for i in range(u - 1, u + 2):
            d = depth[j, i]
            if d != d or d == 0.0:
                if i == u and j == v:
                    return UNSEEN
                continue
            any_valid = True
            if d < zc - slack:
                return UNSEEN  # something nearer hides it
            if d <= zc + slack:
                return CONFIRMED
    if not any_valid or zc > max_depth - slack:
        return UNSEEN
    return PASSED


@numba.njit(cache=True, nogil=True)
def sweep_cells(
    depth, intrinsics, tform, origin_cells, cell, max_depth, bottom, growth, drop, far_is_drop,
    clear_margin, occupied_score, max_score, clear_step, now, decay,
    hits, frame_low, frame_high, score, drop_score, is_floor, low, high, last_seen, state,
):  # fmt: skip
    """Fuse this frame into the cells and recompute their state.

    Returns:
        Number of cells that became an obstacle in this frame.
    """
    size = hits.shape[0]
    height, width = depth.shape
    fx, fy, cx, cy = intrinsics
    tx, ty, tz = tform[0, 3], tform[1, 3], tform[2, 3]
    new_obstacles = 0
    for row in range(size):
        y = (origin_cells[1] + row + 0.5) * cell
        for column in range(size):
            before = state[row, column]
            count = hits[row, column]
            cell_score = score[row, column]
            if count > 0:
                if cell_score == 0 or frame_low[row, column, 2] < low[row, column, 2]:
                    low[row, column] = frame_low[row, column]
                if cell_score == 0 or frame_high[row, column, 2] > high[row, column, 2]:
                    high[row, column] = frame_high[row, column]
                cell_score = min(max_score, cell_score + count)
                last_seen[row, column] = now
            elif cell_score > 0:
                top = _look(
                    depth, intrinsics, tform, max_depth, high[row, column, 0],
                    high[row, column, 1], high[row, column, 2], clear_margin, growth,
                )  # fmt: skip
                foot = _look(
                    depth, intrinsics, tform, max_depth, low[row, column, 0],
                    low[row, column, 1], low[row, column, 2], clear_margin, growth,
                )  # fmt: skip
                if top == CONFIRMED or foot == CONFIRMED:
                    last_seen[row, column] = now
                elif top == PASSED and foot == PASSED:
                    cell_score = max(0, cell_score - clear_step)
                elif top == PASSED:
                    high[row, column] = low[row, column]  # only the hidden foot may remain
                elif foot == PASSED:
                    low[row, column] = high[row, column]
                if now - last_seen[row, column] > decay:
                    cell_score = 0
            score[row, column] = cell_score
            if cell_score >= occupied_score:
                is_floor[row, column] = False
                state[row, column] = 2
                if before != 2:
                    new_obstacles += 1
                continue
            # The floor of the cell, seen or not.
            x = (origin_cells[0] + column + 0.5) * cell
            px, py = x - tx, y - ty
            zc = tform[0, 2] * px + tform[1, 2] * py - tform[2, 2] * tz
            if zc > 0.05 and zc < max_depth:
                xc = tform[0, 0] * px + tform[1, 0] * py - tform[2, 0] * tz
                yc = tform[0, 1] * px + tform[1, 1] * py - tform[2, 1] * tz
                u = int(np.floor(fx * xc / zc + cx + 0.5))
                v = int(np.floor(fy * yc / zc + cy + 0.5))
                if u >= 0 and v >= 0 and u < width and v < height:
                    d = depth[v, u]
                    if d > 0.0:
                        is_far = d > max_depth
                        if is_far:
                            d = max_depth
                        z = tz - tz * d / zc
                        if z < -(drop + growth * zc):
                            if far_is_drop or not is_far:
                                drop_score[row, column] = min(6, drop_score[row, column] + 1)
                                is_floor[row, column] = False
                        elif z <= bottom + growth * zc:
                            # Low on something: its foot must not make what is behind it free.
                            ratio = d / zc
                            c = int(np.floor((tx + ratio * px) / cell)) - origin_cells[0]
                            r = int(np.floor((ty + ratio * py) / cell)) - origin_cells[1]
                            is_hidden = False
                            if 0 <= r < size and 0 <= c < size:
                                is_hidden = hits[r, c] > 0 or score[r, c] >= occupied_score
                            if not is_hidden:
                                is_floor[row, column] = True
                                if drop_score[row, column] > 0:
                                    drop_score[row, column] -= 1
            if drop_score[row, column] >= 2:
                state[row, column] = 3
                if before != 3:
                    new_obstacles += 1
            elif is_floor[row, column]:
                state[row, column] = 1
            else:
                state[row, column] = 0
    return new_obstacles
