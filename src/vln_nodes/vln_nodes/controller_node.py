# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Turns motion goals into velocity commands for the safety node."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry

from vln_core.control.motion import MotionConfig, MotionController
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import camera_mount_tform
from vln_core.outcome import MotionCode, MotionOutcome
from vln_interfaces.action import MoveAlong, MoveToPixel, Spin
from vln_interfaces.msg import SafetyStatus
from vln_nodes import conversions, motion_actions, parameters, qos, runtime
from vln_nodes.awaiting import Changed, PanoramaCache
from vln_nodes.base import STEADY, StackNode, steady_now
from vln_nodes.controller_parameters import ControllerParameters
from vln_nodes.controller_topics import ControllerTopics
from vln_nodes.depth_input import DepthInput, DepthSample
from vln_nodes.motion_job import MotionJob
from vln_nodes.ticks import Arrival, TickQueue


class ControllerNode(StackNode):
    """Offers ``move_to_pixel``, ``move_along`` and ``spin``; publishes ``velocity_command``."""

    def __init__(self) -> None:
        super().__init__('controller')
        config = self._config = parameters.load(self, ControllerParameters())
        _warm_up(config.motion)
        self._controller = MotionController(config.motion)
        self._changed = Changed(self)
        self._panoramas = PanoramaCache(self, self._changed)
        self._worker = runtime.Worker(self, 'controller')
        self._ticks = TickQueue(round(config.image_period * 1e9))
        self._sample: tuple[int, Any, Any] | None = None
        self._sample_time = -math.inf
        self._depth_time = -math.inf
        self._depth_stamp = 0
        self._safety: SafetyStatus | None = None
        self._safety_time = -math.inf
        self._job: MotionJob | None = None
        self._topics = ControllerTopics(
            self, config.odom_frame, config.base_frame, is_lockstep=config.lockstep
        )
        self._subscribe()
        for kind, name, start in (
            (MoveToPixel, 'move_to_pixel', self._start_pixel),
            (MoveAlong, 'move_along', self._start_along),
            (Spin, 'spin', self._start_spin),
        ):
            self._serve(kind, name, start)
        if not config.lockstep:
            self._timer = self.create_timer(config.control_period, self._on_timer)
        self._watch_timer = self.create_timer(0.1, self._watch, clock=STEADY)
        self._grid_timer = self.create_timer(config.grid_period, self._publish_grid, clock=STEADY)

    def _subscribe(self) -> None:
        config = self._config
        profile = qos.sensor(is_lockstep=config.lockstep)
        self.create_subscription(Odometry, 'odom', self._on_odometry, profile)
        self.create_subscription(SafetyStatus, 'safety_status', self._on_safety, qos.LATCHED)
        self._depth = DepthInput(
            self,
            self._changed,
            (config.odom_frame,),
            self._on_depth,
            is_lockstep=config.lockstep,
            tf_timeout=config.tf_timeout,
        )

    def _serve(self, kind: Any, name: str, start: Callable[..., Any]) -> None:
        motion_actions.serve(
            self,
            kind,
            name,
            lambda job, request: self._run(job, start, request),
            is_free=lambda: self._job is None,
            on_cancel=lambda: self._abort(MotionCode.CANCELLED, 'cancelled'),
            group=self._changed.group,
        )

    # -- goals ----------------------------------------------------------------------------------

    async def _run(
        self, job: MotionJob, start: Callable[..., Any], request: Any
    ) -> tuple[MotionOutcome, int]:
        """Drive one goal to its end; returns the outcome and the odometry stamp of the end."""
        if self._job is not None:
            return MotionOutcome(MotionCode.NOT_READY, 'another goal is active'), self._stamp
        self._job = job
        try:
            await self._changed.wait_for(
                lambda: job.is_ended or not self._not_ready(), self._config.ready_timeout
            )
            reason = self._not_ready()
            if not job.is_ended and reason is not None:
                return reason, self._stamp
            if not job.is_ended:
                refused = await start(request)
                if refused is not None:
                    return refused, self._stamp
                self._topics.show_path(self._stamp, self._controller.path_xy)
                job.is_started = True
                if self._config.lockstep:
                    self._step()
            await self._changed.wait_for(lambda: job.is_ended, math.inf)
            return job.outcome, self._stamp
        finally:
            self._job = None
            self._hold()
            self.report(goal='none', last=job.text)

    def _not_ready(self) -> MotionOutcome | None:
        """Return why no goal can start now; None if one can."""
        status = self._safety
        if status is not None and status.state == SafetyStatus.EMERGENCY_STOP:
            return MotionOutcome(MotionCode.EMERGENCY_STOP, status.message)
        if status is None or status.state == SafetyStatus.STARTING:
            return MotionOutcome(MotionCode.NOT_READY, 'the safety node is not ready')
        if self._sample is None or self._depth_stamp == 0:
            missing = 'odometry' if self._sample is None else 'depth with TF and CameraInfo'
            return MotionOutcome(MotionCode.NOT_READY, f'no {missing} was received')
        return None

    async def _start_pixel(self, request: MoveToPixel.Goal) -> MotionOutcome | None:
        goal = request.goal
        message = await self._panoramas.get(goal.panorama_id)
        if message is None:
            return MotionOutcome(
                MotionCode.UNKNOWN_PANORAMA,
                f'panorama {goal.panorama_id} has not arrived at the controller',
            )
        panorama = await self._worker.submit(conversions.panorama_of, message)
        return self._controller.start_pixel(
            panorama, goal.view, (goal.u_px, goal.v_px), self._pose, mode=self._config.mode
        )

    async def _start_along(self, request: MoveAlong.Goal) -> MotionOutcome | None:
        route = [(point.x, point.y) for point in request.route]
        return self._controller.start_route(route, self._pose)

    async def _start_spin(self, request: Spin.Goal) -> MotionOutcome | None:
        return self._controller.start_spin(request.angle)

    def _abort(self, code: MotionCode, message: str) -> None:
        """End the active goal from outside: zero commands until the robot stands."""
        if self._job is not None and self._job.stopping is None:
            outcome = self._controller.abort(code, message) or MotionOutcome(code, message)
            self._job.stop(outcome)
            if not self._job.is_started:
                self._job.end()
            elif not self._config.lockstep:
                self._send(0.0, 0.0, is_hold=False)

    # -- inputs ---------------------------------------------------------------------------------

    @property
    def _stamp(self) -> int:
        return 0 if self._sample is None else self._sample[0]

    @property
    def _pose(self) -> tuple[float, float, float]:
        assert self._sample is not None
        return self._sample[1]

    def _on_safety(self, status: SafetyStatus) -> None:
        self._safety, self._safety_time = status, steady_now()
        if status.state == SafetyStatus.EMERGENCY_STOP:
            self._abort(MotionCode.EMERGENCY_STOP, status.message)
        self._changed.notify()

    def _on_odometry(self, message: Odometry) -> None:
        stamp = conversions.stamp_ns(message.header.stamp)
        pose = conversions.planar_of_odometry(message)
        velocity = (message.twist.twist.linear.x, message.twist.twist.angular.z)
        if self._config.lockstep:
            arrival = self._ticks.arrival(stamp)
            if arrival is Arrival.REPEATED:
                self._topics.send_again()
                return
            if arrival is Arrival.RESTARTED:
                self._restart('simulated time went back')
            self._ticks.add_sample(stamp, (pose, velocity))
            self._advance()
        elif self._sample is None or stamp > self._stamp:
            self._take(stamp, pose, velocity)
        elif stamp < self._stamp:
            self._restart('the clock went back')

    async def _on_depth(self, sample: DepthSample) -> None:
        depth = conversions.depth_of_image(sample.message)
        seen = (depth, sample.camera, sample.poses[0])
        if self._config.lockstep:
            self._ticks.add_depth(sample.stamp, seen)
            self._advance()
        elif sample.stamp > self._depth_stamp:
            self._integrate(sample.stamp, seen)

    def _integrate(self, stamp: int, depth: Any) -> None:
        self._controller.on_depth(*depth, stamp)
        self._depth_stamp, self._depth_time = stamp, steady_now()

    def _take(self, stamp: int, pose: Any, velocity: Any) -> None:
        if self._sample is not None:
            if math.dist(pose[:2], self._pose[:2]) > self._config.max_jump:
                self._restart('the robot was carried')
        self._sample, self._sample_time = (stamp, pose, velocity), steady_now()
        self._changed.notify()

    def _restart(self, reason: str) -> None:
        self.get_logger().warning(f'{reason}: the local map starts anew')
        self._abort(MotionCode.STALE_INPUT, reason)
        self._controller.reset()
        self._ticks.restart()
        self._sample, self._depth_stamp = None, 0

    # -- control --------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Lock-step: do every tick that is complete."""
        while (due := self._ticks.take_due()) is not None:
            stamp, (pose, velocity), depth = due
            jumped = self._sample is not None and (
                math.dist(pose[:2], self._pose[:2]) > self._config.max_jump
            )
            if jumped:
                self._abort(MotionCode.STALE_INPUT, 'the robot was carried')
                self._controller.reset()
            self._sample, self._sample_time = (stamp, pose, velocity), steady_now()
            if depth is not None:
                self._integrate(stamp, depth)
            self._step()
            self._changed.notify()

    def _on_timer(self) -> None:
        """Free running: one control period."""
        if self._sample is None:
            return
        if steady_now() - self._sample_time > self._config.odom_timeout:
            self._send(0.0, 0.0, is_hold=self._job is None)
            return
        self._step()

    def _step(self) -> None:
        stamp, pose, velocity = self._sample
        job = self._job
        if job is None or not job.is_started:
            self._controller.update(stamp, pose, velocity)
            self._hold()
            return
        if job.stopping is not None:
            is_done = job.stands(velocity)
            if self._config.lockstep:
                is_done = self._ticks.is_image_tick(stamp)
            if is_done:
                self._finish(job.stopping)
            else:
                self._send(0.0, 0.0, is_hold=False)
            return
        command = self._controller.update(stamp, pose, velocity)
        if command.outcome is not None:
            self._finish(command.outcome)
            return
        job.feed_back(command.remaining)
        self._send(command.v, command.w, is_hold=False)

    def _finish(self, outcome: MotionOutcome) -> None:
        self._hold()
        if self._job is not None:
            self._job.end(outcome)
        self._changed.notify()

    def _hold(self) -> None:
        self._send(0.0, 0.0, is_hold=True)

    def _send(self, v: float, w: float, *, is_hold: bool) -> None:
        self._topics.send(self._stamp, v, w, is_hold=is_hold)

    def _watch(self) -> None:
        """End a goal that nothing else can end; on the steady clock."""
        now, job = steady_now(), self._job
        if job is None or not job.is_started:
            return
        # In lock-step a loaded machine is slow, not broken: the run must not depend on it.
        patience = 10.0 if self._config.lockstep else 1.0
        if now - self._safety_time > self._config.safety_timeout * patience:
            self._abort(MotionCode.SAFETY_LOST, 'the safety node is silent')
        if not self._config.lockstep and now - self._sample_time > 2.0:
            self._abort(MotionCode.STALE_INPUT, 'odometry has stopped')
        if job.stopping is not None and now - job.stop_time > 1.0:
            self._finish(job.stopping)

    # -- for people -----------------------------------------------------------------------------

    def _publish_grid(self) -> None:
        age = steady_now() - self._depth_time
        self.report(
            warning='' if age < 1.0 or self._config.lockstep else 'no depth image arrives',
            depth_age=f'{age:.2f}',
            goal='active' if self._job else 'none',
        )
        self._topics.show_grid(self._controller.grid)

    def close(self) -> None:
        """Ask for zero velocity, end the goal and the worker."""
        self._hold()
        if self._job is not None:
            outcome = MotionOutcome(MotionCode.CANCELLED, 'the controller ends')
            self._controller.cancel()
            self._job.end(outcome)
        self._changed.close()
        self._worker.close()


def _warm_up(config: MotionConfig) -> None:
    """Compile what the controller calls before anything depends on this node's timer."""
    controller = MotionController(config)
    camera = PinholeCamera.from_hfov(64, 48, 1.5)
    tform = camera_mount_tform(0.0, 0.0, 1.0, pitch=0.3)
    controller.on_depth(np.full((48, 64), np.inf, np.float32), camera, tform, 1)
    controller.start_route([(0.3, 0.0)], (0.0, 0.0, 0.0))
    for tick in range(3):
        controller.update(tick * 50_000_000, (0.0, 0.0, 0.0), (0.0, 0.0))


def main() -> None:
    """Run the node."""
    runtime.main(ControllerNode)


if __name__ == '__main__':
    main()
