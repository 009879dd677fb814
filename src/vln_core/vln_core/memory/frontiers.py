# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Openings of known-free space into the unknown: navigable unvisited viewpoints (SPEC 3.7)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from vln_core.memory.config import MemoryConfig
from vln_core.memory.routes import Reach
from vln_core.memory.space_map import SpaceMap
from vln_core.memory.spatial_hash import SpatialHash

# Unknown pockets smaller than this are gaps of the sampling.
_POCKET_CELLS = 15
_LONGEST = 2.5
_NUM_RAYS = 72


@dataclass(frozen=True)
class Frontier:
    """An opening; metres and rad in the global frame.

    Attributes:
        x: Of a safe reachable spot near the middle of the opening.
        y: As ``x``.
        width: Length of the boundary to the unknown.
        unknown_area: Unknown floor in view from it within the sensor's reach, m^2.
        heading_out: Towards the unknown.
        path_length: Way from the robot.
    """

    x: float
    y: float
    width: float
    unknown_area: float
    heading_out: float
    path_length: float


def find_frontiers(
    space: SpaceMap, reach: Reach, waypoints_xy: NDArray[np.float64], config: MemoryConfig
) -> list[Frontier]:
    """Return the openings that the robot can reach, in a deterministic order.

    Args:
        space: What was seen.
        reach: Ways from where the robot stands, over the same map.
        waypoints_xy: (N, 2) waypoints; boundaries near them were approached already.
        config: Sizes.
    """
    if space.evidence.size == 0 or not np.isfinite(reach.length).any():
        return []
    _, free = space.masks()
    unknown = _large_unknown(~space.seen)
    boundary = free & _beside(unknown)
    reached = np.isfinite(reach.length)
    gap = cv2.distanceTransform((~reached).astype(np.uint8), cv2.DIST_L2, 5) * space.cell
    boundary &= gap <= config.robot_radius + 1.5 * space.cell
    cells = np.argwhere(boundary)
    if len(cells) and len(waypoints_xy):
        points = space.points_of(cells)
        # Waypoints are as many as steps: a plain tree is built faster than a balanced one.
        tree = cKDTree(waypoints_xy, balanced_tree=False, compact_nodes=False)
        away, _ = tree.query(points, distance_upper_bound=config.frontier_done_distance)
        done = cells[away < config.frontier_done_distance]
        boundary[done[:, 0], done[:, 1]] = False
    result = []
    for cluster in _clusters(boundary, space.cell):
        frontier = _describe(cluster, space, reach, unknown, config)
        if frontier is not None:
            result.append(frontier)
    return result


def _large_unknown(unknown: NDArray[np.bool_]) -> NDArray[np.bool_]:
    _, labels, stats, _ = cv2.connectedComponentsWithStats(
        unknown.astype(np.uint8), connectivity=4
    )
    large = stats[:, cv2.CC_STAT_AREA] >= _POCKET_CELLS
    large[0] = False
    return large[labels]


