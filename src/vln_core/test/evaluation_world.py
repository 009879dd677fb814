# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A hand-made building in the formats of the benchmarks.

Viewpoints stand 2 m apart on the floor: a row a-b-c-d-e along +x, and f 2 m north of b. The bed is
at a, the sofa at e, the sink at f. g is included but joined to nothing.
"""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

PLACES = {
    'a': (0.0, 0.0), 'b': (2.0, 0.0), 'c': (4.0, 0.0), 'd': (6.0, 0.0), 'e': (8.0, 0.0),
    'f': (2.0, 2.0), 'g': (20.0, 0.0),
}  # fmt: skip
EDGES = ('ab', 'bc', 'cd', 'de', 'bf')
THINGS = {'a': 'bed', 'e': 'sofa', 'f': 'sink'}
ROOMS = {'a': 'bedroom', 'e': 'living room', 'f': 'bathroom'}


def joined(a: str, b: str) -> bool:
    return a + b in EDGES or b + a in EDGES


def heading(a: str, b: str) -> float:
    (ax, ay), (bx, by) = PLACES[a], PLACES[b]
    return math.atan2(bx - ax, by - ay) % (2 * math.pi)


def connectivity() -> list[dict]:
    names = list(PLACES)
    return [
        {
            'image_id': name,
            'pose': [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, 1.5, 0, 0, 0, 1],
            'included': True,
            'unobstructed': [joined(name, other) for other in names],
        }
        for name, (x, y) in PLACES.items()
    ]


def captions(name: str) -> list[str]:
    """Each view shows what lies there: the room of this place, or of the one it looks at."""
    views = [f'down: a floor\nmiddle: a {ROOMS.get(name, "hallway")}\ntop: a ceiling'] * 8
    for other in PLACES:
        if joined(name, other):
            what = f'a {THINGS.get(other, "door")} in a {ROOMS.get(other, "hallway")}'
            views[round(heading(name, other) / (math.pi / 4)) % 8] = (
                f'down: a floor\nmiddle: {what}\ntop: a ceiling'
            )
    return views


def objects(name: str) -> list[dict]:
    thing = THINGS.get(name)
    first = {thing: {'heading': 0.0, 'distance': 1.0}} if thing else {}
    return [first] + [{}] * 7


def boxes(name: str) -> dict:
    thing = THINGS.get(name)
    shown = {'name': thing, 'visible_pos': [12], 'bbox2d': [[300, 200, 40, 40]]}
    hidden = {'name': 'lamp', 'visible_pos': [], 'bbox2d': []}
    return {name: {str(ord(name)): shown, '5': hidden} if thing else {}}


def navigable(name: str) -> dict:
    return {
        other: {'heading': heading(name, other), 'elevation': 0.0, 'distance': 2.0}
        for other in PLACES
        if joined(name, other)
    }


R2R = [
    {'scan': 'house', 'path_id': 1, 'path': list('abcde'), 'heading': math.pi / 2,
     'distance': 99.0, 'instructions': ['Walk straight to the sofa in the living room.',
                                        'Go to the living room and stop at the sofa.']},
    {'scan': 'house', 'path_id': 2, 'path': list('abf'), 'heading': math.pi / 2,
     'distance': 99.0, 'instructions': ['Go straight, turn left and stop at the bathroom sink.']},
]  # fmt: skip
REVERIE = [
    {
        **entry,
        'objId': ord(entry['path'][-1]),
        'id': f'{entry["path_id"]}_{ord(entry["path"][-1])}',
    }
    for entry in R2R
]


def write_data(folder: Path, split: str = 'train') -> Path:
    """Write the data folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / 'connectivity.zip', 'w') as archive:
        archive.writestr('connectivity/house_connectivity.json', json.dumps(connectivity()))
    with zipfile.ZipFile(folder / 'navgpt_text_world.zip', 'w') as archive:
        parts = {
            'observations_list/house.json': captions, 'objects_list/house.json': objects,
            'navigable/house_navigable.json': navigable,
        }  # fmt: skip
        for name, make in parts.items():
            archive.writestr(name, json.dumps({place: make(place) for place in PLACES}))
    with zipfile.ZipFile(folder / 'reverie_bbox.zip', 'w') as archive:
        for place in PLACES:
            archive.writestr(f'BBox/house_{place}.json', json.dumps(boxes(place)))
    (folder / f'R2R_{split}.json').write_text(json.dumps(R2R))
    (folder / f'REVERIE_{split}.json').write_text(json.dumps(REVERIE))
    return folder
