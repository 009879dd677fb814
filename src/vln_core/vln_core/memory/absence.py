# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which known objects a view shows in vain: looked through, or their spot in plain view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vln_core.memory.kernels import THROUGH, seen_in_vain
from vln_core.observation import View

# One looks through these by nature, so seeing what is behind says nothing.
HOLLOW = frozenset({'doorway', 'window', 'mirror', 'stairs'})


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
    found = []
    for row, view in enumerate(views):
        camera = view.camera
        verdicts = seen_in_vain(
            view.depth,
            (float(camera.fx), float(camera.fy), float(camera.cx), float(camera.cy)),
            global_tform_odom @ view.odom_tform_camera,
            positions,
            halves,
        )
        hits = np.flatnonzero(verdicts)
        found += [(row, n, bool(verdicts[n] == THROUGH)) for n in hits.tolist()]
    return found
