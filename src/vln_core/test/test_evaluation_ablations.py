# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
import system2_contexts as contexts

from vln_core.errors import ConfigError
from vln_core.evaluation.ablations import as_markdown, groups, table
from vln_core.evaluation.agents import make_agent
from vln_core.evaluation.presets import load_presets

BASE = {'kind': 'simulated', 'planner': 'rules', 'limit': 40}
PRESETS = {
    'ham-full': {**BASE, 'probe': 'ham'},
    'ham-without-graph': {**BASE, 'probe': 'ham', 'memory': {'use_world_graph': False}},
    'agentic-full': {**BASE, 'probe': 'agentic', 'needs_model': True},
    'agentic-without-map': {**BASE, 'probe': 'agentic', 'hide': ['map'], 'needs_model': True},
}


def test_what_only_a_model_reads_shares_one_run():
    made = groups(PRESETS)
    assert [group.presets for group in made] == [
        ('ham-full', 'agentic-full', 'agentic-without-map'),
        ('ham-without-graph',),
    ]
    assert made[0].settings['probes']['agentic-without-map'] == {
        'probe': 'agentic',
        'hide': ['map'],
    }
    assert 'needs_model' not in made[0].settings and 'probe' not in made[0].settings


def test_the_table_has_intervals_tokens_and_says_what_needs_a_model():
    group = groups(PRESETS)[0]
    rows = [
        {'SR': success, 'SPL': 0.5, 'probed_tokens': {name: [10, 30] for name in group.presets}}
        for success in (1.0, 0.0, 1.0, 1.0)
    ]
    full, agentic, _ = table(group, PRESETS, rows)
    assert full.success[0] == 0.75 and full.success[1] < 0.75 < full.success[2]
    assert (full.tokens_per_decision, full.tokens_per_episode) == (20.0, 40.0)
    assert agentic.success is None
    text = as_markdown([full, agentic])
    assert '| ham-full | 4 | 75.0 (' in text and 'needs a model' in text


def test_an_agent_counts_the_prompts_of_every_probe():
    context = contexts.context('Go to the sofa.')
    agent = make_agent({**BASE, **groups(PRESETS)[0].settings})
    agent.parse('Go to the sofa.')
    agent.decide(context)
    agent.decide(context)
    counted = agent.meter.row()['probed_tokens']
    assert set(counted) == {'ham-full', 'agentic-full', 'agentic-without-map'}
    assert all(len(tokens) == 2 and min(tokens) > 0 for tokens in counted.values())
    with pytest.raises(ConfigError, match='cannot hide wheels'):
        make_agent({**BASE, 'probes': {'x': {'probe': 'ham', 'hide': ['wheels']}}})


def test_every_row_of_the_sources_is_a_preset():
    presets = load_presets(Path(__file__).parents[3] / 'config' / 'eval')
    for name in (
        'ham-full', 'ham-without-graph', 'ham-without-graph-full-history', 'ham-without-episodic',
        'ham-without-semantic', 'ham-without-reflection', 'ham-without-all', 'ham-raw-3',
        'ham-raw-5', 'ham-raw-10', 'ham-raw-full', 'agentic-full', 'agentic-without-map',
        'agentic-without-depth', 'agentic-without-recall', 'agentic-all-pictures',
        'agentic-without-history', 'agentic-waypoints', 'mcgpt-none', 'mcgpt-by-instruction',
        'mcgpt-by-room', 'mcgpt-by-true-room', 'mcgpt-first-step',
    ):  # fmt: skip
        assert len(presets[name]['seeds']) * presets[name]['instructions'] == 40
        assert bool(presets[name].get('needs_model')) == (not name.startswith('ham-'))
