# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Episodes: the file format, and that what is said can be walked and seen."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from vln_core.errors import EpisodeError
from vln_core.vocabulary import canonical_object, object_names
from vln_sim_bridge.apartments import generate
from vln_sim_bridge.apartments.instructions import MAX_CLAUSES, MIN_DISTANCE
from vln_sim_bridge.episodes import (
    FILE_NAME,
    episode_goal,
    episode_start_pose,
    from_habitat,
    load_episodes,
    rotation_to_yaw,
    to_habitat,
    yaw_to_rotation,
)
from vln_sim_bridge.imported import find_data
from vln_sim_bridge.raycast import RaycastSimulator
from vln_sim_bridge.scene import Scene, SceneError, load_scene
from vln_sim_bridge.simulator import SimulatorConfig

SEEDS = (0, 1, 4, 9)


@pytest.fixture(scope='module', params=SEEDS)
def scene(request, tmp_path_factory) -> Scene:
    return load_scene(generate(request.param, tmp_path_factory.mktemp('scenes') / 'scene'))


def _mentioned(text: str) -> set[str]:
    words = [w.strip('.,').lower() for w in text.split()]
    names = object_names()
    spans = [' '.join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words))]
    return {names[s] for s in spans if s in names}


def test_there_are_enough_and_the_first_three_differ(scene: Scene) -> None:
    episodes = load_episodes(scene.folder)
    assert len(episodes) >= 10
    assert len({e.instruction for e in episodes}) == len(episodes)
    assert episodes[0].num_clauses <= 2
    assert 3 <= episodes[1].num_clauses <= 5
    assert {'search', 'lookalike', 'dead_end'} & set(episodes[2].tags)
    kinds = Counter(tag for e in episodes for tag in e.tags)
    assert kinds['search'] >= 2
    assert kinds['route'] >= 2


def test_instructions_name_the_goal(scene: Scene) -> None:
    by_name = {o.name: o for o in scene.objects}
    for episode in load_episodes(scene.folder):
        assert episode.goal_object in by_name
        assert by_name[episode.goal_object].category == episode.goal_category
        assert canonical_object(episode.goal_category) in _mentioned(episode.instruction)
        assert 1 <= episode.num_clauses <= MAX_CLAUSES
        assert '{' not in episode.instruction
        assert episode.instruction.endswith('.')
        assert '  ' not in episode.instruction


def test_the_thing_named_is_the_only_one_of_its_kind_in_its_room(scene: Scene) -> None:
    for episode in load_episodes(scene.folder):
        goal = next(o for o in scene.objects if o.name == episode.goal_object)
        twins = [o for o in scene.objects if o.category == goal.category and o.room == goal.room]
        assert len(twins) == 1


def test_goals_are_next_to_their_objects(scene: Scene) -> None:
    for episode in load_episodes(scene.folder):
        goal = next(o for o in scene.objects if o.name == episode.goal_object)
        nearest = np.clip(episode.goal, goal.minimum[:2], goal.maximum[:2])
        assert np.linalg.norm(np.array(episode.goal) - nearest) <= 1.25
        assert episode.radius == 3.0


def test_paths_can_be_walked_in_the_simulator(scene: Scene) -> None:
    simulator = RaycastSimulator(scene, SimulatorConfig())
    for episode in load_episodes(scene.folder):
        path = episode.reference_path_xy
        assert np.allclose(path[0], episode.start[:2], atol=1e-3)
        assert np.allclose(path[-1], episode.goal, atol=1e-3)
        assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 0.75
        for (ax, ay), (bx, by) in zip(path, path[1:], strict=False):
            simulator.place(ax, ay, math.atan2(by - ay, bx - ax))
        simulator.place(*path[-1], 0.0)
        walked = simulator.geodesic_distance(episode.start[:2], episode.goal)
        assert walked == pytest.approx(episode.geodesic_distance, rel=0.05, abs=0.15)
        assert walked > 3.2
        assert episode.geodesic_distance >= MIN_DISTANCE
        length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
        assert length < 1.6 * walked + 0.5
    simulator.close()


def test_the_goal_object_is_in_the_picture_at_the_goal(scene: Scene) -> None:
    simulator = RaycastSimulator(scene, SimulatorConfig())
    for episode in load_episodes(scene.folder):
        goal = next(o for o in scene.objects if o.name == episode.goal_object)
        centre = (np.array(goal.minimum) + goal.maximum)[:2] / 2
        to = centre - episode.goal
        simulator.place(*episode.goal, math.atan2(to[1], to[0]))
        assert np.count_nonzero(simulator.render().semantic == goal.id) > 50, episode.instruction
    simulator.close()


def test_coordinates_and_rotations_come_back() -> None:
    assert to_habitat(1.0, 2.0) == [1.0, 0.0, -2.0]
    assert from_habitat([1.0, 0.0, -2.0]) == (1.0, 2.0)
    # an agent of Habitat that is not turned looks along -z, which is +y here
    assert rotation_to_yaw([0, 0, 0, 1]) == pytest.approx(math.pi / 2)
    for yaw in np.linspace(-3.1, 3.1, 13):
        assert rotation_to_yaw(yaw_to_rotation(yaw)) == pytest.approx(yaw, abs=1e-6)
    with pytest.raises(EpisodeError, match='quaternion'):
        rotation_to_yaw([0, 0, 0, 0])


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'{}', 'not an R2R-CE'),
        (b'not json', 'not an R2R-CE'),
        (b'{"episodes": [{"episode_id": 1}]}', 'episode 0 is malformed'),
    ],
)
def test_broken_files_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / 'episodes.json'
    path.write_bytes(content)
    with pytest.raises(EpisodeError, match=words) as caught:
        load_episodes(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match=FILE_NAME):
        load_episodes(tmp_path)


def test_real_r2r_ce_episodes_are_read() -> None:
    try:
        path = find_data('matterport') / 'matterport' / 'R2R-CE_val_seen.json.gz'
    except SceneError as error:
        pytest.skip(str(error))
    raw = json.loads(gzip.decompress(path.read_bytes()))['episodes'][0]
    first = load_episodes(path)[0]
    assert first.start == episode_start_pose(raw)
    assert first.goal == episode_goal(raw)
    assert first.instruction.startswith('Walk down the stairs')
    assert first.goal_object is None
    # this episode begins looking 150 degrees left of -z, as its rotation says
    assert math.degrees(first.start[2]) == pytest.approx(90 - 150, abs=1e-3)
