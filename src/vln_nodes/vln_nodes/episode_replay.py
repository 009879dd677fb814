# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Lets planner, grounding and memory decide anew on a recorded run, and says where they differ.

The navigator itself runs again, on the recorded panoramas and motions. At every decision what is
decided now is compared with the record, and then the recorded decision is followed: one
difference does not hide the next one, and no motion has to be made up.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ActionNote, PlanningContext, ProgressItem
from vln_core.errors import Cancelled, VlnError
from vln_core.memory.store import MemoryStore
from vln_core.navigator import Navigator
from vln_core.observation import Panorama
from vln_core.outcome import Grounding, GroundingCode, MotionCode, MotionOutcome
from vln_core.ports import Brain, Pointer
from vln_core.system2.brain import make_brain
from vln_core.system2.model_client import ReplayModel
from vln_core.system2.model_planner import ModelPlannerConfig
from vln_core.system2.record import DecisionRecord, describe_action
from vln_interfaces import msg
from vln_interfaces.srv import GetContext
from vln_nodes import conversions, memory_conversions, parameters
from vln_nodes.memory_node import MemoryParameters
from vln_nodes.recorded_episode import RecordedEpisode
from vln_nodes.system1_node import System1Parameters, make_pointer
from vln_nodes.system2_config import System2Parameters, make_model, make_planner

PARTS = ('planner', 'grounding', 'memory')


@dataclass(frozen=True)
class Difference:
    """Where something was decided differently."""

    step: int
    part: str
    recorded: str
    now: str


@dataclass
class Comparison:
    """What became of one episode."""

    name: str
    num_decisions: int = 0
    num_compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    differences: list[Difference] = field(default_factory=list)
    note: str = ''

    def add(self, step: int, part: str, recorded: str, now: str) -> None:
        """Compare two things in words."""
        self.num_compared[part] += 1
        if recorded != now:
            self.differences.append(Difference(step, part, recorded, now))


@dataclass(frozen=True)
class Settings:
    """Configuration of what decides anew."""

    memory: MemoryParameters
    system1: System1Parameters
    system2: System2Parameters
    asks_model: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Mapping[str, Any]], *, asks_model: bool = False) -> Settings:
        """Return the settings for parameters by node and name."""
        return cls(
            parameters.from_values(MemoryParameters(), values.get('memory', {})),
            parameters.from_values(System1Parameters(), values.get('system1', {})),
            parameters.from_values(System2Parameters(), values.get('system2', {})),
            asks_model,
        )


class _Script:
    """The recorded decisions of an episode, one after the other."""

    def __init__(self, episode: RecordedEpisode) -> None:
        self._decisions = episode.decisions
        self._position = -1

    @property
    def now(self) -> msg.DecisionRecord:
        return self._decisions[self._position]

    @property
    def is_over(self) -> bool:
        return self._position + 1 >= len(self._decisions)

    def advance(self, step: int) -> msg.DecisionRecord:
        if self.is_over:
            raise Cancelled('the record ends here')
        self._position += 1
        if self.now.step != step:
            raise Cancelled(
                f'the record goes on at waypoint {self.now.step}, the replay at {step}: '
                'an action that was possible then is refused now, or the other way round'
            )
        return self.now


class _Eyes:
    """Shows the recorded panoramas in the order of the decisions."""

    def __init__(self, episode: RecordedEpisode) -> None:
        steps: dict[int, int] = {d.step: d.panorama_id for d in episode.decisions}
        self._messages = iter([episode.panoramas[steps[step]] for step in sorted(steps)])

    def look_around(self, landmarks: Sequence[str]) -> Panorama:
        message = next(self._messages, None)
        if message is None:
            raise Cancelled('the record ends here')
        return conversions.panorama_of(message)


