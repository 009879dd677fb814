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
from vln_core.system2.model_profile import Budget, ModelProfile
from vln_core.system2.record import Goto
from vln_core.system2.transcript import Transcript
from vln_nodes import parameters
from vln_nodes.system2_config import System2Parameters, make_model, make_planner, usage_text

POSE = (0.0, 0.0, 0.0)


def planner_of(config):
    return make_planner(config, make_model(config, lambda: False))


def test_a_recorded_run_is_replayed_by_parameter(tmp_path):
    said = Reply('{"action": {"type": "goto", "viewpoint": "f1"}}')
    Transcript(tmp_path).add([Message('user', 'of another prompt')], said)
    config = System2Parameters(planner='ham', replay=str(tmp_path))
    now = context('Go to the sofa.', openings=(opening(1, 2.0, 0.0, POSE),))
    planner = planner_of(config)
    planner.parse('Go to the sofa.')
    assert planner.decide(now).action == Goto(viewpoint='f1')
    with pytest.raises(ModelError, match='only 1'):
        planner.decide(now)
    with pytest.raises(ModelError, match='another prompt'):
        planner_of(replace(config, replay_is_strict=True)).decide(now)


def test_mistakes_are_said_at_the_start(tmp_path):
    with pytest.raises(ConfigError, match='model.model'):
        planner_of(System2Parameters(planner='ham'))
    with pytest.raises(ModelError, match='no transcript'):
        planner_of(System2Parameters(planner='ham', replay=str(tmp_path)))
    Transcript(tmp_path).add([], Reply(''))
    wrong = System2Parameters(planner='ham', replay=str(tmp_path), prompts=str(tmp_path / 'no'))
    with pytest.raises(ConfigError, match='no folder'):
        planner_of(wrong)


def test_diagnostics_say_what_is_left_of_the_budget():
    named = ModelProfile(model='any', base_url='http://127.0.0.1:9/v1')
    config = System2Parameters(planner='ham', model=named)
    model = make_model(config, lambda: False)
    model.usage.calls, model.usage.prompt_tokens, model.usage.reply_tokens = 3, 900, 100
    shown = usage_text(model, Budget(tokens=4000))
    assert shown['model calls'] == '3, 0 failed'
    assert shown['model tokens'] == '1000, 3000 left'
    assert shown['model cost'] == '0'
    assert usage_text(None, Budget()) == {}


@pytest.mark.parametrize(
    ('planner', 'shown'), [('rules', False), ('mcgpt', False), ('fused', True), ('agentic', True)]
)
def test_modes_with_pictures_are_shown_the_map(planner, shown):
    assert System2Parameters(planner=planner).shows_map == shown


def test_the_model_can_be_named_by_parameter():
    names = [row.name for row in parameters.rows(System2Parameters())]
    assert {'model.model', 'model.base_url', 'budget.tokens', 'outage.policy'} <= set(names)
