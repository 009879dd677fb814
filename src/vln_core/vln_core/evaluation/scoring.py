# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Scores results files against a split, by the definitions of each benchmark's own evaluator.

R2R: success is a shortest way of less than 3 m from the last viewpoint to the goal, whether the
agent stopped or ran out of steps; lengths are shortest ways along the graph, never the
``distance`` of the file (it differs by up to 3.7 m). REVERIE: success is a last viewpoint from
which the target is visible. R2R-CE: a stop at less than 3 m.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import EpisodeError
from vln_core.evaluation import datasets
from vln_core.evaluation.json_stream import read_object
from vln_core.evaluation.metrics import mean_finite, score_episode, spl
from vln_core.evaluation.results_file import (
    ContinuousPrediction,
    GraphPrediction,
    Prediction,
    ScoredEpisode,
    read_results,
)
from vln_core.evaluation.viewpoint_graph import GraphStore, ViewpointGraph

SUCCESS_RADIUS = 3.0
METRICS = ('SR', 'OSR', 'SPL', 'NE', 'TL', 'RGS', 'RGSPL', 'nDTW', 'SDTW')
BOXES = 'reverie_bbox.zip'

# names of other evaluators -> ours
_FOREIGN = {
    'SR': ('success', 'sr', 'SR'),
    'OSR': ('oracle_success', 'osr', 'OSR', 'oracle_sr'),
    'SPL': ('spl', 'SPL'),
    'NE': ('distance_to_goal', 'ne', 'NE', 'nav_error'),
    'TL': ('path_length', 'tl', 'TL', 'trajectory_length'),
    'nDTW': ('ndtw', 'nDTW', 'NDTW'),
    'SDTW': ('sdtw', 'SDTW'),
    'RGS': ('rgs', 'RGS'),
    'RGSPL': ('rgspl', 'RGSPL'),
}


@dataclass(frozen=True)
class Scores:
    """Result of scoring a file.

    Attributes:
        preset: Protocol: 'r2r', 'reverie' or 'r2r-ce'.
        rows: One mapping per episode: id and metrics.
        notes: What a reader must know, such as missing predictions.
    """

    preset: str
    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> dict[str, float | None]:
        """Mean of each metric over the episodes that have it; None where none has."""
        return mean_metrics(self.rows)


