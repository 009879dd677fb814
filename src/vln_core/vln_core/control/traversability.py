# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where the robot may drive: a rolling grid in the odometry frame, filled from depth images."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.control.traversability_kernels import mark_hits, sweep_cells
from vln_core.errors import ConfigError
from vln_core.geometry.camera import PinholeCamera, check_size
from vln_core.geometry.transforms import checked_pose

UNKNOWN, FREE, OCCUPIED, LETHAL = 0, 1, 2, 3


@dataclass(frozen=True)
class TraversabilityConfig:
    """Size, bands and memory of the grid.

    Attributes:
        cell: Edge of a cell, metres.
        size: Edge of the window, metres.
        step_height: Highest thing the robot drives over, metres above the floor.
        robot_height: Top of the body, metres above the floor.
        drop_height: A floor deeper than this below the robot's is a dropoff, metres.
        min_depth: Nearest valid reading, metres.
        max_depth: Farthest valid reading, metres; +inf is free as far as this.
        height_noise: Growth of the height tolerance with depth, metres per metre.
        clear_margin: How far past an obstacle a ray must go to clear it, metres.
        occupied_hits: Points in a cell that make it an obstacle.
        decay: An obstacle not seen for this long becomes unknown, s.
        initial_free_radius: Floor around the robot at the start that is free by promise of who
            placed it there: what a camera that looks ahead cannot see, metres.
        self_radius: Points nearer than this to the robot's centre are its own body, metres.
        far_below_floor_is_dropoff: A far reading where the floor should be is a dropoff; else it
            says nothing about the floor.
        fill_pinholes: Unknown cells with at least this many free ones of their 8 neighbours, and
            no obstacle among them, count as free; 9 switches that off.
    """

    cell: float = 0.05
    size: float = 10.0
    step_height: float = 0.06
    robot_height: float = 1.2
    drop_height: float = 0.08
    min_depth: float = 0.15
    max_depth: float = 10.0
    height_noise: float = 0.008
    clear_margin: float = 0.08
    occupied_hits: int = 2
    decay: float = 60.0
    initial_free_radius: float = 0.9
    self_radius: float = 0.15
    far_below_floor_is_dropoff: bool = True
    fill_pinholes: int = 6

    def __post_init__(self) -> None:
        for name in ('cell', 'size', 'step_height', 'robot_height', 'drop_height', 'decay'):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f'traversability.{name} must be a positive number')
        for name in ('height_noise', 'clear_margin', 'initial_free_radius', 'self_radius'):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f'traversability.{name} must not be negative')
        if not 0.0 < self.min_depth < self.max_depth < math.inf:
            raise ConfigError('traversability needs 0 < min_depth < max_depth')
        if self.step_height >= self.robot_height:
            raise ConfigError('traversability.step_height must be below robot_height')
        if self.num_cells < 20:
            raise ConfigError('traversability.size must be at least 20 cells')
        if self.occupied_hits < 1:
            raise ConfigError('traversability.occupied_hits must be at least 1')

    @property
    def num_cells(self) -> int:
        """Cells along one edge."""
        return int(round(self.size / self.cell))


