# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The loop of SPEC section 0 (HAM-VLN Algorithm 1) over five ports.

The same object runs inside the ROS graph and in one process with a simulator. It blocks its
caller; everything it waits for sits behind a port, and the robot stands still while it waits.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from vln_core.context import ActionNote, PlanningContext, ProgressItem
from vln_core.errors import (
    Cancelled,
    ConfigError,
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
    Stop,
    describe_action,
)
from vln_core.system2.validation import validate
from vln_core.system2.verified_stop import check_stop

_logger = logging.getLogger(__name__)

_FATAL_MOTION = {
    MotionCode.CANCELLED: EpisodeCode.CANCELLED,
    MotionCode.EMERGENCY_STOP: EpisodeCode.MOTION_FAILED,
    MotionCode.SAFETY_LOST: EpisodeCode.MOTION_FAILED,
}


@dataclass(frozen=True)
class NavigatorConfig:
    """Budgets of an episode.

    Attributes:
        max_waypoints: Decision waypoints an episode may have.
        max_reselects: Refused actions that go back into the same turn.
        max_look_failures: Look-arounds that may fail in a row.
        max_stale_motions: Motions in a row that may fail for want of sensor data.
        stop_radius: Distance within which the last landmark must be grounded, metres.
        verify_stop: Whether a stop needs its proofs (SPEC 4.2).
        timeout: Wall time that an episode may take, seconds; 0: no limit.
    """

    max_waypoints: int = 40
    max_reselects: int = 3
    max_look_failures: int = 3
    max_stale_motions: int = 3
    stop_radius: float = 1.5
    verify_stop: bool = True
    timeout: float = 0.0

    def __post_init__(self) -> None:
        if self.max_waypoints < 1 or self.max_reselects < 0:
            raise ConfigError(
                f'navigator: max_waypoints = {self.max_waypoints} must be > 0 and '
                f'max_reselects = {self.max_reselects} >= 0'
            )
        if not self.stop_radius > 0.0 or not self.timeout >= 0.0:
            raise ConfigError(
                f'navigator: stop_radius = {self.stop_radius} m must be > 0 and '
                f'timeout = {self.timeout} s >= 0'
            )


@dataclass(frozen=True, eq=False)
class DecisionTrace:
    """One decision from picture to outcome, for reports, logs and replays.

    Attributes:
        step: Decision waypoint t.
        panorama: O_t.
        context: What the planner read.
        record: J_t; None when the planner failed.
        grounding: Answer of System 1, if it was asked.
        pixel_uv: Column and row driven to, if any.
        code: MotionCode, GroundingCode or EpisodeCode of the outcome.
        outcome: Sentence.
        refusals: Why earlier actions of this turn were refused.
        latency: Time the planner took, seconds.
    """

    step: int
    panorama: Panorama
    context: PlanningContext
    record: DecisionRecord | None
    grounding: Grounding | None
    pixel_uv: tuple[int, int] | None
    code: int
    outcome: str
    refusals: tuple[str, ...]
    latency: float


@dataclass(frozen=True, eq=False)
class EpisodeResult:
    """How an instruction ended."""

    code: EpisodeCode
    message: str
    is_verified: bool
    decisions: tuple[DecisionTrace, ...]
    distance_driven: float


@dataclass(frozen=True, eq=False)
class NavigatorEvent:
    """Something that people or logs want to know as it happens.

    Attributes:
        state: 'looking', 'thinking', 'pointing', 'moving', 'standing', 'decided' or 'ended'.
        step: Decision waypoint.
        text: Sentence for people.
        trace: Set with 'decided'.
    """

    state: str
    step: int
    text: str
    trace: DecisionTrace | None = None


class CancelToken:
    """Thread-safe wish to end an episode."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask for the end; ports that wait on it raise :class:`Cancelled`."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the end was asked for."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise :class:`Cancelled` if the end was asked for."""
        if self._event.is_set():
            raise Cancelled('the instruction was cancelled')


