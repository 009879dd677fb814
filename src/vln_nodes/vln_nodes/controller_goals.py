# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of the controller node: from a request to the start of a motion, and to its outcome."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

from vln_core.control.pixel_goal import Refusal, pixel_goal
from vln_core.observation import Panorama
from vln_core.outcome import MotionCode, MotionOutcome
from vln_interfaces.action import MoveAlong, MoveToPixel, Spin
from vln_nodes import conversions, motion_actions, runtime
from vln_nodes.awaiting import Changed, PanoramaCache
from vln_nodes.controller_loop import ControlLoop
from vln_nodes.controller_nav2 import Nav2Driver
from vln_nodes.controller_parameters import ControllerParameters
from vln_nodes.controller_topics import ControllerTopics
from vln_nodes.motion_job import MotionJob

Start = Callable[[Any], Awaitable[MotionOutcome | None]]


class ControllerGoals:
    """Serves ``move_to_pixel``, ``move_along`` and ``spin``; one goal at a time."""

    def __init__(
        self,
        node: Any,
        config: ControllerParameters,
        loop: ControlLoop,
        topics: ControllerTopics,
        changed: Changed,
        not_ready: Callable[[], MotionOutcome | None],
    ) -> None:
        """Offer the actions on ``node``; ``not_ready`` says why no goal can start now, or None."""
        self._node, self._config, self._loop, self._topics = node, config, loop, topics
        self._changed, self._not_ready = changed, not_ready
        self._panoramas = PanoramaCache(node, changed)
        self._worker = runtime.Worker(node, 'controller')
        self._nav2: Nav2Driver | None = None
        if config.mode == 'nav2':
            self._nav2 = Nav2Driver(
                node, loop, changed, config.odom_frame,
                action=config.nav2_action, action_type=node.nav2_action_type,
            )  # fmt: skip
        for kind, name, start in (
            (MoveToPixel, 'move_to_pixel', self._start_pixel),
            (MoveAlong, 'move_along', self._start_along),
            (Spin, 'spin', self._start_spin),
        ):
            self._serve(kind, name, start)

    def _serve(self, kind: Any, name: str, start: Start) -> None:
        motion_actions.serve(
            self._node,
            kind,
            name,
            lambda job, request: self._run(job, start, request),
            is_free=lambda: self._loop.job is None,
            on_cancel=lambda: self._loop.abort(MotionCode.CANCELLED, 'cancelled'),
            group=self._changed.group,
        )

    async def _run(self, job: MotionJob, start: Start, request: Any) -> tuple[MotionOutcome, int]:
        """Drive one goal to its end; returns the outcome and the odometry stamp of the end."""
        loop = self._loop
        if loop.job is not None:
            return MotionOutcome(MotionCode.NOT_READY, 'another goal is active'), loop.stamp
        loop.job, loop.driver = job, loop.controller
        try:
            await self._changed.wait_for(
                lambda: job.is_ended or not self._not_ready(), self._config.ready_timeout
            )
            reason = self._not_ready()
            if not job.is_ended and reason is not None:
                return reason, loop.stamp
            if not job.is_ended:
                refused = await start(request)
                if refused is not None:
                    return refused, loop.stamp
                self._topics.show_path(loop.stamp, loop.controller.path_xy)
                job.is_started = True
                if self._config.lockstep:
                    loop.step()
            await self._changed.wait_for(lambda: job.is_ended, math.inf)
            return job.outcome, loop.stamp
        finally:
            loop.job, loop.driver = None, loop.controller
            loop.hold()
            self._node.report(goal='none', last=job.text)

    async def _start_pixel(self, request: MoveToPixel.Goal) -> MotionOutcome | None:
        goal = request.goal
        message = await self._panoramas.get(goal.panorama_id)
        if message is None:
            return MotionOutcome(
                MotionCode.UNKNOWN_PANORAMA,
                f'panorama {goal.panorama_id} has not arrived at the controller',
            )
        panorama = await self._worker.submit(conversions.panorama_of, message)
        pixel = (goal.u_px, goal.v_px)
        if self._nav2 is not None:
            refused = await self._start_nav2(self._nav2, panorama, goal.view, pixel)
        else:
            refused = self._loop.controller.start_pixel(
                panorama, goal.view, pixel, self._loop.pose, mode=self._config.mode
            )
        if refused is not None and refused.code.is_refusal:
            self._topics.show_refusal(panorama, goal.view, pixel, refused)
        return refused

    async def _start_nav2(
        self, nav2: Nav2Driver, panorama: Panorama, view: int, pixel: tuple[float, float]
    ) -> MotionOutcome | None:
        if not 0 <= view < len(panorama.views):
            return MotionOutcome(MotionCode.OUT_OF_PICTURE, f'there is no view {view}')
        pose = self._loop.pose
        goal = pixel_goal(panorama.views[view], pixel, pose, self._config.motion.pixel)
        if isinstance(goal, Refusal):
            return MotionOutcome(goal.code, goal.message)
        self._loop.driver = nav2
        return await nav2.start(goal.goal_xy, pose[2] + goal.theta)

    async def _start_along(self, request: MoveAlong.Goal) -> MotionOutcome | None:
        route = [(point.x, point.y) for point in request.route]
        pose = self._loop.pose
        if self._nav2 is None or not route:
            return self._loop.controller.start_route(route, pose)
        before = route[-2] if len(route) > 1 else pose[:2]
        yaw = math.atan2(route[-1][1] - before[1], route[-1][0] - before[0])
        self._loop.driver = self._nav2
        return await self._nav2.start(route[-1], yaw)

    async def _start_spin(self, request: Spin.Goal) -> MotionOutcome | None:
        return self._loop.controller.start_spin(request.angle)

    def close(self) -> None:
        """End the worker."""
        self._worker.close()
