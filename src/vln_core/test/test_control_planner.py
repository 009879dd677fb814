# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from vln_core.control.fast_marching import (
    PlannerConfig,
    SearchSpace,
    path_length,
    plan,
    straight_path,
)
from vln_core.control.traversability import (
    FREE,
    LETHAL,
    OCCUPIED,
    UNKNOWN,
    TraversabilityConfig,
    TraversabilityGrid,
)
from vln_core.errors import ConfigError
from vln_core.outcome import MotionCode

CONFIG = PlannerConfig()


def grid_of(paint: list[tuple[int, float, float, float, float]]) -> TraversabilityGrid:
    """A grid about the origin: rectangles (state, x0, y0, x1, y1) painted in order."""
    grid = TraversabilityGrid(TraversabilityConfig(initial_free_radius=0.0))
    grid.start(0.0, 0.0)
    xs, ys = grid.cell_centres()
    for state, x0, y0, x1, y1 in paint:
        inside = (xs[None, :] > x0) & (xs[None, :] < x1) & (ys[:, None] > y0) & (ys[:, None] < y1)
        grid.state[inside] = state
    return grid


def true_clearance(grid: TraversabilityGrid, path: np.ndarray) -> float:
    rows, columns = np.nonzero(grid.state != FREE)
    blocked = grid.points_xy(np.stack([rows, columns], axis=1))
    half = grid.config.cell / 2
    gap = np.maximum(np.abs(path[:, None] - blocked[None]) - half, 0.0)
    return float(np.hypot(gap[..., 0], gap[..., 1]).min())


HALL = (FREE, -4.0, -2.0, 4.0, 2.0)


def test_an_open_floor_gives_a_straight_path() -> None:
    found = plan(grid_of([HALL]), (-2.0, 0.0), (2.0, 0.3), CONFIG)
    assert found.is_ok
    assert found.length == pytest.approx(math.hypot(4.0, 0.3), rel=0.02)
    assert found.path_xy[0] == pytest.approx((-2.0, 0.0))
    assert found.goal_xy == pytest.approx((2.0, 0.3))
    assert np.linalg.norm(np.diff(found.path_xy, axis=0), axis=1).max() < 0.08


def test_the_footprint_fits_everywhere_along_a_detour() -> None:
    grid = grid_of([HALL, (OCCUPIED, -0.3, -1.2, 0.3, 0.6)])
    found = plan(grid, (-2.0, -0.3), (2.0, -0.3), CONFIG)
    assert found.is_ok
    assert true_clearance(grid, found.path_xy) >= CONFIG.radius + 0.02
    assert 4.0 < found.length < 6.0


def test_a_door_of_ninety_centimetres_is_passed_in_its_middle() -> None:
    grid = grid_of(
        [HALL, (OCCUPIED, -0.05, -2.0, 0.05, -0.45), (OCCUPIED, -0.05, 0.45, 0.05, 2.0)]
    )
    found = plan(grid, (-2.0, 0.8), (2.0, -0.8), CONFIG)
    assert found.is_ok
    crossing = found.path_xy[np.argmin(np.abs(found.path_xy[:, 0]))]
    assert abs(crossing[1]) < 0.15
    turns = np.diff(np.unwrap(np.arctan2(*np.diff(found.path_xy, axis=0).T[::-1])))
    assert np.abs(turns).max() < 0.5  # smooth


def test_a_gap_narrower_than_the_body_is_no_way() -> None:
    grid = grid_of([HALL, (OCCUPIED, -0.05, -2.0, 0.05, -0.2), (OCCUPIED, -0.05, 0.2, 0.05, 2.0)])
    found = plan(grid, (-2.0, 0.0), (2.0, 0.0), CONFIG)
    assert found.code is MotionCode.NO_PATH