class _Memory:
    """A memory in this process whose answers take the form that they have on the wire."""

    def __init__(
        self, config: MemoryParameters, with_map_image: bool, script: _Script,
        episode: RecordedEpisode, result: Comparison,
    ) -> None:  # fmt: skip
        self._config, self._with_map_image = config, with_map_image
        self._store = MemoryStore(config.memory, None, config.encoder, '')
        self._panorama: Panorama | None = None
        self._script, self._graphs, self._result = script, episode.graphs, result

    def begin(self, instruction: str, items: Sequence[ProgressItem]) -> None:
        wire = [memory_conversions.progress_item_msg(item) for item in items]
        parsed = [memory_conversions.progress_item_of(item) for item in wire]
        self._store.begin(instruction, parsed)

    def observe(self, panorama: Panorama) -> int:
        self._panorama = panorama
        return self._store.observe(panorama)

    def context(self, refusals: Sequence[str] = ()) -> PlanningContext:
        assert self._panorama is not None
        context = self._store.context()
        if self._with_map_image:
            drawn = self._store.map_image(self._config.map_image_size_px)
            context = replace(context, map_image=drawn.pixels)
        response = memory_conversions.fill_context(
            context, GetContext.Response(), with_map_image=self._with_map_image
        )
        return memory_conversions.context_of(response, self._panorama, refusals)

    def commit(self, record: DecisionRecord) -> None:
        text = memory_conversions.record_json(record)
        self._store.commit(memory_conversions.record_of(text))

    def conclude(self, note: ActionNote) -> None:
        self._store.conclude(memory_conversions.note_of(memory_conversions.note_msg(note)))
        recorded = self._graphs.get(conversions.stamp_ns(self._script.now.header.stamp))
        if recorded is not None:
            now = memory_conversions.graph_msg(self._store.snapshot(), recorded.step)
            self._result.add(recorded.step, 'memory', _graph_words(recorded), _graph_words(now))

    def route_to(self, viewpoint: str) -> list[tuple[float, float]]:
        return self._store.route_to(viewpoint)

    def backtrack(self, waypoint: int, reason: str) -> list[tuple[float, float]]:
        return self._store.backtrack(waypoint, reason)

    def recall(self, waypoint: int, view: int) -> NDArray[np.uint8]:
        picture = conversions.jpeg_of_rgb(self._store.recall(waypoint, view))
        return conversions.rgb_of_compressed(picture)


class _ComparingBrain:
    """Decides anew, compares, and answers as was decided then."""

    def __init__(self, brain: Brain, script: _Script, result: Comparison, compares: bool) -> None:
        self._brain, self._script, self._result = brain, script, result
        self._compares = compares

    def parse(self, instruction: str) -> list[ProgressItem]:
        return self._brain.parse(instruction)

    def decide(self, context: PlanningContext) -> DecisionRecord:
        recorded = self._script.advance(context.step)
        then = memory_conversions.record_of(recorded.record_json)
        if self._compares:
            try:
                words = _record_words(self._brain.decide(context))
            except VlnError as error:
                words = f'no decision: {error}'
            self._result.add(recorded.step, 'planner', _record_words(then), words)
        self._result.num_decisions += 1
        return then


class _ComparingPointer:
    """Points anew, compares, and answers with the recorded pixel."""

    def __init__(self, pointer: Pointer | None, script: _Script, result: Comparison) -> None:
        self._pointer, self._script, self._result = pointer, script, result

    def ground(self, panorama: Panorama, view: int, target: str) -> Grounding:
        recorded = self._script.now
        then = _recorded_grounding(recorded)
        if self._pointer is not None:
            now = self._pointer.ground(panorama, view, target)
            self._result.add(
                recorded.step, 'grounding', _grounding_words(then), _grounding_words(now)
            )
        return then


class _Legs:
    """Every motion ends as it did then."""

    def __init__(self, script: _Script) -> None:
        self._script = script

    def move_to_pixel(
        self, panorama: Panorama, view: int, pixel_uv: tuple[int, int]
    ) -> MotionOutcome:
        return self._outcome()

    def move_along(self, route: Sequence[tuple[float, float]]) -> MotionOutcome:
        return self._outcome()

    def spin(self, angle: float) -> MotionOutcome:
        return MotionOutcome(MotionCode.REACHED, '')

    def halt(self) -> None:
        """Nothing moves."""

    def _outcome(self) -> MotionOutcome:
        recorded = self._script.now
        return MotionOutcome(MotionCode(recorded.outcome_code), recorded.outcome)


