# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a body that is not round fits along a path: its outline swept over the grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vln_core.control.footprint import Footprint
from vln_core.control.traversability import TraversabilityGrid
from vln_core.geometry.transforms import wrap_angle

_TURN_STEP = 0.1


class BodyFit:
    """Sweeps the outline from one pose of the robot; a circle always fits."""

    def __init__(
        self,
        grid: TraversabilityGrid,
        footprint: Footprint,
        pose: tuple[float, float, float],
        tolerated: NDArray[np.bool_] | None = None,
    ) -> None:
        """Prepare.

        Args:
            grid: Where the robot may drive.
            footprint: Outline of the body.
            pose: x, y, yaw, odometry frame: from there the body turns to the path.
            tolerated: (N, N) unknown cells that count as free; None: none.
        """
        self.footprint = footprint
        self._grid, self._pose, self._tolerated = grid, pose, tolerated

    def __call__(self, path_xy: NDArray[np.float64]) -> bool:
        """Return whether the body stays on free floor along an (M, 2) path, metres."""
        if self.footprint.is_round:
            return True
        free = self._grid.free_mask()
        if self._tolerated is not None:
            free |= self._tolerated
        # Where the body stands now it may stay.
        for row, column in self._cells(np.array([self._pose])):
            free[row, column] = True
        cells = self._cells(self._poses(path_xy))
        return bool(free[cells[:, 0], cells[:, 1]].all())

    def _poses(self, path_xy: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = np.diff(path_xy, axis=0)
        steps = steps[np.hypot(*steps.T) > 1e-6]
        if len(steps) == 0:
            return np.array([self._pose])
        yaw = np.arctan2(steps[:, 1], steps[:, 0])
        driven = np.column_stack([path_xy[0] + np.cumsum(steps, axis=0), yaw])
        turn = wrap_angle(float(yaw[0]) - self._pose[2])
        count = 1 + int(abs(turn) / _TURN_STEP)
        turned = np.empty((count, 3))
        turned[:, :2] = self._pose[:2]
        turned[:, 2] = self._pose[2] + turn * np.linspace(0.0, 1.0, count)
        return np.vstack([turned, driven])

    def _cells(self, poses: NDArray[np.float64]) -> NDArray[np.int64]:
        cells = self._grid.cells_rc(self.footprint.placed(poses).reshape(-1, 2))
        return np.clip(cells, 0, self._grid.config.num_cells - 1)
