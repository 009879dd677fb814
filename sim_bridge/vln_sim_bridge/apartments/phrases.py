# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""How people word the clauses of a route: patterns with {slots}, and other names for things."""

from __future__ import annotations

import numpy as np

# canonical name -> what people call it as well
OBJECT_WORDS: dict[str, tuple[str, ...]] = {
    'sofa': ('sofa', 'couch'),
    'refrigerator': ('refrigerator', 'fridge'),
    'television': ('television', 'TV'),
    'stove': ('stove', 'oven', 'cooker'),
    'bathtub': ('bathtub', 'tub'),
    'nightstand': ('nightstand', 'bedside table'),
    'dresser': ('dresser', 'chest of drawers'),
    'lamp': ('lamp', 'floor lamp'),
    'trash can': ('trash can', 'bin'),
    'plant': ('plant', 'potted plant'),
    'bookshelf': ('bookshelf', 'bookcase'),
    'laundry basket': ('laundry basket', 'hamper'),
    'washing machine': ('washing machine', 'washer'),
    'kitchen counter': ('kitchen counter', 'counter'),
    'office chair': ('office chair', 'desk chair'),
    'cabinet': ('cabinet', 'sideboard'),
    'bicycle': ('bicycle', 'bike'),
    'painting': ('painting', 'picture'),
    'box': ('cardboard box', 'box'),
    'coat rack': ('coat rack', 'coat stand'),
    'microwave': ('microwave', 'microwave oven'),
    'armchair': ('armchair', 'easy chair'),
    'computer': ('computer', 'monitor'),
    'treadmill': ('treadmill', 'exercise machine'),
    'dumbbell': ('dumbbells', 'weights'),
    'dining table': ('dining table', 'dinner table'),
    'wardrobe': ('wardrobe', 'armoire'),
    'piano': ('piano', 'upright piano'),
    'shower': ('shower', 'shower cabin'),
    'ball': ('ball', 'football'),
    'desk': ('desk', 'writing desk'),
}
ROOM_WORDS: dict[str, tuple[str, ...]] = {
    'corridor': ('hallway', 'corridor', 'hall'),
    'living room': ('living room', 'sitting room'),
    'bathroom': ('bathroom', 'washroom'),
    'office': ('office', 'study'),
    'laundry room': ('laundry room', 'utility room'),
    'gym': ('gym', 'exercise room'),
    'storage room': ('storage room', 'store room'),
    'dining room': ('dining room', 'dining area'),
}
ORDINALS = ('first', 'second', 'third', 'fourth', 'fifth')

