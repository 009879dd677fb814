# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Mines demonstrations from walks whose choices are given and right (MC-GPT III-D).

A walk is a list of (what was known, what was chosen). Each choice is explained either by a model
with the role prompt, or by the reasons that the rules planner has for that very choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vln_core.context import PlanningContext, ProgressItem, ViewpointState
from vln_core.errors import RecordError
from vln_core.observation import View
from vln_core.system2.demonstrations import Demonstration, DemonstrationStep
from vln_core.system2.guide import PathGuide
from vln_core.system2.loose_json import find_objects
from vln_core.system2.messages import ChatModel, Message
from vln_core.system2.prompting import PromptLibrary, bearing_words, fenced
from vln_core.system2.record import DecisionRecord, Go, Goto, MoveTo, Stop, describe_action
from vln_core.system2.rules import RulesPlanner
from vln_core.system2.situation import wrap
from vln_core.vocabulary import canonical_room

_LISTED = 6
_LONGEST = 12_000
_TRIES = 5
_SAME_WAY = math.radians(50.0)


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk as an expert made it.

    Attributes:
        instruction: Words.
        room_type: Canonical type of the room where it ends.
        type_source: 'scene' or 'instruction', see :class:`Demonstration`.
        source: Where it comes from, for people.
        known: What the map or the views told at each step.
        choices: What was chosen there.
        reasons: What the rules planner says for each choice, '' where it says nothing.
    """

    instruction: str
    room_type: str
    type_source: str
    source: str
    known: tuple[str, ...]
    choices: tuple[str, ...]
    reasons: tuple[str, ...]


class Explainer(Protocol):
    """Says why the choices of a walk are right."""

    name: str

    def explain(self, walk: Walk) -> list[str]:
        """Return one explanation a step."""
        ...


class RulesExplainer:
    """Explains by the reasons that the rules planner gave along the walk."""

    name = 'rules'

    def explain(self, walk: Walk) -> list[str]:
        """Return the reasons of the walk."""
        return list(walk.reasons)


class ModelExplainer:
    """Explains by a model in the role of a guide who knows the expert's choices."""

    def __init__(self, model: ChatModel, name: str, library: PromptLibrary | None = None) -> None:
        """Bind a model.

        Args:
            model: Who explains.
            name: What the demonstrations shall call it.
            library: Prompt files; None: the stack's own.
        """
        self.name = name
        self._model = model
        self._library = library or PromptLibrary()

    def explain(self, walk: Walk) -> list[str]:
        """Ask once for the whole walk.

        Raises:
            ModelError: The model did not answer.
            RecordError: The answer has not one explanation a step.
        """
        steps = [
            f'Step {number}. Known: {known}\n  Chosen: {choice}'
            for number, (known, choice) in enumerate(zip(walk.known, walk.choices, strict=True), 1)
        ]
        messages = [
            Message('system', self._library.render('mining.system.j2')),
            Message(
                'user',
                self._library.render(
                    'mining.user.j2',
                    instruction=walk.instruction,
                    steps=fenced('\n'.join(steps), _LONGEST),
                ),
            ),
        ]
        self._model.begin_episode(walk.source)
        reply = self._model.chat(messages)
        for found in reversed(find_objects(reply.text)):
            said = found.value.get('explanations')
            if isinstance(said, list) and len(said) == len(walk.choices):
                return [str(text)[:600] for text in said]
        raise RecordError(
            f'the model gave no list "explanations" of {len(walk.choices)} texts for {walk.source}'
        )


def demonstration_of(walk: Walk, explainer: Explainer) -> Demonstration:
    """Return a walk with its explanations.

    Raises:
        RecordError: A model's answer cannot be used.
    """
    said = explainer.explain(walk)
    steps = tuple(
        DemonstrationStep(known, choice, why)
        for known, choice, why in zip(walk.known, walk.choices, said, strict=True)
    )
    return Demonstration(
        room_type=walk.room_type,
        type_source=walk.type_source,
        instruction=walk.instruction,
        steps=steps,
        explained_by=explainer.name,
        source=walk.source,
    )


class Expert:
    """Port Brain: makes the choices of a known path and says what the rules think of them."""

    def __init__(self, guide: PathGuide) -> None:
        """Bind the one who knows the way."""
        self._guide = guide
        self._rules = RulesPlanner()
        self.steps: list[tuple[PlanningContext, DecisionRecord]] = []
        """Context and record of each choice that was not refused."""
        self.unexplained = 0
        """Choices for which the rules have no reason."""

    def parse(self, instruction: str) -> list[ProgressItem]:
        """Begin a walk."""
        self.steps, self.unexplained = [], 0
        self._rules.parse(instruction)
        return self._guide.parse(instruction)

    def decide(self, context: PlanningContext) -> DecisionRecord:
        """Return the path's choice with the rules' analysis, notes and reason for it."""
        choice = self._guide.decide(context)
        if context.refusals and self.steps:
            self.steps.pop()
        verdict = self._verdict(context, choice)
        if verdict is None:
            self.unexplained += 1
            record = choice
        else:
            notes = choice.notes if isinstance(choice.action, Stop) else verdict.notes
            record = verdict.model_copy(update={'action': choice.action, 'notes': notes})
        self.steps.append((context, record))
        return record

    def _verdict(self, context: PlanningContext, choice: DecisionRecord) -> DecisionRecord | None:
        """Return what the rules decide where they come to the same choice, else None.

        Of the places to go to only the chosen one is shown to them; what else they would do is
        refused until nothing but the choice is left.
        """
        action = choice.action
        graph = context.graph
        if isinstance(action, Goto):
            chosen = graph.viewpoint(action.viewpoint)
            graph = replace(graph, viewpoints=(chosen,) if chosen is not None else ())
        refusals = list(context.refusals)
        for _ in range(_TRIES):
            shown = replace(context, graph=graph, refusals=tuple(refusals))
            verdict = self._rules.decide(shown)
            # Giving up is no reason to stop where the way ends.
            if not verdict.notes.failure and _agrees(verdict.action, action, context):
                return verdict
            refusals.append(f'{describe_action(verdict.action)}: not the way of the expert')
        return None


