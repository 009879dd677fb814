# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A disc-shaped body on a clearance map made once from the geometry of the scene.

No random state: equal calls give equal bits.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict

import cv2
import numpy as np
import skfmm
from numpy.typing import NDArray
from scipy import ndimage

from vln_core.errors import SceneError
from vln_sim_bridge.contact import ContactCounter
from vln_sim_bridge.meshes import TriangleSoup

_log = logging.getLogger(__name__)

CELL = 0.025
MIN_OBSTACLE_HEIGHT = 0.06
_MARGIN = 0.5
_SUBSTEP = 0.01
_SNAP = 0.6
_GOAL_CACHE = 32
_SAMPLES_PER_CHUNK = 1_000_000
_LARGE = 0.2
_SUBCELL_BITS = 4
_SUBCELLS = 1 << _SUBCELL_BITS


class ClearanceMap:
    """Distance from every place of the floor to the nearest obstacle.

    Attributes:
        origin: World (x, y) of the centre of cell (0, 0), metres.
        obstacle: (rows along y, columns along x) bool: the body may not overlap these cells.
        clearance: (rows, columns) float64 distance to the nearest obstacle cell's edge, metres.
    """

    def __init__(self, obstacle: NDArray[np.bool_], origin: tuple[float, float]) -> None:
        """Make the distance map of an obstacle raster with cells of ``CELL`` metres."""
        self.obstacle = obstacle
        self.origin = origin
        padded = np.pad(obstacle, 1, constant_values=True)
        distance = ndimage.distance_transform_edt(~padded)[1:-1, 1:-1]
        self.clearance: NDArray[np.float64] = np.maximum(distance * CELL - 0.5 * CELL, 0.0)
        self._rows: list[list[float]] = self.clearance.tolist()

    @classmethod
    def from_soup(cls, soup: TriangleSoup, robot_height: float) -> ClearanceMap:
        """Rasterise what lies between 0.06 m and ``robot_height``; no floor is an obstacle too.

        Raises:
            SceneError: The scene has no floor at height 0.
        """
        low = soup.corners.min(axis=(0, 1))[:2] - _MARGIN
        high = soup.corners.max(axis=(0, 1))[:2] + _MARGIN
        columns, rows = (np.ceil((high - low) / CELL).astype(int) + 1).tolist()
        shape = (rows, columns)
        z_min = soup.corners[:, :, 2].min(axis=1)
        z_max = soup.corners[:, :, 2].max(axis=1)
        in_band = (z_max > MIN_OBSTACLE_HEIGHT) & (z_min < robot_height)
        obstacle = np.zeros(shape, np.bool_)
        for owner in np.unique(soup.owner[in_band]).tolist():
            chosen = soup.corners[in_band & (soup.owner == owner)]
            band = (MIN_OBSTACLE_HEIGHT, robot_height)
            first = np.floor((chosen.min(axis=(0, 1))[:2] - low) / CELL).astype(int) - 1
            last = np.ceil((chosen.max(axis=(0, 1))[:2] - low) / CELL).astype(int) + 2
            window = (slice(first[1], last[1]), slice(first[0], last[0]))
            size = (last[1] - first[1], last[0] - first[0])
            footprint = rasterise(chosen, low + CELL * first, size, band)
            # Closed furniture is solid although only its hull has triangles.
            obstacle[window] |= ndimage.binary_fill_holes(footprint) if owner else footprint
        is_flat = (z_max < MIN_OBSTACLE_HEIGHT) & (z_min > -0.3)
        floor = rasterise(soup.corners[is_flat], low, shape, (-0.3, MIN_OBSTACLE_HEIGHT))
        if not floor.any():
            raise SceneError('the scene has no floor near height 0; is its GLB Y-up, in metres?')
        return cls(obstacle | ~floor, (float(low[0]), float(low[1])))

    def at(self, x: float, y: float) -> float:
        """Return the clearance at a world point, bilinear, metres; 0 outside the map."""
        column = (x - self.origin[0]) / CELL
        row = (y - self.origin[1]) / CELL
        j, i = math.floor(column), math.floor(row)
        if i < 0 or j < 0 or i + 1 >= len(self._rows) or j + 1 >= len(self._rows[0]):
            return 0.0
        a, b = column - j, row - i
        lower, upper = self._rows[i], self._rows[i + 1]
        below = lower[j] + a * (lower[j + 1] - lower[j])
        above = upper[j] + a * (upper[j + 1] - upper[j])
        return below + b * (above - below)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return the (row, column) nearest to a world point, clipped to the map."""
        rows, columns = self.obstacle.shape
        row = round((y - self.origin[1]) / CELL)
        column = round((x - self.origin[0]) / CELL)
        return min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)

    def point(self, row: int, column: int) -> tuple[float, float]:
        """Return the world (x, y) of a cell's centre, metres."""
        return self.origin[0] + column * CELL, self.origin[1] + row * CELL


