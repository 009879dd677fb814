# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Paths through known-free cells by fast marching from the goal (scikit-fmm)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import cv2
import numpy as np
import skfmm
from numpy.typing import NDArray

from vln_core.control.body_fit import BodyFit
from vln_core.control.planning_kernels import descend, pull_string, relax
from vln_core.control.traversability import LETHAL, OCCUPIED, UNKNOWN, TraversabilityGrid
from vln_core.errors import ConfigError
from vln_core.outcome import MotionCode


@dataclass(frozen=True)
class PlannerConfig:
    """How close to things a path may go.

    Attributes:
        radius: Of the body, metres.
        margin: Kept beyond the radius, always, metres.
        comfort: Clearance beyond radius and margin from which on the speed is full, metres.
        slowest: Speed at the least clearance, as a fraction of the full one.
        unknown_speed: Speed through unknown cells that a caller tolerates, as a fraction.
        snap_limit: How far a goal may be moved to a reachable safe cell, metres.
        max_detour: Longest path as a multiple of the straight way.
        detour_slack: Added to the longest path, metres, so that short goals are not refused for
            the roundness of the robot.
    """

    radius: float = 0.20
    margin: float = 0.05
    comfort: float = 0.30
    slowest: float = 0.15
    unknown_speed: float = 0.25
    snap_limit: float = 0.40
    max_detour: float = 1.5
    detour_slack: float = 0.25

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value < 0.0:
                raise ConfigError(f'planner.{name} = {value} must be a number of at least 0')
        if self.radius <= 0.0 or self.comfort <= 0.0 or self.slowest <= 0.0:
            raise ConfigError('planner.radius, comfort and slowest must be positive')

    @property
    def hard_clearance(self) -> float:
        """Least distance of the robot's centre from anything not free, metres."""
        return self.radius + self.margin


@dataclass(frozen=True, eq=False)
class Plan:
    """A path, or the reason why there is none.

    Attributes:
        code: REACHED (there is a path), NO_PATH, GOAL_IN_OBSTACLE, UNKNOWN_SPACE, DETOUR_TOO_LONG.
        message: Reason, for System 2.
        path_xy: (M, 2) points every 5 cm or less, robot first, metres, odometry frame.
        length: Of the path, metres.
    """

    code: MotionCode
    message: str
    path_xy: NDArray[np.float64]
    length: float = 0.0

    @property
    def is_ok(self) -> bool:
        """True when there is a path."""
        return self.code is MotionCode.REACHED

    @property
    def goal_xy(self) -> tuple[float, float]:
        """Last point, metres."""
        return float(self.path_xy[-1, 0]), float(self.path_xy[-1, 1])


