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
# Seen in one place for so long without a gap of so long, a thing stands still, s. A person who
# walks takes less time to leave a cell.
SETTLED, GAP = 0.55, 0.25


@numba.njit(cache=True, nogil=True, fastmath={'contract', 'reassoc'}, error_model='numpy')
def mark_hits(
    depth, ray_x, ray_y, tform, limits, corner, own, use_mask, body_mask,
    hits, low_z, high_z, low_pixel, high_pixel, row_z, row_cell,
):  # fmt: skip
    """Bin every pixel whose point lies in the body-height band.

    Each row is done twice: a branch-free pass that the compiler turns into vector instructions,
    and a pass over what fell into the band.

    Args:
        depth: (H, W) float32, metres; NaN and 0 unknown, +inf far, -inf too near.
        ray_x: (W,) float32 (u - cx) / fx.
        ray_y: (H,) float32 (v - cy) / fy.
        tform: (3, 4) float32 pose of the optical frame, odometry frame, z above the floor.
        limits: (6,) float32 min depth, max depth, band bottom, band top, growth of the bottom per
            metre, cells per metre.
        corner: (2,) float32 camera position in cells from the corner of cell (0, 0), x and y.
        own: (3,) float32 centre of the own body relative to the camera, x and y, and its squared
            radius, m and m^2.
        use_mask: Whether ``body_mask`` counts.
        body_mask: (H, W) bool, True where the picture shows the robot itself.
        hits: (N, N) int32, zeroed here; number of points in the cell.
        low_z: (N, N) float32, lowest height in the cell in this frame; valid where hits.
        high_z: (N, N) float32, highest one.
        low_pixel: (N, N) int32, flat index of the pixel of the lowest point.
        high_pixel: (N, N) int32, of the highest one.
        row_z: (W,) float32 scratch.
        row_cell: (W,) int32 scratch.
    """
    hits[:] = 0
    size = np.int32(hits.shape[0])
    height, width = depth.shape
    flat_hits = hits.reshape(-1)
    flat_low, flat_high = low_z.reshape(-1), high_z.reshape(-1)
    flat_low_pixel, flat_high_pixel = low_pixel.reshape(-1), high_pixel.reshape(-1)
    min_depth, max_depth, bottom, top, growth, per_metre = limits
    r00, r01, r02 = tform[0, 0], tform[0, 1], tform[0, 2]
    r10, r11, r12 = tform[1, 0], tform[1, 1], tform[1, 2]
    r20, r21, r22, tz = tform[2, 0], tform[2, 1], tform[2, 2], tform[2, 3]
    corner_x, corner_y = corner[0], corner[1]
    own_x, own_y, own_r2 = own[0], own[1], own[2]
    zero = np.float32(0.0)
    edge = np.float32(size)
    for v in range(height):
        ry = ray_y[v]
        base_x, base_y, base_z = r01 * ry + r02, r11 * ry + r12, r21 * ry + r22
        for u in range(width):
            raw = depth[v, u]
            # -inf and too near: something is right in front of the lens.
            d = raw if raw >= min_depth else min_depth
            rx = ray_x[u]
            z = tz + d * (r20 * rx + base_z)
            dx = d * (r00 * rx + base_x)
            dy = d * (r10 * rx + base_y)
            column = dx * per_metre + corner_x
            row = dy * per_metre + corner_y
            off_x, off_y = dx - own_x, dy - own_y
            # NaN, +inf and far readings fail the first comparison: they are no obstacle.
            is_hit = (
                (raw <= max_depth) & (raw != zero) & (z >= bottom + growth * d) & (z <= top)
                & (column >= zero) & (column < edge) & (row >= zero) & (row < edge)
                & (off_x * off_x + off_y * off_y >= own_r2)
            )  # fmt: skip
            row_z[u] = z
            row_cell[u] = np.int32(row) * size + np.int32(column) if is_hit else np.int32(-1)
        for u in range(width):
            k = row_cell[u]
            if k < 0 or (use_mask and body_mask[v, u]):
                continue
            z = row_z[u]
            pixel = v * width + u
            if flat_hits[k] == 0:
                flat_low[k] = z
                flat_high[k] = z
                flat_low_pixel[k] = pixel
                flat_high_pixel[k] = pixel
            elif z < flat_low[k]:
                flat_low[k] = z
                flat_low_pixel[k] = pixel
            elif z > flat_high[k]:
                flat_high[k] = z
                flat_high_pixel[k] = pixel
            flat_hits[k] += 1