def rasterise(
    corners: NDArray[np.float64],
    low: NDArray[np.float64],
    shape: tuple[int, int],
    band: tuple[float, float],
) -> NDArray[np.bool_]:
    """Mark the cells under the part of some triangles inside a height band.

    Large triangles are clipped and drawn, small ones sampled at half a cell; both catch walls seen
    edge-on.

    Args:
        corners: (M, 3, 3) metres, ROS world.
        low: (2,) world position of cell (0, 0), metres.
        shape: Rows and columns.
        band: Lowest and highest height that counts, metres.

    Returns:
        ``shape`` bool.
    """
    grid = np.zeros(shape, np.uint8)
    if not len(corners):
        return grid.astype(np.bool_)
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    for triangle in corners[sides > _LARGE]:
        polygon = _clip(triangle, band)
        if len(polygon):
            # fillConvexPoly also draws the outline, which is all there is of an upright wall.
            cells = np.rint((polygon[:, :2] - low) / CELL * _SUBCELLS).astype(np.int32)
            cv2.fillConvexPoly(grid, cells, 1, lineType=cv2.LINE_8, shift=_SUBCELL_BITS)
    small = corners[sides <= _LARGE]
    counts = np.maximum(np.ceil(sides[sides <= _LARGE] / (0.5 * CELL)), 1.0).astype(int)
    for count in np.unique(counts).tolist():
        weights = _barycentric(count)
        members = small[counts == count]
        size = max(1, _SAMPLES_PER_CHUNK // len(weights))
        for start in range(0, len(members), size):
            points = np.einsum('kc,mcd->mkd', weights, members[start : start + size])
            points = points.reshape(-1, 3)
            points = points[(points[:, 2] >= band[0]) & (points[:, 2] <= band[1])]
            cells = np.rint((points[:, :2] - low) / CELL).astype(int)
            grid[cells[:, 1], cells[:, 0]] = 1
    return grid.astype(np.bool_)


def _clip(triangle: NDArray[np.float64], band: tuple[float, float]) -> NDArray[np.float64]:
    """Return the (K, 3) corners of the part of a triangle inside a height band; K may be 0."""
    polygon = triangle
    for sign, limit in ((1.0, band[0]), (-1.0, -band[1])):
        if not len(polygon):
            break
        above = sign * polygon[:, 2] - limit
        kept = []
        for k in range(len(polygon)):
            a, b = above[k - 1], above[k]
            if (a < 0.0) != (b < 0.0):
                kept.append(polygon[k - 1] + a / (a - b) * (polygon[k] - polygon[k - 1]))
            if b >= 0.0:
                kept.append(polygon[k])
        polygon = np.array(kept).reshape(-1, 3)
    return polygon


def _barycentric(n: int) -> NDArray[np.float64]:
    """Return (K, 3) barycentric weights of a triangular lattice with n intervals a side."""
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing='ij')
    keep = i + j <= n
    a, b = i[keep] / n, j[keep] / n
    return np.stack([a, b, 1.0 - a - b], axis=1)