def _agrees(verdict: Any, choice: Any, context: PlanningContext) -> bool:
    """Tell whether two actions lead the same way."""
    if isinstance(verdict, Stop) or isinstance(choice, Stop):
        return isinstance(verdict, Stop) and isinstance(choice, Stop)
    directions = [_direction(a, context) for a in (verdict, choice)]
    if None in directions:
        return False
    return abs(wrap(directions[0] - directions[1])) <= _SAME_WAY  # type: ignore[operator]


def _direction(action: Any, context: PlanningContext) -> float | None:
    """Return the bearing of an action relative to the robot's heading, rad."""
    if isinstance(action, (Go, MoveTo)):
        view = next((v for v in context.panorama.views if v.index == action.view), None)
        if view is None:
            return None
        u = action.u if isinstance(action, MoveTo) else _middle(action, context, view)
        return view.yaw - math.atan2(
            u * view.camera.width - view.camera.cx, view.camera.fx
        )  # to the right in the picture is a negative turn
    if isinstance(action, Goto):
        viewpoint = context.graph.viewpoint(action.viewpoint)
        return None if viewpoint is None else viewpoint.bearing
    return None


def _middle(action: Go, context: PlanningContext, view: View) -> float:
    for found in context.panorama.detections:
        if found.view == action.view and found.category == action.target:
            return 0.5 * (found.box_xyxy[0] + found.box_xyxy[2]) / view.camera.width
    return 0.5


def walk_of(expert: Expert, room_type: str, source: str) -> Walk:
    """Return what an expert did in a building whose rooms are known.

    Args:
        expert: After its episode.
        room_type: Type of the room where it ended.
        source: Where the walk comes from, for people.

    Raises:
        ValueError: There are no steps, or the room type is unknown.
    """
    room = canonical_room(room_type)
    if not expert.steps or room is None:
        raise ValueError(f'{source}: no steps, or "{room_type}" is no known room type')
    return Walk(
        instruction=expert.steps[0][0].instruction,
        room_type=room,
        type_source='scene',
        source=source,
        known=tuple(_known(context) for context, _ in expert.steps),
        choices=tuple(_chosen(context, record) for context, record in expert.steps),
        reasons=tuple(f'{r.analysis} {r.rationale}'.strip() for _, r in expert.steps),
    )


def _known(context: PlanningContext) -> str:
    """Return what a step knew, short: things seen by view, places to go to, the open clause."""
    seen = []
    here = context.panorama.odom_tform_base[:2, 3]
    for view in context.panorama.views:
        near = sorted(
            (round(math.hypot(*(d.position_odom[:2] - here)), 1), d.category)
            for d in context.panorama.detections
            if d.view == view.index and d.position_odom is not None
        )
        if near:
            told = ', '.join(f'{name} {gap} m' for gap, name in near[:_LISTED])
            seen.append(f'{bearing_words(view.yaw)}: {told}')
    current = context.progress.current
    places = sorted(
        (v for v in context.graph.viewpoints if 0.3 < v.path_length < math.inf),
        key=lambda v: (v.is_visited, v.path_length, v.id),
    )
    told = ', '.join(_place(v) for v in places[:_LISTED])
    goal = f'open clause "{current.text}"; ' if current is not None else ''
    return f'{goal}seen {"; ".join(seen) or "nothing"}; can go to {told or "nothing"}'


def _place(view: ViewpointState) -> str:
    visited = ' visited' if view.is_visited else ''
    return f'{view.id}{visited} ({view.path_length:.1f} m, {bearing_words(view.bearing)})'


def _chosen(context: PlanningContext, record: DecisionRecord) -> str:
    action = record.action
    if isinstance(action, Stop):
        thing = None if action.object_id is None else context.graph.object(action.object_id)
        return 'stop' if thing is None else f'stop at the {thing.category} {thing.id}'
    if isinstance(action, Goto):
        viewpoint = context.graph.viewpoint(action.viewpoint)
        return f'goto {_place(viewpoint)}' if viewpoint is not None else f'goto {action.viewpoint}'
    direction = _direction(action, context)
    told = '' if direction is None else f' ({bearing_words(direction)})'
    return f'{describe_action(action)}{told}'
