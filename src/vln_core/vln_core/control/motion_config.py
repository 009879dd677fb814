# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Limits and patience of the motion controller."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from vln_core.control.fast_marching import PlannerConfig
from vln_core.control.follower import FollowerConfig
from vln_core.control.footprint import Footprint
from vln_core.control.movers import MoverConfig
from vln_core.control.pixel_goal import PixelGoalConfig
from vln_core.control.recovery import RecoveryConfig
from vln_core.control.traversability import TraversabilityConfig
from vln_core.errors import ConfigError


@dataclass(frozen=True)
class MotionConfig:
    """Everything about motion; radius, heights and ranges are given here once.

    Attributes:
        radius: Of the body, metres; without meaning where a footprint is given.
        footprint: Outline of a body that is not round, x1, y1, x2, y2, ... in base_link, metres.
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
        max_reverse: Routes that lead behind the robot and are no longer than this are driven
            backwards, where no camera looks, metres; 0: never.
        reverse_speed: Speed of it, m/s.
        deadline_factor: Time allowed for a path as a multiple of the time at full speed.
        deadline_slack: Added to the time allowed, s.
        grid: Traversability.
        planner: Clearances.
        pixel: Pixel goals.
        follower: Limits of the base.
        recovery: When to give up.
        movers: People and other things that move.
    """

    radius: float = 0.20
    footprint: tuple[float, ...] = ()
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
    max_reverse: float = 0.0
    reverse_speed: float = 0.15
    deadline_factor: float = 4.0
    deadline_slack: float = 20.0
    grid: TraversabilityConfig = field(default_factory=TraversabilityConfig)
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    pixel: PixelGoalConfig = field(default_factory=PixelGoalConfig)
    follower: FollowerConfig = field(default_factory=FollowerConfig)
    recovery: RecoveryConfig = field(default_factory=RecoveryConfig)
    movers: MoverConfig = field(default_factory=MoverConfig)

    def __post_init__(self) -> None:
        for name in ('depth_timeout', 'give_up_timeout', 'replan_period', 'latency'):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f'motion.{name} must be a positive number')
        if not self.emergency_deceleration >= self.follower.max_acceleration:
            raise ConfigError('motion.emergency_deceleration must not be below max_acceleration')
        # A polygon is planned for with the circle inside of it; the outline is then swept.
        object.__setattr__(self, 'radius', self.body.inner)
        body = {'robot_height': self.robot_height, 'step_height': self.step_height}
        optics = {'min_depth': self.min_depth, 'max_depth': self.max_depth}
        reach = {'radius': self.radius, 'margin': self.margin}
        for part, shared in (
            ('grid', body | optics),
            ('planner', reach),
            ('pixel', body | optics | reach),
        ):
            object.__setattr__(self, part, replace(getattr(self, part), **shared))

    @property
    def body(self) -> Footprint:
        """The outline of the robot."""
        return Footprint(self.radius, self.footprint)

    def time_for(self, length: float) -> float:
        """Return the time allowed for a path of ``length`` metres, s."""
        return self.deadline_factor * length / self.follower.max_speed + self.deadline_slack
