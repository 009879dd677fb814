# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever people, models and web pages say: it is understood or refused with a reason."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import EXAMPLES, json_values, spoiled

from vln_core.errors import RecordError, VlnError
from vln_core.memory.progress import check_items
from vln_core.system1.answers import parse_answer
from vln_core.system2.instructions import parse_instruction
from vln_core.system2.loose_json import find_objects
from vln_core.system2.parsing import parse_record
from vln_core.system2.record import DecisionRecord
from vln_core.system2.tools import tool_calls_in

GOOD_RECORD = json.dumps(
    {
        'version': 1,
        'analysis': 'the sofa is ahead',
        'action': {'type': 'go', 'view': 1, 'target': 'the sofa'},
        'notes': {
            'place_name': 'hall',
            'objects': [{'category': 'sofa', 'description': 'red', 'attributes': ['soft']}],
            'progress': [{'index': 0, 'status': 'done', 'reason': 'left it'}],
        },
        'rationale': 'it is the next landmark',
    }
).encode()
GOOD_CALL = b'{"tool": "query_depth", "arguments": {"view": 1, "u": 0.5, "v": 0.5}}'
GOOD_BOX = b'```json\n[{"bbox_2d": [10, 20, 110.5, 220], "label": "sofa", "score": 0.8}]\n```'
WORDS = st.sampled_from(
    'go turn left right stop the a sofa room door past exit first second until you see and then '
    ', . ; " ( ) 💥 2 3.5 metres kitchen bedroom not do there it wait before after'.split()
)


def _text(data: bytes) -> str:
    return data.decode('utf-8', errors='replace')


@EXAMPLES
@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=60).map(' '.join)))
def test_instructions(text):
    try:
        items = parse_instruction(text)
    except VlnError as error:
        assert str(error)
        return
    if items:
        check_items(items)


@pytest.mark.parametrize(
    'text', ['go ' * 3400, '(' * 10_000, 'the ' * 2500 + 'sofa', 'a' * 10_000]
)
def test_instructions_of_10000_characters(text):
    try:
        items = parse_instruction(text)
    except VlnError as error:
        assert str(error)
    else:
        assert len(items) <= 10_000


@EXAMPLES
@given(st.one_of(spoiled(GOOD_RECORD), json_values.map(lambda v: json.dumps(v).encode())))
def test_decision_records(data):
    try:
        record = parse_record(_text(data))
    except RecordError as error:
        assert str(error)
        return
    # Whatever was accepted is a record of the closed schema.
    assert DecisionRecord.model_validate_json(record.model_dump_json()) == record


@EXAMPLES
@given(st.one_of(spoiled(GOOD_CALL), json_values.map(lambda v: json.dumps(v).encode())))
def test_tool_calls(data):
    for call in tool_calls_in(_text(data)):
        assert isinstance(call.name, str) and isinstance(call.arguments, str)


@EXAMPLES
@given(st.one_of(spoiled(GOOD_BOX), json_values.map(lambda v: json.dumps(v).encode())))
@pytest.mark.parametrize('is_point', [False, True])
def test_boxes_and_points(is_point, data):
    answer = parse_answer(_text(data), is_point=is_point)
    if answer is not None and answer.numbers:
        assert len(answer.numbers) == (2 if is_point else 4)
        assert all(math.isfinite(number) for number in answer.numbers)


@EXAMPLES
@given(st.text(alphabet='{}[]":,\\\'x1 \n', max_size=400))
def test_brackets_without_end(text):
    for found in find_objects(text):
        assert isinstance(found.value, dict)


@pytest.mark.parametrize('text', ['{' * 20_000, '[' * 20_000, '{"a":' * 5000, '{"a": "' * 5000])
def test_deep_nesting(text):
    find_objects(text)
    parse_answer(text, is_point=False)
    with pytest.raises(RecordError):
        parse_record(text)


@EXAMPLES
@given(
    st.one_of(
        spoiled(b'{"type": "instruct", "instruction": "go to the sofa"}'),
        spoiled(b'{"type": "drive", "v": 0.2, "w": 0.1}'),
        json_values.map(lambda v: json.dumps(v).encode()),
    )
)
def test_messages_of_a_web_page(data):
    messages = pytest.importorskip('vln_monitor.messages')
    try:
        message = messages.parse(_text(data))
    except ValueError as error:
        assert str(error)
        return
    for value in message.model_dump().values():
        if isinstance(value, float):
            assert math.isfinite(value)
