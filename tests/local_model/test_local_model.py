# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A real model server: llama.cpp with SmolLM2-135M under a grammar gives only valid records.

The model reasons badly; what is shown is that client, schema and reading hold with a real server.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from system2_contexts import context, detection, opening, thing

from vln_cli import local_model
from vln_core.system2.model_client import ModelClient
from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig
from vln_core.system2.model_profile import ModelProfile
from vln_core.system2.transcript import Transcript
from vln_core.system2.validation import validate

pytestmark = pytest.mark.local_model
ROOT = Path(__file__).parents[2]
DECISIONS = int(os.environ.get('VLN_LOCAL_DECISIONS', '50'))
NAMES = ('sofa', 'bed', 'doorway', 'table', 'chair', 'lamp', 'plant', 'sink')


@pytest.fixture(scope='module')
def base_url():
    weights = local_model.model_file()
    if weights is None:
        pytest.skip('no local model; run ./vln test --local-model')
    script = ROOT / 'tests' / 'vln_system_tests' / 'local_model_server.py'
    with subprocess.Popen(
        [local_model.PYTHON, script, weights], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as server:  # fmt: skip
        yield server.stdout.readline().strip()
        server.stdin.close()


def step(number):
    """Return the context of a step, another one each time."""
    pose = (0.4 * number, 0.0, 0.0)
    at = number % len(NAMES)
    return context(
        f'Leave the room, pass the {NAMES[at - 1]} and stop at the {NAMES[at]}.',
        track=((0.0, 0.0, 0.0), pose) if number else (pose,),
        objects=tuple(thing(k, NAMES[k % 8], k, 1.0) for k in range(1, 4 + number % 5)),
        openings=tuple(opening(k, k, 2.0, pose) for k in range(1, 3 + number % 3)),
        detections=(detection(number % 4, NAMES[at], 2.0, 0.5),),
    )


@pytest.mark.timeout(1700)
@pytest.mark.parametrize('mode', ['ham', 'mcgpt'])
def test_decisions_in_a_row_are_valid_records(base_url, mode, tmp_path):
    profile = ModelProfile(
        model='smollm2', base_url=base_url, key_variable='', has_vision=False, temperature=0.7,
        context_tokens=8192, max_reply_tokens=500, call_timeout=600.0, stall_timeout=300.0,
        max_retries=5,
    )  # fmt: skip
    client = ModelClient(profile, transcript=Transcript(tmp_path))
    planner = ModelPlanner(
        client, ModelPlannerConfig(mode=mode, has_vision=False, max_repairs=0, max_text=120)
    )
    count = DECISIONS if mode == 'ham' else max(1, DECISIONS // 5)
    kinds, said = Counter(), set()
    for number in range(count):
        now = replace(step(number), step=number)
        record = planner.decide(now)
        validate(record, now)
        kinds[record.action.type] += 1
        said.add(record.model_dump_json())
    assert sum(kinds.values()) == count
    assert client.usage.failed_calls == 0 and client.usage.calls == count
    assert client.usage.reply_tokens > 10 * count
    # Which actions it likes is the model's business; that it speaks at all is ours.
    assert len(said) > 1, f'always the same answer: {said}'
