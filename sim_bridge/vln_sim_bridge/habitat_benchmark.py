# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""R2R-CE, RxR-CE and ObjectNav in habitat-sim for the evaluation runner.

An episode's scene is a path below the folder of scenes. Licensed scenes (.glb of Matterport3D and
HM3D) are loaded as they are, with the objects they bring; a scene may also be a folder with a
scene.json, or lie in one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vln_core.errors import ConfigError, SceneError
from vln_core.evaluation import datasets
from vln_core.evaluation.agents import make_agent
from vln_core.evaluation.datasets import ContinuousEpisode
from vln_core.memory.config import MemoryConfig
from vln_core.navigator import NavigatorConfig
from vln_core.perception.simulated import SimulatedDetectorConfig
from vln_sim_bridge.benchmark import configured, score_run
from vln_sim_bridge.episodes import Episode, from_habitat, rotation_to_yaw
from vln_sim_bridge.habitat_client import HabitatSimulator, bare_scene
from vln_sim_bridge.in_process import RunConfig, run_episode
from vln_sim_bridge.scene import load_scene
from vln_sim_bridge.simulator import SimulatorConfig

_LOADERS = {
    'r2r-ce': (datasets.load_r2r_ce, datasets.R2R_CE_FILES),
    'rxr-ce': (datasets.load_rxr_ce, datasets.RXR_CE_FILES),
    'objectnav-hm3d': (datasets.load_objectnav, datasets.HM3D_FILES),
    'objectnav-mp3d': (datasets.load_objectnav, datasets.MP3D_FILES),
}


class HabitatBenchmark:
    """Episodes of the field's continuous benchmarks through the same Navigator as on a robot."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Read the split and check that every scene is there.

        Args:
            settings: 'dataset', 'data', 'split', 'scenes' (folder, relative to 'data'),
                'scene_dataset' (Habitat's description of a data set, below 'scenes', or ''),
                'language', 'episodes' with
                'draw' (random or spread), 'start_heading' (dataset or random),
                'success_radius', 'num_views', 'limit', 'seed', values for 'simulator',
                'detector', 'memory' and 'navigator', and what :func:`make_agent` reads.

        Raises:
            ConfigError: A setting is wrong.
            EpisodeError: The split is missing or malformed.
            SceneError: Scenes are missing; the first of them is named with its path.
        """
        self._settings = settings
        if settings['dataset'] not in _LOADERS:
            raise ConfigError(
                f'dataset "{settings["dataset"]}": choose one of {", ".join(_LOADERS)}'
            )
        data = Path(settings['data'])
        self._scenes = data / settings['scenes']
        listed = datasets.first(self._load(data), None)
        if settings.get('draw') == 'random' and settings.get('episodes'):
            drawn = random.Random(int(settings['seed'])).sample(
                range(len(listed)), min(int(settings['episodes']), len(listed))
            )
            listed = [listed[number] for number in sorted(drawn)]
        self._check_scenes(listed)
        self._episodes = {episode.id: episode for episode in listed}
        limit, seed = int(settings['limit']), int(settings['seed'])
        self._config = RunConfig(
            simulator=configured(SimulatorConfig, {'seed': seed, **settings.get('simulator', {})}),
            memory=configured(
                MemoryConfig, {'max_waypoints': limit, **settings.get('memory', {})}
            ),
            navigator=configured(
                NavigatorConfig,
                {'max_waypoints': limit, 'stop_radius': 3.0, **settings.get('navigator', {})},
            ),
            detector=configured(
                SimulatedDetectorConfig, {'seed': seed, **settings.get('detector', {})}
            ),
            planner=str(settings['planner']),
            num_views=int(settings.get('num_views', 0)),
        )
        self._agent = make_agent(settings)
        self._radius = float(settings['success_radius'])
        self._open: tuple[str, HabitatSimulator] | None = None

    def _load(self, data: Path) -> Iterator[ContinuousEpisode]:
        load, files = _LOADERS[self._settings['dataset']]
        path = datasets.find_split(data, files, str(self._settings['split']))
        if load is datasets.load_rxr_ce:
            return datasets.load_rxr_ce(path, str(self._settings.get('language', '')))
        return load(path)

    def _check_scenes(self, episodes: list[ContinuousEpisode]) -> None:
        missing = sorted(
            {episode.scene for episode in episodes if not (self._scenes / episode.scene).exists()}
        )
        if missing:
            raise SceneError(
                f'{len(missing)} scenes are not in {self._scenes}, such as '
                f'{self._scenes / missing[0]}: licensed scenes must be asked for from their '
                'owners; name their folder by --scenes (docs/evaluation.md tells how)'
            )

    def episode_ids(self) -> list[str]:
        """Return the ids in the order of the file."""
        return list(self._episodes)

    def facts(self) -> dict[str, str]:
        """Return what must stand beside every figure."""
        return {
            'world': f'habitat-sim, {self._settings["dataset"]} {self._settings["split"]}',
            'success': f'stopped within {self._radius:g} m walking distance',
            'turn angle': f'{self._settings["turn_angle_deg"]} degrees in the benchmark; this '
            'stack turns continuously',
            'start heading': str(self._settings['start_heading']),
        }

    def run(self, episode_id: str) -> dict[str, Any]:
        """Run one episode and score it."""
        source = self._episodes[episode_id]
        simulator = self._simulator(source.scene)
        episode = self._episode(source, simulator)
        self._agent.begin()
        run = run_episode(
            simulator, episode, self._config, brain=self._agent, success_radius=self._radius
        )
        goals = [(*from_habitat(goal), goal[1]) for goal in source.goals]
        row = score_run(
            episode_id, run, simulator, self._radius, needs_proof=False,
            distance_of=lambda spot: simulator.distance_to_any(spot, goals),
        )  # fmt: skip
        return row | self._agent.meter.row()

    def close(self) -> None:
        """Close the simulator."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _episode(self, source: ContinuousEpisode, simulator: HabitatSimulator) -> Episode:
        start = from_habitat(source.start)
        yaw = rotation_to_yaw(source.start_rotation)
        if self._settings['start_heading'] == 'random':
            draw = random.Random(f'{self._settings["seed"]} {source.id}')
            yaw = draw.uniform(-math.pi, math.pi)
        simulator.floor = source.start[1]
        simulator.place(*start, yaw)
        # of several viewpoints the nearest is the one that counts
        ways = [
            simulator.distance_to_any(start, [(*from_habitat(goal), goal[1])])
            for goal in source.goals
        ]
        nearest = source.goals[int(np.argmin(ways))]
        shortest = source.shortest if math.isfinite(source.shortest) else min(ways)
        path = source.reference_path or (source.start, nearest)
        return Episode(
            id=0,
            instruction=source.instruction,
            start=(*start, yaw),
            goal=from_habitat(nearest),
            goal_object=None,
            goal_category=source.category or None,
            reference_path_xy=np.array([from_habitat(point) for point in path], float),
            geodesic_distance=shortest,
            radius=self._radius,
        )

    def _simulator(self, name: str) -> HabitatSimulator:
        if self._open is None or self._open[0] != name:
            self.close()
            path = self._scenes / name
            folder = path if path.is_dir() else path.parent
            has_description = (folder / 'scene.json').is_file()
            dataset = str(self._settings.get('scene_dataset') or '')
            self._open = (
                name,
                HabitatSimulator(
                    load_scene(folder) if has_description else bare_scene(path),
                    self._config.simulator,
                    scene_dataset=self._scenes / dataset if dataset else None,
                ),
            )
        return self._open[1]
