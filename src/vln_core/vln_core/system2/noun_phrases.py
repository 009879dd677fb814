# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Cuts a clause at its path words and reads what each part names: landmarks, rooms, sides."""

from __future__ import annotations

from dataclasses import dataclass, field

from vln_core.system2 import lexicon as lx
from vln_core.system2.words import match_name, path_at
from vln_core.vocabulary import _singular


@dataclass
class Phrase:
    """A path word with what follows it, up to the next path word."""

    path: str
    words: list[str]
    landmarks: list[str] = field(default_factory=list)
    rooms: list[str] = field(default_factory=list)
    ordinal: int = 0
    side: str = ''
    direction: str = ''


def phrases_of(words: list[str]) -> list[Phrase]:
    """Cut a verb clause at its path words."""
    out = [Phrase('', [])]
    index = 0
    while index < len(words):
        named = match_name(words, index)
        if named and named[2] > 1:
            # "chest of drawers" is a name, its "of" no path
            out[-1].words += words[index : index + named[2]]
            index += named[2]
            continue
        hit = path_at(words, index)
        if hit and not named:
            out.append(Phrase(hit[0], []))
            index += hit[1]
            continue
        out[-1].words.append(words[index])
        index += 1
    for phrase in out:
        _read_names(phrase.words, phrase)
        _read_side(phrase)
    return out


def _read_names(words: list[str], phrase: Phrase) -> None:
    """Fill landmarks and rooms of a phrase; a known name directly before another modifies it."""
    index = 0
    last_end = -1
    while index < len(words):
        word = words[index]
        found = match_name(words, index)
        if found and not _is_bar_stool(words, index):
            sort, canonical, length = found
            if word == 'outside' and index + 1 < len(words):
                index += 1  # "outside the bathroom" is no garden
                continue
            if sort == 'object':
                if last_end == index and phrase.landmarks:
                    phrase.landmarks.pop()
                phrase.landmarks.append(canonical)
            else:
                phrase.rooms.append(canonical)
            index += length
            last_end = index
            continue
        if word in lx.DETERMINERS:
            name, length = _unknown_noun(words, index + 1)
            if name:
                phrase.landmarks.append(name)
                index += 1 + length
                continue
        index += 1


def _is_bar_stool(words: list[str], index: int) -> bool:
    return words[index] == 'bar' and words[index + 1 : index + 2] in (['stool'], ['stools'])


def _unknown_noun(words: list[str], start: int) -> tuple[str, int]:
    """Return (noun phrase, words taken) of a noun that the vocabulary lacks, or ('', 0)."""
    taken: list[str] = []
    for offset, word in enumerate(words[start : start + 5]):
        index = start + offset
        if match_name(words, index) and not _is_bar_stool(words, index):
            return '', 0
        if (
            word in lx.CONJUNCTIONS
            or word in lx.EMPTY_NOUNS
            or _singular(word) in lx.EMPTY_NOUNS
            or word in lx.DETERMINERS
            or word in lx.BLOCKERS
            or word in lx.NEGATORS
            or word in ('is', 'are', 'that', 'which', 'who', 'where', 'there', 'then')
            or path_at(words, index)
            or word in lx.UNITS
        ):
            break
        taken.append(word)
    names = [
        w for w in taken if w not in lx.ADJECTIVES and w not in lx.NUMBERS and not w[0].isdigit()
    ]
    if not names or all(w in lx.VERBS or w in lx.ORDINALS for w in names):
        return '', 0
    return ' '.join(_singular(w) for w in names[-2:]), len(taken)


def _read_side(phrase: Phrase) -> None:
    words = phrase.words
    for index, word in enumerate(words):
        if word in lx.ORDINALS:
            phrase.ordinal = lx.ORDINALS[word]
        if word not in ('left', 'right'):
            continue
        after = words[index + 1 : index + 3]
        if after[:1] and (match_name(words, index + 1) or after[0] in ('hand', 'side', 'of')):
            phrase.side = word
        elif phrase.path in ('on', 'to', 'at', 'in', 'with') and index <= 3:
            phrase.side = word
        else:
            phrase.direction = word