LEAVE = (
    'leave the {room}',
    'exit the {room}',
    'walk out of the {room}',
    'go out of the {room}',
    'head out of the {room}',
    'step out of the {room}',
    'go through the doorway out of the {room}',
)
LEAVE_INTO = (
    'leave the {room} and go into the {next}',
    'exit the {room} into the {next}',
    'go from the {room} into the {next}',
    'walk out of the {room} into the {next}',
)
TURN = (
    'turn {side}',
    'go {side}',
    'take a {side}',
    'make a {side} turn',
    'hang a {side}',
    'turn to the {side}',
)
TURN_START = ('turn {side}', 'turn to your {side}', 'make a {side} turn')
AROUND = ('turn around', 'turn around completely', 'turn all the way around')
STRAIGHT = (
    'go straight',
    'walk straight ahead',
    'continue straight',
    'keep going straight',
    'head straight',
)
ALONG = (
    'follow the {room}',
    'walk along the {room}',
    'go down the {room}',
    'walk down the {room}',
    'continue along the {room}',
    'head down the {room}',
)
ALONG_END = (
    'follow the {room} to its end',
    'walk to the end of the {room}',
    'go all the way down the {room}',
    'continue to the end of the {room}',
)
ENTER = (
    'enter the {next}',
    'go into the {next}',
    'walk into the {next}',
    'step into the {next}',
    'head into the {next}',
    'go through the doorway into the {next}',
    'turn into the {next}',
)
DOOR = (
    'go through the {which} door on the {side}',
    'take the {which} door on your {side}',
    'enter the {which} doorway on the {side}',
    'walk through the {which} doorway on your {side}',
    'go in the {which} door on the {side}',
)
DOOR_INTO = (
    'enter the {next} through the {which} door on the {side}',
    'take the {which} door on the {side} into the {next}',
    'go through the {which} doorway on your {side} into the {next}',
)
DOOR_AHEAD = (
    'go through the door straight ahead',
    'walk through the doorway in front of you',
    'take the door straight ahead',
    'go straight through the doorway ahead',
)
DOOR_END = (
    'go through the door at the end',
    'take the door at the end of the {room}',
    'walk through the doorway at the end of the {room}',
)
BRANCH = (
    'turn {side} into the side hallway',
    'take the {side} turn into the side corridor',
    'go {side} where the hallway branches off',
)
BRANCH_AHEAD = ('go straight into the side hallway', 'walk straight into the side corridor')
BRANCH_OUT = (
    'walk out of the side hallway',
    'go back to the main hallway',
    'leave the side corridor',
)
THROUGH = (
    'walk through the {room}',
    'cross the {room}',
    'go across the {room}',
    'go through the {room}',
)
PASS = (
    'walk past the {thing}',
    'pass the {thing}',
    'go past the {thing}',
    'walk by the {thing}',
    'continue past the {thing}',
)
PASS_SIDE = (
    'pass the {thing} on your {side}',
    'walk past the {thing} on your {side}',
    'keep the {thing} on your {side}',
    'go past the {thing} on the {side}',
)
STOP = (
    'stop in front of the {thing}',
    'stop at the {thing}',
    'stop next to the {thing}',
    'stop by the {thing}',
    'wait by the {thing}',
    'wait next to the {thing}',
    'go to the {thing} and stop',
    'walk up to the {thing} and stop there',
    'stop when you reach the {thing}',
    'stop near the {thing}',
    'wait in front of the {thing}',
    'walk to the {thing} and wait there',
)
GO_TO = (
    'go to the {thing}',
    'walk over to the {thing}',
    'head to the {thing}',
    'walk up to the {thing}',
)
FIND = (
    'find the {thing}',
    'look for the {thing} and stop next to it',
    'search for the {thing} and stop in front of it',
    'find the {thing} and wait there',
    'go and find the {thing}',
    'look around for the {thing} and go to it',
    'search the rooms for the {thing} and stop beside it',
    'locate the {thing} and stop there',
)
FIND_ROOM = (
    'find the {room} and stop at the {thing}',
    'look for the {room} and go to the {thing}',
    'go to the {room} and stop by the {thing}',
    'find the {thing} in the {room}',
    'search for the {room}, go in and wait by the {thing}',
)


class Speaker:
    """Fills patterns; the generator makes each instruction sound different, but repeatably."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Keep the random stream of the scene."""
        self.rng = rng
        self._words: dict[str, str] = {}

    def begin(self) -> None:
        """Start a new instruction: one thing keeps one name throughout it."""
        self._words = {}

    def pick(self, patterns: tuple[str, ...]) -> str:
        """Return one of the patterns."""
        return patterns[int(self.rng.integers(len(patterns)))]

    def thing(self, category: str) -> str:
        """Return what this speaker calls an object."""
        return self._name(category, OBJECT_WORDS.get(category, (category,)))

    def room(self, kind: str) -> str:
        """Return what this speaker calls a room."""
        return self._name(kind, ROOM_WORDS.get(kind, (kind,)))

    def _name(self, key: str, words: tuple[str, ...]) -> str:
        if key not in self._words:
            first = self.rng.random() < 0.6
            self._words[key] = words[0] if first else self.pick(words)
        return self._words[key]

    def sentences(self, clauses: list[str]) -> str:
        """Join clauses to one to three sentences."""
        groups: list[list[str]] = []
        for clause in clauses:
            limit = 3 if len(clauses) > 3 else 2
            busy = ' and ' in clause
            full = groups and (len(groups[-1]) >= limit or any(' and ' in c for c in groups[-1]))
            if not groups or full or (busy and len(groups[-1]) > 1):
                groups.append([clause])
            else:
                groups[-1].append(clause)
        return ' '.join(self._sentence(group, k > 0) for k, group in enumerate(groups))

    def _sentence(self, clauses: list[str], follows: bool) -> str:
        if len(clauses) == 1:
            text = clauses[0]
        else:
            busy = ' and ' in clauses[-1]
            last = self.pick(
                (', then ', ' and then ') if busy else (' and ', ' and ', ', then ', ' and then ')
            )
            text = ', '.join(clauses[:-1]) + last + clauses[-1]
        if follows and 'then' not in text and self.rng.random() < 0.3:
            text = 'then ' + text
        return text[0].upper() + text[1:] + '.'
