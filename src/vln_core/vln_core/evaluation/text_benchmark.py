# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""R2R and REVERIE as text worlds for the runner."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vln_core.errors import ConfigError
from vln_core.evaluation import datasets
from vln_core.evaluation.results_file import GraphPrediction
from vln_core.evaluation.scoring import VisibleObjects, score_graph_episode
from vln_core.evaluation.text_planner import (
    WEIGHTS,
    TextPlanner,
    TextWeights,
    walk_episode,
)
from vln_core.evaluation.text_world import TextWalk, TextWorld


class TextBenchmark:
    """Walks of the text planner over R2R or REVERIE."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Read the split.

        Args:
            settings: 'dataset' (r2r or reverie), 'data', 'split', 'planner' (rules), 'limit',
                'use_objects', 'use_prior', 'shuffle_instructions', 'seed', 'weights' (a file;
                '' for the fitted one).

        Raises:
            ConfigError: The planner cannot run in a text world.
            EpisodeError: Data are missing or malformed.
        """
        self._settings = settings
        if settings['planner'] != 'rules':
            raise ConfigError(
                f'text worlds run the planner "rules" without a model, not "{settings["planner"]}"'
            )
        data = Path(settings['data'])
        self._is_reverie = settings['dataset'] == 'reverie'
        files = datasets.REVERIE_FILES if self._is_reverie else datasets.R2R_FILES
        load = datasets.load_reverie if self._is_reverie else datasets.load_r2r
        listed = datasets.first(load(datasets.find_split(data, files, settings['split'])), None)
        if settings.get('shuffle_instructions'):
            listed = _shuffled(listed, int(settings['seed']))
        self._episodes = {episode.id: episode for episode in listed}
        self._world = TextWorld(
            data,
            use_objects=bool(settings.get('use_objects', True)),
            use_proposals=self._is_reverie,
        )
        self._visible = VisibleObjects(data) if self._is_reverie else None
        weights = TextWeights.load(_weights_file(settings))
        self._planner = TextPlanner(weights)

    def episode_ids(self) -> list[str]:
        """Return the ids in the order of the file."""
        return list(self._episodes)

    def facts(self) -> dict[str, str]:
        """Return what must stand beside every figure."""
        shown = 'captions and objects' if self._settings.get('use_objects', True) else 'captions'
        return {
            'world': f'text, {shown}; object names equal REVERIE annotations',
            'path-length prior': 'yes' if self._planner.weights.features.use_prior else 'no',
            'weights': self._planner.weights.made_by,
        }

    def run(self, episode_id: str) -> dict[str, Any]:
        """Walk one episode and score it."""
        started = time.perf_counter()
        episode = self._episodes[episode_id]
        walk = TextWalk(self._world, episode.scan, episode.path[0], episode.heading)
        decisions = walk_episode(
            self._planner, walk, episode.instruction, int(self._settings['limit'])
        )
        chosen = (
            self._planner.choose_object(walk.panorama, episode.instruction)
            if self._is_reverie
            else None
        )
        prediction = GraphPrediction(episode.id, tuple(walk.path), chosen)
        row = score_graph_episode(
            self._world.graph(episode.scan), episode, prediction, self._visible
        )
        stopped = decisions[-1].choice.is_stop and len(decisions) < int(self._settings['limit'])
        row |= {
            'instruction': episode.instruction,
            'path': list(walk.path),
            'object': chosen,
            'stopped': stopped,
            'num_decisions': len(decisions),
            'failure': '' if row['SR'] else _failure(row, stopped),
            'decisions': [
                {
                    'action': ('stop at ' if d.choice.is_stop else 'go to ') + d.choice.viewpoint,
                    'rationale': d.rationale,
                }
                for d in decisions
            ],
            'positions': [
                [round(float(v), 3) for v in self._world.graph(episode.scan).position(name)]
                for name in walk.path
            ],
            'reference': [
                [round(float(v), 3) for v in self._world.graph(episode.scan).position(name)]
                for name in episode.path
            ],
            'timing': {'seconds': time.perf_counter() - started},
        }
        return row

    def close(self) -> None:
        """Nothing is held."""


def _weights_file(settings: Mapping[str, Any]) -> Path:
    if settings.get('weights'):
        return Path(settings['weights'])
    name = str(settings['dataset']) + ('_prior' if settings.get('use_prior') else '')
    return WEIGHTS / f'{name}.json'


def _failure(row: Mapping[str, Any], stopped: bool) -> str:
    """Return where an unsuccessful walk went wrong, of the taxonomy of reports."""
    if not stopped:
        return 'timeout'
    return 'stop' if row['OSR'] else 'planner'


def _shuffled(episodes: list[datasets.GraphEpisode], seed: int) -> list[datasets.GraphEpisode]:
    """Give every episode the instruction of another path, to see that words are read."""
    order = list(range(len(episodes)))
    random.Random(seed).shuffle(order)
    words = [episodes[number].instruction for number in order]
    return [replace(episode, instruction=text) for episode, text in zip(episodes, words)]