class _Ended(Exception):
    """Leaves the loop with a result code."""

    def __init__(self, code: EpisodeCode, message: str, *, is_verified: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.is_verified = is_verified


@dataclass
class _Episode:
    """What one run knows."""

    instruction: str
    items: list[ProgressItem]
    cancel: CancelToken
    deadline: float
    step: int = 0
    decisions: list[DecisionTrace] = field(default_factory=list)
    distance_driven: float = 0.0
    num_refused_stops: int = 0
    num_stale_motions: int = 0

    @property
    def landmarks(self) -> list[str]:
        return list(dict.fromkeys(word for item in self.items for word in item.landmarks))


@dataclass(frozen=True, eq=False)
class _Act:
    """What became of one action."""

    code: int
    message: str
    is_refusal: bool
    grounding: Grounding | None = None
    pixel_uv: tuple[int, int] | None = None
    motion: MotionOutcome | None = None


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
        episode = _Episode(instruction, [], cancel or CancelToken(), deadline)
        is_verified = False
        try:
            self._loop(episode)
            code, message = EpisodeCode.WAYPOINT_BUDGET, self._budget_message()
        except _Ended as end:
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

    def _loop(self, episode: _Episode) -> None:
        try:
            episode.items = self._brain.parse(episode.instruction)
        except PlannerError as error:
            raise _Ended(EpisodeCode.BAD_INSTRUCTION, str(error)) from error
        self._memory.begin(episode.instruction, episode.items)
        for step in range(self._config.max_waypoints):
            episode.step = step
            panorama = self._look(episode)
            self._memory.observe(panorama)
            self._turn(episode, panorama)

    def _look(self, episode: _Episode) -> Panorama:
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

    def _turn(self, episode: _Episode, panorama: Panorama) -> None:
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
        self, episode: _Episode, panorama: Panorama, refusals: list[str]
    ) -> PlanningContext:
        context = self._memory.context(refusals)
        return replace(
            context,
            panorama=panorama,
            waypoints_left=self._config.max_waypoints - episode.step,
            stop_radius=self._config.stop_radius,
            recall=self._memory.recall,
        )

    def _act(self, episode: _Episode, context: PlanningContext, record: DecisionRecord) -> _Act:
        try:
            validate(record, context)
            self._memory.commit(record)
        except (RecordError, UpdateRefused) as error:
            return _Act(EpisodeCode.PLANNER_FAILED, str(error), is_refusal=True)
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
            return _Act(MotionCode.NO_PATH, str(error), is_refusal=True)

    def _stop(self, episode: _Episode, context: PlanningContext, record: DecisionRecord) -> _Act:
        """End the episode, or refuse once for want of proofs (SPEC 4.2)."""
        if record.notes.failure:
            self._note_end(episode, context, record, EpisodeCode.GAVE_UP, record.notes.failure)
            raise _Ended(EpisodeCode.GAVE_UP, record.notes.failure)
        missing: list[str] = []
        if self._config.verify_stop:
            current = replace(context, progress=self._memory.context().progress)
            missing = check_stop(current, record)
        if missing and episode.num_refused_stops == 0:
            episode.num_refused_stops += 1
            reason = 'stop refused: ' + '; '.join(missing)
            return _Act(EpisodeCode.STOPPED_UNVERIFIED, reason, is_refusal=True)
        code = EpisodeCode.STOPPED_UNVERIFIED if missing else EpisodeCode.STOPPED_VERIFIED
        message = 'stopped without proof: ' + '; '.join(missing) if missing else record.rationale
        self._note_end(episode, context, record, code, message)
        raise _Ended(code, message, is_verified=self._config.verify_stop and not missing)

    def _note_end(
        self,
        episode: _Episode,
        context: PlanningContext,
        record: DecisionRecord,
        code: EpisodeCode,
        message: str,
    ) -> None:
        act = _Act(code, message, is_refusal=False)
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

    def _go(self, episode: _Episode, panorama: Panorama, action: Go) -> _Act:
        self._emit('pointing', episode, f'finding "{action.target}" in view {action.view}')
        grounding = self._pointer.ground(panorama, action.view, action.target)
        if grounding.code is not GroundingCode.FOUND or grounding.pixel_uv is None:
            return _Act(grounding.code, grounding.message, is_refusal=True, grounding=grounding)
        self._check(episode)
        self._emit('moving', episode, f'moving towards "{action.target}"')
        motion = self._legs.move_to_pixel(panorama, action.view, grounding.pixel_uv)
        return self._moved(episode, motion, grounding, grounding.pixel_uv)

    def _move_to(self, episode: _Episode, panorama: Panorama, action: MoveTo) -> _Act:
        camera = panorama.views[action.view].camera
        column = min(int(action.u * camera.width), camera.width - 1)
        row = min(int(action.v * camera.height), camera.height - 1)
        self._emit('moving', episode, f'moving to pixel ({column}, {row}) of view {action.view}')
        motion = self._legs.move_to_pixel(panorama, action.view, (column, row))
        return self._moved(episode, motion, None, (column, row))

    def _travel(self, episode: _Episode, record: DecisionRecord) -> _Act:
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
        episode: _Episode,
        motion: MotionOutcome,
        grounding: Grounding | None,
        pixel_uv: tuple[int, int] | None,
    ) -> _Act:
        if motion.code in _FATAL_MOTION:
            episode.distance_driven += motion.travelled
            raise _Ended(_FATAL_MOTION[motion.code], motion.message)
        stale = motion.code is MotionCode.STALE_INPUT
        episode.num_stale_motions = episode.num_stale_motions + 1 if stale else 0
        if episode.num_stale_motions >= self._config.max_stale_motions:
            raise _Ended(EpisodeCode.MOTION_FAILED, motion.message)
        return _Act(
            motion.code, motion.message, motion.code.is_refusal, grounding, pixel_uv, motion
        )

    def _conclude(self, episode: _Episode, record: DecisionRecord, act: _Act) -> None:
        action = describe_action(record.action)
        self._memory.conclude(
            ActionNote(episode.step, action, record.rationale, act.message, int(act.code))
        )

    def _check(self, episode: _Episode) -> None:
        episode.cancel.check()
        if self._clock() > episode.deadline:
            raise _Ended(
                EpisodeCode.TIME_BUDGET, f'the time budget of {self._config.timeout:g} s is spent'
            )

    def _emit(
        self, state: str, episode: _Episode, text: str, trace: DecisionTrace | None = None
    ) -> None:
        _logger.debug('%s at %d: %s', state, episode.step, text)
        if self._on_event is not None:
            self._on_event(NavigatorEvent(state, episode.step, text, trace))