class SearchSpace:
    """Clearance and reachable cells from one start, shared by several goals of one replan."""

    def __init__(
        self,
        grid: TraversabilityGrid,
        start_xy: tuple[float, float],
        config: PlannerConfig,
        tolerated: NDArray[np.bool_] | None = None,
    ) -> None:
        """Prepare.

        Args:
            grid: Where the robot may drive.
            start_xy: Robot, metres.
            config: Clearances.
            tolerated: (N, N) unknown cells that count as free, slowly; None: none.
        """
        self.grid, self.config, self.start_xy = grid, config, start_xy
        known = grid.free_mask()
        self.tolerated = None
        if tolerated is not None:
            self.tolerated = tolerated & (grid.state == UNKNOWN) & ~known
            known = known | self.tolerated
        self.clearance = grid.distance_field(known)
        n = grid.config.num_cells
        row, column = (int(value) for value in grid.cells_rc(np.array([start_xy]))[0])
        self.is_inside = 0 <= row < n and 0 <= column < n
        self.start_rc = (row, column)
        open_cells = self.clearance >= config.hard_clearance
        if self.is_inside:
            open_cells |= self._escape(known, row, column)
        self.open_cells = open_cells
        if self.is_inside and open_cells[row, column]:
            _, labels = cv2.connectedComponents(open_cells.view(np.uint8), connectivity=4)
            self.reachable = labels == labels[row, column]
        else:
            self.reachable = np.zeros_like(open_cells)

    def _escape(self, known: NDArray[np.bool_], row: int, column: int) -> NDArray[np.bool_]:
        """Cells by which a robot that stands too close to something may leave.

        The robot stands there, so its own cell is open, and cells nearby with no less
        clearance are too.
        """
        own = float(self.clearance[row, column])
        escape = np.zeros_like(known)
        if own >= self.config.hard_clearance:
            return escape
        reach = int(math.ceil(0.5 / self.grid.config.cell))
        n = len(known)
        rows = slice(max(0, row - reach), min(n, row + reach + 1))
        columns = slice(max(0, column - reach), min(n, column + reach + 1))
        escape[rows, columns] = known[rows, columns] & (self.clearance[rows, columns] >= own)
        escape[row, column] = True
        return escape

    def snap(self, goal_xy: tuple[float, float]) -> tuple[int, int] | None:
        """Return the reachable cell nearest to the goal within the limit, or None."""
        row, column = (int(value) for value in self.grid.cells_rc(np.array([goal_xy]))[0])
        n = self.grid.config.num_cells
        if 0 <= row < n and 0 <= column < n and self.reachable[row, column]:
            return row, column
        reach = int(math.ceil(self.config.snap_limit / self.grid.config.cell))
        r0, r1 = max(0, row - reach), min(n, row + reach + 1)
        c0, c1 = max(0, column - reach), min(n, column + reach + 1)
        if r0 >= r1 or c0 >= c1:
            return None
        rows, columns = np.nonzero(self.reachable[r0:r1, c0:c1])
        if len(rows) == 0:
            return None
        cells = np.stack([rows + r0, columns + c0], axis=1)
        apart = np.linalg.norm(self.grid.points_xy(cells) - np.asarray(goal_xy), axis=1)
        best = int(np.argmin(apart))
        if apart[best] > self.config.snap_limit:
            return None
        return int(cells[best, 0]), int(cells[best, 1])

    def arrival_time(self, goal_rc: tuple[int, int]) -> tuple[NDArray[np.float64], int, int]:
        """Return the arrival time from the goal, and the row and column of its corner.

        Marching only over the box around the reachable cells is what makes a replan cheap.
        """
        rows = np.flatnonzero(self.reachable.any(axis=1))
        columns = np.flatnonzero(self.reachable.any(axis=0))
        r0, r1 = int(rows[0]), int(rows[-1]) + 1
        c0, c1 = int(columns[0]), int(columns[-1]) + 1
        config = self.config
        inside = self.reachable[r0:r1, c0:c1]
        slack = (self.clearance[r0:r1, c0:c1] - config.hard_clearance) / config.comfort
        speed = config.slowest + (1.0 - config.slowest) * np.clip(slack, 0.0, 1.0)
        if self.tolerated is not None:
            speed = np.where(self.tolerated[r0:r1, c0:c1], config.unknown_speed * speed, speed)
        phi = np.ones(inside.shape)
        phi[goal_rc[0] - r0, goal_rc[1] - c0] = -1.0
        if min(inside.shape) < 3:  # scikit-fmm wants room for its differences
            pad = ((1, 1), (1, 1))
            inside, phi = np.pad(inside, pad), np.pad(phi, pad, constant_values=1.0)
            speed = np.pad(speed, pad, mode='edge')
            r0, c0 = r0 - 1, c0 - 1
        row, column = goal_rc[0] - r0, goal_rc[1] - c0
        around = np.pad(inside, 1)[row : row + 3, column : column + 3]
        if not (around[0, 1] or around[2, 1] or around[1, 0] or around[1, 2]):
            # boxed in: no front can start, and scikit-fmm would raise
            time = np.full(inside.shape, np.inf)
            time[row, column] = 0.0
            return time, r0, c0
        cell = self.grid.config.cell
        time = skfmm.travel_time(np.ma.MaskedArray(phi, mask=~inside), speed, dx=cell, order=1)
        time = np.ma.filled(time, np.inf).astype(np.float64)
        time[goal_rc[0] - r0, goal_rc[1] - c0] = 0.0
        return time, r0, c0


