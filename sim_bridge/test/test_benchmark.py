# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh
from habitat_available import needs_habitat
from room_scene import write_scene

from vln_core.errors import ConfigError, EpisodeError, SceneError
from vln_core.navigator import EpisodeResult
from vln_core.outcome import EpisodeCode, GroundingCode, MotionCode
from vln_sim_bridge import benchmark
from vln_sim_bridge.episodes import Episode
from vln_sim_bridge.habitat_benchmark import HabitatBenchmark
from vln_sim_bridge.in_process import EpisodeRun

SETTINGS = {
    'kind': 'simulated', 'sim': 'raycast', 'seeds': [1, 2], 'instructions': 5, 'planner': 'rules',
    'limit': 40, 'seed': 0, 'success_radius': 3.0,
}  # fmt: skip
PLAIN = SimpleNamespace(geodesic_distance=math.dist)


def episode(number=0, tags=()):
    return Episode(
        number, 'go', (0.0, 0.0, 0.0), (8.0, 0.0), None, None,
        np.array([[0.0, 0.0], [8.0, 0.0]]), 8.0, tags=tags,
    )  # fmt: skip


def result(code, codes=()):
    traces = tuple(SimpleNamespace(code=c) for c in codes)
    return EpisodeResult(code, 'because', code is EpisodeCode.STOPPED_VERIFIED, traces, 0.0)


def score(path, code=EpisodeCode.STOPPED_VERIFIED, **more):
    path = np.array(path, float)
    distance = math.dist(path[-1], (8.0, 0.0))
    run = EpisodeRun(episode(), result(code), distance, distance <= 3.0, 0, path, 1.0, memory=None)
    return benchmark.score_run('x', run, PLAIN, 3.0, **more)


def along(*corners):
    points = [np.linspace(a, b, 60) for a, b in zip(corners, corners[1:])]
    return np.concatenate(points)


def test_a_straight_walk_is_perfect():
    row = score(along((0, 0), (8, 0)))
    assert (row['SR'], row['SR_final'], row['NE'], row['failure']) == (1.0, 1.0, 0.0, '')
    assert row['SPL'] == pytest.approx(1.0) and row['TL'] == pytest.approx(8.0)
    assert row['nDTW'] > 0.97


def test_a_detour_costs_spl_and_ndtw():
    row = score(along((0, 0), (0, 4), (8, 4), (8, 0)))
    assert row['SPL'] == pytest.approx(0.5) and row['nDTW'] < 0.5


def test_with_stop_and_final_position_are_side_by_side():
    row = score(along((0, 0), (7, 0)), EpisodeCode.WAYPOINT_BUDGET)
    assert (row['SR'], row['SR_final'], row['OSR']) == (0.0, 1.0, 1.0)
    assert row['failure'] == 'timeout'


def test_an_unverified_stop_counts_in_benchmarks_of_the_field_only():
    path = along((0, 0), (7, 0))
    assert score(path, EpisodeCode.STOPPED_UNVERIFIED)['SR'] == 0.0
    assert score(path, EpisodeCode.STOPPED_UNVERIFIED, needs_proof=False)['SR'] == 1.0


@pytest.mark.parametrize(
    ('code', 'codes', 'near', 'kind'),
    [
        (EpisodeCode.PERCEPTION_FAILED, [], False, 'perception'),
        (EpisodeCode.MEMORY_FAILED, [], False, 'memory'),
        (EpisodeCode.MOTION_FAILED, [], False, 'control'),
        (EpisodeCode.TIME_BUDGET, [], False, 'timeout'),
        (EpisodeCode.WAYPOINT_BUDGET, [GroundingCode.NOT_IN_VIEW] * 3, False, 'grounding'),
        (EpisodeCode.WAYPOINT_BUDGET, [MotionCode.NO_PATH] * 3, False, 'control'),
        (EpisodeCode.STOPPED_VERIFIED, [MotionCode.REACHED] * 3, False, 'planner'),
        (EpisodeCode.GAVE_UP, [MotionCode.REACHED] * 3, True, 'perception'),
    ],
)
def test_failures_are_sorted_by_the_part_that_failed(code, codes, near, kind):
    assert benchmark.failure_kind(result(code, codes), near) == kind


def test_two_of_five_need_a_search():
    listed = [episode(n, ('search', 'dead_end') if n % 3 == 2 else ('route',)) for n in range(12)]
    assert [e.id for e in benchmark.choose_episodes(listed, 5)] == [0, 1, 3, 2, 5]
    # where easy ones are rare, hard ones fill the number
    few_easy = [listed[n] for n in (0, 2, 5, 8)]
    assert [e.id for e in benchmark.choose_episodes(few_easy, 3)] == [0, 2, 5]


