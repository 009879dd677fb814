# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Replies that only look like records: what is never read as an action, and never takes long."""

import time

import pytest

from vln_core.errors import RecordError
from vln_core.system2.parsing import parse_record
from vln_core.system2.record import Goto

GOOD = '{"action": {"type": "goto", "viewpoint": "f1"}, "rationale": "it is open"}'
STOP = '{"action": {"type": "stop"}}'


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (f'<think>I might answer {GOOD} or else', 'no JSON object'),
        ('{"action": {"type": "go", "view": true, "target": "sofa"}}', '"view"'),
        ('{"action": {"type": "backtrack", "waypoint": "-3"}}', '"waypoint"'),
        ('{"action": {"type": "move_to", "view": 0, "u": NaN, "v": 0.5}}', 'no JSON object'),
        ('{"action": {"type": "move_to", "view": 0, "u": 1e999, "v": 0.5}}', '"u"'),
        ('{"action": null}', '"action" is missing'),
        ('{"action": [{"type": "stop"}]}', '"action" is missing'),
        ('{"action": {"type": "g\u043e", "view": 0, "target": "sofa"}}', 'unknown'),
        ('<action>stop</action>', 'no JSON object'),
        ('{"action": {"type": "stop"}, "notes": {"progress": [{"index": 0, "status": "Hm"}]}}',
         'progress update'),
    ],
)  # fmt: skip
def test_what_is_no_action_is_sent_back_in_words(text, words):
    with pytest.raises(RecordError, match=words):
        parse_record(text)


@pytest.mark.parametrize(
    'text',
    [
        f'[{GOOD}]',
        f'```json\n{STOP}\n```\nNo, better:\n```json\n{GOOD}\n```',
        f'<think>a <think>b</think> {STOP}</think>{GOOD}',
        f'I choose {{f1}}. {GOOD}',
        f'{STOP}\n' * 20 + GOOD,
        f'{"words " * 40_000}{GOOD}',
        f'{GOOD}{" and so on" * 4_000}',
    ],
    ids=[
        'array',
        'two fences',
        'nested reasoning',
        'braces in prose',
        'examples',
        'late',
        'early',
    ],
)
def test_the_last_answer_counts(text):
    assert parse_record(text).action == Goto(viewpoint='f1')


@pytest.mark.parametrize(
    'text',
    [
        '{' * 100_000,
        '{[' * 50_000,
        '{"a":' * 3_000,
        '{' * 10_000 + '}' * 10_000,
        '{"a": 1' + ', ' * 50_000,
        '{' + "'" * 100_000,
        '{' + '/*' * 50_000,
        '<think>' * 20_000,
        '```' * 50_000,
    ],
    ids=lambda text: text[:6],
)
def test_nonsense_is_refused_soon(text):
    started = time.thread_time()
    with pytest.raises(RecordError):
        parse_record(text)
    assert time.thread_time() - started < 4.0
