# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Episode files of the field's benchmarks: each loader streams, checks, and names what is wrong.

Discrete benchmarks (R2R, REVERIE) name viewpoints of a navigation graph. Continuous ones (R2R-CE,
RxR-CE, Habitat ObjectNav) give positions in Habitat coordinates (x, y up, z), metres, kept as they
are in the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from vln_core.errors import EpisodeError
from vln_core.evaluation.json_stream import stream_array

Point = tuple[float, float, float]


@dataclass(frozen=True)
class GraphEpisode:
    """One instruction in a building with a navigation graph.

    Attributes:
        id: instr_id of results files: path_id and number of the instruction; REVERIE's has the
            object's id between them.
        scan: Building.
        instruction: Words.
        path: Viewpoints of the reference path; the first is the start, the last the goal.
        heading: At the start, rad, clockwise from +y (Matterport).
        object_id: Target object of REVERIE, or None.
    """

    id: str
    scan: str
    instruction: str
    path: tuple[str, ...]
    heading: float
    object_id: str | None = None


@dataclass(frozen=True)
class ContinuousEpisode:
    """One task in continuous space.

    Attributes:
        id: Of the file, as text.
        scene: Path of the scene relative to the scenes folder.
        instruction: Words; for ObjectNav "find a CATEGORY".
        start: Position, metres.
        start_rotation: Quaternion (x, y, z, w) of an agent that looks along -z.
        goals: Positions of which one is to be reached, metres: ObjectNav's viewpoints.
        radius: Success radius the file states, metres; NaN where it states none.
        reference_path: Way a person would take, metres; empty where the file has none.
        shortest: Length of the shortest way, metres; NaN where the file has none.
        category: Goal category of ObjectNav, or ''.
        language: Of the instruction, such as 'en-US'; '' where not said.
    """

    id: str
    scene: str
    instruction: str
    start: Point
    start_rotation: tuple[float, float, float, float]
    goals: tuple[Point, ...]
    radius: float = math.nan
    reference_path: tuple[Point, ...] = ()
    shortest: float = math.nan
    category: str = ''
    language: str = ''


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'"{key}" is {value!r}, not a text')
    return value


def _number(value: Any, key: str) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f'"{key}" is {value!r}, not a finite number')
    return number


def _point(value: Any, key: str) -> Point:
    if len(value) != 3:
        raise ValueError(f'"{key}" has {len(value)} coordinates, not 3')
    return (_number(value[0], key), _number(value[1], key), _number(value[2], key))


