# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which known objects a view shows in vain: looked through, or their spot in plain view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
) -> Iterator[tuple[View, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield views with two (N,) masks: seen through where it was, and its spot in plain view.

    Views that show none of the objects' spots are left out.

    Args:
        positions: (N, 3) of the objects, metres, global frame.
        halves: (N,) half of their largest extent, metres.
        views: Depth in metres, NaN where unknown; poses in odometry.
        global_tform_odom: (4, 4).
    """
    if not views:
        return
    # All views at once: (V, N) each.
    tforms = global_tform_odom @ np.stack([view.odom_tform_camera for view in views])
    points = (positions - tforms[:, None, :3, 3]) @ tforms[:, :3, :3]
    camera = np.array(
        [(c.fx, c.fy, c.cx, c.cy, c.width, c.height) for c in (view.camera for view in views)]
    )
    fx, fy, cx, cy, width, height = camera.T[:, :, None]
    z = points[..., 2]
    ahead = z > 0.6
    safe_z = np.where(ahead, z, 1.0)
    u = fx * points[..., 0] / safe_z + cx
    v = fy * points[..., 1] / safe_z + cy
    inside = ahead & (halves * fx / safe_z > 5.0)
    inside &= (u > _MARGIN * width) & (u < (1 - _MARGIN) * width)
    inside &= (v > _MARGIN * height) & (v < (1 - _MARGIN) * height)
    for k in np.flatnonzero(inside.any(axis=1)).tolist():
        shown = np.flatnonzero(inside[k])
        through, plain = _compare(views[k], u[k, shown], v[k, shown], z[k, shown], halves[shown])
        masks = np.zeros((2, len(positions)), np.bool_)
        masks[0, shown], masks[1, shown] = through, plain
        yield views[k], masks[0], masks[1]


def _compare(
    view: View,
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    z: NDArray[np.float64],
    half: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return two (N,) masks: the depth lies behind the object, or where it is."""
    camera = view.camera
    spread = np.clip(0.4 * half * camera.fx / z, 1.0, 30.0)
    us = u[:, None] + _NINE[:, 0] * spread[:, None]
    vs = v[:, None] + _NINE[:, 1] * spread[:, None]
    columns = np.clip(np.rint(us), 0, camera.width - 1).astype(int)
    rows = np.clip(np.rint(vs), 0, camera.height - 1).astype(int)
    depth = view.depth[rows, columns]
    through = (depth > (z + half + 0.3)[:, None]).sum(axis=1) >= 7
    plain = (np.abs(depth - z[:, None]) <= (half + 0.3)[:, None]).sum(axis=1) >= 5
    return through, plain