class TraversabilityGrid:
    """Rolling grid; row is y, column is x of the odometry frame; see the states of this module."""

    def __init__(self, config: TraversabilityConfig | None = None) -> None:
        self.config = config or TraversabilityConfig()
        n = self.config.num_cells
        self._origin_cells = np.zeros(2, dtype=np.int64)
        self._state = np.zeros((n, n), dtype=np.uint8)
        self._score = np.zeros((n, n), dtype=np.int32)
        self._drop = np.zeros((n, n), dtype=np.int32)
        self._is_floor = np.zeros((n, n), dtype=np.bool_)
        self._low = np.zeros((n, n, 3), dtype=np.float32)
        self._high = np.zeros((n, n, 3), dtype=np.float32)
        self._last_seen = np.zeros((n, n), dtype=np.float64)
        self._hits = np.zeros((n, n), dtype=np.int32)
        self._frame_low = np.zeros((n, n), dtype=np.float32)
        self._frame_high = np.zeros((n, n), dtype=np.float32)
        self._streak = np.full((n, n), -np.inf)
        self._last_hit = np.full((n, n), -np.inf)
        self._unsettled = np.zeros(n * n, dtype=np.int32)
        self._left = np.zeros(n * n, dtype=np.int32)
        self._num_unsettled = self._num_left = 0
        self._low_pixel = np.zeros((n, n), dtype=np.int32)
        self._high_pixel = np.zeros((n, n), dtype=np.int32)
        self._rays: tuple[PinholeCamera, NDArray, NDArray] | None = None
        self._no_mask = np.zeros((1, 1), dtype=np.bool_)
        self.is_started = False
        self.version = 0
        self.stamp = 0

    @property
    def state(self) -> NDArray[np.uint8]:
        """(N, N) states UNKNOWN, FREE, OCCUPIED, LETHAL; do not write into it."""
        return self._state

    @property
    def origin(self) -> tuple[float, float]:
        """Corner (x, y) of cell (0, 0), metres, odometry frame."""
        cell = self.config.cell
        return float(self._origin_cells[0] * cell), float(self._origin_cells[1] * cell)

    def start(self, x: float, y: float) -> None:
        """Forget everything and centre on the robot; the promised circle around it is free."""
        n = self.config.num_cells
        for array in (self._state, self._score, self._drop, self._is_floor, self._last_seen):
            array[:] = 0
        self._streak[:] = self._last_hit[:] = -np.inf
        self._origin_cells[0] = math.floor(x / self.config.cell) - n // 2
        self._origin_cells[1] = math.floor(y / self.config.cell) - n // 2
        self.mark_free(x, y, self.config.initial_free_radius)
        self.is_started = True

    def mark_free(self, x: float, y: float, radius: float) -> None:
        """Declare the unknown floor within ``radius`` metres of (x, y) free."""
        xs, ys = self.cell_centres()
        inside = (xs[None, :] - x) ** 2 + (ys[:, None] - y) ** 2 <= radius * radius
        inside &= self._state == UNKNOWN
        self._is_floor |= inside
        self._state[inside] = FREE
        self.version += 1

    def recentre(self, x: float, y: float) -> None:
        """Move the window with the robot; cells that leave are forgotten."""
        n = self.config.num_cells
        wanted = np.array(
            [math.floor(x / self.config.cell) - n // 2, math.floor(y / self.config.cell) - n // 2]
        )
        shift = wanted - self._origin_cells
        if np.max(np.abs(shift)) < 10:
            return
        arrays = (
            self._state, self._score, self._drop, self._is_floor, self._low, self._high,
            self._last_seen, self._streak, self._last_hit,
        )  # fmt: skip
        for array in arrays:
            _shift(array, int(shift[0]), int(shift[1]))
        self._origin_cells = wanted
        self.version += 1

    def integrate(
        self,
        depth: NDArray[np.float32],
        camera: PinholeCamera,
        odom_tform_camera: NDArray[np.float64],
        stamp: int,
        *,
        base_xyz: tuple[float, float, float] | None = None,
        body_mask: NDArray[np.bool_] | None = None,
    ) -> int:
        """Fuse one depth image, every pixel of it.

        Args:
            depth: (H, W) metres along the optical axis; NaN and 0 unknown, +inf far, -inf near.
            camera: Intrinsics of ``depth``.
            odom_tform_camera: (4, 4) pose of the optical frame at the exposure.
            stamp: Exposure time, ns.
            base_xyz: Position of base_link, metres; its z is the floor. None: below the camera,
                floor at 0.
            body_mask: (H, W) True where the picture shows the robot itself.

        Returns:
            How many cells became an obstacle or a dropoff.

        Raises:
            ImageSizeError: ``depth`` does not have the size of ``camera``.
            GeometryError: The pose is not finite or not rigid.
        """
        check_size(depth, camera)
        tform = checked_pose(odom_tform_camera)
        if body_mask is not None:
            check_size(body_mask, camera)
        bx, by, bz = base_xyz or (tform[0, 3], tform[1, 3], 0.0)
        if not self.is_started:
            self.start(bx, by)
        self.recentre(bx, by)
        config = self.config
        local = np.ascontiguousarray(tform[:3], dtype=np.float32)
        local[2, 3] -= bz
        image = np.ascontiguousarray(depth, dtype=np.float32)
        ray_x, ray_y = self._rays_of(camera)
        limits = np.array(
            [
                config.min_depth, config.max_depth, config.step_height, config.robot_height,
                config.height_noise, 1.0 / config.cell,
            ],
            dtype=np.float32,
        )  # fmt: skip
        corner = (tform[:2, 3] / config.cell - self._origin_cells).astype(np.float32)
        own = np.array(
            [bx - tform[0, 3], by - tform[1, 3], config.self_radius**2], dtype=np.float32
        )
        row_z = np.empty(camera.width, dtype=np.float32)
        row_cell = np.empty(camera.width, dtype=np.int32)
        mark_hits(
            image, ray_x, ray_y, local, limits, corner, own,
            body_mask is not None, self._no_mask if body_mask is None else body_mask,
            self._hits, self._frame_low, self._frame_high, self._low_pixel, self._high_pixel,
            row_z, row_cell,
        )  # fmt: skip
        full = tform[:3].copy()
        full[2, 3] -= bz
        intrinsics = np.array([camera.fx, camera.fy, camera.cx, camera.cy])
        new_obstacles, self._num_unsettled, self._num_left = sweep_cells(
            image, ray_x, ray_y, intrinsics, full, self._origin_cells, config.cell,
            config.min_depth, config.max_depth, config.step_height, config.height_noise,
            config.drop_height, config.far_below_floor_is_dropoff, config.clear_margin,
            config.occupied_hits, 24, 6, stamp * 1e-9, config.decay, self._hits, self._frame_low,
            self._frame_high, self._low_pixel, self._high_pixel, self._score, self._drop,
            self._is_floor, self._low, self._high, self._last_seen, self._state, self._streak,
            self._last_hit, self._unsettled, self._left,
        )  # fmt: skip
        self.version += 1
        self.stamp = stamp
        return int(new_obstacles)

    @property
    def unsettled_xy(self) -> NDArray[np.float64]:
        """(K, 2) centres of cells with something tall that has not stood there long, metres."""
        return self._centres(self._unsettled[: self._num_unsettled])

    @property
    def left_xy(self) -> NDArray[np.float64]:
        """(K, 2) centres of cells that something was seen to leave just now, metres."""
        return self._centres(self._left[: self._num_left])

    def _centres(self, flat: NDArray[np.int32]) -> NDArray[np.float64]:
        return self.points_xy(np.column_stack(np.divmod(flat, self.config.num_cells)))

    def expire(self, points_xy: NDArray[np.float64], lifetime: float) -> None:
        """Let the obstacles at (K, 2) points end ``lifetime`` s from now unless seen again."""
        cells = self.cells_rc(points_xy)
        n = self.config.num_cells
        rows, columns = cells[np.all((cells >= 0) & (cells < n), axis=1)].T
        age = max(0.0, self.config.decay - lifetime)
        self._last_seen[rows, columns] = self.stamp * 1e-9 - age

    def free_mask(self) -> NDArray[np.bool_]:
        """Return (N, N) True where the floor is known free; pinholes are filled as configured."""
        free = self._state == FREE
        if self.config.fill_pinholes <= 8:
            kernel = np.ones((3, 3), dtype=np.float32)
            near_free = cv2.filter2D(
                free.view(np.uint8), cv2.CV_16S, kernel, borderType=cv2.BORDER_CONSTANT
            )
            bad = cv2.dilate((self._state >= OCCUPIED).view(np.uint8), kernel.astype(np.uint8))
            free |= (
                (self._state == UNKNOWN) & (near_free >= self.config.fill_pinholes) & (bad == 0)
            )
        return free

    def distance_field(self, free: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Return (N, N) metres from each cell centre to the edge of the nearest cell not free.

        Half a cell is taken off the distance of centres, so that the value never flatters.
        """
        free = self.free_mask() if free is None else free
        padded = np.zeros((free.shape[0] + 2, free.shape[1] + 2), dtype=np.uint8)
        padded[1:-1, 1:-1] = free
        pixels = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
        return np.maximum(0.0, (pixels - 0.5) * np.float32(self.config.cell)).astype(np.float32)

    def as_occupancy(self) -> NDArray[np.int8]:
        """Return (N, N) nav_msgs/OccupancyGrid data: -1 unknown, 0 free, 100 not drivable."""
        return np.array([-1, 0, 100, 100], dtype=np.int8)[self._state]

    def cell_centres(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x of each column and y of each row, metres, odometry frame."""
        steps = (np.arange(self.config.num_cells, dtype=np.float64) + 0.5) * self.config.cell
        x, y = self.origin
        return x + steps, y + steps

    def cells_rc(self, points_xy: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return (N, 2) row and column of (N, 2) points; they may lie outside the window."""
        points = np.asarray(points_xy, dtype=np.float64).reshape(-1, 2)
        cells = np.floor(points / self.config.cell).astype(np.int64) - self._origin_cells
        return cells[:, ::-1]

    def points_xy(self, cells_rc: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (N, 2) centres of (N, 2) cells, metres, odometry frame."""
        cells = np.asarray(cells_rc).reshape(-1, 2)[:, ::-1]
        centres = (cells + self._origin_cells + 0.5) * self.config.cell
        return centres.astype(np.float64, copy=False)

    def state_at(self, x: float, y: float) -> int:
        """Return the state of the cell at (x, y) metres; UNKNOWN outside the window."""
        row, column = self.cells_rc(np.array([[x, y]]))[0]
        n = self.config.num_cells
        if not (0 <= row < n and 0 <= column < n):
            return UNKNOWN
        return int(self._state[row, column])

    def _rays_of(self, camera: PinholeCamera) -> tuple[NDArray, NDArray]:
        if self._rays is None or self._rays[0] != camera:
            ray_x = ((np.arange(camera.width) - camera.cx) / camera.fx).astype(np.float32)
            ray_y = ((np.arange(camera.height) - camera.cy) / camera.fy).astype(np.float32)
            self._rays = (camera, ray_x, ray_y)
        return self._rays[1], self._rays[2]


def _shift(array: NDArray, columns: int, rows: int) -> None:
    """Move the contents so that cell (r, c) holds what (r + rows, c + columns) held; rest 0."""
    n = array.shape[0]
    if abs(columns) >= n or abs(rows) >= n:
        array[:] = 0
        return
    moved = np.zeros_like(array)
    to_r = slice(max(0, -rows), min(n, n - rows))
    from_r = slice(max(0, rows), min(n, n + rows))
    to_c = slice(max(0, -columns), min(n, n - columns))
    from_c = slice(max(0, columns), min(n, n + columns))
    moved[to_r, to_c] = array[from_r, from_c]
    array[:] = moved