def mean_metrics(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the mean of each metric over the rows where it is finite; None where it never is."""
    means: dict[str, float | None] = {}
    for name in METRICS:
        mean = mean_finite([float(row[name]) for row in rows if row.get(name) is not None])
        means[name] = mean if math.isfinite(mean) else None
    return means


class VisibleObjects:
    """Which objects of REVERIE are visible from which viewpoint, with names and boxes."""

    def __init__(self, data: Path) -> None:
        """Open reverie_bbox.zip of a data folder.

        Raises:
            EpisodeError: It is missing or no archive.
        """
        self._path = data / BOXES
        try:
            self._archive = zipfile.ZipFile(self._path)
        except (OSError, zipfile.BadZipFile) as error:
            raise EpisodeError(
                f'{self._path} cannot be read ({error}): REVERIE needs its visible objects'
            ) from error
        self._names = set(self._archive.namelist())
        self._kept: dict[tuple[str, str], dict[str, Any]] = {}

    def at(self, scan: str, viewpoint: str) -> dict[str, Any]:
        """Return name, views and boxes per object id; empty where nothing is annotated.

        Raises:
            EpisodeError: The entry is malformed.
        """
        key = (scan, viewpoint)
        if key not in self._kept:
            name = f'BBox/{scan}_{viewpoint}.json'
            found: dict[str, Any] = {}
            if name in self._names:
                try:
                    entries = json.loads(self._archive.read(name)).get(viewpoint) or {}
                    # annotated near by, yet hidden: no evaluator counts it as visible
                    found = {key: thing for key, thing in entries.items() if thing['visible_pos']}
                except (
                    ValueError,
                    AttributeError,
                    KeyError,
                    TypeError,
                    zipfile.BadZipFile,
                ) as error:
                    raise EpisodeError(f'{self._path}: {name} is malformed: {error}') from error
            self._kept[key] = found
        return self._kept[key]


def score_graph_episode(
    graph: ViewpointGraph,
    episode: datasets.GraphEpisode,
    prediction: GraphPrediction,
    visible: VisibleObjects | None = None,
) -> dict[str, Any]:
    """Score one walk over a navigation graph.

    Args:
        graph: Of the episode's building.
        episode: What was asked.
        prediction: Where the agent went, from the start on.
        visible: Objects, for REVERIE; None for R2R.

    Returns:
        id, scan and the metrics; lengths in metres, rates as 0 or 1.

    Raises:
        EpisodeError: The walk does not begin at the start, or names unknown viewpoints.
    """
    path = prediction.path
    if path[0] != episode.path[0]:
        raise EpisodeError(
            f'episode {episode.id}: the trajectory begins at {path[0]}, not at the start '
            f'{episode.path[0]}'
        )
    rows = [graph.index(name) for name in path]
    reference = [graph.index(name) for name in episode.path]
    distances = graph.distances
    shortest = float(distances[reference[0], reference[-1]])
    result = score_episode(
        distances[rows, reference[-1]].tolist(),
        graph.length(path),
        shortest,
        distances[np.ix_(rows, reference)],
        success_radius=SUCCESS_RADIUS,
    )
    row: dict[str, Any] = {'id': episode.id, 'scan': episode.scan}
    row |= {name: getattr(result, name) for name in METRICS if hasattr(result, name)}
    row['is_reachable'] = result.is_reachable
    if visible is None:
        return row
    seen = [episode.object_id in visible.at(episode.scan, name) for name in path]
    row['SR'], row['OSR'] = float(seen[-1]), float(any(seen))
    row['SPL'] = spl(row['SR'], shortest, row['TL'])
    row['SDTW'] = row['SR'] * row['nDTW']
    row['RGS'] = float(prediction.object_id == episode.object_id)
    row['RGSPL'] = spl(row['RGS'], shortest, row['TL'])
    return row


def score_continuous_episode(
    episode: datasets.ContinuousEpisode,
    prediction: ContinuousPrediction,
    reference: NDArray[np.float64],
    distances: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Score one walk in continuous space by the protocol of R2R-CE.

    Args:
        episode: What was asked.
        prediction: Positions, metres.
        reference: (M, 3) positions of the ground-truth walk, metres.
        distances: Walking distance of each position to the goal, metres; None: straight lines.
    """
    points = prediction.positions
    goal = np.array(episode.goals[0])
    if distances is None:
        distances = [float(value) for value in np.linalg.norm(points - goal, axis=1)]
    driven = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    start = float(np.linalg.norm(np.array(episode.start) - goal))
    shortest = episode.shortest if math.isfinite(episode.shortest) else start
    # as VLN-CE does, a turn in place adds no point to the path that is compared
    moved = np.ones(len(points), bool)
    moved[1:] = (np.diff(points, axis=0) != 0.0).any(axis=1)
    cost = np.linalg.norm(points[moved][:, None] - reference[None], axis=2)
    result = score_episode(
        distances, driven, shortest, cost,
        success_radius=SUCCESS_RADIUS, stopped=prediction.stopped,
    )  # fmt: skip
    row: dict[str, Any] = {'id': episode.id, 'scene': episode.scene}
    row |= {name: getattr(result, name) for name in METRICS if hasattr(result, name)}
    return row | {'is_reachable': result.is_reachable}


def score_file(path: Path, data: Path, split: str, preset: str = '') -> Scores:
    """Score a results file.

    Args:
        path: Results file.
        data: Data folder.
        split: Such as 'val_unseen'.
        preset: 'r2r', 'reverie' or 'r2r-ce'; '' finds out by the file's entries.

    Raises:
        EpisodeError: File and split do not fit; the message says where.
    """
    predictions = read_results(path)
    sample = predictions[0]
    if isinstance(sample, ScoredEpisode):
        return _score_foreign(predictions, data, split)
    if isinstance(sample, ContinuousPrediction):
        return _score_continuous(predictions, data, split)
    assert isinstance(sample, GraphPrediction)
    is_reverie = sample.id.count('_') >= 2 if not preset else preset == 'reverie'
    return _score_graph(predictions, data, split, is_reverie)


def _score_graph(
    predictions: Sequence[Prediction], data: Path, split: str, is_reverie: bool
) -> Scores:
    files = datasets.REVERIE_FILES if is_reverie else datasets.R2R_FILES
    loader = datasets.load_reverie if is_reverie else datasets.load_r2r
    file = datasets.find_split(data, files, split)
    episodes = {episode.id: episode for episode in loader(file)}
    graphs = GraphStore(data)
    visible = VisibleObjects(data) if is_reverie else None
    rows = []
    for prediction, episode in _matched(predictions, episodes, file):
        assert isinstance(prediction, GraphPrediction)
        rows.append(score_graph_episode(graphs.graph(episode.scan), episode, prediction, visible))
    notes = _coverage(len(predictions), len(rows), len(episodes), split)
    return Scores('reverie' if is_reverie else 'r2r', tuple(rows), notes)


def _matched(
    predictions: Sequence[Prediction], episodes: Mapping[str, Any], file: Path
) -> list[tuple[Prediction, Any]]:
    """Return the predictions of a split with their episodes; some files cover several splits."""
    pairs = [(item, episodes[item.id]) for item in predictions if item.id in episodes]
    if not pairs:
        raise EpisodeError(
            f'{file} has none of the {len(predictions)} predicted episodes, such as '
            f'{predictions[0].id}; name the split they belong to'
        )
    return pairs


def _coverage(predicted: int, matched: int, known: int, split: str) -> tuple[str, ...]:
    notes = []
    if predicted > matched:
        notes.append(f'{predicted - matched} predictions are not of split {split}: left out')
    if known > matched:
        notes.append(f'{known - matched} episodes of {split} have no prediction: left out')
    return tuple(notes)


def _score_continuous(predictions: Sequence[Prediction], data: Path, split: str) -> Scores:
    file = datasets.find_split(data, datasets.R2R_CE_FILES, split)
    truth = read_object(datasets.find_split(data, datasets.R2R_CE_TRUTH, split))
    episodes = {
        episode.id: episode for episode in datasets.load_r2r_ce(file) if episode.id in truth
    }
    rows = []
    for prediction, episode in _matched(predictions, episodes, file):
        assert isinstance(prediction, ContinuousPrediction)
        reference = np.array(truth[prediction.id]['locations'], float)
        rows.append(score_continuous_episode(episode, prediction, reference))
    notes = (
        'without scenes, distances to the goal are straight lines: NE is a lower bound, and SR, '
        'OSR and SPL are upper bounds; TL and nDTW are exact',
    )
    return Scores(
        'r2r-ce',
        tuple(rows),
        notes + _coverage(len(predictions), len(rows), len(episodes), split),
    )


def _score_foreign(predictions: Sequence[Prediction], data: Path, split: str) -> Scores:
    notes: tuple[str, ...] = ('metrics are the per-episode values of the file',)
    kept: list[Prediction] = list(predictions)
    try:
        file = datasets.find_split(data, datasets.R2R_CE_FILES, split)
    except EpisodeError as error:
        notes += (f'episode ids were not checked: {error}',)
    else:
        known = {episode.id: episode for episode in datasets.load_r2r_ce(file)}
        kept = [pair[0] for pair in _matched(predictions, known, file)]
        notes += _coverage(len(predictions), len(kept), len(known), split)
    rows = []
    for prediction in kept:
        assert isinstance(prediction, ScoredEpisode)
        rows.append(_own_names(prediction))
    return Scores('r2r-ce', tuple(rows), notes)


def _own_names(prediction: ScoredEpisode) -> dict[str, Any]:
    values = prediction.values
    row: dict[str, Any] = {'id': prediction.id, **values}
    for name, keys in _FOREIGN.items():
        found = next((values[key] for key in keys if key in values), None)
        if found is not None:
            row[name] = found
    if 'SDTW' not in row and 'nDTW' in row and 'SR' in row:
        row['SDTW'] = row['SR'] * row['nDTW']
    return row
