# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A model that knows the way, asked over HTTP in mode fused, completes the generated episodes.

What fails here was lost between the model's words and the wheels.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / 'tests'))

from vln_core.system2.guide import PathGuide
from vln_core.system2.model_client import ModelClient
from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig
from vln_core.system2.model_profile import ModelProfile
from vln_core.system2.record import Go, Goto, MoveTo, Stop
from vln_sim_bridge.episodes import load_episodes
from vln_sim_bridge.in_process import RunConfig, run_episode
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.scene_cache import resolve_scene
from vln_system_tests.model_server import ModelServer, Play, good

# (seed, numbers of episodes): in CI one short and one with several rooms.
SOME = ((7, (0,)),)
SEEDS = [int(seed) for seed in os.environ.get('VLN_ORACLE_SEEDS', '7 8 9').split()]


class Oracle:
    """Answers as a guide would, in words; it looks at depth first, as a tool call."""

    def __init__(self, guide):
        self.guide = guide
        self.context = None
        self.num_tool_calls = 0

    def __call__(self, request):
        if request['messages'][-1]['role'] != 'tool':
            self.num_tool_calls += 1
            return Play(tool_calls=(('query_depth', '{"view": 0, "points": [[0.5, 0.6]]}'),))
        assert '[0.5, 0.6]: ' in request['messages'][-1]['content']
        record = self.guide.decide(self.context)
        self._check_it_was_told(request, record.action)
        text = json.dumps(record.model_dump())
        return good(f'Thinking aloud first.\n```json\n{text}\n```')

    def _check_it_was_told(self, request, action):
        """Whatever the oracle names must have stood in the prompt."""
        prompt = json.dumps(request['messages'])
        if isinstance(action, Goto):
            assert f'{action.viewpoint}: ' in prompt
        elif isinstance(action, (Go, MoveTo)):
            assert f'view {action.view} (' in prompt


class Watched:
    """The planner under test; tells the oracle where the robot is."""

    def __init__(self, planner, oracle):
        self.planner, self.oracle = planner, oracle

    def parse(self, instruction):
        self.oracle.guide.parse(instruction)
        return self.planner.parse(instruction)

    def decide(self, context):
        self.oracle.context = context
        return self.planner.decide(context)


def run(simulator, episode):
    oracle = Oracle(PathGuide(episode.reference_path_xy, episode.goal_category or ''))
    with ModelServer(oracle) as server:
        profile = ModelProfile(
            model='oracle', base_url=server.base_url, key_variable='', picture_size_px=128,
            stall_timeout=60.0,
        )  # fmt: skip
        planner = ModelPlanner(ModelClient(profile), ModelPlannerConfig(mode='fused'))
        done = run_episode(simulator, episode, RunConfig(), brain=Watched(planner, oracle))
    assert oracle.num_tool_calls >= len(done.result.decisions)
    assert isinstance(done.result.decisions[-1].record.action, Stop)
    return done


def run_all(seed, numbers=None):
    folder = resolve_scene(f'apartment:{seed}')
    simulator = make_simulator('raycast', folder, RunConfig().simulator)
    failed = []
    try:
        for number, episode in enumerate(load_episodes(folder)):
            if numbers is not None and number not in numbers:
                continue
            done = run(simulator, episode)
            if not done.success or done.collisions:
                failed.append((seed, number, done.distance, done.result.message))
    finally:
        simulator.close()
    return failed


@pytest.mark.parametrize(('seed', 'numbers'), SOME)
def test_oracle_completes_some_episodes(seed, numbers):
    assert run_all(seed, numbers) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize('seed', SEEDS)
def test_oracle_completes_every_episode(seed):
    assert run_all(seed) == []
