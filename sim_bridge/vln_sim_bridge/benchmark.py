# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The generated benchmark for the evaluation runner: apartments by seed, in one process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError
from vln_core.evaluation.agents import make_agent
from vln_core.evaluation.metrics import score_episode
from vln_core.memory.config import MemoryConfig
from vln_core.navigator import EpisodeResult, NavigatorConfig
from vln_core.outcome import EpisodeCode, GroundingCode, MotionCode
from vln_core.perception.simulated import SimulatedDetectorConfig
from vln_core.system2.record import describe_action
from vln_sim_bridge.episodes import Episode, load_episodes
from vln_sim_bridge.in_process import EpisodeRun, RunConfig, run_episode
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.scene import Scene
from vln_sim_bridge.scene_cache import resolve_scene
from vln_sim_bridge.simulator import Simulator, SimulatorConfig

_SPACING = 0.25
_HARD = frozenset(('search', 'dead_end'))


def configured(kind: type, values: Mapping[str, Any]) -> Any:
    """Return a configuration with some values replaced.

    Raises:
        ConfigError: It has no such setting.
    """
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ConfigError(
            f'{kind.__name__} has no setting {", ".join(unknown)}; there are '
            f'{", ".join(sorted(known))}'
        )
    return replace(kind(), **values)


