# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From a goal to a path, when it is set and again while it is driven to."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vln_core.control.body_fit import BodyFit
from vln_core.control.fast_marching import Plan, SearchSpace, plan, straight_path
from vln_core.control.motion_config import MotionConfig
from vln_core.control.motion_goal import Goal, Mode, Pose
from vln_core.control.pixel_goal import PixelGoal, Refusal, corridor_block, pixel_goal
from vln_core.control.route import Route
from vln_core.control.traversability import TraversabilityGrid
from vln_core.geometry.transforms import wrap_angle
from vln_core.observation import View
from vln_core.outcome import MotionCode, MotionOutcome

# Bearing from which a path lies behind, and until which it stays so, rad.
_BEHIND, _STILL_BEHIND = 2.2, 1.4


def goal_at_pixel(
    grid: TraversabilityGrid,
    view: View,
    pixel_uv: tuple[float, float],
    pose: Pose,
    mode: Mode,
    config: MotionConfig,
) -> tuple[Goal, Plan] | MotionOutcome:
    """Return the goal that a pixel (px) means and the path to it, or the refusal."""
    goal = pixel_goal(view, pixel_uv, pose, config.pixel)
    if isinstance(goal, Refusal):
        return MotionOutcome(goal.code, goal.message)
    longest = config.planner.max_detour * goal.rho + config.planner.detour_slack
    if mode == 'corridor':
        found = _straight(grid, view, goal, pose, config)
    else:
        found = plan(
            grid, pose[:2], goal.goal_xy, config.planner,
            max_length=longest, fits=BodyFit(grid, config.body, pose),
        )  # fmt: skip
    if isinstance(found, MotionOutcome):
        return found
    if not found.is_ok:
        return MotionOutcome(found.code, found.message)
    made = Goal(
        kind='straight' if mode == 'corridor' else 'point',
        goal_xy=found.goal_xy,
        max_length=longest + 0.5,
        deadline=config.time_for(found.length),
        has_path=True,
    )
    return made, found


def _straight(
    grid: TraversabilityGrid, view: View, goal: PixelGoal, pose: Pose, config: MotionConfig
) -> Plan | MotionOutcome:
    block = corridor_block(
        view.depth, view.camera, view.odom_tform_camera, pose, goal.theta, goal.rho, config.pixel,
        footprint=config.body,
    )  # fmt: skip
    if block is None:
        body = BodyFit(grid, config.body, pose)
        return straight_path(grid, pose[:2], goal.goal_xy, config.planner, body)
    side = 'left' if block[1] > 0.0 else 'right'
    return MotionOutcome(
        MotionCode.CORRIDOR_BLOCKED,
        f'something stands {block[0]:.1f} m ahead, {abs(block[1]):.2f} m to the '
        f'{side} of the straight way; choose another direction',
    )


def goal_along(points_xy: NDArray[np.float64], pose: Pose, config: MotionConfig) -> Goal:
    """Return the goal at the end of a route of (N, 2) points, metres; it has no path yet."""
    route = Route(points_xy, pose[:2])
    return Goal(
        kind='route',
        goal_xy=(float(points_xy[-1, 0]), float(points_xy[-1, 1])),
        route=route,
        deadline=config.time_for(1.5 * route.length),
    )


def replan(
    goal: Goal,
    grid: TraversabilityGrid,
    pose: Pose,
    is_path_bad: Callable[[], bool],
    config: MotionConfig,
) -> NDArray[np.float64] | None:
    """Look for a way from where the robot is; notes the result in ``goal``.

    Args:
        goal: A point, a straight way or a route.
        grid: Where the robot may drive.
        pose: x, y, yaw, odometry frame.
        is_path_bad: Whether the path under way may not be followed any more.
        config: Clearances.

    Returns:
        (M, 2) new path, metres; None: keep the old one, if ``goal.has_path``.
    """
    if goal.kind == 'straight':
        goal.has_path = not is_path_bad()
        goal.failure = 'the straight way is blocked'
        return None
    if goal.route is not None:
        leg = goal.route.leg(
            grid, pose[:2], config.planner, config.tolerate_unknown_on_route,
            lambda tolerated: BodyFit(grid, config.body, pose, tolerated),
        )  # fmt: skip
        goal.is_final, found = leg.is_final, leg.plan
    else:
        space = SearchSpace(grid, pose[:2], config.planner)
        found = plan(
            grid, pose[:2], goal.goal_xy or pose[:2], config.planner,
            max_length=goal.max_length, space=space, fits=BodyFit(grid, config.body, pose),
        )  # fmt: skip
    if not found.is_ok:
        goal.failure = found.message
        goal.has_path = goal.has_path and not is_path_bad()
        return None
    if goal.is_final:
        goal.goal_xy = found.goal_xy
    goal.has_path = True
    goal.is_backwards = _is_backwards(goal, found.path_xy, pose, config)
    return found.path_xy


def _is_backwards(
    goal: Goal, path_xy: NDArray[np.float64], pose: Pose, config: MotionConfig
) -> bool:
    """Whether a route leads behind the robot and is short enough to be driven backwards."""
    if goal.route is None or goal.route.remaining > config.max_reverse:
        return False
    ahead = path_xy[min(len(path_xy) - 1, 6)] - path_xy[0]
    error = abs(wrap_angle(math.atan2(ahead[1], ahead[0]) - pose[2]))
    return error > (_STILL_BEHIND if goal.is_backwards else _BEHIND)


def way_left(goal: Goal, path_xy: NDArray[np.float64], pose: Pose) -> float:
    """Return the metres still to drive."""
    if goal.route is not None:
        return goal.route.remaining
    if len(path_xy) == 0:
        return math.dist(pose[:2], goal.goal_xy or pose[:2])
    return float(np.linalg.norm(np.diff(path_xy, axis=0), axis=1).sum())
