# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The loop of SPEC section 0 (HAM-VLN Algorithm 1) over five ports.

The same object runs inside the ROS graph and in one process with a simulator. It blocks its
caller; everything it waits for sits behind a port, and the robot stands still while it waits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from vln_core.context import ActionNote, PlanningContext
from vln_core.episode import (
    Act,
    CancelToken,
    DecisionTrace,
    Ended,
    EpisodeResult,
    EpisodeState,
    NavigatorConfig,
    NavigatorEvent,
)
from vln_core.errors import (
    Cancelled,
    MemoryStoreError,
    PerceptionError,
    PlannerError,
    RecordError,
    UnknownReference,
    UpdateRefused,
)
from vln_core.observation import Panorama
from vln_core.outcome import (
    EpisodeCode,
    Grounding,
    GroundingCode,
    MotionCode,
    MotionOutcome,
)
from vln_core.ports import Brain, Eyes, Legs, Memory, Pointer
from vln_core.system2.record import (
    Backtrack,
    DecisionRecord,
    Go,
    Goto,
    MoveTo,
    ProgressUpdate,
    Stop,
    WorldNotes,
    describe_action,
)
from vln_core.system2.validation import validate
from vln_core.system2.verified_stop import check_stop

__all__ = [
    'CancelToken',
    'DecisionTrace',
    'EpisodeResult',
    'Navigator',
    'NavigatorConfig',
    'NavigatorEvent',
]

_logger = logging.getLogger(__name__)

_FATAL_MOTION = {
    MotionCode.CANCELLED: EpisodeCode.CANCELLED,
    MotionCode.EMERGENCY_STOP: EpisodeCode.MOTION_FAILED,
    MotionCode.SAFETY_LOST: EpisodeCode.MOTION_FAILED,
}