@numba.njit(cache=True, nogil=True, inline='always')
def _lift(pixel, depth, ray_x, ray_y, tform, min_depth, point):
    """Write the point of a pixel, odometry frame, z above the floor."""
    v, u = pixel // depth.shape[1], pixel % depth.shape[1]
    d = max(depth[v, u], min_depth)
    for axis in range(3):
        point[axis] = tform[axis, 3] + d * (
            tform[axis, 0] * ray_x[u] + tform[axis, 1] * ray_y[v] + tform[axis, 2]
        )


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
def _is_settled_near(streak, last_hit, row, column, now):
    """Whether a thing that has stood still for a while is in or beside a cell."""
    size = streak.shape[0]
    for r in range(max(0, row - 2), min(size, row + 3)):
        for c in range(max(0, column - 2), min(size, column + 3)):
            hit = last_hit[r, c]
            if now - hit < GAP and hit - streak[r, c] > SETTLED:
                return True
    return False


@numba.njit(cache=True, nogil=True)
def sweep_cells(
    depth, ray_x, ray_y, intrinsics, tform, origin_cells, cell, min_depth, max_depth, bottom,
    growth, drop, far_is_drop, clear_margin, occupied_score, max_score, clear_step, now, decay,
    hits, frame_low, frame_high, low_pixel, high_pixel, score, drop_score, is_floor, low, high,
    last_seen, state, streak, last_hit, unsettled, left,
):  # fmt: skip
    """Fuse this frame into the cells and recompute their state.

    Args (the last four; the others are arrays and limits of the grid):
        streak: (N, N) float64 since when there were hits in nearly every frame, s.
        last_hit: (N, N) float64 of the last hit, s.
        unsettled: (M,) int32, written: flat indices of cells with something tall that has not
            stood there for long, and nothing that has is beside it.
        left: (M,) int32, written: those of cells that something has left just now.

    Returns:
        Numbers of cells that became an obstacle in this frame, and in ``unsettled`` and ``left``.
    """
    size = hits.shape[0]
    height, width = depth.shape
    fx, fy, cx, cy = intrinsics
    tx, ty, tz = tform[0, 3], tform[1, 3], tform[2, 3]
    new_obstacles = 0
    num_unsettled, num_left = 0, 0
    for row in range(size):
        y = (origin_cells[1] + row + 0.5) * cell
        py = y - ty
        row_zc = tform[1, 2] * py - tform[2, 2] * tz
        for column in range(size):
            count = hits[row, column]
            cell_score = score[row, column]
            px = (origin_cells[0] + column + 0.5) * cell - tx
            zc = row_zc + tform[0, 2] * px
            is_ahead = 0.05 < zc < max_depth
            if count == 0 and cell_score == 0 and not is_ahead:
                continue
            before = state[row, column]
            if count > 0:
                if cell_score == 0 or frame_low[row, column] < low[row, column, 2]:
                    pixel = low_pixel[row, column]
                    _lift(pixel, depth, ray_x, ray_y, tform, min_depth, low[row, column])
                if cell_score == 0 or frame_high[row, column] > high[row, column, 2]:
                    pixel = high_pixel[row, column]
                    _lift(pixel, depth, ray_x, ray_y, tform, min_depth, high[row, column])
                cell_score = min(max_score, cell_score + count)
                last_seen[row, column] = now
                if now - last_hit[row, column] > GAP:
                    streak[row, column] = now
                last_hit[row, column] = now
                if frame_high[row, column] - frame_low[row, column] >= 0.2:
                    if not _is_settled_near(streak, last_hit, row, column, now):
                        unsettled[num_unsettled] = row * size + column
                        num_unsettled += 1
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
                    if now - last_hit[row, column] < 2.0 * GAP and not _is_settled_near(
                        streak, last_hit, row, column, now
                    ):
                        left[num_left] = row * size + column
                        num_left += 1
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
            if is_ahead:
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
    return new_obstacles, num_unsettled, num_left
