# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Scene folders: what ``scene.json`` says, checked.

All coordinates are ROS world (x, y on the floor, z up, metres); only the GLB files are Y-up.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vln_core.errors import SceneError

Bounds = tuple[tuple[float, float], tuple[float, float]]
Point3 = tuple[float, float, float]

_VERSION = 1


@dataclass(frozen=True)
class Label:
    """Row of the label table: what an id of the semantic image means."""

    id: int
    category: str
    name: str


@dataclass(frozen=True)
class Room:
    """A room: its number in the list, its type and its outline (x, y) in metres."""

    id: int
    type: str
    polygon: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Doorway:
    """A passage between two rooms; ``yaw`` (rad) is the direction through it."""

    id: int
    position: tuple[float, float]
    width: float
    rooms: tuple[int, ...]
    yaw: float


@dataclass(frozen=True)
class SceneObject:
    """A thing in the scene; its GLB is already placed in the world.

    Attributes:
        id: Value in the semantic image, >= 1.
        category: Canonical category.
        name: Unique name, such as ``bed_1``.
        glb: Absolute path of its model.
        minimum: Lower corner of its box, metres.
        maximum: Upper corner of its box, metres.
        room: Id of the room it stands in, or None.
    """

    id: int
    category: str
    name: str
    glb: Path
    minimum: Point3
    maximum: Point3
    room: int | None


@dataclass(frozen=True)
class Scene:
    """A checked scene folder.

    Attributes:
        folder: Absolute path.
        name: Name for people.
        seed: Seed it was generated from, or None.
        stage: Model of the building.
        stage_config: Habitat's description of the stage.
        bounds: Lower and upper corner of the floor plan, metres.
        rooms: All rooms, by id.
        doorways: All doorways.
        objects: All objects, by rising id.
        start: Default pose (x, y, yaw): metres, rad.
    """

    folder: Path
    name: str
    seed: int | None
    stage: Path
    stage_config: Path
    bounds: Bounds
    rooms: tuple[Room, ...]
    doorways: tuple[Doorway, ...]
    objects: tuple[SceneObject, ...]
    start: tuple[float, float, float]


def load_scene(folder: str | Path) -> Scene:
    """Read and check the scene in ``folder``.

    Raises:
        SceneError: The folder, a file it names or a field is missing or wrong.
    """
    root = Path(folder).expanduser().resolve()
    path = root / 'scene.json'
    if not path.is_file():
        raise SceneError(
            f"no scene at '{folder}': {path} does not exist; use apartment:SEED, small_house or "
            'the folder of a scene'
        )
    try:
        raw = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise SceneError(f'{path} is not readable JSON: {error}') from error
    try:
        scene = _parse(raw, root)
    except KeyError as error:
        raise SceneError(f'{path} lacks the field {error}') from error
    except (TypeError, ValueError, IndexError) as error:
        raise SceneError(f'{path} is malformed: {error}') from error
    _check(scene, path)
    return scene


def _parse(raw: dict[str, Any], root: Path) -> Scene:
    if raw['version'] != _VERSION:
        raise ValueError(f'version {raw["version"]!r}, but this program reads {_VERSION}')
    rooms = tuple(
        Room(int(room['id']), str(room['type']), tuple(_floats(p, 2) for p in room['polygon']))
        for room in raw['rooms']
    )
    doorways = tuple(
        Doorway(
            int(door['id']),
            _floats(door['position'], 2),
            float(door['width']),
            tuple(int(room) for room in door['rooms']),
            float(door['yaw']),
        )
        for door in raw['doorways']
    )
    objects = tuple(
        SceneObject(
            int(item['id']),
            str(item['category']),
            str(item['name']),
            root / item['glb'],
            _floats(item['min'], 3),
            _floats(item['max'], 3),
            None if item.get('room') is None else int(item['room']),
        )
        for item in sorted(raw['objects'], key=lambda item: item['id'])
    )
    low, high = raw['bounds']
    return Scene(
        folder=root,
        name=str(raw['name']),
        seed=None if raw.get('seed') is None else int(raw['seed']),
        stage=root / raw['stage'],
        stage_config=root / raw['stage_config'],
        bounds=(_floats(low, 2), _floats(high, 2)),
        rooms=rooms,
        doorways=doorways,
        objects=objects,
        start=_floats(raw['start'], 3),
    )


def _floats(values: Any, count: int) -> Any:
    numbers = tuple(float(value) for value in values)
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ValueError(f'{values!r} is not {count} finite numbers')
    return numbers


def _check(scene: Scene, path: Path) -> None:
    for file in (scene.stage, scene.stage_config, *(item.glb for item in scene.objects)):
        if not file.is_file():
            raise SceneError(f'{path} names {file.name}, but {file} does not exist')
    (x_min, y_min), (x_max, y_max) = scene.bounds
    if not (x_min < x_max and y_min < y_max):
        raise SceneError(f'{path}: bounds {scene.bounds} are empty')
    ids = [item.id for item in scene.objects]
    if len(set(ids)) != len(ids) or any(not 1 <= number <= 65535 for number in ids):
        raise SceneError(f'{path}: object ids must differ and lie in 1..65535 (0 is the building)')
    names = [item.name for item in scene.objects]
    if len(set(names)) != len(names):
        raise SceneError(f'{path}: two objects have the same name')


def labels_of(scene: Scene) -> dict[int, Label]:
    """Return the label table of a scene; the building itself is 0."""
    table = {0: Label(0, 'building', 'building')}
    table.update({item.id: Label(item.id, item.category, item.name) for item in scene.objects})
    return table
