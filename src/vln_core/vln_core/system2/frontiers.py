# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which unexplored opening to go to for an open clause (rules planner)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ClauseKind, ItemStatus, ProgressItem, ViewpointState
from vln_core.errors import ConfigError
from vln_core.system2.candidates import room_entered, wanted_rooms
from vln_core.system2.clauses import ClauseJudge
from vln_core.system2.doorways import DOORWAY, Doorway
from vln_core.system2.instructions import forbidden_rooms
from vln_core.system2.reference import Reference, through, wanted_angle
from vln_core.system2.situation import Situation
from vln_core.vocabulary import typical_rooms


@dataclass(frozen=True)
class FrontierWeights:
    """Weights of the frontier score, set by hand.

    Attributes:
        clause: Fit with the open clause.
        following: Fit with the clause after it.
        goal: Typical room of the goal object.
        novelty: Logarithm of the unknown area.
        length: Per metre of way, subtracted.
        failure: Failure notes at its place, subtracted.
        left_room: Lies in a room that the instruction left, subtracted.
        stay: Same room as the robot.
        entered: In the room that the route led into.
        forbidden: In a room of a type that the instruction says to stay out of, subtracted.
    """

    clause: float = 1.0
    following: float = 0.4
    goal: float = 0.6
    novelty: float = 0.2
    length: float = 0.12
    failure: float = 0.6
    left_room: float = 1.2
    stay: float = 0.2
    entered: float = 0.6
    forbidden: float = 6.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            if not math.isfinite(getattr(self, entry.name)):
                raise ConfigError(f'rules weights: {entry.name} must be finite')


@dataclass(frozen=True, eq=False)
class Scored:
    """A frontier with its score and the terms that made it."""

    view: ViewpointState
    score: float
    reason: str


