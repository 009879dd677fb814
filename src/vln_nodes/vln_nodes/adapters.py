# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The navigator's ports over ROS: Eyes, Memory, Pointer and Legs."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.action import ActionClient
from rclpy.node import Node

from vln_core.context import ActionNote, PlanningContext, ProgressItem
from vln_core.errors import MemoryStoreError, PerceptionError, UnknownReference, UpdateRefused
from vln_core.observation import Panorama
from vln_core.outcome import Grounding, GroundingCode, MotionCode, MotionOutcome
from vln_core.perception.panorama import num_views
from vln_core.system2.record import DecisionRecord
from vln_interfaces import srv
from vln_interfaces.action import MoveAlong, MoveToPixel, Spin
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_nodes import conversions, memory_conversions, qos
from vln_nodes.calls import Caller, NoAnswer
from vln_nodes.motion_gate import MotionGate

_TIMEOUT = 20.0
# Ends of a turn after which nobody should go on as if the robot merely stood in the way.
_NO_TURN = frozenset(
    (
        MotionCode.CANCELLED,
        MotionCode.EMERGENCY_STOP,
        MotionCode.SAFETY_LOST,
        MotionCode.STALE_INPUT,
        MotionCode.NOT_READY,
    )
)


class RosLegs:
    """Port Legs: actions of the controller node."""

    def __init__(self, node: Node, caller: Caller, gate: MotionGate | None = None) -> None:
        self._caller = caller
        self._gate = gate or MotionGate()
        self._pixel = ActionClient(node, MoveToPixel, 'move_to_pixel')
        self._along = ActionClient(node, MoveAlong, 'move_along')
        self._spin = ActionClient(node, Spin, 'spin')
        self.last_stop = Time()
        """When the last motion ended: pictures from then on show the robot at rest."""

    def move_to_pixel(
        self, panorama: Panorama, view: int, pixel_uv: tuple[int, int]
    ) -> MotionOutcome:
        """Drive to what the pixel shows."""
        goal = MoveToPixel.Goal()
        goal.goal.panorama_id, goal.goal.view = panorama.id, view
        goal.goal.u_px, goal.goal.v_px = int(pixel_uv[0]), int(pixel_uv[1])
        goal.goal.confidence = 1.0
        what = f'drive to pixel ({pixel_uv[0]}, {pixel_uv[1]}) of view {view}'
        return self._drive(self._pixel, goal, 'move_to_pixel', what)

    def move_along(self, route: Sequence[tuple[float, float]]) -> MotionOutcome:
        """Drive along points of the odometry frame."""
        points = [conversions.point_msg((x, y, 0.0)) for x, y in route]
        end = f' to ({route[-1][0]:.1f}, {route[-1][1]:.1f})' if route else ''
        what = f'drive along {len(points)} points{end}'
        return self._drive(self._along, MoveAlong.Goal(route=points), 'move_along', what)

    def spin(self, angle: float) -> MotionOutcome:
        """Turn in place."""
        return self._drive(self._spin, Spin.Goal(angle=float(angle)), 'spin', '')

    def halt(self) -> None:
        """Return when no goal is active any more, which the calls above have waited for."""

    def _drive(self, client: ActionClient, goal: Any, name: str, what: str) -> MotionOutcome:
        """Run a goal; a pause ends it where the robot is, and going on sends what is left of it.

        Args:
            client: Of the action.
            goal: Of the action.
            name: Of the action.
            what: The motion in words; empty for one that nobody needs to approve of.
        """
        travelled, asks = 0.0, bool(what)
        while True:
            if not self._gate.enter(what, self._caller.token, asks=asks):
                # A refusal like any other: System 2 chooses something else in the same turn.
                text = 'the operator refused this motion: choose another action'
                return MotionOutcome(MotionCode.NO_PATH, text, travelled)
            asks = False
            run = _Interruptible(self._gate)
            outcome = self._run(client, goal, name, run)
            travelled += outcome.travelled
            if not (run.was_interrupted and outcome.code is MotionCode.CANCELLED):
                return replace(outcome, travelled=travelled)
            if isinstance(goal, Spin.Goal) and run.remaining is not None:
                goal = Spin.Goal(angle=math.copysign(run.remaining, goal.angle))

    def _run(
        self, client: ActionClient, goal: Any, name: str, run: _Interruptible
    ) -> MotionOutcome:
        try:
            result = self._caller.action(
                client, goal, name, run.is_interrupted, run.on_feedback
            )  # fmt: skip
        except NoAnswer as error:
            return MotionOutcome(MotionCode.NOT_READY, str(error))
        if result is None:
            return MotionOutcome(MotionCode.NOT_READY, 'the controller has another goal already')
        self.last_stop = result.stamp
        goal_xy = (result.goal.x, result.goal.y) if result.has_goal else None
        return MotionOutcome(
            MotionCode(result.error_code), result.error_msg, result.travelled, goal_xy
        )


