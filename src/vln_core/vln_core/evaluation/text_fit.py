# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Fits the weights of the text worlds' planner on a training split, and only on that.

``python -m vln_core.evaluation.text_fit --data DIR --benchmark r2r --out FOLDER`` writes
the weights without and with the prior on path lengths.

Imitation: at states along reference paths and along the planner's own walks, the choices that lead
to the goal by the shortest way are the right ones; a conditional logit with a Gaussian prior is
fitted by L-BFGS, and from there on a network with one hidden layer. Some buildings are held out to
choose the bias of stopping, and then taken in.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vln_core.evaluation import datasets
from vln_core.evaluation.scoring import SUCCESS_RADIUS
from vln_core.evaluation.text_features import Choice, FeatureConfig
from vln_core.evaluation.text_learning import Rows, fit_logit, fit_network, mean_of
from vln_core.evaluation.text_planner import (
    TextPlanner,
    TextWeights,
    object_features,
    walk_episode,
)
from vln_core.evaluation.text_scorer import Network
from vln_core.evaluation.text_words import read_instruction
from vln_core.evaluation.text_world import TextWalk, TextWorld

_logger = logging.getLogger(__name__)
_LIMIT = 15
# moves of the planner's own walks: a goal is searched until the last decision
_ROLL_OUT = 9
_GOAL_ROLL_OUT = 14
_SLACK = 0.25
_PRIOR = 'prior:'
_BIASES = (-2.0, -1.6, -1.2, -0.8, -0.4, 0.0, 0.4)
# a goal is searched for longer than a route is walked
_GOAL_BIASES = (-3.2, -2.8, -2.4, -2.0, -1.6, -1.2)
_MIN_COUNT = 20


class Teacher:
    """Knows the goal of an episode; says which choices are right."""

    def __init__(self, world: TextWorld, episode: datasets.GraphEpisode) -> None:
        self._graph = world.graph(episode.scan)
        self._path = episode.path
        self._world = world
        self._episode = episode

    def distance(self, viewpoint: str) -> float:
        """Return the way left from a viewpoint to the reference goal, metres."""
        return self._graph.distance(viewpoint, self._path[-1])

    def is_goal(self, viewpoint: str) -> bool:
        """Tell whether a stop there is a success."""
        if self._episode.object_id is None:
            return self.distance(viewpoint) < SUCCESS_RADIUS
        things = self._world.panorama(self._episode.scan, viewpoint).proposals
        return any(thing.id == self._episode.object_id for thing in things)

    def good(self, walk: TextWalk, choices: Sequence[Choice]) -> list[bool]:
        """Return which choices are right."""
        known = walk.known_distances()
        goals = [c.viewpoint for c in choices if c.is_stop and self.is_goal(c.viewpoint)]
        nearest = min(goals, key=lambda name: known[name], default=None)
        ahead = ''
        if walk.path == list(self._path[: len(walk.path)]) and len(walk.path) < len(self._path):
            ahead = self._path[len(walk.path)]
        ways = {
            c.viewpoint: known[c.viewpoint] + self.distance(c.viewpoint)
            for c in choices
            if not c.is_stop
        }
        best = min(ways.values(), default=math.inf) + _SLACK
        if nearest is not None:
            return [c.viewpoint == nearest if c.is_stop else c.viewpoint == ahead for c in choices]
        return [
            not c.is_stop and (c.viewpoint == ahead if ahead else ways[c.viewpoint] <= best)
            for c in choices
        ]


def _collect(
    rows: Rows,
    world: TextWorld,
    episodes: Sequence[datasets.GraphEpisode],
    planner: TextPlanner,
    *,
    is_own_walk: bool,
    rng: np.random.Generator,
) -> None:
    """Add the states of reference paths, or of walks that the planner itself samples."""
    for episode in episodes:
        teacher = Teacher(world, episode)
        walk = TextWalk(world, episode.scan, episode.path[0], episode.heading)
        words = read_instruction(episode.instruction)
        own = _ROLL_OUT if episode.object_id is None else _GOAL_ROLL_OUT
        for step in range(own if is_own_walk else len(episode.path)):
            choices = planner.maker.choices(walk, words)
            good = teacher.good(walk, choices)
            if any(good) and not all(good):
                rows.add([choice.features for choice in choices], good)
            if is_own_walk:
                scores = planner.scores(choices)
                power = np.exp(scores - scores.max())
                chosen = choices[int(rng.choice(len(choices), p=power / power.sum()))]
                if chosen.is_stop:
                    break
                walk.move_to(chosen.viewpoint)
            elif step + 1 < len(episode.path):
                walk.move_to(episode.path[step + 1])


