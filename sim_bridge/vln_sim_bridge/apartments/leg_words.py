# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Put one leg of a walk into clauses that follow from its geometry."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from vln_sim_bridge.apartments import phrases
from vln_sim_bridge.apartments.apartment import Apartment
from vln_sim_bridge.apartments.layout import Room
from vln_sim_bridge.apartments.phrases import Speaker
from vln_sim_bridge.apartments.placement import Item
from vln_sim_bridge.apartments.routes import Leg, Opening, Walker

_NO_LANDMARK = {
    'doorway',
    'window',
    'curtain',
    'rug',
    'chair',
    'vase',
    'microwave',
    'computer',
    'clock',
    'air conditioner',
    'ball',
    'mirror',
}


@dataclass(frozen=True)
class Clause:
    """A clause and whether the route would be ambiguous without it."""

    text: str
    needed: bool = True


class LegNarrator:
    """Finds words for a leg that leave no doubt about the way."""

    def __init__(self, apartment: Apartment, rng: np.random.Generator) -> None:
        """Prepare counts of rooms and objects."""
        self.apartment, self.plan, self.rng = apartment, apartment.plan, rng
        self.walker = Walker(apartment)
        self.speaker = Speaker(rng)
        self.room_count = Counter(r.type for r in self.plan.rooms)
        self.object_count = Counter(i.category for i in apartment.items)
        self.in_room = Counter((i.room, i.category) for i in apartment.items)
        self.num_doors = Counter(r for d in self.plan.doorways for r in d.rooms)

    def room(self, leg_room: Room) -> str:
        """Return the spoken name of a room."""
        return self.speaker.room(leg_room.type)

    def other_room(self, leg: Leg) -> Room:
        """Return the room behind the exit of a leg."""
        a, b = leg.exit.door.rooms  # type: ignore[union-attr]
        return self.plan.rooms[b if a == leg.zone.room.id else a]

    def _is_only_door(self, leg: Leg) -> bool:
        return self.num_doors[leg.zone.room.id] - (leg.entry is not None) == 1

    def _is_type_sure(self, leg: Leg, came_through: set[int]) -> bool:
        """Whether the type of the next room picks one of the doors of this room."""
        wanted = self.other_room(leg).type
        if wanted in [self.plan.rooms[i].type for i in came_through]:
            return False
        here = leg.zone.room.id
        kinds = [
            self.plan.rooms[r].type
            for d in self.plan.doorways
            if here in d.rooms
            for r in d.rooms
            if r != here
        ]
        return kinds.count(wanted) == 1

    def _door_words(self, leg: Leg, next_name: str | None) -> tuple[str, bool] | None:
        """Return a clause that picks the door by its place, and whether a turn must precede it."""
        if leg.zone.axis is not None and (
            leg.entry is not None or leg.zone.room.type == 'corridor'
        ):
            return self._door_along_axis(leg, next_name)
        if leg.entry is None or abs(math.degrees(leg.bearing)) > 100:
            return None
        into = self.speaker.pick
        h = leg.heading
        walls = [self._wall_of(leg, o) for o in leg.zone.openings if o is not leg.entry]
        wall = self._wall_of(leg, leg.exit)  # type: ignore[arg-type]
        if wall == 'ahead' and walls.count('ahead') == 1 and abs(math.degrees(leg.bearing)) < 25:
            return into(phrases.DOOR_AHEAD), False
        if wall not in ('left', 'right'):
            return None
        same = [
            o for o in leg.zone.openings if o is not leg.entry and self._wall_of(leg, o) == wall
        ]
        same.sort(key=lambda o: float(h @ o.xy))
        return self._ordinal(leg, same, wall, next_name), False

    def _wall_of(self, leg: Leg, opening: Opening) -> str:
        """Return 'ahead', 'left', 'right' or 'behind' as seen on entering."""
        h = leg.heading
        normal = (
            np.array([0.0, 1.0])
            if opening.door is None or opening.door.along_x
            else np.array([1.0, 0.0])
        )
        to = opening.xy - leg.origin
        if abs(float(h @ normal)) > 0.7:
            return 'ahead' if float(h @ to) > 0 else 'behind'
        return 'left' if h[0] * to[1] - h[1] * to[0] > 0 else 'right'

    def _ordinal(self, leg: Leg, same: list[Opening], side: str, next_name: str | None) -> str:
        if len(same) == 1:
            which = ''
        else:
            which = phrases.ORDINALS[same.index(leg.exit)]  # type: ignore[arg-type]
            if which != 'first' and same[-1] is leg.exit and self.rng.random() < 0.3:
                which = 'last'
        pattern = self.speaker.pick(phrases.DOOR_INTO if next_name else phrases.DOOR)
        return ' '.join(pattern.format(which=which, side=side, next=next_name).split())

    def _door_along_axis(self, leg: Leg, next_name: str | None) -> tuple[str, bool] | None:
        axis = leg.zone.axis
        u = np.zeros(2)
        to = leg.exit.xy - leg.origin  # type: ignore[union-attr]
        if abs(leg.heading[axis]) > 0.9:
            u[axis] = math.copysign(1, leg.heading[axis])
            if float(u @ to) < 0.3:
                return None
            needs_turn = False
        else:
            if abs(leg.bearing) < math.radians(25) and leg.exit.door.along_x == (axis == 0):  # type: ignore
                across = [
                    o
                    for o in leg.zone.openings
                    if o is not leg.entry
                    and self._wall_of(leg, o) == 'ahead'
                    and abs(o.xy[axis] - leg.origin[axis]) < 1.5
                ]
                return (self.speaker.pick(phrases.DOOR_AHEAD), False) if len(across) == 1 else None
            if leg.turn not in ('left', 'right'):
                return None
            u[axis] = math.copysign(1, to[axis])
            needs_turn = True
        door = leg.exit.door  # type: ignore[union-attr]
        if door.along_x != (axis == 0):
            return self.speaker.pick(phrases.DOOR_END).format(
                room=self.room(leg.zone.room)
            ), needs_turn
        left = np.array([-u[1], u[0]])
        middle = (
            np.array([leg.zone.rect[0] + leg.zone.rect[2], leg.zone.rect[1] + leg.zone.rect[3]])
            / 2
        )
        side_of = {id(o): float(left @ (o.xy - middle)) for o in leg.zone.openings}
        sign = math.copysign(1, side_of[id(leg.exit)])
        # someone beside a door may count it or not: then the words would not be sure
        ahead = [
            o
            for o in leg.zone.openings
            if o is not leg.entry
            and o.door is not None
            and o.door.along_x == (axis == 0)
            and side_of[id(o)] * sign > 0
        ]
        along = [float(u @ (o.xy - leg.origin)) for o in ahead]
        if any(-0.5 < a < 0.5 for a, o in zip(along, ahead, strict=True) if o is not leg.exit):
            return None
        same = [o for a, o in sorted(zip(along, ahead, strict=True), key=lambda t: t[0]) if a > 0]
        if leg.exit not in same:
            return None
        return self._ordinal(leg, same, 'left' if sign > 0 else 'right', next_name), needs_turn

    def turn(self, leg: Leg, needed: bool) -> list[Clause]:
        """Word the turn with which a leg begins; nothing where no word would be sure."""
        speak = self.speaker
        if leg.turn in ('left', 'right'):
            pattern = phrases.TURN_START if leg.entry is None else phrases.TURN
            return [Clause(speak.pick(pattern).format(side=leg.turn), needed)]
        if leg.turn == 'around' and leg.entry is None:
            return [Clause(speak.pick(phrases.AROUND), needed)]
        if (
            leg.turn == 'straight'
            and leg.entry is not None
            and leg.length > 1.5
            and self.rng.random() < 0.4
        ):
            return [Clause(speak.pick(phrases.STRAIGHT), False)]
        return []

    def passes(self, leg: Leg, goal: Item) -> list[Clause]:
        """Return up to one clause about a landmark that the walk really passes."""
        options = []
        for item in self.apartment.items:
            if item.room != leg.zone.room.id or item.category in _NO_LANDMARK | {goal.category}:
                continue
            if self.in_room[item.room, item.category] != 1 or len(leg.points) < 20:
                continue
            centre = item.bounds.mean(0)[:2]
            nearest = np.clip(leg.points, *item.bounds[:, :2])
            distance = np.linalg.norm(leg.points - nearest, axis=1)
            k = int(distance.argmin())
            if not (8 < k < len(leg.points) - 8) or distance[k] > 1.3:
                continue
            if not self.walker.is_visible(leg.points[max(0, k - 16)], item):
                continue
            ahead = leg.points[k + 6] - leg.points[k - 6]
            to = centre - leg.points[k]
            cross = (ahead[0] * to[1] - ahead[1] * to[0]) / (
                np.linalg.norm(ahead) * np.linalg.norm(to)
            )
            options.append((k, item, cross))
        if not options:
            return []
        _, item, cross = options[int(self.rng.integers(len(options)))]
        thing = self.speaker.thing(item.category)
        if abs(cross) > 0.8 and self.rng.random() < 0.5:
            text = self.speaker.pick(phrases.PASS_SIDE).format(
                thing=thing, side='left' if cross > 0 else 'right'
            )
        else:
            text = self.speaker.pick(phrases.PASS).format(thing=thing)
        return [Clause(text, False)]

    def middle(self, leg: Leg, goal: Item, came: set[int], named: bool) -> list[Clause] | None:
        """Word one leg that ends in an opening; None where no words would be sure."""
        if leg.exit is None or leg.zone.room is None:
            return None
        if leg.exit.door is None:
            return self._branch(leg)
        speak, room, following = self.speaker, leg.zone.room, self.other_room(leg)
        next_name = self.room(following)
        only, sure = self._is_only_door(leg), self._is_type_sure(leg, came)
        by_place = self._door_words(leg, next_name if self.rng.random() < 0.5 else None)
        clauses: list[Clause] = []
        if leg.entry is None and room.type != 'corridor':
            if self.rng.random() < 0.4:
                clauses += self.turn(leg, False)
            if only and (not sure or self.rng.random() < 0.7):
                clauses += (
                    self.passes(leg, goal) if leg.length > 3 and self.rng.random() < 0.3 else []
                )
                return [*clauses, Clause(speak.pick(phrases.LEAVE).format(room=self.room(room)))]
            if sure:
                text = speak.pick(phrases.LEAVE_INTO).format(room=self.room(room), next=next_name)
                return [*clauses, Clause(text)]
            return None
        use_place = by_place is not None and (not (sure or only) or self.rng.random() < 0.5)
        if not use_place and not sure and not only:
            return None
        turn_needed = use_place and by_place[1]  # type: ignore[index]
        if turn_needed and leg.turn not in ('left', 'right'):
            return None
        clauses += self.turn(leg, turn_needed)
        clauses += self._along(leg, turn_needed, use_place, named)
        if leg.length > 2.0 and self.rng.random() < 0.6:
            clauses += self.passes(leg, goal)
        if use_place:
            clauses.append(Clause(by_place[0]))  # type: ignore[index]
        elif sure:
            clauses.append(Clause(speak.pick(phrases.ENTER).format(next=next_name)))
        else:
            clauses.append(Clause(speak.pick(phrases.LEAVE).format(room=self.room(room))))
        return clauses

    def _along(self, leg: Leg, turn_needed: bool, use_place: bool, named: bool) -> list[Clause]:
        """Word the way through the room itself."""
        name = self.room(leg.zone.room)
        if leg.zone.room.type == 'corridor' and leg.length > 2.5:
            if (
                leg.exit is not None
                and not use_place
                and self._is_at_end(leg)
                and self.rng.random() < 0.6
            ):
                return [Clause(self.speaker.pick(phrases.ALONG_END).format(room=name), False)]
            return [Clause(self.speaker.pick(phrases.ALONG).format(room=name), False)]
        if leg.entry is not None and leg.length > 2.5 and not named and self.rng.random() < 0.7:
            return [Clause(self.speaker.pick(phrases.THROUGH).format(room=name), False)]
        return []

    def _is_at_end(self, leg: Leg) -> bool:
        axis = leg.zone.axis
        if axis is None:
            return False
        low, high = leg.zone.rect[axis], leg.zone.rect[axis + 2]
        going_up = leg.target[axis] > leg.origin[axis]
        return (high - leg.target[axis] if going_up else leg.target[axis] - low) < 1.2

    def _branch(self, leg: Leg) -> list[Clause] | None:
        """Word the step between a corridor and its side branch, which leaves it northwards."""
        if leg.zone.is_branch:
            return [*self.turn(leg, False), Clause(self.speaker.pick(phrases.BRANCH_OUT))]
        sideways = float(leg.target[0] - leg.origin[0])
        if abs(sideways) < 0.9:
            return (
                [Clause(self.speaker.pick(phrases.BRANCH_AHEAD))] if leg.heading[1] > 0.9 else None
            )
        clauses: list[Clause] = []
        if leg.heading[0] * sideways < 0.9 * abs(sideways):  # not yet facing along the corridor
            if leg.turn not in ('left', 'right'):
                return None
            clauses = self.turn(leg, True)
        side = 'left' if sideways > 0 else 'right'
        return [*clauses, Clause(self.speaker.pick(phrases.BRANCH).format(side=side))]

    def last(self, leg: Leg, goal: Item) -> list[Clause]:
        """Word the leg that ends at the goal."""
        clauses: list[Clause] = []
        if self.rng.random() < 0.4:
            clauses += [c for c in self.turn(leg, False) if leg.turn != 'straight']
        if leg.length > 2.0 and self.rng.random() < 0.4:
            clauses += self.passes(leg, goal)
        thing = self.speaker.thing(goal.category)
        return [*clauses, Clause(self.speaker.pick(phrases.STOP).format(thing=thing))]
