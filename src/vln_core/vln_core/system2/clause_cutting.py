# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Cuts the words of an instruction where a motion verb or a sentence opens a clause."""

from __future__ import annotations

from vln_core.system2 import lexicon as lx
from vln_core.system2.words import SUBORDINATE


def verb_clauses(words: list[str]) -> list[list[str]]:
    """Cut the tokens where a verb or a sentence opens a clause."""
    pieces: list[list[str]] = [[]]
    for index, word in enumerate(words):
        if word in lx.SENTENCE_ENDS:
            pieces.append([])
            continue
        leads = word in SUBORDINATE and (not pieces[-1] or pieces[-1][-1] == ',')
        if (_opens_clause(words, index) or leads or word == 'until') and any(
            w not in lx.CONJUNCTIONS for w in pieces[-1]
        ):
            if not _is_negated_tail(pieces[-1]):
                pieces.append([])
        elif word == ',' and pieces[-1] and pieces[-1][0] in SUBORDINATE | {'with'}:
            pieces.append([])
            continue
        pieces[-1].append(word)
    cleaned = []
    for piece in pieces:
        while piece and piece[0] in lx.CONJUNCTIONS:
            piece = piece[1:]
        while piece and piece[-1] in lx.CONJUNCTIONS:
            piece = piece[:-1]
        if piece:
            cleaned.append(piece)
    return cleaned


def _opens_clause(words: list[str], index: int) -> bool:
    """Tell whether the verb at ``index`` opens a clause of its own."""
    word = words[index]
    if word not in lx.VERBS:
        return False
    if index == 0:
        return True
    before = words[index - 1]
    if word == 'turn' and before in ('left', 'right', 'another', 'u'):
        return False
    if before in lx.CONJUNCTIONS or before in ('please', 'now', 'just', 'immediately', 'again'):
        return not _is_noun_use(words, index)
    if before in ('left', 'right', 'straight', 'forward', 'around', 'there', 'here'):
        return word in lx.STRONG_VERBS or word in lx.STOP_VERBS
    if word in lx.STRONG_VERBS and before not in lx.BLOCKERS and before not in lx.NEGATORS:
        return not _is_noun_use(words, index)
    return False


def _is_noun_use(words: list[str], index: int) -> bool:
    after = words[index + 1] if index + 1 < len(words) else '.'
    return (words[index] == 'exit' and after in ('sign', 'door')) or (
        words[index] in ('head', 'end', 'face') and after == 'of'
    )


def _is_negated_tail(piece: list[str]) -> bool:
    return bool(piece) and piece[-1] in lx.NEGATORS


def split_negation(words: list[str]) -> tuple[list[str], list[str]]:
    """Return (what is asked, what is forbidden) of one verb clause."""
    for index, word in enumerate(words):
        if word in lx.NEGATORS:
            tail = words[index + 1 :]
            stop = next((i for i, w in enumerate(tail) if w in (',', 'but')), len(tail))
            return words[:index] + tail[stop + 1 :], tail[:stop]
    return words, []