def test_ids_name_scene_and_number():
    made = benchmark.SimulatedBenchmark(SETTINGS)
    assert made.episode_ids()[:6] == [f'apartment:1/{n}' for n in range(5)] + ['apartment:2/0']


@pytest.mark.parametrize('part', ['detector', 'simulator', 'memory', 'navigator'])
def test_unknown_settings_are_named(part):
    with pytest.raises(ConfigError, match='has no setting colour'):
        benchmark.SimulatedBenchmark({**SETTINGS, part: {'colour': 1}})


HABITAT = {
    'kind': 'habitat', 'dataset': 'r2r-ce', 'planner': 'rules', 'split': 'val', 'limit': 40,
    'seed': 0, 'success_radius': 3.0, 'start_heading': 'dataset', 'turn_angle_deg': 15,
    'scenes': 'scene_datasets',
}  # fmt: skip


def write_split(folder, count=1):
    entry = {
        'scene_id': 'mp3d/x/x.glb', 'start_position': [0, 0, 0], 'start_rotation': [0, 0, 0, 1],
        'goals': [{'position': [4, 0, 0], 'radius': 3}], 'instruction': {'instruction_text': 'go'},
        'info': {'geodesic_distance': 4.0},
    }  # fmt: skip
    content = {'episodes': [{**entry, 'episode_id': number} for number in range(count)]}
    path = folder / 'R2R-CE_val.json.gz'
    path.write_bytes(gzip.compress(json.dumps(content).encode()))


def test_missing_scenes_are_named_with_their_folder(tmp_path):
    write_split(tmp_path)
    with pytest.raises(SceneError, match='scene_datasets/mp3d/x/x.glb.*--scenes'):
        HabitatBenchmark({**HABITAT, 'data': str(tmp_path)})
    with pytest.raises(EpisodeError, match='no episodes of split "test"'):
        HabitatBenchmark({**HABITAT, 'data': str(tmp_path), 'split': 'test'})


def test_random_draws_are_seeded(tmp_path):
    write_split(tmp_path, 50)
    (tmp_path / 'scene_datasets' / 'mp3d' / 'x').mkdir(parents=True)
    (tmp_path / 'scene_datasets' / 'mp3d' / 'x' / 'x.glb').touch()

    def drawn(seed):
        settings = {**HABITAT, 'data': str(tmp_path), 'draw': 'random', 'episodes': 9}
        return HabitatBenchmark({**settings, 'seed': seed}).episode_ids()

    assert len(drawn(0)) == 9 and drawn(0) == drawn(0) != drawn(1)


def write_bare_model(folder, height):
    """Write the model of a room whose floor lies at a height, with nothing beside it."""
    write_scene(folder / 'described')
    model = trimesh.load(folder / 'described' / 'stage.glb')
    # Habitat takes a .glb by itself for one of Matterport3D: z up
    model.apply_transform([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, height], [0, 0, 0, 1]])
    path = folder / 'scene_datasets' / 'mp3d' / 'x' / 'x.glb'
    path.parent.mkdir(parents=True)
    model.export(path)


@pytest.mark.habitat
@needs_habitat
def test_a_bare_model_is_run_on_the_floor_of_its_episode(tmp_path):
    write_bare_model(tmp_path, 3.0)
    entry = {
        'episode_id': 7, 'scene_id': 'mp3d/x/x.glb', 'start_position': [-2.0, 3.0, 0.0],
        'start_rotation': [0.0, -(0.5**0.5), 0.0, 0.5**0.5],
        'goals': [{'position': [3.0, 3.0, 0.0], 'radius': 3}],
        'instruction': {'instruction_text': 'Go forward and stop.'}, 'info': {},
    }  # fmt: skip
    path = tmp_path / 'R2R-CE_val.json.gz'
    path.write_bytes(gzip.compress(json.dumps({'episodes': [entry]}).encode()))
    settings = {**HABITAT, 'data': str(tmp_path), 'limit': 1, 'num_views': 6}
    tried = HabitatBenchmark(settings)
    try:
        row = tried.run('7')
        simulator = tried._open[1]
        # through the door of the inner wall, whatever the height of the floor
        assert simulator.distance_to_any((-2.0, 0.0), [(3.0, 0.0, 3.0)]) == pytest.approx(
            5, abs=0.1
        )
        assert simulator.distance_to_any((-2.0, 0.0), [(3.0, 0.0, 9.0)]) > 5.5
        simulator.place(-2.0, 0.0, 0.0)
        ahead = simulator.render().depth[120, 160]
    finally:
        tried.close()
    assert row['is_reachable'] and row['NE'] < 5.1 and row['collisions'] == 0
    assert ahead == pytest.approx(6.0, abs=0.3)  # the east wall, seen through the door
    assert row['num_decisions'] >= 1
