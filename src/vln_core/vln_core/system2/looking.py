# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where to look once more before a room is left (rules planner)."""

from __future__ import annotations

from vln_core.context import ObjectState
from vln_core.system2.candidates import room_entered, wanted_rooms
from vln_core.system2.clauses import ClauseJudge
from vln_core.system2.situation import Situation, surface_distance

# Looks around in the room that the goal must be in before it is searched elsewhere.
_MAX_LOOKS = 3
# Chance of a type at which one look from the doorway leaves it open whether a room is of it.
_MAY_BE = 0.35
# The same for a room in which the goal's like was seen.
_MAY_BE_WITH_GOAL = 0.25
# A look from less than this nearer to what was far shows nothing new, metres.
_NEWS = 1.2
# What hangs higher than this has perhaps no floor below it to go to, metres.
_HANGS = 0.6


def worth_a_look(situation: Situation, judge: ClauseJudge, index: int) -> ObjectState | None:
    """Return the thing towards which the goal's room shows most that is new, or None.

    Detectors miss things, and furniture hides them: a room that the route led into, or of the type
    that is sought, is looked at from several spots.

    Args:
        situation: What is known.
        judge: Items and their references.
        index: The open item.
    """
    here, wanted = situation.room, wanted_rooms(judge)
    if not judge.items[-1].landmarks:
        return None
    is_led_into = room_entered(situation, judge, index) == here
    start = judge.start_of(index) if is_led_into else 0
    looks = [
        spot
        for waypoint, spot in zip(situation.waypoints, situation.track, strict=True)
        if waypoint.id >= start and situation.room_of_waypoint(waypoint.id) == here
    ]
    is_wanted = bool(wanted) and situation.weight_of(here, wanted) >= 0.3
    has_goal = any(o.category == judge.items[-1].landmarks[0] for o in situation.contents(here))
    least = _MAY_BE_WITH_GOAL if has_goal else _MAY_BE
    may_be = len(looks) == 1 and bool(wanted) and situation.chance_of(here, wanted) >= least
    if not (is_led_into or is_wanted or may_be) or len(looks) > _MAX_LOOKS:
        return None

    def news(thing: ObjectState) -> float:
        return min((surface_distance(spot, thing) for spot in looks), default=0.0)

    around = [
        o
        for o in situation.contents(here)
        if o.position[2] - 0.5 * o.extent[2] < _HANGS and situation.seen_now(o) is not None
    ]
    best = max(around, key=lambda o: (news(o), -o.id), default=None)
    return best if best is not None and news(best) >= _NEWS else None
