# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The planner that System 2's parameters choose: model, replay, demonstrations."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / 'src' / 'vln_core' / 'test'))
from system2_contexts import context, opening

from vln_core.errors import ConfigError
from vln_core.system2.messages import Message, Reply
from vln_core.system2.model_errors import ModelError
from vln_core.system2.record import Goto
from vln_core.system2.transcript import Transcript
from vln_nodes import parameters
from vln_nodes.system2_config import System2Parameters, make_planner

POSE = (0.0, 0.0, 0.0)


def never():
    return False


def test_a_recorded_run_is_replayed_by_parameter(tmp_path):
    said = Reply('{"action": {"type": "goto", "viewpoint": "f1"}}')
    Transcript(tmp_path).add([Message('user', 'of another prompt')], said)
    config = System2Parameters(planner='ham', replay=str(tmp_path))
    now = context('Go to the sofa.', openings=(opening(1, 2.0, 0.0, POSE),))
    planner = make_planner(config, never)
    planner.parse('Go to the sofa.')
    assert planner.decide(now).action == Goto(viewpoint='f1')
    with pytest.raises(ModelError, match='only 1'):
        planner.decide(now)
    with pytest.raises(ModelError, match='another prompt'):
        make_planner(replace(config, replay_is_strict=True), never).decide(now)


def test_mistakes_are_said_at_the_start(tmp_path):
    with pytest.raises(ConfigError, match='model.model'):
        make_planner(System2Parameters(planner='ham'), never)
    with pytest.raises(ModelError, match='no transcript'):
        make_planner(System2Parameters(planner='ham', replay=str(tmp_path)), never)
    Transcript(tmp_path).add([], Reply(''))
    wrong = System2Parameters(planner='ham', replay=str(tmp_path), prompts=str(tmp_path / 'no'))
    with pytest.raises(ConfigError, match='no folder'):
        make_planner(wrong, never)


@pytest.mark.parametrize(
    ('planner', 'shown'), [('rules', False), ('mcgpt', False), ('fused', True), ('agentic', True)]
)
def test_modes_with_pictures_are_shown_the_map(planner, shown):
    assert System2Parameters(planner=planner).shows_map == shown


def test_the_model_can_be_named_by_parameter():
    names = [row.name for row in parameters.rows(System2Parameters())]
    assert {'model.model', 'model.base_url', 'budget.tokens', 'outage.policy'} <= set(names)
