# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Motion goals turned into velocities, one call per control period; no clock and no thread."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vln_core.control.fast_marching import PlannerConfig, SearchSpace, plan, straight_path
from vln_core.control.follower import FollowerConfig, PathFollower, RateLimiter, turn_rate
from vln_core.control.guard import Guard
from vln_core.control.pixel_goal import PixelGoalConfig, Refusal, corridor_block, pixel_goal
from vln_core.control.recovery import RecoveryConfig, RecoveryMonitor
from vln_core.control.route import Route
from vln_core.control.traversability import TraversabilityConfig, TraversabilityGrid
from vln_core.errors import ConfigError
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import wrap_angle
from vln_core.observation import Panorama
from vln_core.outcome import MotionCode, MotionOutcome

Pose = tuple[float, float, float]
Mode = Literal['corridor', 'plan']


@dataclass(frozen=True)
class MotionConfig:
    """Everything about motion; radius, heights and ranges are given here once.

    Attributes:
        radius: Of the body, metres.
        robot_height: Top of the body, metres.
        step_height: Highest thing the robot drives over, metres.
        margin: Kept beyond the radius, metres.
        min_depth: Nearest valid depth, metres.
        max_depth: Farthest valid depth, metres.
        depth_timeout: Age of the depth at which the robot stands still, s.
        give_up_timeout: Age of the depth at which the goal fails, s.
        replan_period: s, counted from the start of the goal.
        emergency_deceleration: Of the guard, m/s^2.
        latency: From a picture to the wheels, s; the guard keeps that much way.
        cautious_speed: Speed among tolerated unknown cells, m/s.
        tolerate_unknown_on_route: Routes may cross floor not seen lately.
        deadline_factor: Time allowed for a path as a multiple of the time at full speed.
        deadline_slack: Added to the time allowed, s.
        grid: Traversability.
        planner: Clearances.
        pixel: Pixel goals.
        follower: Limits of the base.
        recovery: When to give up.
    """

    radius: float = 0.20
    robot_height: float = 1.2
    step_height: float = 0.06
    margin: float = 0.05
    min_depth: float = 0.15
    max_depth: float = 10.0
    depth_timeout: float = 0.25
    give_up_timeout: float = 2.0
    replan_period: float = 0.2
    emergency_deceleration: float = 1.5
    latency: float = 0.15
    cautious_speed: float = 0.25
    tolerate_unknown_on_route: bool = True
    deadline_factor: float = 4.0
    deadline_slack: float = 20.0
    grid: TraversabilityConfig = field(default_factory=TraversabilityConfig)
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    pixel: PixelGoalConfig = field(default_factory=PixelGoalConfig)
    follower: FollowerConfig = field(default_factory=FollowerConfig)
    recovery: RecoveryConfig = field(default_factory=RecoveryConfig)

    def __post_init__(self) -> None:
        for name in ('depth_timeout', 'give_up_timeout', 'replan_period', 'latency'):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f'motion.{name} must be a positive number')
        if not self.emergency_deceleration >= self.follower.max_acceleration:
            raise ConfigError('motion.emergency_deceleration must not be below max_acceleration')
        body = {'robot_height': self.robot_height, 'step_height': self.step_height}
        optics = {'min_depth': self.min_depth, 'max_depth': self.max_depth}
        reach = {'radius': self.radius, 'margin': self.margin}
        for part, shared in (
            ('grid', body | optics),
            ('planner', reach),
            ('pixel', body | optics | reach),
        ):
            object.__setattr__(self, part, replace(getattr(self, part), **shared))


@dataclass(frozen=True)
class Command:
    """What the wheels shall do now.

    Attributes:
        v: Forward, m/s.
        w: Counter-clockwise, rad/s.
        outcome: Set once, when the goal has ended.
        is_hold: No goal is active.
        remaining: Way left, metres, or angle left, rad.
    """

    v: float = 0.0
    w: float = 0.0
    outcome: MotionOutcome | None = None
    is_hold: bool = False
    remaining: float = 0.0


@dataclass
class _Goal:
    """State of the goal that is driven to."""

    kind: Literal['point', 'straight', 'route', 'spin']
    start_stamp: int | None = None
    deadline: float = 0.0
    goal_xy: tuple[float, float] | None = None
    max_length: float = math.inf
    route: Route | None = None
    angle: float = 0.0
    turned: float = 0.0
    replans: int = 0
    travelled: float = 0.0
    has_path: bool = False
    is_final: bool = True
    failure: str = ''
    pending: MotionOutcome | None = None