def _fit_objects(
    world: TextWorld, episodes: Sequence[datasets.GraphEpisode], ridge: float
) -> dict[str, float]:
    rows = Rows.empty()
    for episode in episodes:
        things = world.panorama(episode.scan, episode.path[-1]).proposals
        good = [thing.id == episode.object_id for thing in things]
        if any(good) and not all(good):
            rows.add([object_features(t.name, episode.instruction) for t in things], good)
    return fit_logit(rows, ridge=ridge, min_count=5)


def success_and_spl(
    planner: TextPlanner,
    world: TextWorld,
    episodes: Sequence[datasets.GraphEpisode],
    limit: int = _LIMIT,
) -> tuple[float, float, float]:
    """Return SR, SPL and RGS of walks, as fractions."""
    total = np.zeros(3)
    for episode in episodes:
        graph, teacher = world.graph(episode.scan), Teacher(world, episode)
        walk = TextWalk(world, episode.scan, episode.path[0], episode.heading)
        walk_episode(planner, walk, episode.instruction, limit)
        won = float(teacher.is_goal(walk.at))
        shortest = graph.distance(episode.path[0], episode.path[-1])
        chosen = planner.choose_object(walk.panorama, episode.instruction)
        found = float(episode.object_id is not None and chosen == episode.object_id)
        total += [won, won * shortest / max(shortest, graph.length(walk.path), 1e-9), found]
    sr, spl, rgs = (float(value) for value in total / max(len(episodes), 1))
    return sr, spl, rgs


def hold_out(
    episodes: Sequence[datasets.GraphEpisode], part: int = 6
) -> tuple[list[datasets.GraphEpisode], list[datasets.GraphEpisode]]:
    """Split by building, so that what is held out was never seen."""
    scans = sorted({episode.scan for episode in episodes})
    kept_back = set(scans[::part])
    fitted = [episode for episode in episodes if episode.scan not in kept_back]
    return fitted, [episode for episode in episodes if episode.scan in kept_back]


def one_per_path(episodes: Sequence[datasets.GraphEpisode]) -> list[datasets.GraphEpisode]:
    """Return one instruction of each path, alternating between the first, second and third."""
    groups: dict[str, list[datasets.GraphEpisode]] = {}
    for episode in episodes:
        groups.setdefault(episode.id.rsplit('_', 1)[0], []).append(episode)
    return [group[number % len(group)] for number, group in enumerate(groups.values())]


def fit(
    world: TextWorld,
    episodes: Sequence[datasets.GraphEpisode],
    *,
    is_goal_only: bool,
    ridge: float = 1e-3,
    rounds: int = 1,
    num_tried: int = 100,
    hidden: int = 16,
    members: int = 1,
    seed: int = 0,
    report: Callable[[str], None] = lambda text: None,
) -> tuple[TextWeights, TextWeights]:
    """Fit weights without and with the prior on path lengths.

    Args:
        world: Text world of the episodes.
        episodes: Of a training split.
        is_goal_only: Whether instructions name a goal only (REVERIE).
        ridge: See :func:`fit_logit`.
        rounds: Times that walks of the planner itself are added to the reference paths.
        num_tried: Episodes of held-out buildings by which the bias of stopping is chosen.
        hidden: Units of the hidden layer; 0 fits linear scores.
        members: Networks with other first weights, of which the mean is taken.
        seed: Of the sampled walks and of the hidden layer.
        report: Told what happens.
    """
    fitted, back = hold_out(episodes)
    rng = np.random.default_rng(seed)
    config = FeatureConfig(use_prior=True, is_goal_only=is_goal_only)
    weights = TextWeights(config, Network({}))
    rows = Rows.empty()
    for number in range(rounds + 1):
        planner = TextPlanner(weights)
        _collect(rows, world, fitted, planner, is_own_walk=number > 0, rng=rng)
        report(f'{len(rows.sizes)} states, {len(rows.index)} features')
        if number < rounds:
            linear = fit_logit(rows, ridge=ridge, min_count=_MIN_COUNT, without=_PRIOR)
            weights = replace(weights, choice=Network(linear))
    num_fitted = len(rows.sizes)
    for is_own_walk in (False, True):
        _collect(rows, world, back, TextPlanner(weights), is_own_walk=is_own_walk, rng=rng)
    thing = _fit_objects(world, fitted, ridge) if is_goal_only else {}
    sample = [back[number] for number in rng.permutation(len(back))[:num_tried]]
    made = []
    for use_prior in (False, True):
        without = '' if use_prior else _PRIOR
        choice = _learn(rows.first(num_fitted), ridge, without, hidden, seed, members)
        found = TextWeights(replace(config, use_prior=use_prior), choice, thing=thing)
        found = _with_best_bias(found, world, sample, report)
        # The bias is known: now the buildings that were held out for it are learned from as well.
        choice = _learn(rows, ridge, without, hidden, seed, members)
        made.append(replace(found, choice=choice))
    if is_goal_only:
        thing = _fit_objects(world, episodes, ridge)
        made = [replace(weights, thing=thing) for weights in made]
    return made[0], made[1]


