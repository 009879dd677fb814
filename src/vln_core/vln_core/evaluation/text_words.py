# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Words of instructions and captions brought to common names, for the text worlds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from vln_core.context import ClauseKind
from vln_core.errors import PlannerError
from vln_core.system2.instructions import parse_instruction
from vln_core.vocabulary import canonical_object, canonical_room

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_EMPTY = frozenset(
    'the a an and of to with is are it in on at by for you your that this there then will be as '
    'has have its from which or into room area view large small white black wall front next side '
    'until so can see when two three one some very other end way was were which'.split()
)
# Words that say how to move rather than what is there.
MOTION = frozenset(
    'left right straight forward ahead around back up down upstairs downstairs out exit leave '
    'enter through past between across stairs stop wait turn climb top bottom first second last '
    'end all into behind outside inside before door doorway hallway slight sharp'.split()
)


@lru_cache(maxsize=20000)
def canonical(word: str) -> str:
    """Return a common name: canonical category or room type, else the word without plural."""
    found = canonical_object(word) or canonical_room(word)
    if found:
        return found
    if len(word) > 3 and word.endswith('s') and not word.endswith(('ss', 'us', 'is')):
        return word[:-1]
    return word


@lru_cache(maxsize=60000)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text that carry meaning, by common names; pairs of words as one name.

    'a dining room with two chairs' gives ('dining room', 'chair').
    """
    raw = _WORD.findall(text.lower())
    names: list[str] = []
    index = 0
    while index < len(raw):
        pair = ' '.join(raw[index : index + 2])
        known = canonical_object(pair) or canonical_room(pair) if ' ' in pair else None
        if known:
            names.append(known)
            index += 2
            continue
        if raw[index] not in _EMPTY:
            names.append(canonical(raw[index]))
        index += 1
    return tuple(names)


@dataclass(frozen=True)
class InstructionWords:
    """An instruction as the text planner reads it.

    Attributes:
        words: (position 0..N in words of the text, word as written, common name).
        length: Words of the text.
        num_clauses: Clauses of the parser.
        goal: Common names of the goal's landmarks and rooms.
        rooms: Room types, anywhere in the text.
    """

    words: tuple[tuple[int, str, str], ...]
    length: int
    num_clauses: int
    goal: tuple[str, ...]
    rooms: tuple[str, ...]


@lru_cache(maxsize=4096)
def read_instruction(text: str) -> InstructionWords:
    """Return the words of an instruction with their places in it; never fails."""
    raw = _WORD.findall(text.lower())
    words: list[tuple[int, str, str]] = []
    index = 0
    while index < len(raw):
        pair = ' '.join(raw[index : index + 2])
        known = canonical_object(pair) or canonical_room(pair) if ' ' in pair else None
        if known:
            words.append((index, pair, known))
            index += 2
            continue
        if raw[index] in MOTION or raw[index] not in _EMPTY:
            words.append((index, raw[index], canonical(raw[index])))
        index += 1
    try:
        items = parse_instruction(text)
    except PlannerError:
        items = []
    goal: tuple[str, ...] = ()
    for item in items:
        if item.kind is ClauseKind.STOP or item.landmarks:
            goal = tuple(name for part in item.landmarks for name in words_of(part)) or goal
    rooms = tuple(dict.fromkeys(room for item in items for room in item.rooms))
    return InstructionWords(tuple(words), len(raw), len(items), goal, rooms)
