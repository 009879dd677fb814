# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Words of the indoor world: object categories, room types, their synonyms and co-occurrence.

One table for everybody: detectors prompt with it, memory merges by it, planners and the parser of
instructions read it. Room types are the 27 of Matterport3D plus ``corridor`` as its hallway.
"""

from __future__ import annotations

import re
from functools import lru_cache

# canonical category -> (synonyms, room types where it is typical, strongest first)
OBJECTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    'refrigerator': (('fridge', 'freezer', 'icebox'), ('kitchen',)),
    'stove': (('oven', 'cooker', 'range', 'hob', 'cooktop'), ('kitchen',)),
    'kitchen counter': (('counter', 'countertop', 'worktop', 'kitchen cabinet'), ('kitchen',)),
    'sink': (('basin', 'washbasin', 'wash basin'), ('bathroom', 'kitchen')),
    'microwave': (('microwave oven',), ('kitchen',)),
    'dining table': (('kitchen table', 'dinner table'), ('dining room', 'kitchen')),
    'chair': (('seat',), ('dining room', 'office', 'kitchen')),
    'sofa': (('couch', 'settee', 'loveseat'), ('living room', 'lounge')),
    'armchair': (('easy chair', 'recliner'), ('living room', 'lounge')),
    'coffee table': (('low table',), ('living room', 'lounge')),
    'television': (('tv', 'tv set', 'tv screen', 'telly'), ('living room', 'family room')),
    'bookshelf': (
        ('bookcase', 'shelf', 'shelves', 'shelving'),
        ('office', 'living room', 'library'),
    ),
    'bed': (('double bed', 'single bed'), ('bedroom',)),
    'nightstand': (('bedside table', 'night stand', 'night table'), ('bedroom',)),
    'wardrobe': (('closet cabinet', 'armoire'), ('bedroom', 'closet')),
    'dresser': (('chest of drawers', 'drawers'), ('bedroom',)),
    'toilet': (('lavatory bowl', 'toilet seat'), ('bathroom', 'toilet room')),
    'bathtub': (('bath tub', 'tub'), ('bathroom',)),
    'shower': (('shower cabin', 'shower stall'), ('bathroom',)),
    'mirror': ((), ('bathroom', 'bedroom')),
    'desk': (('writing desk', 'work table', 'workbench'), ('office', 'bedroom')),
    'office chair': (('desk chair', 'swivel chair'), ('office',)),
    'computer': (('monitor', 'computer screen', 'laptop', 'pc'), ('office',)),
    'washing machine': (('washer', 'laundry machine'), ('laundry room', 'bathroom')),
    'laundry basket': (('hamper', 'laundry hamper'), ('laundry room', 'bathroom')),
    'plant': (('potted plant', 'houseplant', 'flower pot', 'flower', 'tree'), ('living room',)),
    'lamp': (('floor lamp', 'standing lamp', 'light'), ('living room', 'bedroom')),
    'piano': (('grand piano', 'upright piano'), ('living room', 'music room')),
    'fireplace': (('chimney',), ('living room',)),
    'bench': ((), ('entryway', 'corridor')),
    'shoe rack': (('shoe shelf',), ('entryway',)),
    'coat rack': (('coat stand', 'hat stand'), ('entryway',)),
    'cabinet': (('cupboard', 'sideboard'), ('living room', 'kitchen')),
    'trash can': (
        ('bin', 'trash bin', 'garbage can', 'waste bin', 'dustbin', 'trash'),
        ('kitchen',),
    ),
    'rug': (('carpet', 'mat'), ('living room',)),
    'painting': (('picture', 'poster', 'portrait'), ('living room', 'corridor')),
    'window': ((), ()),
    'curtain': (('curtains', 'drapes'), ('bedroom',)),
    'stairs': (('staircase', 'stairway', 'steps', 'stair'), ('stairs',)),
    'doorway': (('door', 'door frame', 'doorframe', 'archway', 'entrance', 'opening'), ()),
    'treadmill': (('exercise machine', 'exercise bike', 'fitness equipment'), ('gym',)),
    'dumbbell': (('dumbbells', 'weights'), ('gym',)),
    'ball': (('football', 'soccer ball'), ()),
    'vase': ((), ('living room',)),
    'clock': (('wall clock',), ()),
    'box': (('cardboard box',), ('garage', 'storage room')),
    'bicycle': (('bike',), ('garage',)),
    'air conditioner': (('airconditioner', 'ac unit', 'radiator', 'heater'), ()),
    'table': (('side table',), ('dining room', 'living room')),
}

# canonical room type -> synonyms
ROOMS: dict[str, tuple[str, ...]] = {
    'bathroom': ('bath', 'washroom', 'restroom', 'shower room', 'bath room'),
    'bedroom': ('bed room', 'master bedroom', 'guest room', 'guest bedroom', 'sleeping room'),
    'closet': ('walk-in closet', 'dressing room'),
    'dining room': ('dining area', 'dining hall'),
    'entryway': ('foyer', 'lobby', 'entry', 'entrance hall', 'vestibule', 'front hall'),
    'family room': ('den', 'playroom'),
    'garage': (),
    'corridor': ('hallway', 'hall', 'passage', 'passageway', 'aisle'),
    'library': (),
    'laundry room': ('laundry', 'utility room', 'mudroom'),
    'kitchen': ('kitchenette', 'kitchen area'),
    'living room': ('livingroom', 'sitting room', 'living area', 'living space'),
    'conference room': ('meeting room', 'meetingroom'),
    'lounge': (),
    'office': ('study', 'home office', 'work room', 'workroom'),
    'porch': ('terrace', 'deck', 'patio'),
    'recreation room': ('game room', 'rec room', 'games room', 'billiard room'),
    'stairs': (),
    'toilet room': ('water closet', 'powder room', 'half bath', 'wc'),
    'storage room': ('utility closet', 'store room', 'storeroom', 'storage'),
    'tv room': ('theater', 'home theater', 'cinema room', 'media room'),
    'gym': ('workout room', 'exercise room', 'fitness room', 'weight room'),
    'outdoors': ('outside', 'yard', 'garden'),
    'balcony': (),
    'music room': ('piano room',),
    'bar': ('bar area',),
    'classroom': (),
    'spa': ('sauna', 'steam room'),
    'pantry': ('larder',),
}

_WORD = re.compile(r'[^a-z0-9 ]+')


def _plain(text: str) -> str:
    return ' '.join(_WORD.sub(' ', text.lower()).split())


def _singular(word: str) -> str:
    if word.endswith('ies') and len(word) > 4:
        return word[:-3] + 'y'
    if word.endswith(('ches', 'shes', 'xes', 'sses')):
        return word[:-2]
    if word.endswith('s') and not word.endswith(('ss', 'us', 'is')):
        return word[:-1]
    return word


def _lookup(table: dict[str, str], text: str) -> str | None:
    plain = _plain(text)
    if plain in table:
        return table[plain]
    words = plain.split()
    if not words:
        return None
    return table.get(' '.join([*words[:-1], _singular(words[-1])]))


_OBJECT_OF: dict[str, str] = {
    _plain(name): canonical for canonical, (synonyms, _) in OBJECTS.items() for name in synonyms
} | {_plain(canonical): canonical for canonical in OBJECTS}
_ROOM_OF: dict[str, str] = {
    _plain(name): canonical for canonical, names in ROOMS.items() for name in names
} | {_plain(canonical): canonical for canonical in ROOMS}


def canonical_object(label: str) -> str | None:
    """Return the canonical category of a label ('Couches' -> 'sofa'), or None if unknown."""
    return _lookup(_OBJECT_OF, label)


def canonical_room(label: str) -> str | None:
    """Return the canonical room type of a label ('hallway' -> 'corridor'), or None if unknown."""
    return _lookup(_ROOM_OF, label)


@lru_cache(maxsize=4096)
def category_of(label: str) -> str:
    """Return the canonical category, or the label itself in plain lower case."""
    return canonical_object(label) or _plain(label)


def typical_rooms(category: str) -> tuple[str, ...]:
    """Return room types where a canonical category is typical, strongest first; maybe empty."""
    return OBJECTS.get(category, ((), ()))[1]


def object_names() -> dict[str, str]:
    """Return every known name of an object in plain lower case with its canonical category."""
    return dict(_OBJECT_OF)


def room_names() -> dict[str, str]:
    """Return every known name of a room in plain lower case with its canonical type."""
    return dict(_ROOM_OF)