class MotionController:
    """Grid, planner, follower and watchdogs behind four kinds of goal.

    Feed every depth image to :meth:`on_depth` and call :meth:`update` once a control period. A new
    goal replaces the old one. Equal calls give equal results.
    """

    def __init__(self, config: MotionConfig | None = None) -> None:
        self.config = config or MotionConfig()
        self.grid = TraversabilityGrid(self.config.grid)
        self._follower = PathFollower(self.config.follower)
        follower = self.config.follower
        self._v = RateLimiter(follower.max_acceleration, follower.max_jerk)
        self._w = RateLimiter(follower.max_turn_acceleration, follower.max_turn_jerk)
        self._guard = Guard(
            self.config.radius + 0.01, self.config.emergency_deceleration, self.config.latency
        )
        self._recovery = RecoveryMonitor(self.config.recovery)
        self._goal: _Goal | None = None
        self._pose: Pose | None = None
        self._stamp: int | None = None
        self._command = Command(is_hold=True)
        self._depth_stamp: int | None = None
        self._seen_stamps: deque[int] = deque(maxlen=400)
        self._replan_now = False
        self._is_fresh_goal = True
        self._is_held = False

    # -- inputs ---------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget floor, goal and pose: the robot was carried somewhere else."""
        self.grid = TraversabilityGrid(self.config.grid)
        self._drop_goal()
        self._v.reset()
        self._w.reset()
        self._pose = self._stamp = self._depth_stamp = None
        self._seen_stamps.clear()
        self._command = Command(is_hold=True)

    def on_depth(
        self,
        depth: NDArray[np.float32],
        camera: PinholeCamera,
        odom_tform_camera: NDArray[np.float64],
        stamp: int,
        *,
        body_mask: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take one depth image with the camera's pose at its exposure; see the grid.

        Raises:
            GeometryError: Image or pose are unusable; nothing was changed.
        """
        base = None if self._pose is None else (self._pose[0], self._pose[1], 0.0)
        new_obstacles = self.grid.integrate(
            depth, camera, odom_tform_camera, stamp, base_xyz=base, body_mask=body_mask
        )
        self._seen_stamps.append(stamp)
        if self._depth_stamp is None or stamp > self._depth_stamp:
            self._depth_stamp = stamp
        if new_obstacles and self._goal is not None:
            self._replan_now = True

    def observe_panorama(self, panorama: Panorama) -> None:
        """Put those views of a panorama into the grid whose depth has not been seen yet."""
        for view in panorama.views:
            if view.stamp not in self._seen_stamps:
                self.grid.integrate(
                    view.depth, view.camera, view.odom_tform_camera, view.stamp,
                    base_xyz=None if self._pose is None else (self._pose[0], self._pose[1], 0.0),
                )  # fmt: skip
                self._seen_stamps.append(view.stamp)

    # -- goals ----------------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """True while a goal is driven to."""
        return self._goal is not None

    @property
    def path_xy(self) -> NDArray[np.float64]:
        """(M, 2) part of the path that is still ahead, metres, odometry frame; maybe empty."""
        return self._follower.ahead() if len(self._follower.path_xy) else np.empty((0, 2))

    def start_pixel(
        self,
        panorama: Panorama,
        view: int,
        pixel_uv: tuple[float, float],
        pose: Pose,
        mode: Mode = 'plan',
    ) -> MotionOutcome | None:
        """Drive to what a pixel shows.

        Args:
            panorama: The pictures that the pixel was chosen in.
            view: Index of the view.
            pixel_uv: Column and row, px.
            pose: base_link now: x, y, yaw, odometry frame.
            mode: ``corridor``: straight, refused when anything blocks; ``plan``: around things.

        Returns:
            None when the goal was accepted, else the refusal; a goal under way is dropped.
        """
        self._begin(pose)
        if not 0 <= view < len(panorama.views):
            return MotionOutcome(
                MotionCode.OUT_OF_PICTURE,
                f'there is no view {view}; views are 0 to {len(panorama.views) - 1}',
            )
        self.observe_panorama(panorama)
        picture = panorama.views[view]
        goal = pixel_goal(picture, pixel_uv, pose, self.config.pixel)
        if isinstance(goal, Refusal):
            return MotionOutcome(goal.code, goal.message)
        here = (pose[0], pose[1])
        if mode == 'corridor':
            block = corridor_block(
                picture.depth, picture.camera, picture.odom_tform_camera, pose, goal.theta,
                goal.rho, self.config.pixel,
            )  # fmt: skip
            if block is not None:
                side = 'left' if block[1] > 0.0 else 'right'
                return MotionOutcome(
                    MotionCode.CORRIDOR_BLOCKED,
                    f'something stands {block[0]:.1f} m ahead, {abs(block[1]):.2f} m to the '
                    f'{side} of the straight way; choose another direction',
                )
            found = straight_path(self.grid, here, goal.goal_xy, self.config.planner)
        else:
            found = plan(
                self.grid, here, goal.goal_xy, self.config.planner,
                max_length=self._longest(goal.rho),
            )  # fmt: skip
        if not found.is_ok:
            return MotionOutcome(found.code, found.message)
        self._goal = _Goal(
            kind='straight' if mode == 'corridor' else 'point',
            goal_xy=found.goal_xy,
            max_length=self._longest(goal.rho) + 0.5,
            deadline=self._time_for(found.length),
            has_path=True,
        )
        self._follower.set_path(found.path_xy)
        return None

    def start_route(
        self, points_xy: Sequence[tuple[float, float]], pose: Pose | None = None
    ) -> MotionOutcome | None:
        """Drive along points of the odometry frame, metres, to the last one.

        Returns:
            None when the goal was accepted, else the refusal.
        """
        pose = pose or self._pose
        if pose is None:
            return MotionOutcome(MotionCode.NOT_READY, 'no odometry yet: the pose is unknown')
        self._begin(pose)
        points = np.asarray(points_xy, dtype=np.float64).reshape(-1, 2)
        if len(points) == 0 or not np.all(np.isfinite(points)):
            return MotionOutcome(MotionCode.NO_PATH, 'the route has no points to drive to')
        route = Route(points, (pose[0], pose[1]))
        self._goal = _Goal(
            kind='route',
            goal_xy=(float(points[-1, 0]), float(points[-1, 1])),
            route=route,
            deadline=self._time_for(1.5 * route.length),
        )
        self._replan(pose)
        if not self._goal.has_path:
            message = self._goal.failure
            self._goal = None
            return MotionOutcome(MotionCode.NO_PATH, message)
        return None

    def start_spin(self, angle: float) -> MotionOutcome | None:
        """Turn in place by ``angle`` rad, counter-clockwise positive."""
        self._drop_goal()
        if not math.isfinite(angle):
            return MotionOutcome(MotionCode.NO_PATH, f'cannot turn by {angle} rad')
        seconds = abs(angle) / self.config.follower.max_turn_rate
        self._goal = _Goal(
            kind='spin',
            angle=angle,
            deadline=self.config.deadline_factor * seconds + self.config.deadline_slack,
        )
        self._recovery.reset()
        return None

    def cancel(self) -> MotionOutcome | None:
        """Drop the goal; the next command is zero. Returns the outcome, None without a goal."""
        return self.abort(MotionCode.CANCELLED, 'cancelled')

    def abort(self, code: MotionCode, message: str) -> MotionOutcome | None:
        """Drop the goal for a reason from outside, such as an emergency stop."""
        if self._goal is None:
            return None
        outcome = MotionOutcome(code, message, self._goal.travelled, self._goal.goal_xy)
        self._drop_goal()
        self._v.reset()
        self._w.reset()
        self._command = Command(is_hold=True)
        return outcome

    # -- the control period ---------------------------------------------------------------------

    def update(self, stamp: int, pose_odom: Pose, velocity: tuple[float, float]) -> Command:
        """Advance to the odometry sample of ``stamp`` and return the command for it.

        Args:
            stamp: Of the odometry, ns; an equal one again returns the same command.
            pose_odom: x, y, yaw of base_link, metres and rad.
            velocity: Measured v, w, m/s and rad/s.

        Returns:
            The command; zero without a goal and after the end of one.
        """
        if not all(map(math.isfinite, (*pose_odom, *velocity))):
            self.abort(MotionCode.STALE_INPUT, 'odometry is not finite')
            return Command(is_hold=True)
        if stamp == self._stamp and not self._is_fresh_goal:
            return self._command
        self._is_fresh_goal = False
        dt = 0.0 if self._stamp is None else (stamp - self._stamp) * 1e-9
        previous, self._pose, self._stamp = self._pose, pose_odom, stamp
        goal = self._goal
        if goal is None:
            self._v.reset()
            self._w.reset()
            self._command = Command(is_hold=True)
            return self._command
        if not 0.0 < dt <= 0.5:  # first sample, or a jump of the clock
            dt = 0.05
        if goal.start_stamp is None:
            goal.start_stamp = stamp
        elif previous is not None:
            goal.travelled += math.dist(previous[:2], pose_odom[:2])
            goal.turned += wrap_angle(pose_odom[2] - previous[2])
        self._command = self._advance(goal, stamp, dt, pose_odom, velocity)
        if self._command.outcome is not None:
            self._drop_goal()
            self._is_fresh_goal = False
            self._v.reset()
            self._w.reset()
        return self._command

    def _advance(
        self, goal: _Goal, stamp: int, dt: float, pose: Pose, velocity: tuple[float, float]
    ) -> Command:
        if goal.pending is not None:
            return self._finish(goal.pending, dt, velocity)
        age = math.inf if self._depth_stamp is None else (stamp - self._depth_stamp) * 1e-9
        elapsed = (stamp - (goal.start_stamp or stamp)) * 1e-9
        if elapsed > goal.deadline:
            return self._end(goal, MotionCode.TIMEOUT, f'not done in {goal.deadline:.0f} s', dt)
        if goal.kind != 'spin' and age > self.config.depth_timeout:
            if elapsed > self.config.give_up_timeout and age > self.config.give_up_timeout:
                return self._end(goal, MotionCode.STALE_INPUT, 'no depth image arrives', dt)
            return self._brake(dt)
        if goal.kind == 'spin':
            command = self._spin(goal, dt, velocity)
        else:
            self._maybe_replan(goal, elapsed, pose)
            command = self._drive(goal, dt, pose, velocity)
        if command.outcome is not None or goal.pending is not None:
            return command
        remaining = None if goal.kind == 'spin' else self._way_left(goal, pose)
        is_blocked = goal.kind != 'spin' and (not goal.has_path or self._is_held)
        failed = self._recovery.step(dt, pose, (command.v, command.w), remaining, is_blocked)
        if failed is not None:
            return self._end(goal, failed[0], failed[1], dt)
        return command

    def _spin(self, goal: _Goal, dt: float, velocity: tuple[float, float]) -> Command:
        error = goal.angle - goal.turned
        follower = self.config.follower
        if abs(error) <= follower.heading_tolerance and abs(self._w.value) < 0.15:
            return self._end(goal, MotionCode.REACHED, 'turned', dt)
        v = self._v.step(0.0, dt)
        w = self._w.step(turn_rate(error, follower), dt)
        return Command(v, w, remaining=abs(error))

    def _drive(self, goal: _Goal, dt: float, pose: Pose, velocity: tuple[float, float]) -> Command:
        self._is_held = False
        if not goal.has_path:
            return self._brake(dt)
        steering = self._follower.steer(*pose, self._v.value)
        if steering.is_at_end and goal.is_final:
            if abs(self._v.value) < 0.1:
                return self._arrive(goal, steering.distance, dt)
            return self._brake(dt)
        wanted_v, wanted_w = steering.v, steering.w
        if self.grid.state_at(pose[0], pose[1]) == 0:
            wanted_v = min(wanted_v, self.config.cautious_speed)
        v = self._v.step(wanted_v, dt)
        w = self._w.step(wanted_w, dt)
        limit = self._guard.speed_limit(self.grid, pose, v, w)
        if abs(v) > limit:
            self._v.reset(math.copysign(limit, v) if limit > 0.02 else 0.0)
            v = self._v.value
            self._is_held = limit <= 0.02 and not steering.is_turning
            if self._is_held:
                self._replan_now = True
        return Command(v, w, remaining=steering.remaining)

    def _arrive(self, goal: _Goal, distance: float, dt: float) -> Command:
        if distance <= self.config.follower.goal_tolerance:
            return self._end(goal, MotionCode.REACHED, 'reached', dt)
        return self._brake(dt)

    def _brake(self, dt: float) -> Command:
        v = self._v.brake(self.config.emergency_deceleration, dt)
        w = self._w.brake(2.0 * self.config.follower.max_turn_acceleration, dt)
        return Command(v, w)

    def _end(self, goal: _Goal, code: MotionCode, message: str, dt: float) -> Command:
        """Note the end; it is told when the robot stands, on an image tick."""
        goal.pending = MotionOutcome(code, message, goal.travelled, goal.goal_xy)
        return self._finish(goal.pending, dt, (0.0, 0.0))

    def _finish(self, outcome: MotionOutcome, dt: float, velocity: tuple[float, float]) -> Command:
        command = self._brake(dt)
        stands = command.v == 0.0 and command.w == 0.0
        is_image_tick = self._depth_stamp is None or (
            self._stamp == self._depth_stamp
            or (self._stamp or 0) - self._depth_stamp > self.config.depth_timeout * 1e9
        )
        if stands and is_image_tick:
            goal = self._goal
            travelled = outcome.travelled if goal is None else goal.travelled
            return Command(outcome=replace(outcome, travelled=travelled))
        return command

    # -- planning -------------------------------------------------------------------------------

    def _maybe_replan(self, goal: _Goal, elapsed: float, pose: Pose) -> None:
        due = int((elapsed + 1e-6) / self.config.replan_period)
        if due > goal.replans or (self._replan_now and self._is_path_bad()):
            goal.replans = max(due, goal.replans)
            self._replan(pose)
        self._replan_now = False

    def _is_path_bad(self) -> bool:
        """True when an obstacle has come too near to the path ahead, or the robot is held."""
        ahead = self.path_xy
        if self._is_held or len(ahead) == 0:
            return True
        cells = self.grid.cells_rc(ahead)
        n = self.grid.config.num_cells
        cells = cells[np.all((cells >= 0) & (cells < n), axis=1)]
        distance = self._guard.distance(self.grid)
        return bool(
            np.any(distance[cells[:, 0], cells[:, 1]] < self.config.planner.hard_clearance)
        )

    def _replan(self, pose: Pose) -> None:
        goal = self._goal
        here = (pose[0], pose[1])
        if goal is None:
            return
        if goal.kind == 'straight':
            goal.has_path = not self._is_path_bad()
            goal.failure = 'the straight way is blocked'
            return
        if goal.kind == 'route' and goal.route is not None:
            leg = goal.route.leg(
                self.grid, here, self.config.planner, self.config.tolerate_unknown_on_route
            )
            goal.is_final, found = leg.is_final, leg.plan
            if leg.is_final and found.is_ok:
                goal.goal_xy = found.goal_xy
        else:
            space = SearchSpace(self.grid, here, self.config.planner)
            found = plan(
                self.grid, here, goal.goal_xy or here, self.config.planner,
                max_length=goal.max_length, space=space,
            )  # fmt: skip
            if found.is_ok:
                goal.goal_xy = found.goal_xy
        if found.is_ok:
            goal.has_path = True
            self._follower.set_path(found.path_xy)
        else:
            goal.failure = found.message
            goal.has_path = goal.has_path and not self._is_path_bad()

    def _way_left(self, goal: _Goal, pose: Pose) -> float:
        if goal.kind == 'route' and goal.route is not None:
            return goal.route.remaining
        path = self.path_xy
        if len(path) == 0:
            return math.dist(pose[:2], goal.goal_xy or pose[:2])
        return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())

    def _longest(self, rho: float) -> float:
        return self.config.planner.max_detour * rho + self.config.planner.detour_slack

    def _time_for(self, length: float) -> float:
        seconds = length / self.config.follower.max_speed
        return self.config.deadline_factor * seconds + self.config.deadline_slack

    def _begin(self, pose: Pose) -> None:
        self._drop_goal()
        self._pose = pose
        self._recovery.reset()
        if not self.grid.is_started:
            self.grid.start(pose[0], pose[1])

    def _drop_goal(self) -> None:
        self._goal = None
        self._is_fresh_goal = True  # time may stand still between two goals
        self._replan_now = False
        self._is_held = False
        self._follower.clear()
        self._recovery.reset()