class FrontierScorer:
    """Scores the unvisited viewpoints for the open item ``index``."""

    def __init__(
        self,
        situation: Situation,
        judge: ClauseJudge,
        index: int,
        weights: FrontierWeights,
        banned: set[str],
    ) -> None:
        self.s = situation
        self.judge = judge
        self.index = index
        self.w = weights
        self._forbidden = forbidden_rooms(situation.context.instruction)
        self.frontiers = [
            v
            for v in situation.context.graph.viewpoints
            if not v.is_visited and math.isfinite(v.path_length) and f'goto({v.id})' not in banned
        ]

    def best(self) -> Scored | None:
        """Return the best frontier, or None if none is left."""
        scored = self.ranked()
        return scored[0] if scored else None

    def ranked(self) -> list[Scored]:
        """Return every frontier, best first; ties by id."""
        return sorted(
            (self._score(v) for v in self.frontiers), key=lambda s: (-s.score, s.view.id)
        )

    def _score(self, view: ViewpointState) -> Scored:
        xy = np.array([view.x, view.y])
        room = self.s.room_of_viewpoint(view)
        item = self.judge.items[self.index]
        terms: dict[str, float] = {}
        terms['clause'] = self.w.clause * self._match(item, view, xy, room, None)
        if self.index + 1 < len(self.judge.items):
            after = self.judge.items[self.index + 1]
            reference = self._reference_beyond(item, view, xy, room)
            # "Leave the bedroom and go into the hall" is one way through one door.
            is_one = item.kind is ClauseKind.EXIT and after.kind is ClauseKind.ENTER
            weight = 1.0 if is_one and after.rooms else self.w.following
            terms['next clause'] = weight * self._match(after, view, xy, room, reference)
        terms['goal'] = self.w.goal * self._goal_prior(room)
        terms['novelty'] = self.w.novelty * math.log1p(max(view.unknown_area, 0.0))
        terms['way'] = -self.w.length * view.path_length
        terms['failures'] = -self.w.failure * self._failures(xy)
        if room in self.judge.left_rooms(self.index):
            terms['left behind'] = -self.w.left_room
        if room == self.s.room:
            terms['same room'] = self.w.stay
        if room == room_entered(self.s, self.judge, self.index):
            terms['led into'] = self.w.entered
        if self._forbidden and room != self.s.room:
            terms['forbidden'] = -self.w.forbidden * self.s.weight_of(room, self._forbidden)
        score = sum(terms.values())
        strongest = sorted(terms.items(), key=lambda kv: -abs(kv[1]))[:3]
        told = ', '.join(f'{name} {value:+.2f}' for name, value in strongest if abs(value) > 0.01)
        return Scored(view, score, f'opening {view.id} {view.path_length:.1f} m away ({told})')

    def _failures(self, xy: NDArray[np.float64]) -> float:
        notes = 0
        for place in self.s.context.graph.places:
            if any(math.hypot(x - xy[0], y - xy[1]) < 1.5 for x, y, _ in place.anchors):
                notes += len(place.failures)
        return float(min(notes, 3))

    def _goal_prior(self, room: object) -> float:
        goal = self.judge.items[-1]
        wanted = wanted_rooms(self.judge)
        if not wanted and goal.landmarks:
            wanted = typical_rooms(goal.landmarks[0])
        return self._promise(room, wanted) if wanted else 0.0

    def _promise(self, room: object, wanted: tuple[str, ...]) -> float:
        """Return what speaks for an opening of a room where a type is wanted, -1..2.5."""
        value = 3.0 * self.s.chance_of(room, wanted) - 0.5
        best = max(self.s.belief(room).values(), default=0.0)
        weight = self.s.weight_of(room, wanted)
        if best >= 0.4 and weight < 0.25 and not self.s.is_hub(room):
            # It is known for another, all the more where one has stood in it.
            value -= 0.5 * self.s.is_visited(room) + 0.4 * (weight < 0.15)
        return value

    # ------------------------------------------------------------------ clause match

    def _gate(self, room: object) -> Doorway | None:
        """Return the doorway between the robot's room and ``room``."""
        for door in self.s.doorways_of(self.s.room):
            if self.s.room_beyond(door, self.s.room) == room:
                return door
        return None

    def _reference_beyond(
        self, item: ProgressItem, view: ViewpointState, xy: NDArray[np.float64], room: object
    ) -> Reference | None:
        """Return the pose from which the next clause is meant once this one is fulfilled."""
        if item.kind in (ClauseKind.EXIT, ClauseKind.ENTER) and room != self.s.room:
            gate = self._gate(room)
            if gate is not None:
                return through(gate, self.s.xy, self.s.here)
        return None

    def _match(
        self,
        item: ProgressItem,
        view: ViewpointState,
        xy: NDArray[np.float64],
        room: object,
        reference: Reference | None,
    ) -> float:
        if item.status in (ItemStatus.DONE, ItemStatus.SKIPPED):
            return 0.0
        reference = reference or self.judge.reference(item.index)
        value = 0.0
        angle = wanted_angle(item)
        if angle is not None:
            value += 1.6 * math.cos(reference.angle_to(xy) - angle)
        elif reference.is_turned:
            value += 1.2 * math.cos(reference.angle_to(xy))
        elif item.ordinal or item.side and item.landmarks[:1] == (DOORWAY,):
            # doors are counted along the way, those of the other side are not meant
            value += math.cos(reference.angle_to(xy))
            gap = float(np.hypot(*(xy - reference.xy))) * math.sin(reference.angle_to(xy))
            if item.side == 'left' and gap < -1.0 or item.side == 'right' and gap > 1.0:
                value -= 0.6
        kind = item.kind
        if kind is ClauseKind.EXIT:
            value += self._match_exit(item, xy, room)
        elif kind is ClauseKind.ENTER:
            value += self._match_enter(item, xy, room, view.unknown_area)
        elif kind is ClauseKind.GO or kind is ClauseKind.PASS and not item.landmarks:
            value += 1.2 * self.s.weight_of(room, item.rooms) if item.rooms else 0.0
        if item.landmarks and item.landmarks[0] != DOORWAY and kind is not ClauseKind.EXIT:
            value += self._match_landmark(item, xy, room)
        return value

    def _match_exit(self, item: ProgressItem, xy: NDArray[np.float64], room: object) -> float:
        start = self.s.room_of_waypoint(self.judge.start_of(item.index))
        if self.judge.is_branch(item.index):
            away = float(np.hypot(*(xy - self.judge.reference(item.index).xy)))
            return 0.6 * min(away, 3.0) if room == start else 0.0
        if room != start:
            return 2.0
        door = self.judge.target_door(item.index)
        doors = [door] if door else self.s.doorways_of(start)
        near = min((float(np.hypot(*(d.centre - xy))) for d in doors), default=9.0)
        return 1.5 if near < 1.2 else 0.0

    def _match_enter(
        self, item: ProgressItem, xy: NDArray[np.float64], room: object, area: float
    ) -> float:
        door = self.judge.target_door(item.index)
        start = self.judge.origin(self.judge.reference(item.index))
        if door is not None:
            if room == self.s.room_beyond(door, start) and room != start:
                return 2.5
            return 1.8 if float(np.hypot(*(door.centre - xy))) < 1.3 else 0.0
        is_beside = any(self.s.room_beyond(d, start) == room for d in self.s.doorways_of(start))
        if item.ordinal or item.side:  # its doorway is farther along and not seen yet
            return 0.8 if room == start else 0.2 if is_beside else -0.4
        if not item.rooms:
            return 0.6 if room != start else 0.2
        # A room that is said is next to this one; more doors are found along this one.
        if room == start:
            known = self.s.weight_of(room, item.rooms) >= 0.3
            return 1.0 if known else min(0.5, 0.15 + 0.04 * area)
        return self._promise(room, item.rooms) + (0.4 if is_beside else -0.2)

    def _match_landmark(self, item: ProgressItem, xy: NDArray[np.float64], room: object) -> float:
        thing = self.judge.landmark(item.index)
        if thing is not None:
            target = np.asarray(thing.position, dtype=float)[:2]
            gap = float(np.hypot(*(target - xy)))
            return 1.4 * math.exp(-gap / 2.5)
        is_goal = item.index == len(self.judge.items) - 1
        wanted = item.rooms or (is_goal and wanted_rooms(self.judge)) or ()
        wanted = wanted or typical_rooms(item.landmarks[0])
        return self._promise(room, wanted) if wanted else 0.0