class Navigator:
    """Follows instructions: look, remember, decide, point, move, until a verified stop."""

    def __init__(
        self,
        eyes: Eyes,
        memory: Memory,
        brain: Brain,
        pointer: Pointer,
        legs: Legs,
        config: NavigatorConfig | None = None,
        *,
        on_event: Callable[[NavigatorEvent], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the navigator.

        Args:
            eyes: Camera and detectors.
            memory: World graph and progress record.
            brain: System 2.
            pointer: System 1.
            legs: Controller.
            config: Budgets.
            on_event: Called in the navigator's thread; must return quickly.
            clock: Monotonic seconds for deadlines and latencies.
        """
        self._eyes = eyes
        self._memory = memory
        self._brain = brain
        self._pointer = pointer
        self._legs = legs
        self._config = config or NavigatorConfig()
        self._on_event = on_event
        self._clock = clock

    def run(self, instruction: str, cancel: CancelToken | None = None) -> EpisodeResult:
        """Follow one instruction to its end; every end leaves the robot standing.

        Args:
            instruction: Words of the operator.
            cancel: To end it from another thread.

        Returns:
            How it ended. Failures are results, not exceptions.
        """
        timeout = self._config.timeout
        deadline = self._clock() + timeout if timeout else float('inf')
        episode = EpisodeState(instruction, [], cancel or CancelToken(), deadline)
        is_verified = False
        try:
            self._loop(episode)
            code, message = EpisodeCode.WAYPOINT_BUDGET, self._budget_message()
        except Ended as end:
            code, message, is_verified = end.code, end.message, end.is_verified
        except Cancelled as error:
            code, message = EpisodeCode.CANCELLED, str(error)
        except PerceptionError as error:
            code, message = EpisodeCode.PERCEPTION_FAILED, str(error)
        except PlannerError as error:
            code, message = EpisodeCode.PLANNER_FAILED, str(error)
        except MemoryStoreError as error:
            code, message = EpisodeCode.MEMORY_FAILED, str(error)
        finally:
            self._legs.halt()
        self._emit('ended', episode, message)
        return EpisodeResult(
            code, message, is_verified, tuple(episode.decisions), episode.distance_driven
        )

    def _budget_message(self) -> str:
        return f'the budget of {self._config.max_waypoints} decision waypoints is spent'

    def _loop(self, episode: EpisodeState) -> None:
        try:
            episode.items = self._brain.parse(episode.instruction)
        except PlannerError as error:
            raise Ended(EpisodeCode.BAD_INSTRUCTION, str(error)) from error
        self._memory.begin(episode.instruction, episode.items)
        for step in range(self._config.max_waypoints):
            episode.step = step
            panorama = self._look(episode)
            self._memory.observe(panorama)
            self._turn(episode, panorama)

    def _look(self, episode: EpisodeState) -> Panorama:
        for attempt in range(1, self._config.max_look_failures + 1):
            self._check(episode)
            self._emit('looking', episode, 'looking around')
            try:
                return self._eyes.look_around(episode.landmarks)
            except PerceptionError as error:
                if attempt == self._config.max_look_failures:
                    raise
                _logger.warning('look-around %d failed: %s', attempt, error)
        raise AssertionError('unreachable: the last attempt returns or raises')

    def _turn(self, episode: EpisodeState, panorama: Panorama) -> None:
        """Decide and act at one waypoint; refused actions go back into the same turn."""
        refusals: list[str] = []
        while True:
            self._check(episode)
            context = self._context(episode, panorama, refusals)
            self._emit('thinking', episode, 'deciding')
            started = self._clock()
            record = self._brain.decide(context)
            latency = self._clock() - started
            self._check(episode)
            act = self._act(episode, context, record)
            trace = DecisionTrace(
                episode.step,
                panorama,
                context,
                record,
                act.grounding,
                act.pixel_uv,
                act.code,
                act.message,
                tuple(refusals),
                latency,
            )
            episode.decisions.append(trace)
            self._emit('decided', episode, act.message, trace)
            if act.motion is not None:
                episode.distance_driven += act.motion.travelled
            if not act.is_refusal:
                self._conclude(episode, record, act)
                return
            refusals.append(f'{describe_action(record.action)}: {act.message}')
            if len(refusals) > self._config.max_reselects:
                self._conclude(episode, record, act)
                self._emit('standing', episode, 'no action was possible; looking again')
                return

    def _context(
        self, episode: EpisodeState, panorama: Panorama, refusals: list[str]
    ) -> PlanningContext:
        context = self._memory.context(refusals)
        return replace(
            context,
            panorama=panorama,
            waypoints_left=self._config.max_waypoints - episode.step,
            stop_radius=self._config.stop_radius,
            recall=self._memory.recall,
        )

    def _act(self, episode: EpisodeState, context: PlanningContext, record: DecisionRecord) -> Act:
        try:
            validate(record, context)
            self._memory.commit(record)
        except (RecordError, UpdateRefused) as error:
            return Act(EpisodeCode.PLANNER_FAILED, str(error), is_refusal=True)
        action = record.action
        if isinstance(action, Stop):
            return self._stop(episode, context, record)
        try:
            if isinstance(action, Go):
                return self._go(episode, context.panorama, action)
            if isinstance(action, MoveTo):
                return self._move_to(episode, context.panorama, action)
            return self._travel(episode, record)
        except UnknownReference as error:
            return Act(MotionCode.NO_PATH, str(error), is_refusal=True)

    def _stop(
        self, episode: EpisodeState, context: PlanningContext, record: DecisionRecord
    ) -> Act:
        """End the episode, or refuse once for want of proofs (SPEC 4.2)."""
        if record.notes.failure:
            self._note_end(episode, context, record, EpisodeCode.GAVE_UP, record.notes.failure)
            raise Ended(EpisodeCode.GAVE_UP, record.notes.failure)
        missing: list[str] = []
        if self._config.verify_stop:
            current = replace(context, progress=self._memory.context().progress)
            missing = check_stop(current, record)
            if not missing:
                self._close_stop(current, record)
        if missing and episode.num_refused_stops == 0:
            episode.num_refused_stops += 1
            reason = 'stop refused: ' + '; '.join(missing)
            return Act(EpisodeCode.STOPPED_UNVERIFIED, reason, is_refusal=True)
        code = EpisodeCode.STOPPED_UNVERIFIED if missing else EpisodeCode.STOPPED_VERIFIED
        message = 'stopped without proof: ' + '; '.join(missing) if missing else record.rationale
        self._note_end(episode, context, record, code, message)
        raise Ended(code, message, is_verified=self._config.verify_stop and not missing)

    def _close_stop(self, context: PlanningContext, record: DecisionRecord) -> None:
        """Note the last clause as done: no planner can say so before its stop is verified."""
        goal = context.progress.items[-1]
        if goal.status.is_open:
            done = ProgressUpdate(index=goal.index, status='done', reason='the stop is verified')
            closing = record.model_copy(update={'notes': WorldNotes(progress=(done,))})
            self._memory.commit(closing)

    def _note_end(
        self,
        episode: EpisodeState,
        context: PlanningContext,
        record: DecisionRecord,
        code: EpisodeCode,
        message: str,
    ) -> None:
        act = Act(code, message, is_refusal=False)
        trace = DecisionTrace(
            episode.step,
            context.panorama,
            context,
            record,
            None,
            None,
            code,
            message,
            context.refusals,
            0.0,
        )
        episode.decisions.append(trace)
        self._emit('decided', episode, message, trace)
        self._conclude(episode, record, act)

    def _go(self, episode: EpisodeState, panorama: Panorama, action: Go) -> Act:
        self._emit('pointing', episode, f'finding "{action.target}" in view {action.view}')
        grounding = self._pointer.ground(panorama, action.view, action.target)
        if grounding.code is not GroundingCode.FOUND or grounding.pixel_uv is None:
            return Act(grounding.code, grounding.message, is_refusal=True, grounding=grounding)
        self._check(episode)
        self._emit('moving', episode, f'moving towards "{action.target}"')
        motion = self._legs.move_to_pixel(panorama, action.view, grounding.pixel_uv)
        return self._moved(episode, motion, grounding, grounding.pixel_uv)

    def _move_to(self, episode: EpisodeState, panorama: Panorama, action: MoveTo) -> Act:
        camera = panorama.views[action.view].camera
        column = min(int(action.u * camera.width), camera.width - 1)
        row = min(int(action.v * camera.height), camera.height - 1)
        self._emit('moving', episode, f'moving to pixel ({column}, {row}) of view {action.view}')
        motion = self._legs.move_to_pixel(panorama, action.view, (column, row))
        return self._moved(episode, motion, None, (column, row))

    def _travel(self, episode: EpisodeState, record: DecisionRecord) -> Act:
        action = record.action
        assert isinstance(action, (Goto, Backtrack))
        if isinstance(action, Goto):
            route = self._memory.route_to(action.viewpoint)
        else:
            reason = record.notes.failure or record.rationale
            route = self._memory.backtrack(action.waypoint, reason)
        self._check(episode)
        self._emit('moving', episode, describe_action(action))
        return self._moved(episode, self._legs.move_along(route), None, None)

    def _moved(
        self,
        episode: EpisodeState,
        motion: MotionOutcome,
        grounding: Grounding | None,
        pixel_uv: tuple[int, int] | None,
    ) -> Act:
        if motion.code in _FATAL_MOTION:
            episode.distance_driven += motion.travelled
            raise Ended(_FATAL_MOTION[motion.code], motion.message)
        stale = motion.code is MotionCode.STALE_INPUT
        episode.num_stale_motions = episode.num_stale_motions + 1 if stale else 0
        if episode.num_stale_motions >= self._config.max_stale_motions:
            raise Ended(EpisodeCode.MOTION_FAILED, motion.message)
        return Act(
            motion.code, motion.message, motion.code.is_refusal, grounding, pixel_uv, motion
        )

    def _conclude(self, episode: EpisodeState, record: DecisionRecord, act: Act) -> None:
        action = describe_action(record.action)
        self._memory.conclude(
            ActionNote(episode.step, action, record.rationale, act.message, int(act.code))
        )

    def _check(self, episode: EpisodeState) -> None:
        episode.cancel.check()
        if self._clock() > episode.deadline:
            raise Ended(
                EpisodeCode.TIME_BUDGET, f'the time budget of {self._config.timeout:g} s is spent'
            )

    def _emit(
        self, state: str, episode: EpisodeState, text: str, trace: DecisionTrace | None = None
    ) -> None:
        _logger.debug('%s at %d: %s', state, episode.step, text)
        if self._on_event is not None:
            self._on_event(NavigatorEvent(state, episode.step, text, trace))
