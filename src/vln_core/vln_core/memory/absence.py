# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which known objects a view shows in vain: looked through, or their spot in plain view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vln_core.observation import View

# One looks through these by nature, so seeing what is behind says nothing.
HOLLOW = frozenset({'doorway', 'window', 'mirror', 'stairs'})
_MARGIN = 0.06  # of the picture, on each side, where nothing is judged
# Where an object's depth is sampled, in columns and rows around its centre.
_NINE = np.array([(a, b) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0)])


def looked_at(
    positions: NDArray[np.float64],
    halves: NDArray[np.float64],
    views: Sequence[View],
    global_tform_odom: NDArray[np.float64],
) -> list[tuple[int, int, bool]]:
    """Return (row of a view, row of an object, is seen through) where a view shows it in vain.

    Seen through is where it was; its spot is in plain view otherwise.

    Args:
        positions: (N, 3) of the objects, metres, global frame.
        halves: (N,) half of their largest extent, metres.
        views: Depth in metres, NaN where unknown; poses in odometry.
        global_tform_odom: (4, 4).
    """
    if not views:
        return []
    # All views at once: (V, N) each.
    tforms = global_tform_odom @ np.stack([view.odom_tform_camera for view in views])
    points = (positions - tforms[:, None, :3, 3]) @ tforms[:, :3, :3]
    camera = np.array(
        [(c.fx, c.fy, c.cx, c.cy, c.width, c.height) for c in (view.camera for view in views)]
    )
    fx, fy, cx, cy, width, height = camera.T[:, :, None]
    x, y, z = points[..., 0] * fx, points[..., 1] * fy, points[..., 2]
    # Ahead, not tiny, and well within the picture; times z, as only few are divided by it.
    inside = (z > 0.6) & (halves * fx > 5.0 * z)
    inside &= (x > (_MARGIN * width - cx) * z) & (x < ((1 - _MARGIN) * width - cx) * z)
    inside &= (y > (_MARGIN * height - cy) * z) & (y < ((1 - _MARGIN) * height - cy) * z)
    which, shown = np.nonzero(inside)
    if not len(which):
        return []
    z, half = z[inside], halves[shown]
    u = x[inside] / z + camera[which, 2]
    v = y[inside] / z + camera[which, 3]
    spread = np.clip(0.4 * half * camera[which, 0] / z, 1.0, 30.0)
    columns = np.rint(u[:, None] + _NINE[:, 0] * spread[:, None]).astype(int)
    rows = np.rint(v[:, None] + _NINE[:, 1] * spread[:, None]).astype(int)
    columns = np.clip(columns, 0, camera[which, 4:5].astype(int) - 1)
    rows = np.clip(rows, 0, camera[which, 5:6].astype(int) - 1)
    depth = np.empty(rows.shape)
    ends = np.searchsorted(which, np.arange(len(views) + 1)).tolist()
    for view, start, end in zip(views, ends[:-1], ends[1:], strict=True):
        depth[start:end] = view.depth[rows[start:end], columns[start:end]]
    through = (depth > (z + half + 0.3)[:, None]).sum(axis=1) >= 7
    plain = (np.abs(depth - z[:, None]) <= (half + 0.3)[:, None]).sum(axis=1) >= 5
    hits = np.flatnonzero(through | plain)
    return list(
        zip(which[hits].tolist(), shown[hits].tolist(), through[hits].tolist(), strict=True)
    )
