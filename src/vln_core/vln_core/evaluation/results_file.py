# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Results files of the benchmarks: what agents predicted, in the formats in use.

- R2R and REVERIE: a list of ``{"instr_id", "trajectory"}``; REVERIE adds ``predObjId``. A
  trajectory is a list of ``[viewpoint, heading, elevation]``, of viewpoints, or of lists of
  viewpoints.
- R2R-CE inference: ``{episode_id: [{"position", "heading", "stop"}, ...]}``.
- R2R-CE evaluation: ``{episode_id: {"distance_to_goal", "success", "spl", ...}}``, or a list of
  such objects that name their episode.
- RxR-CE inference: a line of JSON per episode with ``instruction_id`` and ``path``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import EpisodeError
from vln_core.evaluation.json_stream import read_object


@dataclass(frozen=True)
class GraphPrediction:
    """A walk over a navigation graph, with the object that was named, if any."""

    id: str
    path: tuple[str, ...]
    object_id: str | None = None


@dataclass(frozen=True, eq=False)
class ContinuousPrediction:
    """A walk in continuous space.

    Attributes:
        id: Episode.
        positions: (N, 3) float64 in the coordinates of the file, metres.
        stopped: Whether the agent ended the episode itself.
    """

    id: str
    positions: NDArray[np.float64]
    stopped: bool


@dataclass(frozen=True)
class ScoredEpisode:
    """Metrics of one episode as another program wrote them."""

    id: str
    values: Mapping[str, float]


Prediction = GraphPrediction | ContinuousPrediction | ScoredEpisode
_OBJECT_KEYS = ('predObjId', 'pred_objid', 'predObjID', 'pred_obj_id')
_ID_KEYS = ('episode_id', 'id', 'ep_id', 'instruction_id')


def read_results(path: Path) -> list[Prediction]:
    """Read a results file of any of the formats above; all entries are of one kind.

    Raises:
        EpisodeError: The file is missing, malformed or of no known format; the entry is named.
    """
    raw = _read(path)
    entries: list[Any]
    if isinstance(raw, dict):
        entries = [{'__id__': str(key), '__value__': value} for key, value in raw.items()]
    elif isinstance(raw, list):
        entries = raw
    else:
        raise EpisodeError(f'{path} holds neither a list nor an object of predictions')
    if not entries:
        raise EpisodeError(f'{path} holds no predictions')
    predictions: list[Prediction] = []
    for number, entry in enumerate(entries):
        try:
            predictions.append(_parse(entry))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            name = entry.get('__id__', entry.get('instr_id')) if isinstance(entry, dict) else None
            what = f'it lacks {error}' if isinstance(error, KeyError) else str(error)
            raise EpisodeError(f'{path}: entry {number} (id {name}): {what}') from error
    kinds = {type(prediction).__name__ for prediction in predictions}
    if len(kinds) > 1:
        raise EpisodeError(f'{path} mixes formats: {", ".join(sorted(kinds))}')
    _refuse_duplicates(path, predictions)
    return predictions


def _read(path: Path) -> Any:
    if path.suffix != '.jsonl':
        return read_object(path)
    try:
        lines = path.read_text(encoding='utf-8').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EpisodeError(f'{path} cannot be read: {error}') from error
    entries = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                entries.append(json.loads(line))
            except ValueError as error:
                raise EpisodeError(f'{path}, line {number}: broken JSON: {error}') from error
    return entries


def _refuse_duplicates(path: Path, predictions: list[Prediction]) -> None:
    seen: set[str] = set()
    for prediction in predictions:
        if prediction.id in seen:
            raise EpisodeError(f'{path} predicts episode {prediction.id} twice')
        seen.add(prediction.id)


def _parse(entry: Any) -> Prediction:
    if not isinstance(entry, dict):
        raise ValueError(f'it is a {type(entry).__name__}, not an object')
    if '__id__' in entry:
        return _of_mapping(entry['__id__'], entry['__value__'])
    if 'instr_id' in entry:
        return _graph_prediction(str(entry['instr_id']), entry)
    name = next((str(entry[key]) for key in _ID_KEYS if key in entry), None)
    if name is None:
        raise ValueError(f'it names no episode: none of instr_id, {", ".join(_ID_KEYS)}')
    if 'path' in entry or 'trajectory' in entry:
        return _continuous(name, entry.get('path', entry.get('trajectory')))
    return _scored(name, entry)


def _of_mapping(name: str, value: Any) -> Prediction:
    if isinstance(value, list):
        return _continuous(name, value)
    if isinstance(value, dict) and 'trajectory' in value:
        return _graph_prediction(name, value)
    if isinstance(value, dict) and 'path' in value:
        return _continuous(name, value['path'])
    if isinstance(value, dict):
        return _scored(name, value)
    raise ValueError(f'its value is a {type(value).__name__}, not a path or metrics')


def _graph_prediction(name: str, entry: Mapping[str, Any]) -> GraphPrediction:
    path: list[str] = []
    for step in entry['trajectory']:
        if isinstance(step, str):
            path.append(step)
        elif isinstance(step, list) and step and all(isinstance(part, str) for part in step):
            path.extend(step)
        elif isinstance(step, list) and step and isinstance(step[0], str):
            path.append(step[0])
        elif step != []:
            raise ValueError(f'step {len(path)} of its trajectory is {step!r}')
    if not path:
        raise ValueError('its trajectory is empty; it must begin with the start')
    chosen = next((entry[key] for key in _OBJECT_KEYS if entry.get(key) is not None), None)
    return GraphPrediction(name, tuple(path), None if chosen is None else str(chosen))


def _continuous(name: str, steps: Any) -> ContinuousPrediction:
    if not isinstance(steps, list) or not steps:
        raise ValueError('its path is empty')
    flags = [step.get('stop') for step in steps if isinstance(step, dict)]
    points = [step['position'] if isinstance(step, dict) else step for step in steps]
    positions = np.array(points, dtype=np.float64)
    if positions.ndim != 2 or positions.shape[1] != 3 or not np.isfinite(positions).all():
        raise ValueError(f'its positions have shape {positions.shape}; finite (N, 3) is expected')
    # files without stop flags hold walks that ended by a stop
    return ContinuousPrediction(name, positions, bool(flags[-1]) if flags else True)


def _scored(name: str, entry: Mapping[str, Any]) -> ScoredEpisode:
    values = {}
    for key, value in entry.items():
        if key in _ID_KEYS or isinstance(value, (str, list, dict)) or value is None:
            continue
        values[key] = float(value) if math.isfinite(float(value)) else math.nan
    if not values:
        raise ValueError('it holds no numbers')
    return ScoredEpisode(name, values)
