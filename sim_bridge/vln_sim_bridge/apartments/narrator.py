# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Put whole walks into words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vln_sim_bridge.apartments import phrases
from vln_sim_bridge.apartments.apartment import Apartment
from vln_sim_bridge.apartments.layout import Room
from vln_sim_bridge.apartments.leg_words import Clause, LegNarrator
from vln_sim_bridge.apartments.placement import Item
from vln_sim_bridge.apartments.routes import Leg

_NO_GOAL = {
    'doorway',
    'window',
    'curtain',
    'rug',
    'chair',
    'clock',
    'painting',
    'mirror',
    'air conditioner',
    'kitchen counter',
    'vase',
    'ball',
}


@dataclass(frozen=True, eq=False)
class Draft:
    """One finished instruction."""

    text: str
    num_clauses: int
    start: tuple[float, float, float]
    goal: tuple[float, float]
    item: Item
    points: np.ndarray
    tags: tuple[str, ...]


class Narrator(LegNarrator):
    """Words walks through one apartment."""

    def __init__(self, apartment: Apartment, rng: np.random.Generator) -> None:
        """Prepare counts of rooms and objects."""
        super().__init__(apartment, rng)
        self._spots: dict[Item, tuple[float, float] | None] = {}

    def spot(self, item: Item) -> tuple[float, float] | None:
        """Return where one stands at a piece, or None."""
        if item not in self._spots:
            self._spots[item] = self.walker.stand_near(item)
        return self._spots[item]

    def goals(self) -> list[Item]:
        """Return the pieces that can be named in their room without doubt."""
        return [
            i
            for i in self.apartment.items
            if i.category not in _NO_GOAL
            and self.in_room[i.room, i.category] == 1
            and self.spot(i) is not None
        ]

    def route(
        self, start: tuple[float, float, float], goal: Item, clauses: tuple[int, int]
    ) -> Draft | None:
        """Word a whole walk with a number of clauses in a range, or None."""
        self.speaker.begin()
        spot = self.spot(goal)
        if spot is None:
            return None
        points = self.walker.walk(start[:2], spot)
        legs = self.walker.legs(points, start[2], goal.bounds.mean(0)[:2])
        if legs is None or len({id(g.zone) for g in legs}) != len(legs):
            return None
        words: list[Clause] = []
        came: set[int] = set()
        named = True
        for leg in legs[:-1]:
            part = self.middle(leg, goal, came, named)
            if part is None:
                return None
            words += part
            came.add(leg.zone.room.id)
            named = leg.exit.door is not None and self.other_room(leg).type in part[-1].text  # type: ignore
        words += self.turn(legs[0], False) if len(legs) == 1 else []
        words += self.last(legs[-1], goal)
        kept = self._trimmed(
            words,
            int(self.rng.integers(clauses[0], clauses[1] + 1)),
            clauses,
            self.speaker.thing(goal.category),
        )
        if kept is None:
            return None
        used_place = any(
            w in ' '.join(kept) for w in ('first', 'second', 'third', 'last', 'on the', 'on your')
        )
        return self._draft(kept, start, spot, goal, points, self._route_tags(legs, used_place))

    def _trimmed(
        self, words: list[Clause], wanted: int, limits: tuple[int, int], thing: str
    ) -> list[str] | None:
        words = list(words)
        while sum(self._weight(w) for w in words) > wanted:
            optional = [k for k, w in enumerate(words) if not w.needed]
            if not optional:
                break
            words.pop(optional[int(self.rng.integers(len(optional)))])
        if len(words) == 1:  # nothing but "stop at ..." would sound as if it were near
            words = [Clause(self.speaker.pick(phrases.GO_TO).format(thing=thing))]
        total = sum(self._weight(w) for w in words)
        return [w.text for w in words] if limits[0] <= total <= limits[1] else None

    @staticmethod
    def _weight(clause: Clause) -> int:
        return 1 + clause.text.count(' and ')

    def _route_tags(self, legs: list[Leg], used_place: bool) -> tuple[str, ...]:
        tags = ['route' if len(legs) > 2 else 'short']
        if any(self.room_count[g.zone.room.type] > 1 for g in legs[1:]) and used_place:
            tags.append('lookalike')
        if self._is_nested(legs[-1].zone.room) or self._is_nested(legs[0].zone.room):
            tags.append('dead_end')
        return tuple(tags)

    def _is_nested(self, room: Room) -> bool:
        """Whether a room has its only doorway to a room that is not the hub of the apartment."""
        doors = [d for d in self.plan.doorways if room.id in d.rooms]
        other = [self.plan.rooms[r].type for d in doors for r in d.rooms if r != room.id]
        return len(doors) == 1 and other[0] not in ('corridor', 'living room')

    def search(self, start: tuple[float, float, float], goal: Item) -> Draft | None:
        """Word an instruction that names only the thing."""
        self.speaker.begin()
        here = self.plan.room_at(*start[:2])
        if self.object_count[goal.category] != 1 or here is None or here.id == goal.room:
            return None
        if self.walker.is_visible(np.array(start[:2]), goal):
            return None
        text = self.speaker.pick(phrases.FIND).format(thing=self.speaker.thing(goal.category))
        return self._searched([text], start, goal)

    def find_room(self, start: tuple[float, float, float], goal: Item) -> Draft | None:
        """Word an instruction that names a room and a thing in it."""
        self.speaker.begin()
        here, room = self.plan.room_at(*start[:2]), self.plan.rooms[goal.room]
        if (
            self.room_count[room.type] != 1
            or here is None
            or here.id == room.id
            or room.type == 'corridor'
        ):
            return None
        text = self.speaker.pick(phrases.FIND_ROOM)
        return self._searched(
            [text.format(room=self.room(room), thing=self.speaker.thing(goal.category))],
            start,
            goal,
        )

    def _searched(self, words: list[str], start, goal: Item) -> Draft | None:
        spot = self.spot(goal)
        if spot is None:
            return None
        points = self.walker.walk(start[:2], spot)
        tags = ['search']
        if self._passes_dead_end(points, goal):
            tags.append('dead_end')
        return self._draft(words, start, spot, goal, points, tuple(tags))

    def _passes_dead_end(self, points: np.ndarray, goal: Item) -> bool:
        """Whether the walk passes the door of a room that leads nowhere."""
        for door in self.plan.doorways:
            ends = [r for r in door.rooms if self.num_doors[r] == 1 and r != goal.room]
            distance = np.linalg.norm(points - (door.x, door.y), axis=1)
            start_room = self.plan.room_at(*points[0])
            if (
                ends
                and start_room is not None
                and start_room.id not in ends
                and distance.min() < 2.0
            ):
                return True
        return False

    def _draft(self, words: list[str], start, spot, goal: Item, points, tags) -> Draft:
        text = self.speaker.sentences(words)
        count = sum(1 + c.count(' and ') for c in words)
        return Draft(text, count, start, spot, goal, points, tags)
