# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Motion goals turned into velocities, one call per control period; no clock and no thread."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vln_core.control import replanning
from vln_core.control.follower import PathFollower, turn_rate
from vln_core.control.motion_config import MotionConfig
from vln_core.control.motion_goal import Command, Goal, Mode, Pose
from vln_core.control.recovery import RecoveryMonitor
from vln_core.control.traversability import UNKNOWN, TraversabilityGrid
from vln_core.control.wheels import Wheels
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import wrap_angle
from vln_core.observation import Panorama
from vln_core.outcome import MotionCode, MotionOutcome

__all__ = ['Command', 'Mode', 'MotionConfig', 'MotionController', 'Pose']


class MotionController:
    """Grid, planner, follower and watchdogs behind four kinds of goal.

    Feed every depth image to :meth:`on_depth` and call :meth:`update` once a control period. A new
    goal replaces the old one. Equal calls give equal results.
    """

    def __init__(self, config: MotionConfig | None = None) -> None:
        self.config = config or MotionConfig()
        self.grid = TraversabilityGrid(self.config.grid)
        self._follower = PathFollower(self.config.follower)
        self._wheels = Wheels(self.config)
        self._recovery = RecoveryMonitor(self.config.recovery)
        self._goal: Goal | None = None
        self._pose: Pose | None = None
        self._stamp: int | None = None
        self._command = Command(is_hold=True)
        self._depth_stamp: int | None = None
        self._seen_stamps: deque[int] = deque(maxlen=400)
        self._replan_now = False
        self._is_fresh_goal = True

    # -- inputs ---------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget floor, goal and pose: the robot was carried somewhere else."""
        self.grid = TraversabilityGrid(self.config.grid)
        self._drop_goal()
        self._wheels.reset()
        self._wheels.movers.forget()
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
            self._watch_movers(stamp, odom_tform_camera)
        if new_obstacles and self._goal is not None:
            self._replan_now = True

    def _watch_movers(self, stamp: int, odom_tform_camera: NDArray[np.float64]) -> None:
        ahead = odom_tform_camera[:2, 2]
        looking = (
            float(odom_tform_camera[0, 3]),
            float(odom_tform_camera[1, 3]),
            math.atan2(ahead[1], ahead[0]),
        )
        grid = self.grid
        moving = self._wheels.movers.observe(
            grid.unsettled_xy, grid.left_xy, stamp * 1e-9, looking
        )
        # What moves leaves no wall behind where it was seen last.
        grid.expire(moving, self.config.movers.memory)

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
        made = replanning.goal_at_pixel(
            self.grid, panorama.views[view], pixel_uv, pose, mode, self.config
        )
        if isinstance(made, MotionOutcome):
            return made
        self._goal, found = made
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
        self._goal = replanning.goal_along(points, pose, self.config)
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
        self._goal = Goal(
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
        self._wheels.reset()
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
            self._wheels.reset()
            self._command = Command(is_hold=True)
            return self._command
        if not 0.0 < dt <= 0.5:  # first sample, or a jump of the clock
            dt = 0.05
        if goal.start_stamp is None:
            goal.start_stamp = stamp
        elif previous is not None:
            goal.travelled += math.dist(previous[:2], pose_odom[:2])
            goal.turned += wrap_angle(pose_odom[2] - previous[2])
        self._command = self._advance(goal, stamp, dt, pose_odom)
        if self._command.outcome is not None:
            self._drop_goal()
            self._is_fresh_goal = False
            self._wheels.reset()
        return self._command

    def _advance(self, goal: Goal, stamp: int, dt: float, pose: Pose) -> Command:
        if goal.pending is not None:
            return self._finish(goal.pending, dt)
        age = math.inf if self._depth_stamp is None else (stamp - self._depth_stamp) * 1e-9
        elapsed = (stamp - (goal.start_stamp or stamp)) * 1e-9
        if elapsed > goal.deadline:
            return self._end(goal, MotionCode.TIMEOUT, f'not done in {goal.deadline:.0f} s', dt)
        if goal.kind != 'spin' and age > self.config.depth_timeout:
            if elapsed > self.config.give_up_timeout and age > self.config.give_up_timeout:
                return self._end(goal, MotionCode.STALE_INPUT, 'no depth image arrives', dt)
            return Command(*self._wheels.brake(dt))
        if goal.kind == 'spin':
            command = self._spin(goal, dt, pose)
        else:
            self._maybe_replan(goal, elapsed, pose)
            command = self._drive(goal, stamp, dt, pose)
        if command.outcome is not None or goal.pending is not None:
            return command
        remaining = None if goal.kind == 'spin' else replanning.way_left(goal, self.path_xy, pose)
        is_blocked = self._wheels.is_held or (goal.kind != 'spin' and not goal.has_path)
        if goal.kind != 'spin' and self._wheels.is_waiting:
            failed = self._recovery.wait(dt, pose)
        else:
            failed = self._recovery.step(dt, pose, (command.v, command.w), remaining, is_blocked)
        if failed is not None:
            return self._end(goal, failed[0], failed[1], dt)
        return command

    def _spin(self, goal: Goal, dt: float, pose: Pose) -> Command:
        error = goal.angle - goal.turned
        follower = self.config.follower
        if abs(error) <= follower.heading_tolerance and abs(self._wheels.w) < 0.15:
            return self._end(goal, MotionCode.REACHED, 'turned', dt)
        v, w = self._wheels.turn(turn_rate(error, follower), dt, self.grid, pose)
        return Command(v, w, remaining=abs(error))

    def _drive(self, goal: Goal, stamp: int, dt: float, pose: Pose) -> Command:
        wheels = self._wheels
        wheels.is_held = False
        if not goal.has_path:
            return Command(*wheels.brake(dt))
        steering = self._follower.steer(*pose, abs(wheels.v))
        aside = self._glance(goal, pose, steering.bearing)
        if aside is not None:
            v, w = wheels.go((0.0, aside), dt, self.grid, pose, stamp * 1e-9)
            return Command(v, w, remaining=steering.remaining)
        if steering.is_at_end and goal.is_final:
            is_slow = abs(wheels.v) < 0.1
            if is_slow and steering.distance <= self.config.follower.goal_tolerance:
                return self._end(goal, MotionCode.REACHED, 'reached', dt)
            return Command(*wheels.brake(dt))
        fastest = self.config.reverse_speed if steering.v < 0.0 else math.inf
        if self.grid.state_at(pose[0], pose[1]) == UNKNOWN:
            fastest = min(fastest, self.config.cautious_speed)
        wanted_v = math.copysign(min(abs(steering.v), fastest), steering.v)
        v, w = wheels.go((wanted_v, steering.w), dt, self.grid, pose, stamp * 1e-9)
        if wheels.is_held:
            self._replan_now = True
        return Command(v, w, remaining=steering.remaining)

    def _glance(self, goal: Goal, pose: Pose, bearing: float) -> float | None:
        """Return the turn rate of a look aside before the robot drives off, rad/s; None: go."""
        glance = self.config.movers.glance
        if goal.glances is None:
            ahead = pose[2] + bearing
            goal.glances = [ahead + glance, ahead - glance] if glance > 0.0 else []
        while goal.glances:
            error = wrap_angle(goal.glances[0] - pose[2])
            if abs(error) > 0.1:
                return turn_rate(error, self.config.follower)
            goal.glances.pop(0)
        return None

    def _end(self, goal: Goal, code: MotionCode, message: str, dt: float) -> Command:
        """Note the end; it is told when the robot stands, on an image tick."""
        goal.pending = MotionOutcome(code, message, goal.travelled, goal.goal_xy)
        return self._finish(goal.pending, dt)

    def _finish(self, outcome: MotionOutcome, dt: float) -> Command:
        command = Command(*self._wheels.brake(dt))
        is_image_tick = self._depth_stamp is None or (
            self._stamp == self._depth_stamp
            or (self._stamp or 0) - self._depth_stamp > self.config.depth_timeout * 1e9
        )
        if self._wheels.stands and is_image_tick:
            goal = self._goal
            travelled = outcome.travelled if goal is None else goal.travelled
            return Command(outcome=replace(outcome, travelled=travelled))
        return command

    # -- planning -------------------------------------------------------------------------------

    def _maybe_replan(self, goal: Goal, elapsed: float, pose: Pose) -> None:
        due = int((elapsed + 1e-6) / self.config.replan_period)
        if due > goal.replans or (self._replan_now and self._is_path_bad()):
            goal.replans = max(due, goal.replans)
            self._replan(pose)
        self._replan_now = False

    def _is_path_bad(self) -> bool:
        """True when an obstacle has come too near to the path ahead, or the robot is held."""
        ahead = self.path_xy
        if self._wheels.is_held or len(ahead) == 0:
            return True
        cells = self.grid.cells_rc(ahead)
        n = self.grid.config.num_cells
        cells = cells[np.all((cells >= 0) & (cells < n), axis=1)]
        distance = self._wheels.guard.distance(self.grid)
        return bool(
            np.any(distance[cells[:, 0], cells[:, 1]] < self.config.planner.hard_clearance)
        )

    def _replan(self, pose: Pose) -> None:
        if self._goal is None:
            return
        path = replanning.replan(self._goal, self.grid, pose, self._is_path_bad, self.config)
        if path is not None:
            self._follower.set_path(path, backwards=self._goal.is_backwards)

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
        self._wheels.is_held = self._wheels.is_waiting = False
        self._follower.clear()
        self._recovery.reset()
