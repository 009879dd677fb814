# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers in what a grounding model writes, whatever it writes around them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from vln_core.system2.loose_json import without_reasoning

_NUMBER = r'[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?'
_ARRAY = re.compile(rf'[\[(<{{]\s*({_NUMBER}(?:\s*,\s*{_NUMBER})+)\s*[\])>}}]')
_POINT_TAG = re.compile(rf'<point[^>]*\bx\d*\s*=\s*"({_NUMBER})"[^>]*\by\d*\s*=\s*"({_NUMBER})"')
_PAIR = re.compile(
    rf'\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)\s*,\s*\(\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)'
)
_REFUSALS = re.compile(
    r'\b(not (?:visible|present|in the (?:picture|image))|no such|cannot (?:see|find)|none|null)'
    r'\b',
    re.IGNORECASE,
)
_MAX_ANSWER = 4_000  # characters; a box is short
_BOX_KEYS = ('bbox_2d', 'box_2d', 'bbox', 'box', 'bounding_box', 'coordinates')
_POINT_KEYS = ('point_2d', 'point', 'pixel')
_SCORE_KEYS = ('confidence', 'score', 'probability')


@dataclass(frozen=True)
class Answer:
    """What a model said.

    Attributes:
        numbers: Of the first box or point; empty: the model says that the target is not there.
        score: Its own confidence in 0..1, or None where it gave none.
    """

    numbers: tuple[float, ...]
    score: float | None = None


def parse_answer(text: str, *, is_point: bool) -> Answer | None:
    """Read a box (4 numbers) or a point (2 numbers); None where the text holds neither.

    Understands JSON objects and lists (also in code fences and with text around), tagged points,
    ``(x1, y1), (x2, y2)`` and bare arrays; reasoning blocks are skipped. An empty list, ``null``
    or a sentence that the target is not visible is the answer "not there".
    """
    wanted = 2 if is_point else 4
    text = without_reasoning(text)[-_MAX_ANSWER:]
    for value in _json_values(text):
        found = _from_json(value, wanted)
        if found is not None:
            return found
    if is_point and (tag := _POINT_TAG.search(text)):
        return Answer((float(tag[1]), float(tag[2])))
    if not is_point and (pair := _PAIR.search(text)):
        return Answer(tuple(float(pair[k]) for k in range(1, 5)))
    for match in _ARRAY.finditer(text):
        numbers = tuple(float(part) for part in match[1].split(','))
        if len(numbers) == wanted:
            return Answer(numbers)
    return Answer(()) if _REFUSALS.search(text) else None


def _json_values(text: str) -> list[Any]:
    """Return the JSON values that the text holds, in order, without reading inside of one."""
    decoder = json.JSONDecoder()
    values, at = [], 0
    while at < len(text):
        starts = [k for k in (text.find('{', at), text.find('[', at)) if k >= 0]
        if not starts:
            break
        try:
            value, end = decoder.raw_decode(text, min(starts))
        except ValueError:
            at = min(starts) + 1
            continue
        except RecursionError:
            break
        values.append(value)
        at = end
    return values


def _from_json(value: Any, wanted: int) -> Answer | None:
    if isinstance(value, list):
        if len(value) == 0:
            return Answer(())
        if len(value) == wanted and all(_is_number(entry) for entry in value):
            return Answer(tuple(float(entry) for entry in value))
        for entry in value:
            found = _from_json(entry, wanted) if isinstance(entry, (list, dict)) else None
            if found is not None:
                return found
        return None
    if not isinstance(value, dict):
        return None
    score = next((float(value[key]) for key in _SCORE_KEYS if _is_number(value.get(key))), None)
    for key in (*_BOX_KEYS, *_POINT_KEYS):
        if key in value:
            if value[key] is None:
                return Answer((), score)
            found = (
                _from_json(value[key], wanted) if isinstance(value[key], (list, dict)) else None
            )
            if found is not None:
                return Answer(found.numbers, score)
    corners: list[tuple[str, ...]] = []
    if wanted == 4:
        corners = [('x1', 'y1', 'x2', 'y2'), ('xmin', 'ymin', 'xmax', 'ymax')]
    elif wanted == 2:
        corners = [('x', 'y')]
    for keys in corners:
        if all(_is_number(value.get(key)) for key in keys):
            return Answer(tuple(float(value[key]) for key in keys), score)
    for entry in value.values():
        found = _from_json(entry, wanted) if isinstance(entry, (list, dict)) else None
        if found is not None and found.numbers:
            return Answer(found.numbers, found.score if found.score is not None else score)
    if value.get('found') is False or value.get('visible') is False:
        return Answer((), score)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
