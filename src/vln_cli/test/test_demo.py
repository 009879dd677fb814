# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What `./vln demo` sets the robot to do."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vln_cli import demo, demo_run
from vln_sim_bridge.episodes import Episode


def _episode(number: int, instruction: str) -> Episode:
    return Episode(
        id=number,
        instruction=instruction,
        start=(float(number), 0.0, 0.0),
        goal=(0.0, float(number)),
        goal_object=None,
        goal_category=None,
        reference_path_xy=np.zeros((2, 2)),
        geodesic_distance=1.0,
    )


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Return the folder of a scene of four episodes that starts at (9, 9)."""
    episodes = [_episode(n, f'Go to the sofa number {n}.') for n in range(1, 5)]
    monkeypatch.setattr(demo_run, 'load_episodes', lambda _: episodes)
    monkeypatch.setattr(demo_run, 'load_scene', lambda _: SimpleNamespace(start=(9.0, 9.0, 0.0)))
    return tmp_path


def test_three_episodes_without_words_of_ones_own(scene):
    tasks = demo_run._tasks(scene, [])
    assert [task.start[0] for task in tasks] == [1.0, 2.0, 3.0]


def test_words_of_an_episode_are_measured_against_its_goal(scene):
    (task,) = demo_run._tasks(scene, ['go to the  sofa number 4'])
    assert (task.start, task.goal) == ((4.0, 0.0, 0.0), (0.0, 4.0))


def test_other_words_start_at_the_scenes_start_without_a_goal(scene):
    (task,) = demo_run._tasks(scene, ['Find a chair.'])
    assert (task.start, task.goal) == ((9.0, 9.0, 0.0), None)


def test_a_second_stack_in_the_domain_is_not_instructed(scene, monkeypatch, capsys):
    monkeypatch.setattr(demo_run, 'resolve_scene', lambda _: scene)
    monkeypatch.setattr(demo_run, 'has_stack', lambda domain: domain == '77')
    monkeypatch.setenv('ROS_DOMAIN_ID', '77')
    assert demo.main(['--out', str(scene / 'out')]) == 2
    assert 'a stack runs already in ROS domain 77' in capsys.readouterr().out
    assert not (scene / 'out').exists()


def test_the_result_has_the_promised_keys_and_is_valid_json():
    task = demo_run.Task('Go to the sofa.', (0.0, 0.0, 0.0), (1.0, 1.0))
    result = SimpleNamespace(is_verified=True, num_decisions=4, error_msg='verified stop')
    recording = SimpleNamespace(result=result, num_collisions=1, seconds=12.34)
    rows = [demo_run._row(task, recording, distance) for distance in (1.23456, 3.1, float('inf'))]
    rows.append(demo_run._row(task, recording, None))
    keys = ['instruction', 'success', 'distance_m', 'decisions', 'collisions', 'seconds', 'reason']
    assert [list(row) for row in rows] == [keys] * 4
    assert [row['success'] for row in rows] == [True, False, False, True]
    assert [row['distance_m'] for row in rows] == [1.235, 3.1, None, None]
    options = SimpleNamespace(sim='raycast', seed=7)
    summary = demo_run._summary(options, Path('apartment_7'), rows, 99.96)
    text = json.dumps(summary, allow_nan=False)
    assert list(json.loads(text)) == [
        'sim', 'scene', 'seed', 'successes', 'collisions', 'seconds', 'episodes',
    ]  # fmt: skip
    assert (summary['successes'], summary['collisions'], summary['seconds']) == (2, 4, 100.0)