class DiscBody:
    """Pose, contact and walking distances of a disc of ``radius`` metres on a clearance map."""

    def __init__(self, floor: ClearanceMap, radius: float) -> None:
        """Make a body that stands nowhere yet: call :meth:`place` first."""
        self.floor = floor
        self.radius = radius
        self.x = self.y = self.yaw = math.nan
        # World x, y and radius of round things that may move, metres.
        self.discs: list[tuple[float, float, float]] = []
        self._contacts = ContactCounter()
        self._free = floor.clearance >= radius
        self._islands, _ = ndimage.label(self._free)
        self._distances: OrderedDict[tuple[int, int], NDArray[np.float64]] = OrderedDict()

    @property
    def collided(self) -> bool:
        """True when the last step touched something."""
        return self._contacts.collided

    @property
    def num_collisions(self) -> int:
        """Contacts begun since the last placement."""
        return self._contacts.count

    def place(self, x: float, y: float, yaw: float) -> None:
        """Put the body there at rest and zero its counters.

        Raises:
            SceneError: It would overlap something; nothing was changed.
        """
        if not all(map(math.isfinite, (x, y, yaw))):
            raise SceneError(f'start ({x}, {y}, {yaw}) is not finite')
        if self.clearance(x, y) < self.radius:
            near = self.nearest_free(x, y)
            where = (
                f'nearest free spot is ({near[0]:.2f}, {near[1]:.2f})' if near else 'no free spot'
            )
            raise SceneError(f'start inside a wall or object at ({x:.2f}, {y:.2f}): {where}')
        self.x, self.y, self.yaw = x, y, math.remainder(yaw, 2.0 * math.pi)
        self._contacts = ContactCounter()

    def nearest_free(self, x: float, y: float) -> tuple[float, float] | None:
        """Return the nearest world (x, y) where the body fits, or None in a full scene."""
        cells = np.argwhere(self._free)
        if not len(cells):
            return None
        squares = (self.floor.origin[0] + cells[:, 1] * CELL - x) ** 2
        squares += (self.floor.origin[1] + cells[:, 0] * CELL - y) ** 2
        row, column = cells[int(np.argmin(squares))].tolist()
        return self.floor.point(row, column)

    def step(self, v: float, w: float, dt: float) -> None:
        """Drive v m/s and w rad/s for dt s in arcs of at most 1 cm; slide along what is hit."""
        if not all(map(math.isfinite, (v, w, dt))) or dt < 0.0:
            raise ValueError(f'step({v}, {w}, {dt}) is not finite or goes back in time')
        count = max(1, math.ceil(abs(v) * dt / _SUBSTEP), math.ceil(abs(w) * dt / 0.05))
        h = dt / count
        # Something may have run into the body since the last step.
        touched = self.clearance(self.x, self.y) < self.radius
        for _ in range(count):
            heading = self.yaw + 0.5 * w * h
            touched |= self._move(v * h * math.cos(heading), v * h * math.sin(heading))
            self.yaw = math.remainder(self.yaw + w * h, 2.0 * math.pi)
        self._contacts.update(touched, self.clearance(self.x, self.y) - self.radius)

    def clearance(self, x: float, y: float) -> float:
        """Return the distance from a world point to the nearest thing, metres."""
        nearest = self.floor.at(x, y)
        for disc_x, disc_y, radius in self.discs:
            nearest = min(nearest, math.hypot(x - disc_x, y - disc_y) - radius)
        return nearest

    def _outward(self, x: float, y: float) -> tuple[float, float]:
        """Return the unit direction of growing clearance; (0, 0) where there is none."""
        gx = self.clearance(x + CELL, y) - self.clearance(x - CELL, y)
        gy = self.clearance(x, y + CELL) - self.clearance(x, y - CELL)
        norm = math.hypot(gx, gy)
        return (gx / norm, gy / norm) if norm > 1e-9 else (0.0, 0.0)

    def _move(self, dx: float, dy: float) -> bool:
        """Move by (dx, dy) m as far as possible; True when something was in the way."""
        if dx == 0.0 and dy == 0.0:
            return False
        x, y = self.x + dx, self.y + dy
        here = self.clearance(self.x, self.y)
        # A body that something has run into may always move away from it.
        if self.clearance(x, y) >= min(self.radius, here):
            self.x, self.y = x, y
            return False
        gx, gy = self._outward(self.x, self.y)
        inward = min(0.0, dx * gx + dy * gy)
        x, y = self.x + dx - inward * gx, self.y + dy - inward * gy
        for _ in range(3):
            lack = self.radius - self.clearance(x, y)
            if lack <= 0.0:
                break
            gx, gy = self._outward(x, y)
            x, y = x + gx * (lack + 1e-4), y + gy * (lack + 1e-4)
        # Pushing out must never carry the body further than it wanted to go.
        is_short = math.hypot(x - self.x, y - self.y) <= 1.5 * math.hypot(dx, dy)
        if is_short and self.clearance(x, y) >= self.radius:
            self.x, self.y = x, y
        return True

    def geodesic_distance(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Return the walking distance for the body's centre, metres; inf where there is no way.

        A point where the body does not fit counts from the nearest one where it does, at most
        0.6 m away.
        """
        ends = [self._snap(*start), self._snap(*goal)]
        if ends[0] is None or ends[1] is None:
            return math.inf
        (start_cell, start_gap), (goal_cell, goal_gap) = ends[0], ends[1]
        if self._islands[start_cell] != self._islands[goal_cell]:
            return math.inf
        straight = math.dist(start, goal)
        if straight <= 2.0 * CELL:
            return straight
        walked = float(self._distance_map(goal_cell)[start_cell])
        return max(walked + start_gap + goal_gap, straight)

    def _snap(self, x: float, y: float) -> tuple[tuple[int, int], float] | None:
        cell = self.floor.cell(x, y)
        if self._free[cell]:
            return cell, 0.0
        near = self.nearest_free(x, y)
        if near is None or math.dist(near, (x, y)) > _SNAP:
            return None
        return self.floor.cell(*near), math.dist(near, (x, y))

    def _distance_map(self, goal: tuple[int, int]) -> NDArray[np.float64]:
        """Return the walking distance of every free cell to ``goal``, metres; kept per goal."""
        if goal in self._distances:
            self._distances.move_to_end(goal)
            return self._distances[goal]
        rows, columns = np.indices(self._free.shape)
        straight = CELL * np.hypot(rows - goal[0], columns - goal[1])
        ring = 1.5 * CELL
        island = self._islands == self._islands[goal]
        field = np.ma.MaskedArray(straight - ring, mask=~island)
        walked = skfmm.distance(field, dx=CELL)
        walked = np.ma.filled(walked, math.inf) + ring
        result = np.where(straight <= ring, straight, walked)
        self._distances[goal] = result
        if len(self._distances) > _GOAL_CACHE:
            self._distances.popitem(last=False)
        return result
