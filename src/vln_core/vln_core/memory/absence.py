# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which known objects a view shows in vain: looked through, or their spot in plain view."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vln_core.observation import View

# One looks through these by nature, so seeing what is behind says nothing.
HOLLOW = frozenset({'doorway', 'window', 'mirror', 'stairs'})
# Where an object's depth is sampled, in columns and rows around its centre.
_NINE = np.array([(a, b) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0)])


def looked_at(
    positions: NDArray[np.float64],
    halves: NDArray[np.float64],
    view: View,
    global_tform_camera: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return two (N,) masks: seen through where it was, and its spot in plain view.

    Args:
        positions: (N, 3) of the objects, metres, global frame.
        halves: (N,) half of their largest extent, metres.
        view: One view; depth in metres, NaN where unknown.
        global_tform_camera: (4, 4) of its optical frame.
    """
    through, plain = np.zeros(len(positions), np.bool_), np.zeros(len(positions), np.bool_)
    camera = view.camera
    points = (positions - global_tform_camera[:3, 3]) @ global_tform_camera[:3, :3]
    z = points[:, 2]
    ahead = z > 0.6
    safe_z = np.where(ahead, z, 1.0)
    u = camera.fx * points[:, 0] / safe_z + camera.cx
    v = camera.fy * points[:, 1] / safe_z + camera.cy
    margin = 0.06
    inside = (
        ahead
        & (u > margin * camera.width)
        & (u < (1 - margin) * camera.width)
        & (v > margin * camera.height)
        & (v < (1 - margin) * camera.height)
        & (halves * camera.fx / safe_z > 5.0)
    )
    shown = np.flatnonzero(inside)
    if not len(shown):
        return through, plain
    u, v, z, half = u[shown], v[shown], z[shown], halves[shown]
    spread = np.clip(0.4 * half * camera.fx / z, 1.0, 30.0)
    us = u[:, None] + _NINE[:, 0] * spread[:, None]
    vs = v[:, None] + _NINE[:, 1] * spread[:, None]
    columns = np.clip(np.rint(us), 0, camera.width - 1).astype(int)
    rows = np.clip(np.rint(vs), 0, camera.height - 1).astype(int)
    depth = view.depth[rows, columns]
    through[shown] = (depth > (z + half + 0.3)[:, None]).sum(axis=1) >= 7
    plain[shown] = (np.abs(depth - z[:, None]) <= (half + 0.3)[:, None]).sum(axis=1) >= 5
    return through, plain
