# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Words of an instruction: tokens, known names of objects and rooms, and path words."""

from __future__ import annotations

import re
from functools import lru_cache

from vln_core.system2 import lexicon as lx
from vln_core.vocabulary import _singular, object_names, room_names

MAX_WORDS = 400
_TOKEN = re.compile(r"[a-z0-9]+(?:[.'-][a-z0-9]+)*|[.!?;:,]")
# "stopping at the sofa" is an act; "keep walking" goes on with one.
_GERUNDS = {
    'stopping': 'stop', 'turning': 'turn', 'entering': 'enter', 'exiting': 'exit',
    'leaving': 'leave', 'passing': 'pass', 'going': 'go', 'taking': 'take', 'heading': 'head',
    'waiting': 'wait',
}  # fmt: skip
_ASPECTS = frozenset('keep continue start begin without before after while when by for of'.split())
SUBORDINATE = frozenset('until when once after before if while as'.split())


def tokenise(text: str) -> list[str]:
    """Return lower-case words and punctuation of a text, at most ``MAX_WORDS`` of them."""
    plain = text.lower().replace('’', "'").replace('\n', ' . ')
    plain = re.sub(r"\bdo n't\b", "don't", plain).replace('do not', "don't")
    words: list[str] = []
    for match in _TOKEN.finditer(plain):
        word = match.group()
        if word in _GERUNDS and words and words[-1] not in _ASPECTS:
            word = _GERUNDS[word]
        words.append(word)
        if len(words) >= MAX_WORDS:
            break
    return words


@lru_cache(maxsize=1)
def _name_table() -> dict[tuple[str, ...], tuple[str, str]]:
    table: dict[tuple[str, ...], tuple[str, str]] = {}
    for name, canonical in room_names().items():
        table[tuple(name.split())] = ('room', canonical)
    for name, canonical in object_names().items():
        table[tuple(name.split())] = ('object', canonical)
    table[('doors',)] = ('object', 'doorway')
    table[('door', 'way')] = ('object', 'doorway')
    table[('upstairs',)] = table[('downstairs',)] = ('object', 'stairs')
    return table


def match_name(words: list[str], start: int) -> tuple[str, str, int] | None:
    """Return (sort, canonical, length) of the longest known name at ``start``."""
    table = _name_table()
    for length in (3, 2, 1):
        part = words[start : start + length]
        if len(part) < length:
            continue
        for candidate in (tuple(part), (*part[:-1], _singular(part[-1]))):
            if candidate in table:
                sort, canonical = table[candidate]
                return sort, canonical, length
    return None


def path_at(words: list[str], index: int) -> tuple[str, int] | None:
    """Return (meaning, words taken) of the longest path phrase at ``index``, or None."""
    for phrase, meaning in lx.PATHS:
        if tuple(words[index : index + len(phrase)]) == phrase:
            return meaning, len(phrase)
    return None
