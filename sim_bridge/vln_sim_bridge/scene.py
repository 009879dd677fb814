# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Scene folders: what ``scene.json`` says, checked, and how a scene's name becomes a folder.

All coordinates are ROS world (x, y on the floor, z up, metres); only the GLB files are Y-up.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vln_core.errors import SceneError
from vln_sim_bridge.simulator import Label

Bounds = tuple[tuple[float, float], tuple[float, float]]
Point3 = tuple[float, float, float]

_VERSION = 1
_APARTMENT = re.compile(r'apartment:(\d{1,9})')


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


def cache_folder() -> Path:
    """Return the folder of generated scenes: in ``$VLN_CACHE``, or below ``~/.cache``.

    Each state of the generator has a folder of its own, so that a scene is never older than the
    code that is said to have made it.
    """
    root = os.environ.get('VLN_CACHE')
    base = Path(root).expanduser() if root else Path.home() / '.cache' / 'vln'
    return base / 'scenes' / _generator_digest()


@functools.cache
def _generator_digest() -> str:
    package = Path(__file__).parent
    sources = [
        *(package / 'apartments').glob('*.py'),
        package / 'imported.py',
        package / 'episodes.py',
    ]
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def resolve_scene(name: str | Path) -> Path:
    """Return the folder of a scene, making it first where the name asks for it.

    Args:
        name: ``apartment:SEED``, ``small_house``, or the path of a scene folder.

    Raises:
        SceneError: There is no such scene, or it cannot be made.
    """
    text = str(name)
    if text.startswith('apartment:'):
        match = _APARTMENT.fullmatch(text)
        if match is None:
            raise SceneError(f"'{text}': the seed must be a whole number, as in apartment:3")
        return _cached(f'apartment_{int(match[1])}', _apartment_maker(int(match[1])))
    if text == 'small_house':
        return _cached('small_house', _small_house_maker())
    folder = Path(text).expanduser()
    if not (folder / 'scene.json').is_file():
        raise SceneError(
            f"no scene '{text}': it is neither apartment:SEED, nor small_house, nor a folder with "
            'a scene.json'
        )
    return folder.resolve()


def _apartment_maker(seed: int) -> Callable[[Path], object]:
    from vln_sim_bridge import apartments

    return lambda folder: apartments.generate(seed, folder)


def _small_house_maker() -> Callable[[Path], object]:
    from vln_sim_bridge import imported

    return lambda folder: imported.import_small_house(folder)


def _cached(key: str, make: Callable[[Path], object]) -> Path:
    """Return the cached folder ``key``; made beside and renamed, it is whole or absent."""
    target = cache_folder() / key
    if (target / 'scene.json').is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f'.{key}.', dir=target.parent))
    try:
        make(work)
        load_scene(work)
        work.chmod(0o755)
        try:
            work.rename(target)
        except OSError:
            # Another process was faster: its result is the same, for the seed is.
            if not (target / 'scene.json').is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target