def plan(
    grid: TraversabilityGrid,
    start_xy: tuple[float, float],
    goal_xy: tuple[float, float],
    config: PlannerConfig,
    *,
    max_length: float | None = None,
    tolerated: NDArray[np.bool_] | None = None,
    space: SearchSpace | None = None,
    fits: BodyFit | None = None,
) -> Plan:
    """Find a smooth safe path through known-free cells.

    Args:
        grid: Where the robot may drive.
        start_xy: Robot, metres, odometry frame.
        goal_xy: Wanted goal, metres; moved to the nearest reachable safe cell within the limit.
        config: Clearances and limits.
        max_length: Longest path allowed, metres; None: ``max_detour`` times the straight way.
        tolerated: (N, N) unknown cells that count as free, slowly.
        space: Prepared search space of the same grid and start, to save time.
        fits: Outline of a body that is not round; where it does not fit along the path, the path
            is planned for the circle around it. None: a circle.

    Returns:
        The plan; ``is_ok`` is False for a refusal.
    """
    space = space or SearchSpace(grid, start_xy, config, tolerated)
    goal_rc = space.snap(goal_xy)
    if goal_rc is None:
        return _refuse(space, goal_xy)
    time, r0, c0 = space.arrival_time(goal_rc)
    cells = descend(time, space.start_rc[0] - r0, space.start_rc[1] - c0)
    if (int(cells[-1, 1]) + r0, int(cells[-1, 0]) + c0) != goal_rc:
        return _no('the way to the goal is cut off', MotionCode.NO_PATH)
    cells = cells + np.array([c0, r0], dtype=np.float64)
    path = _smooth(space, cells, goal_xy if _same_cell(grid, goal_xy, goal_rc) else None)
    if fits is not None and not fits(path):
        if config.radius >= fits.footprint.outer:
            return _no('the body does not fit through on the way', MotionCode.NO_PATH)
        wide = replace(config, radius=fits.footprint.outer)
        return plan(
            grid, start_xy, goal_xy, wide,
            max_length=max_length, tolerated=space.tolerated, fits=fits,
        )  # fmt: skip
    length = path_length(path)
    straight = math.dist(start_xy, goal_xy)
    limit = (
        config.max_detour * straight + config.detour_slack if max_length is None else max_length
    )
    if length > limit:
        return _no(
            f'the way around is {length:.1f} m for {straight:.1f} m straight; choose a nearer '
            'target or go round in two steps',
            MotionCode.DETOUR_TOO_LONG,
        )
    return Plan(MotionCode.REACHED, '', path, length)


def straight_path(
    grid: TraversabilityGrid,
    start_xy: tuple[float, float],
    goal_xy: tuple[float, float],
    config: PlannerConfig,
    fits: BodyFit | None = None,
) -> Plan:
    """Return the straight path where the whole footprint fits into known-free cells on it."""
    count = max(2, int(math.ceil(math.dist(start_xy, goal_xy) / grid.config.cell)) + 1)
    path = np.linspace(start_xy, goal_xy, count)
    clearance = grid.distance_field()
    cells = grid.cells_rc(path)
    n = grid.config.num_cells
    if np.any(cells < 0) or np.any(cells >= n):
        return _no('the goal lies outside the known surroundings', MotionCode.UNKNOWN_SPACE)
    along = clearance[cells[:, 0], cells[:, 1]]
    needed = np.minimum(config.hard_clearance, along[0])
    bad = np.flatnonzero(along < needed)
    if len(bad) == 0 and fits is not None and not fits(path):
        return _no('the body does not fit along the straight way', MotionCode.CORRIDOR_BLOCKED)
    if len(bad) == 0:
        return Plan(MotionCode.REACHED, '', path, math.dist(start_xy, goal_xy))
    ahead = bad[0] * math.dist(start_xy, goal_xy) / (count - 1)
    if _touches(grid, path[bad], config.hard_clearance, obstacles_only=True):
        message = f'the straight way is blocked {ahead:.1f} m ahead'
        return _no(message, MotionCode.CORRIDOR_BLOCKED)
    return _no(f'the floor {ahead:.1f} m ahead has not been seen', MotionCode.UNKNOWN_SPACE)