def _checked(path: Path, key: str, parse: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Stream an array and parse its elements, naming the element that is wrong."""
    count = 0
    for count, entry in enumerate(stream_array(path, key), start=1):
        try:
            yield from parse(entry)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            what = f'it lacks {error}' if isinstance(error, KeyError) else str(error)
            name = entry.get('episode_id', entry.get('path_id', '')) if _is_dict(entry) else ''
            raise EpisodeError(
                f'{path}: episode {count - 1}{f" (id {name})" if name != "" else ""}: {what}'
            ) from error
    if not count:
        raise EpisodeError(f'{path} holds no episodes')


def _is_dict(entry: Any) -> bool:
    return isinstance(entry, dict)


# ------------------------------------------------------------------------- R2R and REVERIE


def _graph_base(entry: Mapping[str, Any]) -> tuple[str, tuple[str, ...], float]:
    path = entry['path']
    if not isinstance(path, list) or not path or not all(isinstance(v, str) for v in path):
        raise ValueError('"path" is not a list of viewpoint ids')
    if not entry['instructions']:
        raise ValueError('"instructions" is empty')
    return _text(entry, 'scan'), tuple(path), _number(entry['heading'], 'heading')


def _parse_r2r(entry: Mapping[str, Any]) -> Iterator[GraphEpisode]:
    scan, path, heading = _graph_base(entry)
    for number, words in enumerate(entry['instructions']):
        if not isinstance(words, str):
            raise ValueError(f'instruction {number} is {words!r}, not a text')
        yield GraphEpisode(f'{entry["path_id"]}_{number}', scan, words, path, heading)


def _parse_reverie(entry: Mapping[str, Any]) -> Iterator[GraphEpisode]:
    scan, path, heading = _graph_base(entry)
    target = str(entry['objId'])
    for number, words in enumerate(entry['instructions']):
        if not isinstance(words, str):
            raise ValueError(f'instruction {number} is {words!r}, not a text')
        name = f'{entry["path_id"]}_{target}_{number}'
        yield GraphEpisode(name, scan, words, path, heading, target)


def load_r2r(path: Path) -> Iterator[GraphEpisode]:
    """Yield the episodes of an R2R file, one per instruction.

    Raises:
        EpisodeError: The file is missing or malformed; file, episode and field are named.
    """
    return _checked(path, '', _parse_r2r)


def load_reverie(path: Path) -> Iterator[GraphEpisode]:
    """Yield the episodes of a REVERIE file (v1 or v2); raises as :func:`load_r2r`."""
    return _checked(path, '', _parse_reverie)


# -------------------------------------------------------------------------------- continuous


def _rotation(value: Any) -> tuple[float, float, float, float]:
    if len(value) != 4:
        raise ValueError(f'"start_rotation" has {len(value)} numbers, not 4')
    x, y, z, w = (_number(part, 'start_rotation') for part in value)
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if abs(norm - 1.0) > 1e-2:
        raise ValueError(f'"start_rotation" is no rotation: its norm is {norm:.3f}')
    return x, y, z, w


def _parse_ce(entry: Mapping[str, Any]) -> Iterator[ContinuousEpisode]:
    goals = entry['goals']
    if not goals:
        raise ValueError('"goals" is empty')
    instruction = entry['instruction']
    info = entry.get('info') or {}
    yield ContinuousEpisode(
        id=str(entry['episode_id']),
        scene=_text(entry, 'scene_id'),
        instruction=' '.join(_text(instruction, 'instruction_text').split()),
        start=_point(entry['start_position'], 'start_position'),
        start_rotation=_rotation(entry['start_rotation']),
        goals=tuple(_point(goal['position'], 'goals') for goal in goals),
        radius=_number(goals[0]['radius'], 'radius') if goals[0].get('radius') else math.nan,
        reference_path=tuple(
            _point(point, 'reference_path') for point in entry.get('reference_path') or ()
        ),
        shortest=_number(info['geodesic_distance'], 'geodesic_distance')
        if 'geodesic_distance' in info
        else math.nan,
        language=str(instruction.get('language', '')),
    )


def load_r2r_ce(path: Path) -> Iterator[ContinuousEpisode]:
    """Yield the episodes of an R2R-CE file (the project's own too); raises as :func:`load_r2r`."""
    return _checked(path, 'episodes', _parse_ce)


def load_rxr_ce(path: Path, language: str = '') -> Iterator[ContinuousEpisode]:
    """Yield the episodes of an RxR-CE file; raises as :func:`load_r2r`.

    Args:
        path: Such as val_unseen_guide.json.gz.
        language: Beginning of the language tag to keep ('en' keeps en-IN and en-US); '' keeps all.
    """
    for episode in _checked(path, 'episodes', _parse_ce):
        if episode.language.startswith(language):
            yield episode


def _goal_key(scene: str, category: str) -> str:
    return f'{Path(scene).name}_{category}'


def _goals_by_category(path: Path) -> dict[str, tuple[Point, ...]]:
    """Return the viewpoints of each goal of an ObjectNav content file."""
    from vln_core.evaluation.json_stream import read_object

    raw = read_object(path)
    try:
        return {
            key: tuple(
                _point(view['agent_state']['position'], 'view_points')
                for goal in goals
                for view in goal['view_points']
            )
            for key, goals in raw['goals_by_category'].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EpisodeError(
            f'{path}: "goals_by_category" is missing or malformed ({error!r}); ObjectNav content '
            'files of Habitat (v1 MP3D, v1 and v2 HM3D) have it'
        ) from error


def load_objectnav(path: Path) -> Iterator[ContinuousEpisode]:
    """Yield the episodes of Habitat ObjectNav (HM3D, MP3D); raises as :func:`load_r2r`.

    Args:
        path: One content file (content/SCENE.json.gz), or the split's folder, whose content files
            are read in the order of their names.
    """
    if path.is_dir():
        files = sorted((path / 'content').glob('*.json.gz')) or sorted(path.glob('*.json.gz'))
        if not files:
            raise EpisodeError(f'{path} holds no content/SCENE.json.gz')
        for file in files:
            yield from load_objectnav(file)
        return
    goals = _goals_by_category(path)

    def parse(entry: Mapping[str, Any]) -> Iterator[ContinuousEpisode]:
        category, scene = _text(entry, 'object_category'), _text(entry, 'scene_id')
        views = goals.get(_goal_key(scene, category), ())
        if not views:
            raise ValueError(f'goals_by_category has no viewpoint of {_goal_key(scene, category)}')
        info = entry.get('info') or {}
        yield ContinuousEpisode(
            id=f'{Path(scene).stem}/{entry["episode_id"]}',
            scene=scene,
            instruction=f'find a {category.replace("_", " ")}',
            start=_point(entry['start_position'], 'start_position'),
            start_rotation=_rotation(entry['start_rotation']),
            goals=views,
            shortest=_number(info.get('geodesic_distance', 0.0), 'geodesic_distance') or math.nan,
            category=category,
        )

    yield from _checked(path, 'episodes', parse)


def first(episodes: Iterable[Any], count: int | None) -> list[Any]:
    """Return the first ``count`` episodes, all for None; duplicates of an id are an error.

    Raises:
        EpisodeError: Two episodes have one id.
    """
    kept, seen = [], set()
    for episode in islice(episodes, count):
        if episode.id in seen:
            raise EpisodeError(f'two episodes have the id {episode.id}')
        seen.add(episode.id)
        kept.append(episode)
    return kept


def set_hash(ids: Iterable[str]) -> str:
    """Return a hash of the set of episodes, whatever their order: 16 hexadecimal digits."""
    text = json.dumps(sorted(ids), separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_split(data: Path, patterns: Iterable[str], split: str) -> Path:
    """Return the file or folder of a split.

    Args:
        data: Data folder.
        patterns: Names relative to it with ``{split}``, the preferred first.
        split: Such as 'val_unseen'.

    Raises:
        EpisodeError: None exists; the message lists what was looked for.
    """
    names = [pattern.format(split=split) for pattern in patterns]
    for name in names:
        if (data / name).exists():
            return data / name
    raise EpisodeError(f'{data} has no episodes of split "{split}": none of {", ".join(names)}')


R2R_FILES = ('R2R_{split}.json', 'annotations/R2R_{split}.json')
REVERIE_FILES = ('REVERIE_{split}.json', 'REVERIE_v2_{split}.json')
R2R_CE_FILES = (
    'R2R-CE_{split}.json.gz',
    'R2R_VLNCE_v1-3/{split}/{split}.json.gz',
    'R2R_VLNCE_v1-3_preprocessed/{split}/{split}.json.gz',
    '{split}/{split}.json.gz',
)
R2R_CE_TRUTH = tuple(name.replace('.json.gz', '_gt.json.gz') for name in R2R_CE_FILES)
RXR_CE_FILES = (
    'RxR-CE_{split}_guide.json.gz',
    'RxR_VLNCE_v0/{split}/{split}_guide.json.gz',
    '{split}/{split}_guide.json.gz',
)
RXR_CE_TRUTH = tuple(name.replace('.json.gz', '_gt.json.gz') for name in RXR_CE_FILES)
HM3D_FILES = ('objectnav_hm3d_v2/{split}', 'objectnav_hm3d_v1/{split}', '{split}')
MP3D_FILES = ('objectnav_mp3d_v1/{split}', '{split}')
