# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import system2_contexts as contexts

from vln_core.errors import ConfigError
from vln_core.evaluation.agents import VariedDemonstrations, count_tokens, hidden, make_agent
from vln_core.evaluation.charts import bars, lines, plan
from vln_core.evaluation.estimate import estimate
from vln_core.memory.tokens import image_tokens
from vln_core.system2.demonstrations import Demonstration, DemonstrationStep
from vln_core.system2.messages import Message, Picture

RUN = {'planner': 'rules', 'kind': 'simulated', 'limit': 40}


def test_tokens_of_text_and_pictures():
    picture = Picture('view 0', np.zeros((56, 28, 3), np.uint8))
    messages = [Message('system', 'x' * 9), Message('user', 'abcd', (picture,))]
    assert count_tokens(messages) == 3 + 1 + image_tokens(56, 28) == 6


def test_unknown_parts_cannot_be_hidden():
    with pytest.raises(ConfigError, match='cannot hide wheels'):
        make_agent({**RUN, 'hide': ['wheels']})


def test_modes_with_a_model_ask_for_one():
    with pytest.raises(ConfigError, match='planner "fused" needs a model: --model FILE'):
        make_agent({**RUN, 'planner': 'fused'})
    with pytest.raises(ConfigError, match='no setting colour'):
        make_agent({**RUN, 'planner': 'ham', 'model': {'model': 'm', 'colour': 1}})


def test_estimates_grow_with_what_is_asked():
    free = estimate(RUN, 100)
    assert (free.calls, free.prompt_tokens, free.price) == (0, 0, None)
    priced = {'model': 'm', 'price_in': 2.0, 'price_out': 8.0}
    paid = estimate({**RUN, 'planner': 'ham', 'model': priced}, 100)
    assert paid.calls == paid.decisions == 900
    assert paid.price == pytest.approx((paid.prompt_tokens * 2 + paid.reply_tokens * 8) / 1e6)
    assert estimate({**RUN, 'planner': 'mcgpt'}, 100).prompt_tokens < paid.prompt_tokens
    assert estimate({**RUN, 'planner': 'ham', 'limit': 3}, 100).decisions == 300


def test_charts_are_drawn_for_any_values():
    assert bars({}, 'x') == '' and lines({'a': []}, 't', 'x', 'y') == '' and plan([], []) == ''
    assert '&lt;b&gt;' in bars({'<b>': 3.0}, 'x') and '<b>' not in bars({'<b>': 3.0}, 'x')
    drawn = lines({'a': [(0, 0), (1, 1)], 'b': [(0, float('nan')), (2, 0.5)]}, 't', 'x', 'y')
    assert drawn.count('<polyline') == 2 and 'nan' not in drawn
    assert 'nan' not in plan([[0, 0], [0, 0]], [[0, 0]])


def test_what_is_hidden_is_not_in_the_context():
    full = contexts.context('Go to the sofa.')
    assert hidden(full, frozenset()) is full
    bare = hidden(full, frozenset(('map', 'history', 'recall', 'depth')))
    assert bare.map_image is None and bare.history == () and bare.recall is None
    assert all(np.isnan(view.depth).all() for view in bare.panorama.views)
    assert not any(np.isnan(view.depth).all() for view in full.panorama.views)


def test_a_probe_counts_the_prompts_of_a_mode_that_is_not_asked():
    context = contexts.context('Go to the sofa.')
    tokens = {}
    for mode in ('ham', 'mcgpt'):
        agent = make_agent({**RUN, 'probe': mode})
        agent.parse('Go to the sofa.')
        for _ in range(2):
            agent.decide(context)
        row = agent.meter.row()
        assert row['prompt_tokens'] == 2 * row['tokens_per_decision'] > 0
        assert row['calls'] == row['cost'] == 0.0
        tokens[mode] = row['tokens_per_decision']
        agent.begin()
        assert agent.meter.row() == {}
    assert tokens['ham'] > tokens['mcgpt']  # pictures against text


def example(room, text, choices=('f1', 'f2')):
    steps = tuple(DemonstrationStep('a map', choice, 'because') for choice in choices)
    return Demonstration(room, 'scene', text, steps, 'rules', 'a test')


def test_demonstrations_are_found_by_what_the_ablation_says(tmp_path):
    kitchen = example('kitchen', 'Leave the bedroom and stop at the stove.')
    bedroom = example('bedroom', 'Go to the kitchen table and wait by the clock.')
    text = 'Go to the kitchen table and wait by the clock.'

    def query(how, destination=''):
        made = VariedDemonstrations([kitchen, bedroom], how, 'words')
        made.destination_room = destination
        return made.query(text)

    assert query('room type') == kitchen.text()  # its first room noun
    assert query('instruction') == bedroom.text()  # its words
    assert query('true room type', 'bedroom') == bedroom.text()  # the scene knows better
    assert query('true room type') == kitchen.text()
    assert 'Step 1' in query('first step') and 'Step 2' not in query('first step')
    with pytest.raises(ConfigError, match='holds no demonstrations'):
        make_agent({**RUN, 'demonstrations': 'room type', 'demonstrations_folder': str(tmp_path)})
    kitchen.save(tmp_path)
    agent = make_agent(
        {
            **RUN,
            'probe': 'mcgpt',
            'demonstrations': 'true room type',
            'demonstrations_folder': str(tmp_path),
            'encoder': 'words',
        }
    )
    agent.begin('kitchen')
    agent.parse('Go to the sofa.')
    agent.decide(contexts.context('Go to the sofa.'))
    assert agent.meter.row()['prompt_tokens'] > 0
