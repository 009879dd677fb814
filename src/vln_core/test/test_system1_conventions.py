# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from vln_core.errors import ConfigError, PerceptionError
from vln_core.system1.answers import parse_answer
from vln_core.system1.conventions import (
    CONVENTIONS,
    Convention,
    convention_of,
    from_original,
    prepare,
    smart_size,
    to_original,
)

SHAPES = [(640, 480), (480, 640), (1280, 720), (333, 777), (100, 100), (2000, 500)]


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('name', sorted(CONVENTIONS))
@pytest.mark.parametrize('pad', [False, True])
def test_every_convention_is_undone_exactly(shape: tuple[int, int], name: str, pad: bool) -> None:
    width, height = shape
    picture = prepare(np.zeros((height, width, 3), np.uint8), 640, pad_square=pad)
    assert max(picture.size) <= 640
    box = (0.1 * width, 0.2 * height, 0.55 * width, 0.9 * height)
    convention = CONVENTIONS[name]
    found = to_original(from_original(box, convention, picture), convention, picture)
    if convention.is_point:
        middle = (0.325 * width, 0.55 * height)
        assert found == pytest.approx((*middle, *middle), abs=1e-6)
    else:
        assert found == pytest.approx(box, abs=1e-6)


def test_numbers_as_real_models_write_them() -> None:
    picture = prepare(np.zeros((480, 640, 3), np.uint8), 1024)
    # Qwen2.5-VL: 640 x 480 becomes 644 x 476 in its processor.
    assert smart_size(640, 480, CONVENTIONS['resized-xy']) == (644, 476)
    box = to_original((322, 238, 644, 476), convention_of('Qwen/Qwen2.5-VL-7B-Instruct'), picture)
    assert box == pytest.approx((320, 240, 640, 480))
    # Gemini: y first, thousandths.
    box = to_original((250, 500, 750, 1000), convention_of('google/gemini-2.5-pro'), picture)
    assert box == pytest.approx((320, 120, 640, 360))
    # Qwen3-VL: x first, thousandths.
    box = to_original((250, 500, 750, 1000), convention_of('qwen3-vl-235b'), picture)
    assert box == pytest.approx((160, 240, 480, 480))
    # Molmo: a point in percent.
    box = to_original((50.0, 25.0), convention_of('allenai/Molmo-7B-D'), picture)
    assert box == pytest.approx((320, 120, 320, 120))


def test_processor_limits_of_area() -> None:
    small = Convention('s', 'resized', min_pixels=56 * 56, max_pixels=200_000)
    w, h = smart_size(4000, 3000, small)
    assert w * h <= 200_000 and w % 28 == 0 and h % 28 == 0
    assert w / h == pytest.approx(4 / 3, rel=0.1)
    w, h = smart_size(20, 30, small)
    assert w * h >= 56 * 56


def test_the_table_can_be_overridden_and_unknown_names_are_refused() -> None:
    assert convention_of('gemini-2.5-pro', 'unit-xy').name == 'unit-xy'
    assert convention_of('some-new-model').name == 'unit-xy'
    with pytest.raises(ConfigError, match='choose one of'):
        convention_of('x', 'nonsense')


@pytest.mark.parametrize(
    'numbers',
    [(1.0, 2.0), (0.1, 0.1, math.nan, 0.5), (0.1, 0.1, 40.0, 50.0), (-3.0, 0.0, 0.5, 0.5)],
)
def test_answers_that_cannot_be_meant_are_refused(numbers: tuple[float, ...]) -> None:
    picture = prepare(np.zeros((48, 64, 3), np.uint8))
    with pytest.raises(PerceptionError):
        to_original(numbers, CONVENTIONS['unit-xy'], picture)


def test_corners_in_any_order_and_slightly_outside_are_put_right() -> None:
    picture = prepare(np.zeros((48, 64, 3), np.uint8))
    box = to_original((0.5, 0.75, -0.005, 0.25), CONVENTIONS['unit-xy'], picture)
    assert box == pytest.approx((0.0, 12.0, 32.0, 36.0))


@pytest.mark.parametrize('text', [
    '{"bbox_2d": [1, 2, 3, 4], "confidence": 0.5}',
    '```json\n[{"bbox_2d": [1, 2, 3, 4], "label": "door", "confidence": 0.5}]\n```',
    'Sure! Here it is: {"box_2d": [1.0, 2, 3, 4], "score": 0.5}. Anything else?',
    '{"objects": [{"bbox": [1, 2, 3, 4], "confidence": 0.5}]}',
    '{"x1": 1, "y1": 2, "x2": 3, "y2": 4, "confidence": 0.5}',
])  # fmt: skip
def test_boxes_in_json_of_many_shapes(text: str) -> None:
    answer = parse_answer(text, is_point=False)
    assert answer is not None
    assert answer.numbers == (1.0, 2.0, 3.0, 4.0) and answer.score == 0.5


@pytest.mark.parametrize(
    ('text', 'is_point', 'numbers'),
    [
        ('[1, 2, 3, 4]', False, (1, 2, 3, 4)),
        ('the door is at (1,2),(3,4)', False, (1, 2, 3, 4)),
        ('<box>(1, 2, 3, 4)</box>', False, (1, 2, 3, 4)),
        ('<point x="10.5" y="20.0" alt="door">door</point>', True, (10.5, 20.0)),
        ('{"point_2d": [5, 6]}', True, (5, 6)),
        ('{"bbox_2d": null}', False, ()),
        ('[]', False, ()),
        ('The target is not visible.', False, ()),
    ],
)
def test_other_forms(text: str, is_point: bool, numbers: tuple) -> None:
    answer = parse_answer(text, is_point=is_point)
    assert answer is not None and answer.numbers == numbers


@pytest.mark.parametrize('text', ['', 'I like doors.', '{"bbox_2d": [1, 2]}', '{"a": {', '[1, 2'])
def test_garbage_is_no_answer(text: str) -> None:
    assert parse_answer(text, is_point=False) is None


def test_boxes_of_the_reasoning_are_none() -> None:
    text = '<think>the box [1, 2, 3, 4] is the table</think>{"bbox_2d": [5, 6, 7, 8]}'
    answer = parse_answer(text, is_point=False)
    assert answer is not None and answer.numbers == (5, 6, 7, 8)
    assert parse_answer('<think>the box [1, 2, 3, 4] may be', is_point=False) is None