def _beside(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    return cv2.dilate(mask.astype(np.uint8), cross) > 0


def _clusters(boundary: NDArray[np.bool_], cell_size: float) -> list[NDArray[np.int64]]:
    thick = cv2.dilate(boundary.astype(np.uint8), np.ones((3, 3), np.uint8))
    number, labels = cv2.connectedComponents(thick, connectivity=8)
    cells = np.argwhere(boundary)
    owner = labels[cells[:, 0], cells[:, 1]]
    result = []
    for k in range(1, number):
        result.extend(_split(cells[owner == k], cell_size))
    return result


def _split(cells: NDArray[np.int64], cell_size: float) -> list[NDArray[np.int64]]:
    if len(cells) < 2:
        return []
    centred = cells - cells.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    along = centred @ axes[0]
    if axes[0][int(np.argmax(np.abs(axes[0])))] < 0:
        along = -along
    parts = int(math.ceil((np.ptp(along) + 1) * cell_size / _LONGEST))
    if parts <= 1:
        return [cells]
    which = np.minimum(
        ((along - along.min()) / (np.ptp(along) + 1e-9) * parts).astype(int), parts - 1
    )
    return [cells[which == k] for k in range(parts) if np.any(which == k)]


def _describe(
    cells: NDArray[np.int64],
    space: SpaceMap,
    reach: Reach,
    unknown: NDArray[np.bool_],
    config: MemoryConfig,
) -> Frontier | None:
    points = space.points_of(cells)
    spread = points - points.mean(axis=0)
    width = float(max(np.ptp(spread[:, 0]), np.ptp(spread[:, 1]))) + space.cell
    if width < config.frontier_min_width:
        return None
    middle = points[int(np.argmin(np.hypot(spread[:, 0], spread[:, 1])))]
    area, heading = _view_into(middle, space, unknown, config.frontier_range)
    if area < config.frontier_min_area:
        return None
    spot = _safe_spot(middle, space, reach)
    if spot is None:
        return None
    x, y = space.points_of(np.array([spot]))[0]
    return Frontier(float(x), float(y), width, area, heading, float(reach.length[spot]))


def _view_into(
    spot: NDArray[np.float64], space: SpaceMap, unknown: NDArray[np.bool_], span: float
) -> tuple[float, float]:
    """Return unknown area in view of a spot, m^2, and the direction of its centroid, rad."""
    angles = np.arange(_NUM_RAYS) * (2.0 * math.pi / _NUM_RAYS)
    ranges = np.arange(1, int(span / space.cell) + 1) * space.cell
    x = spot[0] + np.cos(angles)[:, None] * ranges
    y = spot[1] + np.sin(angles)[:, None] * ranges
    cells = space.cells_of(np.stack([x.ravel(), y.ravel()], axis=1))
    inside = space.inside(cells)
    cells[~inside] = 0
    shape = (len(angles), len(ranges))
    wall = ((space.evidence[cells[:, 0], cells[:, 1]] > 0) & inside).reshape(shape)
    is_unknown = (unknown[cells[:, 0], cells[:, 1]] | ~inside).reshape(shape)
    visible = np.cumsum(wall, axis=1) == 0
    weight = (visible & is_unknown) * ranges * space.cell * (2.0 * math.pi / _NUM_RAYS)
    total = float(weight.sum())
    heading = math.atan2(
        float((weight * (y - spot[1])).sum()), float((weight * (x - spot[0])).sum())
    )
    return total, heading


def _safe_spot(
    middle: NDArray[np.float64], space: SpaceMap, reach: Reach
) -> tuple[int, int] | None:
    row, column = space.cells_of(middle[None])[0]
    span = int(0.8 / space.cell)
    top, left = max(0, int(row) - span), max(0, int(column) - span)
    window = (slice(top, int(row) + span + 1), slice(left, int(column) + span + 1))
    cells = np.argwhere(np.isfinite(reach.length[window])) + (top, left)
    if not len(cells):
        return None
    gap = np.hypot(*(space.points_of(cells) - middle).T)
    room = reach.clearance[cells[:, 0], cells[:, 1]]
    best = cells[int(np.argmin(gap + np.maximum(0.0, 0.4 - room)))]
    return int(best[0]), int(best[1])


@dataclass
class _Known:
    id: int
    x: float
    y: float
    tries: int = 0
    is_dropped: bool = False


class FrontierTracker:
    """Gives openings stable numbers across steps and forgets those that cannot be approached."""

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self._known: list[_Known] = []
        self._hash = SpatialHash(1.0)
        self.current: dict[int, Frontier] = {}
        self.dirty: set[int] = set()

    def update(self, found: list[Frontier]) -> None:
        """Match the openings of this step with those known, nearest pairs first."""
        limit = self._config.frontier_match_distance
        pairs = sorted(
            (math.hypot(f.x - self._known[k].x, f.y - self._known[k].y), k, i)
            for i, f in enumerate(found)
            for k in self._hash.near(f.x, f.y, limit)
        )
        owner: dict[int, int] = {}
        used: set[int] = set()
        for gap, known_id, i in pairs:
            if gap <= limit and i not in owner and known_id not in used:
                owner[i] = known_id
                used.add(known_id)
        self.dirty |= self.current.keys()
        self.current = {}
        for i, frontier in enumerate(found):
            number = owner.get(i)
            if number is None:
                number = len(self._known)
                self._add(_Known(number, frontier.x, frontier.y))
            known = self._known[number]
            self._hash.move(number, (known.x, known.y), (frontier.x, frontier.y))
            known.x, known.y = frontier.x, frontier.y
            self.dirty.add(number)
            if not known.is_dropped:
                self.current[number] = frontier

    def _add(self, known: _Known) -> None:
        self._known.append(known)
        self._hash.add(known.id, known.x, known.y)

    def failed(self, number: int) -> None:
        """Count a failed approach; after ``frontier_tries`` of them the opening is dropped."""
        if 0 <= number < len(self._known):
            known = self._known[number]
            known.tries += 1
            self.dirty.add(number)
            if known.tries >= self._config.frontier_tries:
                known.is_dropped = True
                self.current.pop(number, None)

    def move(self, new_tform_old: NDArray[np.float64]) -> None:
        """Apply a rigid correction of the global frame to all known positions."""
        for known in self._known:
            x, y = (new_tform_old @ np.array([known.x, known.y, 0.0, 1.0]))[:2]
            self._hash.move(known.id, (known.x, known.y), (float(x), float(y)))
            known.x, known.y = float(x), float(y)
            self.dirty.add(known.id)

    def row(self, number: int) -> list[float]:
        """Return one opening as a plain row for the journal."""
        known = self._known[number]
        row: list[float] = [known.x, known.y, known.tries, int(known.is_dropped)]
        now = self.current.get(number)
        if now is not None:
            row += [now.width, now.unknown_area, now.heading_out, now.path_length]
        return row

    def numbers(self) -> range:
        """Return the numbers of all openings ever seen."""
        return range(len(self._known))

    def restore(self, row: list[float]) -> None:
        """Append what :meth:`row` gave; call in order of the numbers."""
        number = len(self._known)
        self._add(_Known(number, row[0], row[1], int(row[2]), bool(row[3])))
        if len(row) > 4:
            self.current[number] = Frontier(row[0], row[1], *row[4:8])
