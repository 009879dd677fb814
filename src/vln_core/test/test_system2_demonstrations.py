# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Demonstrations: the shipped ones, querying by room, mining by rules, by a model, from R2R."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from system2_contexts import context, opening, thing

from vln_core.errors import ConfigError, RecordError
from vln_core.memory.encoders import make_encoder
from vln_core.system2.demonstrations import (
    Demonstration,
    DemonstrationStep,
    DemonstrationStore,
    first_room,
    load_demonstrations,
    rooms_named,
)
from vln_core.system2.guide import PathGuide
from vln_core.system2.messages import Reply
from vln_core.system2.mining import (
    Expert,
    ModelExplainer,
    RulesExplainer,
    Walk,
    demonstration_of,
    walk_of,
)
from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig
from vln_core.system2.prompting import LIMITS, config_folder
from vln_core.system2.record import Goto, Stop

WALK = Walk(
    'Go to the sofa.',
    'living room',
    'scene',
    'a test',
    ('a', 'b'),
    ('goto f1', 'stop'),
    ('x', 'y'),
)


def example(room, words='w'):
    step = DemonstrationStep('known', 'goto f1', words)
    return Demonstration(room, 'scene', f'Go to the {room}.', (step,), 'rules', 'test')


def shipped():
    return load_demonstrations(config_folder('demonstrations'))


def test_shipped_examples_are_marked_and_fit_a_prompt():
    found = shipped()
    assert len({e.room_type for e in found}) == len(found) >= 12
    for one in found:
        assert (one.type_source, one.explained_by) == ('scene', 'rules')
        assert len(one.steps) >= 3 and one.steps[-1].choice.startswith('stop')
        text = one.text()
        assert len(text) <= LIMITS['demonstration']
        assert all(step.choice in text and step.explanation in text for step in one.steps)


@pytest.mark.parametrize(
    ('instruction', 'room'),
    [
        ('Leave through the door and enter the washroom.', 'bathroom'),
        ('Walk into the workout room, then to the kitchen.', 'gym'),
        ('Go to the sitting room.', 'living room'),
    ],
)
def test_the_first_room_noun_chooses(instruction, room):
    store = DemonstrationStore(shipped(), make_encoder('words'))
    assert store.find(instruction).room_type == room


def test_without_a_room_noun_the_whole_instruction_chooses():
    class Encoder:
        name, dimension = 'test', 2

        def encode(self, texts):
            wet = ['bath' in t or 'shower' in t for t in texts]
            return np.array([[w, 1.0 - w] for w in wet], np.float32)

    store = DemonstrationStore([example('kitchen'), example('bathroom')], Encoder())
    assert store.find('Stop at the shower.').room_type == 'bathroom'
    assert DemonstrationStore([], Encoder()).query('Stop.') == ''


def test_names_of_rooms_in_order():
    assert rooms_named('From the master bedroom go down the hallway to the den') == [
        'bedroom', 'corridor', 'family room',
    ]  # fmt: skip
    assert first_room('turn left') == ''


def test_an_edited_file_is_used_and_a_broken_one_named(tmp_path):
    path = example('kitchen').save(tmp_path)
    path.write_text(path.read_text().replace('"w"', '"an edited thought"'))
    assert 'an edited thought' in load_demonstrations(tmp_path)[0].text()
    path.write_text('{"room_type": "kitchen"}')
    with pytest.raises(ConfigError, match='kitchen.json'):
        load_demonstrations(tmp_path)
    path.write_text(json.dumps({**json.loads(example('x').save(tmp_path).read_text())}))
    with pytest.raises(ConfigError, match='no known room type'):
        load_demonstrations(tmp_path)


@pytest.mark.parametrize('mode', ['mcgpt', 'fused', 'ham'])
def test_modes_that_show_an_example(mode):
    store = DemonstrationStore([example('kitchen', 'because of the stove')], make_encoder('words'))
    planner = ModelPlanner(object(), ModelPlannerConfig(mode=mode), store)
    texts = ''.join(m.text for m in planner.prompt(context('Go to the kitchen.')))
    assert ('because of the stove' in texts) == (mode != 'ham')


def test_a_model_explains_and_is_named():
    class Model:
        def __init__(self, text):
            self.text = text

        def begin_episode(self, name):
            pass

        def chat(self, messages, **options):
            assert 'Chosen: goto f1' in messages[1].text
            return Reply(self.text)

    said = ModelExplainer(Model('{"explanations": ["one", "two"]}'), 'guide-1')
    made = demonstration_of(WALK, said)
    assert [s.explanation for s in made.steps] == ['one', 'two']
    assert made.explained_by == 'guide-1'
    with pytest.raises(RecordError, match='explanations'):
        demonstration_of(WALK, ModelExplainer(Model('{"explanations": ["one"]}'), 'guide-1'))


def test_an_expert_follows_its_path_with_the_reasons_of_the_rules():
    pose = (0.0, 0.0, 0.0)
    expert = Expert(PathGuide(np.array([(0.0, 0.0), (4.0, 0.0)]), 'sofa'))
    expert.parse('Go to the sofa.')
    first = context(
        'Go to the sofa.', openings=(opening(1, 2.0, 0.2, pose), opening(2, 0.0, 3.0, pose))
    )
    assert expert.decide(first).action == Goto(viewpoint='f1')
    last = context(
        'Go to the sofa.', track=((3.9, 0.0, 0.0),), objects=(thing(1, 'sofa', 4.7, 0.0),)
    )
    assert expert.decide(last).action == Stop(object_id=1)
    made = demonstration_of(walk_of(expert, 'living room', 'a test'), RulesExplainer())
    assert expert.unexplained == 0
    assert [s.choice for s in made.steps] == ['goto f1 (2.0 m, 6 deg left)', 'stop at the sofa 1']
    assert 'opening f1' in made.steps[0].explanation
    assert 'sofa is' in made.steps[1].explanation


def test_r2r_walks_are_marked_by_their_instruction():
    root = Path(os.environ.get('VLN_DATA', Path(__file__).parents[4] / 'shared' / 'data'))
    if not (root / 'matterport').is_dir():
        pytest.skip('no Matterport annotations beside the checkout; set VLN_DATA')
    from vln_core.system2.mining_r2r import r2r_walks

    walk = next(r2r_walks(root / 'matterport', {'kitchen'}))
    assert (walk.room_type, walk.type_source) == ('kitchen', 'instruction')
    assert rooms_named(walk.instruction)[-1] == 'kitchen'
    assert walk.choices[-1] == 'stop' and all(walk.reasons)
    assert next(r2r_walks(root / 'matterport', {'no such room'}), None) is None
