# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One episode of the navigator: its budgets, what it knows, its decisions and how it ended."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from vln_core.context import PlanningContext, ProgressItem
from vln_core.errors import Cancelled, ConfigError
from vln_core.observation import Panorama
from vln_core.outcome import EpisodeCode, Grounding, MotionOutcome
from vln_core.system2.record import DecisionRecord


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


class Ended(Exception):
    """Leaves the navigator's loop with a result code."""

    def __init__(self, code: EpisodeCode, message: str, *, is_verified: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.is_verified = is_verified


@dataclass
class EpisodeState:
    """What one run of the navigator knows."""

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
        """Landmarks of all items, each once."""
        return list(dict.fromkeys(word for item in self.items for word in item.landmarks))


@dataclass(frozen=True, eq=False)
class Act:
    """What became of one action."""

    code: int
    message: str
    is_refusal: bool
    grounding: Grounding | None = None
    pixel_uv: tuple[int, int] | None = None
    motion: MotionOutcome | None = None
