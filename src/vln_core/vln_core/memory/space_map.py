# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the depth of the panoramas showed as free or occupied floor, in the memory's global frame.

A growing grid of small integers: positive is occupied, otherwise free where seen, else unknown.
Row grows with y, column with x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.geometry.camera import check_size
from vln_core.geometry.transforms import yaw_of
from vln_core.memory.config import MemoryConfig
from vln_core.memory.kernels import blocked_lines
from vln_core.observation import View

_OCCUPIED_STEP, _OCCUPIED_CAP = 3, 5
_FREE_STEP, _FREE_CAP = 1, -2
_MARGIN_CELLS = 32
# Two first obstacles of neighbouring rays nearer than this belong to one surface: no body passes.
_JOIN_DISTANCE = 0.4


@dataclass(frozen=True, eq=False)
class Occupancy:
    """A grid as ``nav_msgs/OccupancyGrid`` has it.

    Attributes:
        data: (R, C) int8; -1 unknown, 0 free, 100 occupied; row grows with y.
        resolution: Metres per cell.
        origin: (x, y) of the lower left corner, metres, global frame.
    """

    data: NDArray[np.int8]
    resolution: float
    origin: tuple[float, float]


class SpaceMap:
    """Free, occupied and unknown floor at ``config.cell_size``."""

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self.cell = config.cell_size
        self.first_cell = (
            0,
            0,
        )  # row and column of the array's corner, counted from the frame's origin
        # Rows and columns from..to (exclusive) changed since last saved, counted as first_cell.
        self.dirty_box: tuple[int, int, int, int] | None = None
        self.evidence: NDArray[np.int8] = np.zeros((0, 0), np.int8)
        self.seen: NDArray[np.bool_] = np.zeros((0, 0), np.bool_)
        self.version = 0
        self._masks: tuple[int, NDArray[np.bool_], NDArray[np.bool_]] | None = None

    @property
    def origin(self) -> tuple[float, float]:
        """Lower left corner (x, y) of the array, metres."""
        return self.first_cell[1] * self.cell, self.first_cell[0] * self.cell

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.evidence.shape

    def masks(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return (R, C) bool masks: occupied, free."""
        if self._masks is None or self._masks[0] != self.version:
            occupied = self.evidence > 0
            self._masks = (self.version, occupied, self.seen & ~occupied)
        return self._masks[1], self._masks[2]

    def occupancy(self) -> Occupancy:
        """Return a copy of the grid with the values of an occupancy grid."""
        occupied, free = self.masks()
        data = np.full(self.shape, -1, np.int8)
        data[free] = 0
        data[occupied] = 100
        return Occupancy(data, self.cell, self.origin)

    def cells_of(self, points_xy: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return (N, 2) row and column of (N, 2) points in metres; may lie outside the grid."""
        points = np.asarray(points_xy, dtype=np.float64).reshape(-1, 2)
        # Counted from the frame's origin first: the array's corner must not change a rounding.
        return np.floor(points[:, ::-1] / self.cell).astype(np.int64) - self.first_cell

    def points_of(self, cells_rc: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (N, 2) centres, metres, of (N, 2) cells given as row and column."""
        cells = np.asarray(cells_rc, dtype=np.float64).reshape(-1, 2)
        return ((cells + self.first_cell)[:, ::-1] + 0.5) * self.cell

    def inside(self, cells_rc: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (N,) bool: which cells lie in the grid."""
        rows, columns = cells_rc[:, 0], cells_rc[:, 1]
        return (rows >= 0) & (columns >= 0) & (rows < self.shape[0]) & (columns < self.shape[1])

    def integrate(
        self,
        views: Sequence[View],
        global_tform_odom: NDArray[np.float64],
        base_xyz: tuple[float, float, float],
    ) -> None:
        """Fuse the depth of one look-around.

        Args:
            views: Views with depth aligned to their camera and the pose of their optical frame.
            global_tform_odom: (4, 4) maps odometry into the frame of this grid.
            base_xyz: Base of the robot in the global frame, metres; z is the floor.

        Raises:
            ImageSizeError: A depth image does not have the size of its camera.
        """
        for view in views:
            check_size(view.depth, view.camera)
        poses = [global_tform_odom @ view.odom_tform_camera for view in views]
        scans = [self._scan(v, t, base_xyz[2]) for v, t in zip(views, poses, strict=True)]
        base = np.array(base_xyz[:2])
        low, high = base - 1.0, base + 1.0
        for points in (points for scan in scans for points in scan if points.shape[1]):
            low = np.minimum(low, points.min(axis=1))
            high = np.maximum(high, points.max(axis=1))
        self._grow(low, high)
        size = self.evidence.size
        hits, floor = np.zeros(size, np.int32), np.zeros(size, np.bool_)
        for obstacles, joined, free in scans:
            hits += np.bincount(self._flat(obstacles), minlength=size).astype(np.int32)
            hits[self._flat(joined)] += 2
            floor[self._flat(free)] = True
        # One stray pixel is noise; a real surface fills many pixels of its cell.
        occupied = (hits >= 2).reshape(self.shape)
        free_mask = floor.reshape(self.shape) & ~occupied
        evidence = self.evidence.astype(np.int16)
        evidence[occupied] = np.minimum(evidence[occupied] + _OCCUPIED_STEP, _OCCUPIED_CAP)
        # A wall on the border of two cells is hit now in one, now in the other: seeing the one
        # does not clear the other, or walls would get holes.
        beside = cv2.dilate(occupied.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        cleared = free_mask & ~(beside & (evidence > 0))
        evidence[cleared] = np.maximum(evidence[cleared] - _FREE_STEP, _FREE_CAP)
        self.evidence = evidence.astype(np.int8)
        self.seen |= occupied | free_mask
        self._stand(base)
        self.version += 1

    def _stand(self, base_xy: NDArray[np.float64]) -> None:
        # The body is there, so nothing else is, whatever the camera could not see at its feet.
        reach = max(self._config.robot_radius - 0.5 * self.cell, 0.0)
        row, column = self.cells_of(base_xy[None])[0]
        cells = int(math.ceil(reach / self.cell))
        rows, columns = np.mgrid[
            row - cells : row + cells + 1, column - cells : column + cells + 1
        ]
        spots = np.stack([rows.ravel(), columns.ravel()], axis=1)
        near = np.hypot(*(self.points_of(spots) - base_xy).T) <= reach + 1e-9
        spots = spots[near & self.inside(spots)]
        self.evidence[spots[:, 0], spots[:, 1]] = _FREE_CAP
        self.seen[spots[:, 0], spots[:, 1]] = True

    def _flat(self, points: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return (N,) flat cell indices of (2, N) points that lie in the grid."""
        scale = 1.0 / self.cell
        columns = np.floor(points[0] * scale).astype(np.int32) - self.first_cell[1]
        rows = np.floor(points[1] * scale).astype(np.int32) - self.first_cell[0]
        return rows * np.int32(self.shape[1]) + columns

    def _grow(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        # Rows before columns from here on.
        first = np.floor(low[::-1] / self.cell).astype(int)
        last = np.floor(high[::-1] / self.cell).astype(int) + 1
        self._mark(int(first[0]), int(first[1]), int(last[0]), int(last[1]))
        if self.evidence.size == 0:
            first, last = first - _MARGIN_CELLS, last + _MARGIN_CELLS
            self.first_cell = (int(first[0]), int(first[1]))
            shape = (int(last[0] - first[0]), int(last[1] - first[1]))
            self.evidence, self.seen = np.zeros(shape, np.int8), np.zeros(shape, np.bool_)
            return
        before = np.maximum(np.array(self.first_cell) - first, 0)
        after = np.maximum(last - (np.array(self.first_cell) + self.shape), 0)
        if not (before.any() or after.any()):
            return
        before = np.where(before > 0, before + _MARGIN_CELLS, 0)
        after = np.where(after > 0, after + _MARGIN_CELLS, 0)
        pad = ((int(before[0]), int(after[0])), (int(before[1]), int(after[1])))
        self.evidence, self.seen = np.pad(self.evidence, pad), np.pad(self.seen, pad)
        self.first_cell = (self.first_cell[0] - pad[0][0], self.first_cell[1] - pad[1][0])

    def _mark(self, top: int, left: int, bottom: int, right: int) -> None:
        box = self.dirty_box or (top, left, bottom, right)
        self.dirty_box = (
            min(box[0], top),
            min(box[1], left),
            max(box[2], bottom),
            max(box[3], right),
        )

    def restore(
        self, evidence: NDArray[np.int8], seen: NDArray[np.bool_], first_cell: tuple[int, int]
    ) -> None:
        """Take over saved arrays whose corner cell is counted from the frame's origin."""
        self.evidence, self.seen, self.first_cell = evidence, seen, first_cell
        self.version += 1

    def _scan(
        self, view: View, global_tform_camera: NDArray[np.float64], floor_z: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return (2, N) obstacle points, joined surface points and free points, global metres."""
        config, camera = self._config, view.camera
        depth = view.depth[::2].astype(np.float32)
        is_near = np.isneginf(depth)
        is_far = depth > config.max_depth  # +inf included
        usable = np.where(is_far, np.float32(config.max_depth), depth)
        valid = (usable >= config.min_depth) & ~is_far
        matrix = global_tform_camera[:3, :3].astype(np.float32)
        eye = global_tform_camera[:3, 3].astype(np.float32)
        eye_height = float(eye[2] - floor_z)
        rays_x = ((np.arange(camera.width) - camera.cx) / camera.fx).astype(np.float32)
        rays_y = ((np.arange(0, camera.height, 2) - camera.cy) / camera.fy).astype(np.float32)
        # Directions of all pixels in the global frame per metre of depth, (H/2, W) each.
        dx, dy, dz = (
            (matrix[i, 1] * rays_y + matrix[i, 2])[:, None] + matrix[i, 0] * rays_x[None, :]
            for i in range(3)
        )
        reach = np.sqrt(dx * dx + dy * dy)
        with np.errstate(invalid='ignore'):
            height = eye_height + dz * usable
            ground = reach * usable
            # Depth errors grow with range; a grazing floor must not rise into the band.
            lift = config.body_min + 0.01 * ground
            is_obstacle = valid & (height >= lift) & (height <= config.body_max)
            is_floor = valid & (np.abs(height) < lift)
        num_bins = int(min(720, max(90, 2.0 * math.pi * camera.fx / 1.2)))
        scale = np.float32(num_bins / (2.0 * math.pi))
        bins = ((np.arctan2(dy, dx) + np.float32(math.pi)) * scale).astype(np.int16) % num_bins
        first = np.full(num_bins, np.inf)
        _reduce(np.minimum, first, bins[is_obstacle], ground[is_obstacle])
        if is_near.any():
            first[bins[is_near]] = 0.0
        clear = np.zeros(num_bins)
        _reduce(np.maximum, clear, bins[is_floor], ground[is_floor])
        if is_far.any():
            # A far reading proves the ray free only while it is within the body band.
            leave = np.where(dz > 0, (config.body_max - eye_height) / np.maximum(dz, 1e-6), np.inf)
            span = np.minimum(leave, config.max_depth) * reach
            proves = is_far & (height > 0.0) & (leave > 0.0)
            _reduce(np.maximum, clear, bins[proves], span[proves])
        ends = np.minimum(first - 0.5 * self.cell, clear)
        floor_points = _ground_points(is_floor, dx, dy, usable, eye)
        return (
            _ground_points(is_obstacle, dx, dy, usable, eye),
            self._joined(eye[:2], first, num_bins),
            np.concatenate([self._rays(eye[:2], ends, num_bins), floor_points], axis=1),
        )

    def _rays(
        self, eye_xy: NDArray[np.float32], ends: NDArray[np.float64], num_bins: int
    ) -> NDArray[np.float32]:
        used = np.flatnonzero(ends > 0.0)
        if not len(used):
            return np.zeros((2, 0), np.float32)
        step = 0.5 * self.cell
        counts = np.floor(ends[used] / step).astype(int) + 1
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        ranges = ((np.arange(counts.sum()) - starts) * step).astype(np.float32)
        angles = (used + 0.5) * (2.0 * math.pi / num_bins) - math.pi
        cos = np.repeat(np.cos(angles).astype(np.float32), counts)
        sin = np.repeat(np.sin(angles).astype(np.float32), counts)
        return np.stack([eye_xy[0] + cos * ranges, eye_xy[1] + sin * ranges])

    def _joined(
        self, eye_xy: NDArray[np.float32], first: NDArray[np.float64], num_bins: int
    ) -> NDArray[np.float32]:
        """Return points along surfaces between the first obstacles of neighbouring rays.

        A wall seen at a grazing angle is hit in cells with gaps between them; without closing
        these, every such wall would look like a row of openings.
        """
        near = np.isfinite(first) & (first > 0.0)
        both = np.flatnonzero(near & np.roll(near, -1))
        if not len(both):
            return np.zeros((2, 0), np.float32)
        angles = (np.arange(num_bins) + 0.5) * (2.0 * math.pi / num_bins) - math.pi
        ranges = np.where(near, first, 0.0)
        points = eye_xy + np.stack([np.cos(angles) * ranges, np.sin(angles) * ranges], axis=1)
        start, end = points[both], points[(both + 1) % num_bins]
        gap = np.hypot(*(end - start).T)
        use = (gap > self.cell) & (gap < _JOIN_DISTANCE)
        start, end = start[use], end[use]
        parts = np.linspace(0.0, 1.0, 9)[None, :, None]
        between = (start[:, None] * (1 - parts) + end[:, None] * parts).reshape(-1, 2)
        return between.T.astype(np.float32)

    def lines_free(
        self,
        start_xy: NDArray[np.float64],
        ends_xy: NDArray[np.float64],
        skip: float | NDArray = 0.0,
    ) -> NDArray[np.bool_]:
        """Return (N,) bool: is the straight line from start to each end free of obstacles.

        Args:
            start_xy: (2,) metres, or (N, 2) for a start of each.
            ends_xy: (N, 2) metres.
            skip: Length before each end that is not tested, metres; scalar or (N,).
        """
        ends = np.asarray(ends_xy, dtype=np.float64).reshape(-1, 2)
        start = np.asarray(start_xy, dtype=np.float64)
        if self.evidence.size == 0 or not len(ends):
            return np.ones(len(ends), np.bool_)
        starts = np.ascontiguousarray(start.reshape(-1, 2))
        longest = float(np.hypot(*(ends - starts).T).max())
        return np.logical_not(
            blocked_lines(
                self.evidence,
                self.first_cell,
                self.cell,
                starts,
                ends,
                np.zeros(len(ends)) + skip,
                int(longest / (0.5 * self.cell)) + 2,
            )
        )

    def transform(self, new_tform_old: NDArray[np.float64]) -> None:
        """Move everything seen by a rigid planar (4, 4) correction of the global frame."""
        if self.evidence.size == 0:
            return
        yaw = yaw_of(new_tform_old)
        cos, sin = math.cos(yaw), math.sin(yaw)
        rows, columns = self.shape
        corners = np.array([[0, 0], [rows, 0], [0, columns], [rows, columns]], np.int64)
        moved = (
            self.points_of(corners) @ np.array([[cos, sin], [-sin, cos]]) + new_tform_old[:2, 3]
        )
        low = np.floor(moved.min(axis=0) / self.cell).astype(int) - 1
        size = np.ceil(moved.max(axis=0) / self.cell).astype(int) + 1 - low
        origin = low * self.cell
        self._mark(*self.first_cell, self.first_cell[0] + rows, self.first_cell[1] + columns)
        self._mark(int(low[1]), int(low[0]), int(low[1] + size[1]), int(low[0] + size[0]))
        # Inverse map: every new cell centre looks up the old cell it came from.
        grid_y, grid_x = np.mgrid[0 : int(size[1]), 0 : int(size[0])]
        x = (grid_x + 0.5) * self.cell + origin[0] - new_tform_old[0, 3]
        y = (grid_y + 0.5) * self.cell + origin[1] - new_tform_old[1, 3]
        old_column = (cos * x + sin * y - self.origin[0]) / self.cell - 0.5
        old_row = (-sin * x + cos * y - self.origin[1]) / self.cell - 0.5
        maps = old_column.astype(np.float32), old_row.astype(np.float32)
        self.evidence = cv2.remap(
            self.evidence.view(np.uint8), *maps, cv2.INTER_NEAREST, borderValue=0
        ).view(np.int8)
        self.seen = (
            cv2.remap(self.seen.astype(np.uint8), *maps, cv2.INTER_NEAREST, borderValue=0) > 0
        )
        self.first_cell = (int(low[1]), int(low[0]))
        self.version += 1


def _reduce(
    operation: np.ufunc,
    target: NDArray[np.float64],
    bins: NDArray[np.int16],
    values: NDArray[np.float32],
) -> None:
    # Radix sort and reduceat: several times faster than ufunc.at.
    if not len(bins):
        return
    order = np.argsort(bins, kind='stable')
    ordered = bins[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    found = operation.reduceat(values[order], starts)
    target[ordered[starts]] = operation(target[ordered[starts]], found)


def _ground_points(
    mask: NDArray[np.bool_],
    dx: NDArray[np.float32],
    dy: NDArray[np.float32],
    depth: NDArray[np.float32],
    eye: NDArray[np.float32],
) -> NDArray[np.float32]:
    z = depth[mask]
    return np.stack([eye[0] + dx[mask] * z, eye[1] + dy[mask] * z])