class SimulatedBenchmark:
    """Episodes of generated apartments through the same Navigator as on a robot."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Read the settings of a preset; scenes are made when their episodes run.

        Args:
            settings: 'sim', 'seeds' (of apartments) or 'scenes' (folders), 'instructions' per
                scene, 'limit', 'seed', 'success_radius', values for 'simulator', 'detector',
                'memory' and 'navigator', and what :func:`make_agent` reads.

        Raises:
            ConfigError: A setting is unknown or out of range.
        """
        self._settings = settings
        self._scenes = [f'apartment:{seed}' for seed in settings['seeds']]
        limit, seed = int(settings['limit']), int(settings['seed'])
        detector = {'seed': seed, **settings.get('detector', {})}
        simulator = {'seed': seed, **settings.get('simulator', {})}
        memory = {'max_waypoints': limit, **settings.get('memory', {})}
        # in evaluation a stop is proven within what counts as success; a robot goes nearer
        navigator = {
            'max_waypoints': limit,
            'stop_radius': float(settings['success_radius']),
            **settings.get('navigator', {}),
        }
        self._config = RunConfig(
            simulator=configured(SimulatorConfig, simulator),
            memory=configured(MemoryConfig, memory),
            navigator=configured(NavigatorConfig, navigator),
            detector=configured(SimulatedDetectorConfig, detector),
            planner=str(settings['planner']),
        )
        self._agent = make_agent(settings)
        self._radius = float(settings['success_radius'])
        self._open: tuple[str, Simulator, list[Episode]] | None = None

    def episode_ids(self) -> list[str]:
        """Return 'apartment:SEED/NUMBER' for every episode."""
        count = int(self._settings['instructions'])
        return [f'{scene}/{number}' for scene in self._scenes for number in range(count)]

    def facts(self) -> dict[str, str]:
        """Return what must stand beside every figure."""
        return {
            'world': f'generated apartments, {self._settings["sim"]}',
            'success': f'stopped with verification within {self._radius:g} m walking distance',
        }

    def run(self, episode_id: str) -> dict[str, Any]:
        """Run one episode and score it."""
        scene, number = episode_id.rsplit('/', 1)
        simulator, episodes = self._scene(scene)
        chosen = choose_episodes(episodes, int(self._settings['instructions']))
        if int(number) >= len(chosen):
            raise ConfigError(f'{scene} has {len(chosen)} episodes, not {int(number) + 1}')
        episode = chosen[int(number)]
        self._agent.begin(destination_room(simulator.scene, episode))
        run = run_episode(
            simulator,
            episode,
            self._config,
            brain=self._agent,
            success_radius=self._radius,
        )
        return score_run(episode_id, run, simulator, self._radius) | self._agent.meter.row()

    def close(self) -> None:
        """Close the simulator."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _scene(self, name: str) -> tuple[Simulator, list[Episode]]:
        if self._open is None or self._open[0] != name:
            self.close()
            folder = resolve_scene(name)
            simulator = make_simulator(str(self._settings['sim']), folder, self._config.simulator)
            self._open = (name, simulator, load_episodes(folder))
        return self._open[1], self._open[2]


def choose_episodes(episodes: list[Episode], count: int) -> list[Episode]:
    """Return the episodes of a scene that are run: two of five need a backtrack or a search."""
    hard = [episode for episode in episodes if _HARD & set(episode.tags)]
    easy = [episode for episode in episodes if not _HARD & set(episode.tags)]
    num_hard = min(len(hard), round(0.4 * count))
    # Some apartments have hardly an episode without a dead end: more hard ones fill the number.
    num_hard = max(num_hard, min(len(hard), count - len(easy)))
    return easy[: count - num_hard] + hard[:num_hard]


def destination_room(scene: Scene, episode: Episode) -> str:
    """Return the type of the room in which the goal stands, '' where the scene does not say."""
    goal = next((item for item in scene.objects if item.name == episode.goal_object), None)
    return next((room.type for room in scene.rooms if goal and room.id == goal.room), '')


def score_run(
    episode_id: str,
    run: EpisodeRun,
    simulator: Simulator,
    radius: float,
    *,
    needs_proof: bool = True,
    distance_of: Callable[[tuple[float, float]], float] | None = None,
) -> dict[str, Any]:
    """Return the row of one run.

    Args:
        episode_id: Of the row.
        run: What happened.
        simulator: Still in the episode's scene, for walking distances.
        radius: Success radius, metres.
        needs_proof: Whether a stop without verification is a failure; benchmarks of the field
            count any stop.
        distance_of: Walking distance from a point to the goal; None: to the episode's one goal.
    """
    stops = {EpisodeCode.STOPPED_VERIFIED}
    if not needs_proof:
        stops.add(EpisodeCode.STOPPED_UNVERIFIED)
    start = np.array([run.episode.start[:2]])
    points = _thinned(np.vstack([start, run.path_xy]))
    goal = run.episode.goal
    measure = distance_of or (lambda spot: simulator.geodesic_distance(spot, goal))
    distances = [measure((float(x), float(y))) for x, y in points]
    if distance_of is None:
        distances[-1] = run.distance
    reference = _resampled(run.episode.reference_path_xy)
    shortest = run.episode.geodesic_distance
    if not math.isfinite(shortest):
        shortest = distances[0]
    scores = score_episode(
        distances,
        _length(np.vstack([start, run.path_xy])),
        shortest,
        np.linalg.norm(points[:, None] - reference[None], axis=2),
        success_radius=radius,
        stopped=run.result.code in stops,
        is_inclusive=True,
    )
    row: dict[str, Any] = {'id': episode_id}
    row |= {name: getattr(scores, name) for name in ('SR', 'OSR', 'SPL', 'TL', 'nDTW', 'SDTW')}
    row |= {
        'NE': scores.NE if math.isfinite(scores.NE) else None,
        'is_reachable': scores.is_reachable,
        'SR_final': float(distances[-1] <= radius),
        'collisions': run.collisions,
        'num_decisions': len(run.result.decisions),
        'instruction': run.episode.instruction,
        'tags': list(run.episode.tags),
        'outcome': run.result.code.name,
        'message': run.result.message,
        'failure': '' if scores.SR else failure_kind(run.result, scores.OSR > 0.0),
        'decisions': [_decision(trace) for trace in run.result.decisions],
        'positions': np.round(points, 3).tolist(),
        'reference': np.round(run.episode.reference_path_xy, 3).tolist(),
        'goal': [round(float(value), 3) for value in goal],
        'timing': {
            'seconds': run.seconds,
            'planner_seconds': sum(trace.latency for trace in run.result.decisions),
        },
    }
    return row


def failure_kind(result: EpisodeResult, was_near: bool) -> str:
    """Return which part failed: perception, memory, planner, grounding, control or timeout."""
    by_code = {
        EpisodeCode.PERCEPTION_FAILED: 'perception',
        EpisodeCode.MEMORY_FAILED: 'memory',
        EpisodeCode.MOTION_FAILED: 'control',
        EpisodeCode.TIME_BUDGET: 'timeout',
        EpisodeCode.BAD_INSTRUCTION: 'planner',
        EpisodeCode.PLANNER_FAILED: 'planner',
    }
    if result.code in by_code:
        return by_code[result.code]
    codes = [trace.code for trace in result.decisions]
    bad = len(codes) / 2.0
    if sum(code in set(GroundingCode) - {GroundingCode.FOUND} for code in codes) > bad:
        return 'grounding'
    if sum(code in set(MotionCode) - {MotionCode.REACHED} for code in codes) > bad:
        return 'control'
    if result.code is EpisodeCode.WAYPOINT_BUDGET:
        return 'timeout'
    # it was at the goal and did not see that it was
    return 'perception' if was_near else 'planner'


def _decision(trace: Any) -> dict[str, Any]:
    record = trace.record
    return {
        'step': trace.step,
        'pose': [round(float(value), 3) for value in trace.context.pose],
        'action': describe_action(record.action) if record is not None else 'none',
        'analysis': record.analysis if record is not None else '',
        'rationale': record.rationale if record is not None else '',
        'outcome': trace.outcome,
        'code': int(trace.code),
        'memory_characters': len(trace.context.memory_text),
        'window_characters': len(trace.context.window_text),
    }


def _length(points: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def _thinned(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keep points that are a step apart, and the last one: walking distances cost time."""
    kept = [0]
    for number in range(1, len(points)):
        if np.linalg.norm(points[number] - points[kept[-1]]) >= _SPACING:
            kept.append(number)
    if kept[-1] != len(points) - 1:
        kept.append(len(points) - 1)
    return points[kept]


def _resampled(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a polyline with a point every step, as dense as driven paths are."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if along[-1] == 0.0:
        return points[:1]
    at = np.linspace(0.0, along[-1], max(2, math.ceil(along[-1] / _SPACING) + 1))
    return np.column_stack([np.interp(at, along, points[:, axis]) for axis in (0, 1)])


def scene_folder(episode_id: str) -> Path:
    """Return the folder of an episode's scene, for plans in reports."""
    return resolve_scene(episode_id.rsplit('/', 1)[0])
