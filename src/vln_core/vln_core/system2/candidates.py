# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which known object is the one that the instruction means (rules planner)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vln_core.context import ClauseKind, ItemStatus, ObjectState
from vln_core.system2.clauses import ClauseJudge
from vln_core.system2.instructions import forbidden_rooms
from vln_core.system2.situation import Situation, surface_distance
from vln_core.system2.walking import is_in_sight

# Nearer than this a thing that is not hidden is usually detected, metres.
_SURE_SIGHT = 4.0


@dataclass(frozen=True, eq=False)
class Candidate:
    """An object that may be the goal, how well it fits, and why."""

    thing: ObjectState
    score: float
    reason: str


def goal_candidates(
    situation: Situation, judge: ClauseJudge, index: int, *, is_last_chance: bool
) -> list[Candidate]:
    """Return goal candidates that may be pursued now, best first.

    Args:
        situation: What is known.
        judge: Items and their references.
        index: The open item; before the last one only a candidate that contradicts no open clause
            is returned.
        is_last_chance: Budget almost spent: any instance will do.
    """
    goal = judge.items[-1]
    if not goal.landmarks:
        return []
    found = []
    for thing in situation.known(goal.landmarks[0]):
        candidate = _judge_one(situation, judge, index, thing)
        if candidate.score > 0.0 or is_last_chance:
            found.append(candidate)
    return sorted(found, key=lambda c: (-c.score, c.thing.id))


def wanted_rooms(judge: ClauseJudge) -> tuple[str, ...]:
    """Return the room type in which the goal must be: said with it, or entered last."""
    goal = judge.items[-1]
    if goal.rooms:
        return goal.rooms
    for item in reversed(judge.items[:-1]):
        if item.kind in (ClauseKind.ENTER, ClauseKind.FIND) and item.rooms:
            return item.rooms[:1]
        if item.kind in (ClauseKind.EXIT, ClauseKind.ENTER, ClauseKind.PASS):
            break
    return ()


def _judge_one(
    situation: Situation, judge: ClauseJudge, index: int, thing: ObjectState
) -> Candidate:
    goal = judge.items[-1]
    room = situation.room_of_object(thing)
    score, reasons = 1.0, []
    wanted = wanted_rooms(judge)
    if wanted:
        weight = situation.weight_of(room, wanted)
        if weight >= 0.25:
            score += weight
            reasons.append(f'its room looks like the {wanted[0]}')
        elif situation.belief(room) and situation.likely(room):
            # A room that was said with the thing tells it from its likes elsewhere.
            best = next(iter(situation.belief(room).values()))
            score -= 2.6 if goal.rooms and best > 2.0 * weight else 1.2
            reasons.append(f'its room looks like a {situation.likely(room)}')
    if room in _abandoned_rooms(situation, judge):
        score -= 2.0
        reasons.append('it is in a room the instruction leaves')
    forbidden = forbidden_rooms(situation.context.instruction)
    if forbidden and room != situation.room and situation.likely(room) in forbidden:
        score -= 3.0
        reasons.append(f'one must not go into the {situation.likely(room)}')
    for qualifier in goal.landmarks[1:]:
        near = [o for o in situation.known(qualifier) if _gap(o, thing) < 2.5]
        score += 0.5 if near else -0.1
    if thing.category != goal.landmarks[0]:
        # "the table" may be a dining table, but the thing of that very name is looked for first.
        score -= 0.6 if wanted and situation.weight_of(room, wanted) >= 0.25 else 1.4
        reasons.append(f'it is a {thing.category}')
    # Clauses are local: what is meant lies near where the last of them began.
    start = judge.reference(goal.index).xy if index == goal.index else situation.xy
    score -= 0.06 * surface_distance(start, thing)
    score -= 0.03 * surface_distance(situation.xy, thing)
    entered = room_entered(situation, judge, index)
    if entered is not None:
        score += 0.3 if room == entered else -0.5
        if room != entered and _was_chosen_by_place(judge):
            score -= 1.0
            reasons.append('the instruction led into another room')
    if is_pursued(situation, thing):
        score += 0.8
    if _is_doubtful(situation, thing):
        score -= 3.0
        reasons.append('it was seen once and never again')
    if room == situation.room:
        score += 0.4
    open_items = [i for i in judge.items[index:-1] if i.status.is_open]
    hard = [
        i
        for i in open_items
        if i.kind is not ClauseKind.GO and not (i.kind is ClauseKind.FIND and not i.rooms)
    ]
    if hard:
        # The route is not walked yet: only a candidate in the room it leads to may cut it short.
        steps_in = [i for i in hard if i.kind in (ClauseKind.ENTER, ClauseKind.FIND) and i.rooms]
        away = surface_distance(situation.xy, thing)
        fits = wanted and situation.weight_of(room, wanted) >= 0.4
        # "the second door on the right" tells look-alike rooms apart: it has to be walked.
        fits = fits and not any(i.ordinal or i.side or i.direction for i in hard)
        # Rooms on the way are said because there are others that look like the last one.
        if not (fits and len(hard) == 1 and steps_in):
            at_hand = away < 3.0 or room == situation.room
            if not (len(hard) == 1 and hard[0].kind is ClauseKind.PASS and at_hand):
                score -= 3.0
        reasons.append('it lies where the open clauses lead')
    return Candidate(thing, score, '; '.join(reasons) or 'its name is the one that was said')


def _abandoned_rooms(situation: Situation, judge: ClauseJudge) -> set:
    rooms = set()
    for item in judge.items[:-1]:
        if item.kind is ClauseKind.EXIT:
            rooms.add(situation.room_of_waypoint(judge.start_of(item.index)))
            if item.evidence is not None and item.index == 0:
                rooms.add(situation.room_of_waypoint(0))
    return rooms


def room_entered(situation: Situation, judge: ClauseJudge, index: int) -> object | None:
    """Return the room that the route led into, once it was walked to its end."""
    goal = judge.items[-1]
    if index != goal.index:
        return None
    for item in reversed(judge.items[:-1]):
        if item.kind in (ClauseKind.ENTER, ClauseKind.EXIT):
            if item.status is not ItemStatus.DONE:
                return None
            return situation.room_of_waypoint(judge.start_of(goal.index))
        if item.kind is ClauseKind.FIND:
            return None
    return None


def _was_chosen_by_place(judge: ClauseJudge) -> bool:
    """Tell whether the last room was told apart by its door: others like it are not meant."""
    for item in reversed(judge.items[:-1]):
        if item.kind is ClauseKind.ENTER:
            return bool(item.ordinal or item.side)
    return False


def is_pursued(situation: Situation, thing: ObjectState) -> bool:
    """Tell whether the last decision went for this very object; one failure is forgiven."""
    words = f'goal {thing.category} {thing.id} '
    about = [note for note in situation.context.history if words in note.rationale]
    if not about or about[-1] is not situation.context.history[-1]:
        return False
    return about[-1].code == 0 or sum(note.code != 0 for note in about) < 2


def _is_doubtful(situation: Situation, thing: ObjectState) -> bool:
    """Tell whether a thing was named once and is not seen now, near and with a free view of it.

    Detectors sometimes give a thing the name of another.
    """
    if thing.num_sightings > 1 or situation.seen_now(thing) is not None:
        return False
    is_near = surface_distance(situation.xy, thing) < _SURE_SIGHT
    return is_near and is_in_sight(situation.context, thing)


def _gap(a: ObjectState, b: ObjectState) -> float:
    return float(np.hypot(*(np.asarray(a.position)[:2] - np.asarray(b.position)[:2])))