def _learn(
    rows: Rows, ridge: float, without: str, hidden: int, seed: int, members: int
) -> Network:
    linear = fit_logit(rows, ridge=ridge, min_count=_MIN_COUNT, without=without)
    return mean_of(
        [
            fit_network(
                rows, linear, ridge=ridge, min_count=_MIN_COUNT, without=without, hidden=hidden,
                seed=seed + number,
            )
            for number in range(members)
        ]
    )  # fmt: skip


def _with_best_bias(
    weights: TextWeights,
    world: TextWorld,
    sample: Sequence[datasets.GraphEpisode],
    report: Callable[[str], None],
) -> TextWeights:
    """Choose the bias of stopping by SR + SPL in buildings that were held out."""
    best = (-1.0, 0.0)
    for bias in _GOAL_BIASES if weights.features.is_goal_only else _BIASES:
        planner = TextPlanner(replace(weights, stop_bias=bias))
        sr, spl, rgs = success_and_spl(planner, world, sample)
        prior = 'with' if weights.features.use_prior else 'without'
        report(
            f'held out, {prior} prior, bias {bias:+.1f}: SR {sr:.3f} SPL {spl:.3f} RGS {rgs:.3f}'
        )
        best = max(best, (sr + spl, bias))
    return replace(weights, stop_bias=best[1])


def main(argv: Sequence[str] | None = None) -> int:
    """Fit one benchmark's weights and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--data', type=Path, required=True)
    parser.add_argument('--benchmark', choices=['r2r', 'reverie'], required=True)
    parser.add_argument('--out', type=Path, required=True, help='folder of the weights')
    parser.add_argument('--captions-only', action='store_true', help='without NavGPT objects')
    parser.add_argument('--episodes', type=int, default=0, help='fit on N, spread; 0: all')
    parser.add_argument(
        '--one-per-path', action='store_true', help='one instruction a path: a third of the time'
    )
    parser.add_argument('--tried', type=int, default=100, help='held-out episodes for the bias')
    parser.add_argument('--rounds', type=int, default=1)
    parser.add_argument('--ridge', type=float, default=1e-3)
    parser.add_argument('--hidden', type=int, default=16, help='hidden units; 0: linear')
    parser.add_argument('--members', type=int, default=1, help='networks to take the mean of')
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format='%(message)s')
    is_goal_only = options.benchmark == 'reverie'
    files = datasets.REVERIE_FILES if is_goal_only else datasets.R2R_FILES
    load = datasets.load_reverie if is_goal_only else datasets.load_r2r
    episodes = list(load(datasets.find_split(options.data, files, 'train')))
    if options.one_per_path:
        episodes = one_per_path(episodes)
    if options.episodes:
        step = max(1, len(episodes) // options.episodes)
        episodes = episodes[::step][: options.episodes]
    world = TextWorld(
        options.data, use_objects=not options.captions_only, use_proposals=is_goal_only
    )
    made = fit(
        world, episodes, is_goal_only=is_goal_only, ridge=options.ridge, rounds=options.rounds,
        num_tried=options.tried, hidden=options.hidden, members=options.members,
        report=_logger.info,
    )  # fmt: skip
    arguments = f'--data DIR --benchmark {options.benchmark} --rounds {options.rounds}'
    arguments += f' --ridge {options.ridge:g} --episodes {options.episodes}'
    arguments += f' --tried {options.tried} --hidden {options.hidden}'
    arguments += f' --members {options.members}'
    arguments += ' --captions-only' if options.captions_only else ''
    arguments += ' --one-per-path' if options.one_per_path else ''
    command = f'python -m vln_core.evaluation.text_fit {arguments} --out FOLDER'
    for weights, suffix in zip(made, ('', '_prior')):
        replace(weights, made_by=command).save(options.out / f'{options.benchmark}{suffix}.json')
    return 0


if __name__ == '__main__':
    sys.exit(main())