def path_length(path_xy: NDArray[np.float64]) -> float:
    """Return the length of an (M, 2) polyline, metres."""
    return float(np.linalg.norm(np.diff(path_xy, axis=0), axis=1).sum())


def resample(path_xy: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Return the polyline with points at most ``step`` metres apart, ends kept."""
    segments = np.linalg.norm(np.diff(path_xy, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(segments)])
    if along[-1] < 1e-9:
        return np.repeat(path_xy[:1], 2, axis=0)
    wanted = np.linspace(0.0, along[-1], max(2, int(math.ceil(along[-1] / step)) + 1))
    return np.stack([np.interp(wanted, along, path_xy[:, k]) for k in (0, 1)], axis=1)


def _smooth(
    space: SearchSpace, cells: NDArray[np.float64], goal_xy: tuple[float, float] | None
) -> NDArray[np.float64]:
    grid, config = space.grid, space.config
    clearance = space.clearance.astype(np.float64)
    corner = np.array(grid.origin) + 0.5 * grid.config.cell
    if len(cells) < 2:
        cells = np.repeat(cells, 2, axis=0)
    cells[0] = (np.array(space.start_xy) - corner) / grid.config.cell
    if goal_xy is not None:
        cells[-1] = (np.array(goal_xy) - corner) / grid.config.cell
    pulled = pull_string(cells, clearance, config.hard_clearance + 0.5 * config.comfort)
    dense = resample(pulled, 1.0)
    relaxed = relax(dense, clearance, config.hard_clearance + 0.5 * config.comfort, 12)
    return relaxed * grid.config.cell + corner


def _same_cell(
    grid: TraversabilityGrid, goal_xy: tuple[float, float], goal_rc: tuple[int, int]
) -> bool:
    row, column = grid.cells_rc(np.array([goal_xy]))[0]
    return (int(row), int(column)) == goal_rc


def _touches(
    grid: TraversabilityGrid, points_xy: NDArray[np.float64], reach: float, obstacles_only: bool
) -> bool:
    """True when an obstacle (or anything not free) lies within ``reach`` of one of the points."""
    state = grid.state
    mask = state >= OCCUPIED if obstacles_only else state != 1
    rows, columns = np.nonzero(mask)
    if len(rows) == 0:
        return False
    centres = grid.points_xy(np.stack([rows, columns], axis=1))
    for point in points_xy[:: max(1, len(points_xy) // 8)]:
        if np.min(np.linalg.norm(centres - point, axis=1)) <= reach + grid.config.cell:
            return True
    return False


def _refuse(space: SearchSpace, goal_xy: tuple[float, float]) -> Plan:
    """Say why no cell near the goal can be reached."""
    grid = space.grid
    if not space.is_inside or not space.reachable.any():
        return _no('the robot is boxed in: no known-free floor around it', MotionCode.NO_PATH)
    row, column = (int(value) for value in grid.cells_rc(np.array([goal_xy]))[0])
    n = grid.config.num_cells
    if not (0 <= row < n and 0 <= column < n):
        return _no('the goal lies outside the known surroundings', MotionCode.UNKNOWN_SPACE)
    state = int(grid.state[row, column])
    if state == LETHAL:
        return _no('the goal lies over a dropoff', MotionCode.GOAL_IN_OBSTACLE)
    if state == OCCUPIED or _touches(
        grid, np.array([goal_xy]), space.config.radius, obstacles_only=True
    ):
        return _no(
            f'the goal lies in or against an obstacle, and no reachable floor is within '
            f'{space.config.snap_limit:.1f} m of it',
            MotionCode.GOAL_IN_OBSTACLE,
        )
    if state == UNKNOWN or not space.open_cells[row, column]:
        return _no('the floor at the goal has not been seen', MotionCode.UNKNOWN_SPACE)
    return _no('no way to the goal leads through floor that is known free', MotionCode.NO_PATH)


def _no(message: str, code: MotionCode) -> Plan:
    return Plan(code, message, np.empty((0, 2)))
