# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The control period of the controller node: samples in, commands out, one job at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from vln_core.control.motion import MotionController
from vln_core.outcome import MotionCode, MotionOutcome
from vln_nodes.base import steady_now
from vln_nodes.controller_parameters import ControllerParameters
from vln_nodes.controller_topics import ControllerTopics
from vln_nodes.motion_job import MotionJob
from vln_nodes.ticks import Arrival, TickQueue

Pose = tuple[float, float, float]
# In lock-step a loaded machine is slow, not broken: the run must not depend on it.
_LOCKSTEP_PATIENCE = 10.0


class Driver(Protocol):
    """What moves the robot: the built-in controller, or another stack."""

    def abort(self, code: MotionCode, message: str) -> MotionOutcome | None:
        """Drop the goal; the outcome, or None without a goal."""
        ...


class OtherDriver(Driver, Protocol):
    """Another stack."""

    def step(self) -> None:
        """Act once a period."""
        ...


class ControlLoop:
    """Keeps the newest odometry, asks the controller each period, ends the job."""

    def __init__(
        self,
        config: ControllerParameters,
        topics: ControllerTopics,
        on_change: Callable[[], None],
        warn: Callable[[str], None],
    ) -> None:
        """Serve one node; ``on_change`` is told of every step, ``warn`` takes a sentence."""
        self.controller = MotionController(config.motion)
        self.driver: MotionController | OtherDriver = self.controller
        self.job: MotionJob | None = None
        self.depth_stamp = 0
        self.depth_time = -math.inf
        self.sample_time = -math.inf
        self._config, self._topics = config, topics
        self._on_change, self._warn = on_change, warn
        self._ticks = TickQueue(round(config.image_period * 1e9))
        self._sample: tuple[int, Pose, tuple[float, float]] | None = None

    @property
    def stamp(self) -> int:
        """Of the newest odometry, ns; 0 without."""
        return 0 if self._sample is None else self._sample[0]

    @property
    def pose(self) -> Pose | None:
        """x, y, yaw of the newest odometry, metres and rad; None without."""
        return None if self._sample is None else self._sample[1]

    # -- inputs ---------------------------------------------------------------------------------

    def on_odometry(self, stamp: int, pose: Pose, velocity: tuple[float, float]) -> None:
        """Take an odometry sample; in lock-step this may release ticks."""
        if self._config.lockstep:
            arrival = self._ticks.arrival(stamp)
            if arrival is Arrival.REPEATED:
                self._topics.send_again()
                return
            if arrival is Arrival.RESTARTED:
                self._restart('simulated time went back')
            self._ticks.add_sample(stamp, (pose, velocity))
            self._advance()
        elif self._sample is None or stamp > self.stamp:
            if self._has_jumped(pose):
                self._restart('the robot was carried')
            self._take(stamp, pose, velocity)
            self._on_change()
        elif stamp < self.stamp:
            self._restart('the clock went back')

    def on_depth(self, stamp: int, seen: tuple[Any, ...]) -> None:
        """Take a depth image: what :meth:`MotionController.on_depth` wants before the stamp."""
        if self._config.lockstep:
            self._ticks.add_depth(stamp, seen)
            self._advance()
        elif stamp > self.depth_stamp:
            self._integrate(stamp, seen)

    def _integrate(self, stamp: int, seen: tuple[Any, ...]) -> None:
        self.controller.on_depth(*seen, stamp)
        self.depth_stamp, self.depth_time = stamp, steady_now()

    def _take(self, stamp: int, pose: Pose, velocity: tuple[float, float]) -> None:
        self._sample, self.sample_time = (stamp, pose, velocity), steady_now()

    def _has_jumped(self, pose: Pose) -> bool:
        here = self.pose
        return here is not None and math.dist(pose[:2], here[:2]) > self._config.max_jump

    def _restart(self, reason: str) -> None:
        self._warn(f'{reason}: the local map starts anew')
        self.abort(MotionCode.STALE_INPUT, reason)
        self.controller.reset()
        self._ticks.restart()
        self._sample, self.depth_stamp = None, 0

    # -- control --------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Lock-step: do every tick that is complete."""
        while (due := self._ticks.take_due()) is not None:
            stamp, (pose, velocity), depth = due
            if self._has_jumped(pose):
                self.abort(MotionCode.STALE_INPUT, 'the robot was carried')
                self.controller.reset()
            self._take(stamp, pose, velocity)
            if depth is not None:
                self._integrate(stamp, depth)
            self.step()
            self._on_change()

    def on_timer(self) -> None:
        """Free running: one control period."""
        if self._sample is None:
            return
        if steady_now() - self.sample_time > self._config.odom_timeout:
            self.send(0.0, 0.0, is_hold=self.job is None)
            return
        self.step()

    def step(self) -> None:
        """Send the command for the newest odometry."""
        assert self._sample is not None
        stamp, pose, velocity = self._sample
        job = self.job
        if job is None or not job.is_started:
            self.controller.update(stamp, pose, velocity)
            self.hold()
        elif job.stopping is not None:
            is_done = job.stands(velocity)
            if self._config.lockstep:
                is_done = self._ticks.is_image_tick(stamp)
            # Time is held from the end on: the base must have had its zero before.
            if is_done and job.is_zero_sent:
                self._finish(job.stopping)
            else:
                self.send(0.0, 0.0, is_hold=False)
                job.is_zero_sent = True
        elif not isinstance(self.driver, MotionController):
            self.driver.step()
        else:
            command = self.controller.update(stamp, pose, velocity)
            if command.outcome is not None:
                self._finish(command.outcome)
                return
            job.feed_back(command.remaining)
            self.send(command.v, command.w, is_hold=False)

    def abort(self, code: MotionCode, message: str) -> None:
        """End the active job from outside: zero commands until the robot stands."""
        job = self.job
        if job is None or job.stopping is not None:
            return
        job.stop(self.driver.abort(code, message) or MotionOutcome(code, message))
        if not job.is_started:
            job.end()
        elif not self._config.lockstep:
            self.send(0.0, 0.0, is_hold=False)
            job.is_zero_sent = True

    def _finish(self, outcome: MotionOutcome) -> None:
        self.hold()
        if self.job is not None:
            self.job.end(outcome)
        self._on_change()

    def finish(self, outcome: MotionOutcome) -> None:
        """End the job of another driver: the robot is told zero until it stands."""
        if self.job is not None and self.job.stopping is None:
            self.job.stop(outcome)

    def hold(self) -> None:
        """Say that nothing is wanted of the base."""
        self.send(0.0, 0.0, is_hold=True)

    def send(self, v: float, w: float, *, is_hold: bool) -> None:
        """Publish a command, m/s and rad/s."""
        self._topics.send(self.stamp, v, w, is_hold=is_hold)

    def watch(self, safety_time: float) -> None:
        """End a job that nothing else can end; times on the steady clock, s."""
        now, job = steady_now(), self.job
        if job is None or not job.is_started:
            return
        patience = _LOCKSTEP_PATIENCE if self._config.lockstep else 1.0
        if now - safety_time > self._config.safety_timeout * patience:
            self.abort(MotionCode.SAFETY_LOST, 'the safety node is silent')
        if not self._config.lockstep and now - self.sample_time > 2.0:
            self.abort(MotionCode.STALE_INPUT, 'odometry has stopped')
        if job.stopping is not None and now - job.stop_time > patience:
            self._finish(job.stopping)