@pytest.mark.parametrize(
    ('paint', 'goal', 'code'),
    [
        ([HALL, (OCCUPIED, 1.0, -1.0, 3.0, 1.0)], (2.0, 0.0), MotionCode.GOAL_IN_OBSTACLE),
        ([HALL, (LETHAL, 1.0, -1.0, 3.0, 1.0)], (2.0, 0.0), MotionCode.GOAL_IN_OBSTACLE),
        ([HALL, (UNKNOWN, 1.0, -1.5, 3.9, 1.5)], (2.5, 0.0), MotionCode.UNKNOWN_SPACE),
        ([HALL], (9.0, 0.0), MotionCode.UNKNOWN_SPACE),
        ([HALL, (OCCUPIED, 0.5, -2.0, 0.6, 2.0)], (2.0, 0.0), MotionCode.NO_PATH),
        ([HALL, (OCCUPIED, 0.5, -2.0, 0.6, 1.4)], (1.3, -1.0), MotionCode.DETOUR_TOO_LONG),
    ],
)
def test_refusals(paint: list, goal: tuple[float, float], code: MotionCode) -> None:
    found = plan(grid_of(paint), (0.0, -1.0) if code is MotionCode.DETOUR_TOO_LONG else (0.0, 0.0),
                 goal, CONFIG)  # fmt: skip
    assert found.code is code
    assert found.message


def test_a_goal_against_a_wall_is_moved_to_where_the_body_fits() -> None:
    found = plan(grid_of([HALL]), (0.0, 0.0), (3.9, 0.0), CONFIG)
    assert found.is_ok
    assert found.goal_xy[0] == pytest.approx(4.0 - 0.25, abs=0.06)


def test_a_robot_too_close_to_a_wall_can_leave_it() -> None:
    found = plan(grid_of([HALL]), (0.0, 1.82), (2.0, 0.0), CONFIG)
    assert found.is_ok
    assert found.path_xy[:, 1].max() < 1.83


def test_from_a_single_reachable_cell_no_front_marches() -> None:
    grid = grid_of([HALL])
    space = SearchSpace(grid, (0.0, 0.0), CONFIG)
    row, column = space.start_rc
    space.reachable[:] = False
    space.reachable[row, column] = True
    time, r0, c0 = space.arrival_time((row, column))
    assert time[row - r0, column - c0] == 0.0
    assert np.isfinite(time).sum() == 1
    found = plan(grid, (0.0, 0.0), (2.0, 0.0), CONFIG, space=space)
    assert not found.is_ok


def test_unknown_is_not_entered_unless_tolerated() -> None:
    grid = grid_of([HALL, (UNKNOWN, 0.5, -2.0, 1.0, 2.0)])
    assert not plan(grid, (0.0, 0.0), (2.0, 0.0), CONFIG).is_ok
    tolerated = grid.state == UNKNOWN
    assert plan(grid, (0.0, 0.0), (2.0, 0.0), CONFIG, tolerated=tolerated).is_ok


def test_the_straight_way_is_refused_when_anything_is_in_it() -> None:
    assert straight_path(grid_of([HALL]), (0.0, 0.0), (2.0, 0.0), CONFIG).is_ok
    blocked = grid_of([HALL, (OCCUPIED, 1.0, 0.1, 1.1, 0.2)])
    code = straight_path(blocked, (0.0, 0.0), (2.0, 0.0), CONFIG).code
    assert code is MotionCode.CORRIDOR_BLOCKED
    unseen = grid_of([HALL, (UNKNOWN, 1.0, -0.2, 1.3, 0.2)])
    assert straight_path(unseen, (0.0, 0.0), (2.0, 0.0), CONFIG).code is MotionCode.UNKNOWN_SPACE


def test_the_same_question_has_the_same_answer() -> None:
    grid = grid_of([HALL, (OCCUPIED, -0.3, -1.2, 0.3, 0.6)])
    first = plan(grid, (-2.0, -0.3), (2.0, -0.3), CONFIG).path_xy
    again = plan(grid, (-2.0, -0.3), (2.0, -0.3), CONFIG).path_xy
    assert np.array_equal(first, again)
    assert path_length(first) == path_length(again)


def test_settings_are_checked() -> None:
    for wrong in ({'radius': 0.0}, {'comfort': -1.0}, {'snap_limit': math.nan}):
        with pytest.raises(ConfigError):
            PlannerConfig(**wrong)
