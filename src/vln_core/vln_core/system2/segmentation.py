# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Sub-instructions: the coarser cut of an instruction that people make when they speak.

A sub-instruction is one act with what belongs to it. A bare turn joins the act that follows it
("turn right and walk down the hallway"), as in the Fine-Grained R2R annotation, against which this
is scored. :mod:`.instructions` cuts finer, since a turn is fulfilled on its own.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from vln_core.system2 import lexicon as lx

_WORD = re.compile(r"[A-Za-z0-9]+(?:['’-][A-Za-z0-9]+)*|[.!?;:,]")
_LINKS = frozenset('and then or but'.split())
_BARE_TURN = re.compile(
    r'^(?:just |immediately |next )?'
    r'(?:turn|veer|bear|head|go|walk|step|move|continue|proceed|keep)'
    r'(?: (?:slightly|slight|sharp|hard|immediately|sharply|straight|going|walking|moving))*'
    r'(?: (?:left|right|around|forward|straight|ahead|back|again|slightly))*$'
)


def split_sub_instructions(text: str) -> list[list[str]]:
    """Cut a text into sub-instructions.

    Args:
        text: Words of the operator.

    Returns:
        Lists of words in lower case, without punctuation, in order; together all words.
    """
    chunks: list[list[str]] = []
    for sentence in _sentences(text):
        chunks += _split_sentence(sentence)
    return _merge_short([c for c in chunks if c])


def _sentences(text: str) -> list[list[str]]:
    sentences: list[list[str]] = [[]]
    for match in _WORD.finditer(text):
        word = match.group().lower()
        if word in lx.SENTENCE_ENDS:
            sentences.append([])
        else:
            sentences[-1].append(word)
    return [s for s in sentences if any(w not in ',:' for w in s)]


def _split_sentence(words: list[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    index = 0
    while index < len(words):
        if index > 0 and _starts_act(words, index, pieces[-1]):
            pieces.append([])
        pieces[-1].append(words[index])
        index += 1
    out: list[list[str]] = []
    held: list[str] = []
    for number, piece in enumerate(pieces):
        plain = [w for w in piece if w not in ',:']
        is_last = number == len(pieces) - 1
        joined = held + plain
        if not is_last and _joins_next(joined):
            held = joined
            continue
        out.append(joined)
        held = []
    if held:
        out.append(held)
    return out


def _joins_next(words: list[str]) -> bool:
    text = ' '.join(words)
    if len(words) < 2:
        return True
    if words[0] in ('once', 'when', 'after', 'at', 'with', 'just', 'as', 'before', 'in'):
        return not any(w in lx.STRONG_VERBS or w in lx.TURN_VERBS for w in words)
    if words[0] in _LINKS:
        return False
    return bool(_BARE_TURN.match(text)) and len(words) <= 4


def _starts_act(words: list[str], index: int, piece: list[str]) -> bool:
    """Tell whether a new act opens at ``index`` (at its link word where there is one)."""
    word = words[index]
    if word in ('and', 'then', ',', 'but'):
        following = index + 1
        while following < len(words) and words[following] in ('and', 'then', ',', 'but'):
            following += 1
        while following < len(words) and words[following] in _ADVERBS:
            following += 1
        if following >= len(words) or piece and piece[-1] in ('and', 'then', ',', 'but'):
            return False
        if words[following] not in lx.VERBS and words[following] not in _MORE_VERBS:
            return False
        if word == ',' and words[index + 1] in ('and', 'then', 'but'):
            return True
        return True
    return False


_ADVERBS = frozenset('immediately slightly now just finally again once you please'.split())
_MORE_VERBS = frozenset('stay keep begin start use'.split())


def _merge_short(chunks: list[list[str]]) -> list[list[str]]:
    out: list[list[str]] = []
    for chunk in chunks:
        if len(chunk) < 2 and out:
            out[-1] += chunk
        else:
            out.append(chunk)
    return out


def boundary_f1(entries: Sequence[Mapping[str, Any]]) -> float:
    """Return the micro-averaged F1 of sub-instruction boundaries against Fine-Grained R2R.

    A boundary is a position between two words of the annotation; the words of both sides are
    aligned first, because the annotation lemmatises and expands them.

    Args:
        entries: Of the annotation file, with 'instructions' and 'new_instructions'.
    """
    hits = guesses = truths = 0
    for entry in entries:
        annotated = entry['new_instructions']
        if isinstance(annotated, str):
            annotated = ast.literal_eval(annotated)
        for text, gold in zip(entry['instructions'], annotated, strict=False):
            guess = split_sub_instructions(text)
            wanted = _boundaries(gold)
            found = _aligned(guess, gold)
            hits += len(found & wanted)
            guesses += len(found)
            truths += len(wanted)
    return 2.0 * hits / max(guesses + truths, 1)


def _boundaries(chunks: Sequence[Sequence[str]]) -> set[int]:
    positions: set[int] = set()
    count = 0
    for chunk in chunks[:-1]:
        count += len(chunk)
        positions.add(count)
    return positions


def _aligned(guess: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> set[int]:
    """Return the boundaries of ``guess`` as word positions of ``gold``."""
    ours = [word[:3] for chunk in guess for word in chunk]
    theirs = [word[:3] for chunk in gold for word in chunk]
    place = {len(ours): len(theirs)}
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    for _, a0, a1, b0, b1 in matcher.get_opcodes():
        for k in range(a1 - a0):
            place[a0 + k] = min(b0 + k, b1)
    return {place[b] for b in _boundaries(guess)}