def replay_episode(
    episode: RecordedEpisode, settings: Settings, parts: Sequence[str] = PARTS
) -> Comparison:
    """Run the navigator again on a recorded episode.

    Args:
        episode: Of :func:`vln_nodes.recorded_episode.episodes_of`.
        settings: What decides anew.
        parts: Which of ``PARTS`` are compared; memory always runs, contexts come from it.

    Raises:
        ConfigError: The settings ask for something that is not installed.
    """
    result = Comparison(episode.name)
    if episode.gap:
        result.note = f'left out: {episode.gap}'
        return result
    if settings.memory.global_frame != settings.memory.odom_frame:
        result.note = 'left out: the memory lived in a map frame, whose corrections are not kept'
        return result
    script = _Script(episode)
    config = settings.system2
    with tempfile.TemporaryDirectory() as folder:
        brain = _brain(settings, episode, Path(folder))
        navigator = Navigator(
            _Eyes(episode),
            _Memory(settings.memory, config.with_map_image, script, episode, result),
            _ComparingBrain(brain, script, result, 'planner' in parts),
            _ComparingPointer(
                make_pointer(settings.system1) if 'grounding' in parts else None, script, result
            ),
            _Legs(script),
            replace(config.navigator, timeout=0.0),
        )
        end = navigator.run(episode.decisions[0].instruction)
    if not script.is_over:
        result.note = f'ended early: {end.message}'
    if 'memory' not in parts:
        result.differences = [d for d in result.differences if d.part != 'memory']
        result.num_compared['memory'] = 0
    return result


def _brain(settings: Settings, episode: RecordedEpisode, folder: Path) -> Brain:
    """Return the planner; one that asks a model is answered by the record unless told not to."""
    config = settings.system2
    if config.planner == 'rules' or settings.asks_model:
        return make_planner(config, make_model(config, lambda: False))
    (folder / 'transcript.jsonl').write_text('\n'.join(episode.replies))
    limits = ModelPlannerConfig(
        mode=config.planner,
        native_tools=config.model.native_tools,
        has_vision=config.model.has_vision,
    )
    return make_brain(config.planner, limits, ReplayModel(folder), outage=config.outage)


def _recorded_grounding(recorded: msg.DecisionRecord) -> Grounding:
    code = recorded.outcome_code
    if code in {int(c) for c in GroundingCode if c is not GroundingCode.FOUND}:
        return Grounding(GroundingCode(code), recorded.outcome)
    left, top, right, bottom = (float(edge) for edge in recorded.box_xyxy_px)
    return Grounding(
        GroundingCode.FOUND, '', (left, top, right, bottom), (recorded.u_px, recorded.v_px)
    )


def _grounding_words(grounding: Grounding) -> str:
    if grounding.pixel_uv is None:
        return f'refused, {grounding.code.name}'
    return f'pixel ({grounding.pixel_uv[0]}, {grounding.pixel_uv[1]})'


def _record_words(record: DecisionRecord) -> str:
    notes = record.notes.model_dump_json(exclude_defaults=True)
    return f'{describe_action(record.action)}; notes {notes}; because {record.rationale}'


def _graph_words(graph: msg.WorldGraph) -> str:
    """Return what a graph holds, positions to the centimetre."""
    objects = ', '.join(
        sorted(f'{o.category}({o.position.x:.2f}, {o.position.y:.2f})' for o in graph.objects)
    )
    places = ', '.join(f'{p.id}' for p in graph.places)
    return (
        f'{len(graph.waypoints)} waypoints, places {places}, {len(graph.viewpoints)} viewpoints, '
        f'objects {objects}'
    )