class _Interruptible:
    """One goal on its way: whether a pause ended it, and what was left of it."""

    def __init__(self, gate: MotionGate) -> None:
        self._gate = gate
        self.was_interrupted = False
        self.remaining: float | None = None

    def is_interrupted(self) -> bool:
        self.was_interrupted = self.was_interrupted or self._gate.is_paused
        return self.was_interrupted

    def on_feedback(self, message: Any) -> None:
        self.remaining = float(message.feedback.remaining)


class RosEyes:
    """Port Eyes: turns with the legs, has the perception node capture each view."""

    def __init__(self, node: Node, caller: Caller, legs: RosLegs) -> None:
        self._caller = caller
        self._legs = legs
        self._capture = node.create_client(srv.Capture, 'perception/capture')
        self._arrived = threading.Condition()
        self._messages: dict[int, PanoramaMsg] = {}
        self._subscription = node.create_subscription(
            PanoramaMsg, 'panorama', self._on_panorama, qos.PANORAMA
        )

    def _on_panorama(self, message: PanoramaMsg) -> None:
        with self._arrived:
            self._messages[message.id] = message
            for old in sorted(self._messages)[: -qos.PANORAMA.depth]:
                del self._messages[old]
            self._arrived.notify_all()

    def look_around(self, landmarks: Sequence[str]) -> Panorama:
        """Take N views, the last turn bringing the robot back to its heading.

        A turn that fails ends the look-around: the views there are make an incomplete panorama.
        """
        first = self._take(0, 0, 0.0, landmarks)
        count = num_views(first.hfov)
        step = 2.0 * math.pi / count
        answer = first
        for index in range(1, count):
            if not self._turn(step, index):
                answer = self._take(index, index, index * step, landmarks)
                return self._panorama(answer.panorama_id)
            answer = self._take(index, count, index * step, landmarks)
        self._turn(step, count)
        return self._panorama(answer.panorama_id)

    def _turn(self, angle: float, number: int) -> bool:
        """Turn; tell whether the robot faces where it should.

        Raises:
            PerceptionError: Not the floor kept it from turning: pictures would not help.
        """
        outcome = self._legs.spin(angle)
        if outcome.code in _NO_TURN:
            raise PerceptionError(f'turn {number} of the look-around failed: {outcome.message}')
        return outcome.reached

    def _take(
        self, index: int, count: int, yaw: float, landmarks: Sequence[str]
    ) -> srv.Capture.Response:
        request = srv.Capture.Request(
            index=index, num_views=count, yaw=yaw, landmarks=list(landmarks)
        )
        request.not_before = self._legs.last_stop
        try:
            response = self._caller.service(self._capture, request, _TIMEOUT)
        except NoAnswer as error:
            raise PerceptionError(str(error)) from error
        if response.error_code:
            raise PerceptionError(response.error_msg)
        return response

    def _panorama(self, panorama_id: int) -> Panorama:
        with self._arrived:
            if not self._arrived.wait_for(lambda: panorama_id in self._messages, timeout=5.0):
                raise PerceptionError(f'panorama {panorama_id} was taken but did not arrive')
            return conversions.panorama_of(self._messages[panorama_id])


