# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Golden tests: what every mode says to a model, word for word, and the record of the rules.

After a wanted change: raise the version in the changed prompt file, run this file with
VLN_UPDATE_GOLDEN=1 and read the difference.
"""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from system2_contexts import context, detection, door, note, opening, thing

from vln_core.context import Evidence, ItemStatus
from vln_core.system2.instructions import parse_instruction
from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig
from vln_core.system2.prompting import PromptLibrary
from vln_core.system2.rules import RulesPlanner

GOLDEN = Path(__file__).with_name('golden')
VERSIONS = GOLDEN / 'versions.json'
IS_UPDATE = os.environ.get('VLN_UPDATE_GOLDEN') == '1'
POSE = (1.0, 0.0, 0.0)
INSTRUCTION = 'Leave the bedroom, turn left and stop at the sofa.'


class Example:
    """A demonstration that does not depend on the files of config/demonstrations."""

    def query(self, instruction):
        return (
            'Destination room: living room\nStep 1. Known: ...\n  Thought: ...\n  Choice: goto f1'
        )


def planning_context():
    """Return a context in which every part of a prompt has something to say."""
    items = parse_instruction(INSTRUCTION)
    done = Evidence(1, 'came through the doorway')
    items[0] = replace(items[0], status=ItemStatus.DONE, evidence=done)
    return context(
        INSTRUCTION,
        track=((0.0, 0.0, 0.0), POSE),
        items=items,
        objects=(thing(1, 'bed', -1.0, 2.0), thing(2, 'sofa', 4.0, 1.0), door(3, 0.5, 0.0)),
        openings=(opening(1, 3.0, 0.5, POSE), opening(2, 0.0, 3.0, POSE, area=2.0)),
        detections=(detection(0, 'sofa', 3.0, 1.0), detection(1, 'bed', -2.0, 2.0)),
        history=(note(0, 'go(view 0, "doorway")', 0),),
        refusals=('goto(f9): no way to viewpoint "f9" is known',),
        memory_text='place 1: living room; sofa 4.1 m',
        window_text='w0 to w1: reached the doorway, 1.0 m',
        map_image=np.zeros((32, 32, 3), np.uint8),
        window_frames=(np.zeros((24, 32, 3), np.uint8),),
    )


def said(planner):
    """Return all that opens a step, with pictures by caption."""
    parts = []
    for message in planner.prompt(planning_context()):
        parts.append(f'=== {message.role}\n{message.text}')
        parts += [f'--- picture: {p.caption}' for p in message.pictures]
    return '\n'.join(parts) + '\n'


def check(name, text):
    path = GOLDEN / name
    if IS_UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding='utf-8')
    assert text == path.read_text(encoding='utf-8'), f'{path} differs; see {__file__}'


@pytest.mark.parametrize(
    ('name', 'config'),
    [
        ('ham', {}),
        ('ham_blind', {'has_vision': False}),
        ('agentic', {}),
        ('agentic_json', {'native_tools': False}),
        ('mcgpt', {}),
        ('fused', {}),
        ('fused_json', {'native_tools': False}),
    ],
)
def test_prompt_of_a_mode(name, config):
    mode = ModelPlannerConfig(mode=name.split('_')[0], **config)
    check(f'{name}.txt', said(ModelPlanner(object(), mode, Example())))


def test_prompts_of_mining_and_repair():
    library = PromptLibrary()
    check('mining.txt', library.render('mining.system.j2') + '\n')
    check('repair.txt', library.render('repair.j2', error='"view" is missing') + '\n')


def test_record_of_the_rules():
    near = context('Go to the sofa.', objects=(thing(1, 'sofa', 1.2, 0.0),))
    record = RulesPlanner().decide(near)
    check('rules.json', record.model_dump_json(indent=1) + '\n')


def test_a_changed_prompt_has_a_new_version():
    library = PromptLibrary()
    now = {
        path.name: {
            'version': library.version(path.name),
            'sha256': hashlib.sha256(path.read_bytes()).hexdigest()[:16],
        }
        for path in sorted(library.folder.glob('*.j2'))
    }
    before = json.loads(VERSIONS.read_text()) if VERSIONS.exists() else {}
    for name, entry in now.items():
        known = before.get(name, entry)
        assert entry == known or entry['version'] > known['version'], f'raise {name}: its version'
    if IS_UPDATE:
        VERSIONS.write_text(json.dumps(now, indent=1) + '\n', encoding='utf-8')
    assert now == json.loads(VERSIONS.read_text())