class RosMemory:
    """Port Memory: services of the memory node."""

    def __init__(self, node: Node, caller: Caller, *, with_map_image: bool) -> None:
        self._caller = caller
        self._with_map_image = with_map_image
        self._panorama: Panorama | None = None
        self.episode_id = ''
        self._begin = node.create_client(srv.BeginEpisode, 'memory/begin')
        self._observe = node.create_client(srv.Observe, 'memory/observe')
        self._context = node.create_client(srv.GetContext, 'memory/context')
        self._commit = node.create_client(srv.Commit, 'memory/commit')
        self._conclude = node.create_client(srv.Conclude, 'memory/conclude')
        self._route = node.create_client(srv.GetRoute, 'memory/route')
        self._recall = node.create_client(srv.Recall, 'memory/recall')

    def _call(self, client: Any, request: Any) -> Any:
        try:
            response = self._caller.service(client, request, _TIMEOUT)
        except NoAnswer as error:
            raise MemoryStoreError(str(error)) from error
        if response.error_code == srv.GetRoute.Response.UNKNOWN:
            raise UnknownReference(response.error_msg)
        if response.error_code == srv.Commit.Response.REFUSED:
            raise UpdateRefused(response.error_msg)
        if response.error_code:
            raise MemoryStoreError(response.error_msg)
        return response

    def begin(self, instruction: str, items: Sequence[ProgressItem]) -> None:
        """Start an episode."""
        request = srv.BeginEpisode.Request(episode_id=self.episode_id, instruction=instruction)
        request.items = [memory_conversions.progress_item_msg(item) for item in items]
        self._call(self._begin, request)

    def observe(self, panorama: Panorama) -> int:
        """Fuse a published panorama."""
        self._panorama = panorama
        request = srv.Observe.Request(panorama_id=panorama.id)
        return int(self._call(self._observe, request).waypoint)

    def context(self, refusals: Sequence[str] = ()) -> PlanningContext:
        """Return the planning context."""
        if self._panorama is None:
            raise MemoryStoreError('no panorama was observed in this episode')
        request = srv.GetContext.Request(with_map_image=self._with_map_image)
        response = self._call(self._context, request)
        return memory_conversions.context_of(response, self._panorama, refusals)

    def commit(self, record: DecisionRecord) -> None:
        """Apply the notes of a record."""
        text = memory_conversions.record_json(record)
        self._call(self._commit, srv.Commit.Request(record_json=text))

    def conclude(self, note: ActionNote) -> None:
        """Store an outcome."""
        self._call(self._conclude, srv.Conclude.Request(note=memory_conversions.note_msg(note)))

    def route_to(self, viewpoint: str) -> list[tuple[float, float]]:
        """Return the route to a viewpoint."""
        response = self._call(self._route, srv.GetRoute.Request(viewpoint=viewpoint))
        return [(point.x, point.y) for point in response.route]

    def backtrack(self, waypoint: int, reason: str) -> list[tuple[float, float]]:
        """Mark the abandoned suffix as failed and return the route back."""
        request = srv.GetRoute.Request(is_backtrack=True, waypoint=waypoint, reason=reason)
        response = self._call(self._route, request)
        return [(point.x, point.y) for point in response.route]

    def recall(self, waypoint: int, view: int) -> NDArray[np.uint8]:
        """Return a past view."""
        response = self._call(self._recall, srv.Recall.Request(waypoint=waypoint, view=view))
        return conversions.rgb_of_compressed(response.image)


class RosPointer:
    """Port Pointer: service of the System 1 node."""

    def __init__(self, node: Node, caller: Caller) -> None:
        self._caller = caller
        self._client = node.create_client(srv.Ground, 'system1/ground')

    def ground(self, panorama: Panorama, view: int, target: str) -> Grounding:
        """Find the target in one view."""
        request = srv.Ground.Request(panorama_id=panorama.id, view=view, target=target)
        try:
            response = self._caller.service(self._client, request, 120.0)
        except NoAnswer as error:
            return Grounding(GroundingCode.MODEL_FAILED, str(error))
        code = GroundingCode(response.error_code)
        if code is not GroundingCode.FOUND:
            return Grounding(code, response.error_msg, score=response.score)
        left, top, right, bottom = (float(edge) for edge in response.box_xyxy_px)
        return Grounding(
            code,
            response.error_msg,
            (left, top, right, bottom),
            (response.u_px, response.v_px),
            response.score,
        )
