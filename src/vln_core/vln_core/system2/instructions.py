# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instruction understanding without a model: words to clauses to progress items (SPEC 3.2, 4).

A clause opens at a motion verb or at a path preposition ("into", "past", "out of") that carries a
new landmark. The lexicon decides; nothing is learned, so the same words give the same items.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from vln_core.context import ClauseKind, ProgressItem
from vln_core.errors import PlannerError
from vln_core.system2 import lexicon as lx
from vln_core.vocabulary import _singular, canonical_room, object_names, room_names

MAX_WORDS = 400
MAX_ITEMS = 40
_TOKEN = re.compile(r"[a-z0-9]+(?:[.'-][a-z0-9]+)*|[.!?;:,]")
# "stopping at the sofa" is an act; "keep walking" goes on with one.
_GERUNDS = {
    'stopping': 'stop', 'turning': 'turn', 'entering': 'enter', 'exiting': 'exit',
    'leaving': 'leave', 'passing': 'pass', 'going': 'go', 'taking': 'take', 'heading': 'head',
    'waiting': 'wait',
}  # fmt: skip
_ASPECTS = frozenset('keep continue start begin without before after while when by for of'.split())
_SUBORDINATE = frozenset('until when once after before if while as'.split())


@dataclass
class Clause:
    """One fine clause: what :class:`ProgressItem` holds, plus what must be avoided.

    Attributes:
        words: Tokens of the clause.
        kind: What it asks for.
        landmarks: Canonical categories, or plain words where unknown, in order of mention.
        rooms: Canonical room types, in order of mention.
        direction: 'left', 'right', 'straight', 'around' or ''.
        ordinal: 1 = first; -1 = last; 0 = not said.
        side: 'left', 'right' or ''.
        distance: Metres, if said.
        avoid_landmarks: Categories that the words forbid.
        avoid_rooms: Room types that the words forbid.
        avoid_directions: 'left', 'right', 'straight', if forbidden.
        is_before: The stop is short of the landmark ("stop before the rug").
    """

    words: list[str]
    kind: ClauseKind = ClauseKind.GO
    landmarks: list[str] = field(default_factory=list)
    rooms: list[str] = field(default_factory=list)
    direction: str = ''
    ordinal: int = 0
    side: str = ''
    distance: float | None = None
    avoid_landmarks: list[str] = field(default_factory=list)
    avoid_rooms: list[str] = field(default_factory=list)
    avoid_directions: list[str] = field(default_factory=list)
    is_before: bool = False

    @property
    def is_bare(self) -> bool:
        """True when the clause names nothing at all."""
        return not (
            self.landmarks or self.rooms or self.direction or self.ordinal or self.distance
        )


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
def _names() -> dict[tuple[str, ...], tuple[str, str]]:
    table: dict[tuple[str, ...], tuple[str, str]] = {}
    for name, canonical in room_names().items():
        table[tuple(name.split())] = ('room', canonical)
    for name, canonical in object_names().items():
        table[tuple(name.split())] = ('object', canonical)
    table[('doors',)] = ('object', 'doorway')
    table[('door', 'way')] = ('object', 'doorway')
    table[('upstairs',)] = table[('downstairs',)] = ('object', 'stairs')
    return table


def _match(words: list[str], start: int) -> tuple[str, str, int] | None:
    """Return (sort, canonical, length) of the longest known name at ``start``."""
    table = _names()
    for length in (3, 2, 1):
        part = words[start : start + length]
        if len(part) < length:
            continue
        for candidate in (tuple(part), (*part[:-1], _singular(part[-1]))):
            if candidate in table:
                sort, canonical = table[candidate]
                return sort, canonical, length
    return None


def _is_directional(words: list[str], index: int) -> bool:
    return words[index] in ('left', 'right')


# --------------------------------------------------------------------------- clause boundaries


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


def _verb_clauses(words: list[str]) -> list[list[str]]:
    """Cut the tokens where a verb or a sentence opens a clause."""
    pieces: list[list[str]] = [[]]
    for index, word in enumerate(words):
        if word in lx.SENTENCE_ENDS:
            pieces.append([])
            continue
        leads = word in _SUBORDINATE and (not pieces[-1] or pieces[-1][-1] == ',')
        if (_opens_clause(words, index) or leads or word == 'until') and any(
            w not in lx.CONJUNCTIONS for w in pieces[-1]
        ):
            if not _is_negated_tail(pieces[-1]):
                pieces.append([])
        elif word == ',' and pieces[-1] and pieces[-1][0] in _SUBORDINATE | {'with'}:
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


def _is_negated_tail(piece: list[str]) -> bool:
    return bool(piece) and piece[-1] in lx.NEGATORS


def _split_negation(words: list[str]) -> tuple[list[str], list[str]]:
    """Return (what is asked, what is forbidden) of one verb clause."""
    for index, word in enumerate(words):
        if word in lx.NEGATORS:
            tail = words[index + 1 :]
            stop = next((i for i, w in enumerate(tail) if w in (',', 'but')), len(tail))
            return words[:index] + tail[stop + 1 :], tail[:stop]
    return words, []


def _path_at(words: list[str], index: int) -> tuple[str, int] | None:
    for phrase, meaning in lx.PATHS:
        if tuple(words[index : index + len(phrase)]) == phrase:
            return meaning, len(phrase)
    return None


# ------------------------------------------------------------------------------- noun phrases


@dataclass
class _Phrase:
    """A path word with what follows it, up to the next path word."""

    path: str
    words: list[str]
    landmarks: list[str] = field(default_factory=list)
    rooms: list[str] = field(default_factory=list)
    ordinal: int = 0
    side: str = ''
    direction: str = ''


def _read_names(words: list[str], phrase: _Phrase) -> None:
    """Fill landmarks and rooms of a phrase; a known name directly before another modifies it."""
    index = 0
    last_end = -1
    while index < len(words):
        word = words[index]
        found = _match(words, index)
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
        if _match(words, index) and not _is_bar_stool(words, index):
            return '', 0
        if (
            word in lx.CONJUNCTIONS
            or word in lx.EMPTY_NOUNS
            or _singular(word) in lx.EMPTY_NOUNS
            or word in lx.DETERMINERS
            or word in lx.BLOCKERS
            or word in lx.NEGATORS
            or word in ('is', 'are', 'that', 'which', 'who', 'where', 'there', 'then')
            or _path_at(words, index)
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


def _read_side(phrase: _Phrase) -> None:
    words = phrase.words
    for index, word in enumerate(words):
        if word in lx.ORDINALS:
            phrase.ordinal = lx.ORDINALS[word]
        if word not in ('left', 'right'):
            continue
        after = words[index + 1 : index + 3]
        if after[:1] and (_match(words, index + 1) or after[0] in ('hand', 'side', 'of')):
            phrase.side = word
        elif phrase.path in ('on', 'to', 'at', 'in', 'with') and index <= 3:
            phrase.side = word
        else:
            phrase.direction = word


def _phrases(words: list[str]) -> list[_Phrase]:
    """Cut a verb clause at its path words."""
    out = [_Phrase('', [])]
    index = 0
    while index < len(words):
        named = _match(words, index)
        if named and named[2] > 1:
            # "chest of drawers" is a name, its "of" no path
            out[-1].words += words[index : index + named[2]]
            index += named[2]
            continue
        hit = _path_at(words, index)
        if hit and not named:
            out.append(_Phrase(hit[0], []))
            index += hit[1]
            continue
        out[-1].words.append(words[index])
        index += 1
    for phrase in out:
        _read_names(phrase.words, phrase)
        _read_side(phrase)
    return out


# --------------------------------------------------------------------------- one verb clause


def _distance(words: list[str]) -> float | None:
    for index, word in enumerate(words):
        if word not in lx.UNITS or index == 0:
            glued = re.fullmatch(r'(\d+(?:\.\d+)?)(m|ft|cm)', word)
            if glued:
                return float(glued.group(1)) * lx.UNITS[glued.group(2)]
            continue
        if word in ('step', 'steps') and 'stairs' in words:
            continue
        value = None
        for back in reversed(words[max(0, index - 4) : index]):
            number = lx.NUMBERS.get(back)
            if number is None and re.fullmatch(r'\d+(?:\.\d+)?', back):
                number = float(back)
            if number is not None:
                # "half a metre" is 0.5 x 1; "a couple of metres" is 2, not 1 x 2 x ...
                value = number if value is None or value == 1.0 else value
            elif back not in ('of', 'about', 'more', 'or', 'so'):
                break
        if value is not None:
            return value * lx.UNITS[word]
    return None


def _verb_kind(verb: str) -> ClauseKind:
    for verbs, kind in (
        (lx.STOP_VERBS, ClauseKind.STOP),
        (lx.TURN_VERBS, ClauseKind.TURN),
        (lx.EXIT_VERBS, ClauseKind.EXIT),
        (lx.ENTER_VERBS, ClauseKind.ENTER),
        (lx.PASS_VERBS, ClauseKind.PASS),
        (lx.FIND_VERBS, ClauseKind.FIND),
        (lx.REACH_VERBS, ClauseKind.APPROACH),
    ):
        if verb in verbs:
            return kind
    return ClauseKind.GO


def _kind_of_phrase(verb_kind: ClauseKind, phrase: _Phrase) -> ClauseKind | None:
    """Return the kind that a path word gives to a new item, or None where it only qualifies."""
    named = phrase.landmarks or phrase.rooms or 'room' in phrase.words
    path = phrase.path
    if verb_kind in (ClauseKind.STOP, ClauseKind.FIND) or not named:
        return ClauseKind.EXIT if path == 'out' and verb_kind is ClauseKind.GO else None
    only_room = phrase.rooms and not phrase.landmarks
    is_door = phrase.landmarks[:1] == ['doorway']
    if path == 'into':
        return ClauseKind.ENTER
    if path == 'out':
        return ClauseKind.EXIT
    if path == 'through':
        return ClauseKind.ENTER if is_door else ClauseKind.PASS
    if path == 'past':
        return ClauseKind.PASS
    if path == 'by' and verb_kind is ClauseKind.GO:
        return ClauseKind.PASS
    if path == 'to':
        return ClauseKind.ENTER if only_room else ClauseKind.APPROACH
    if path in ('in',) and verb_kind is ClauseKind.GO and only_room:
        return ClauseKind.ENTER
    if path == 'for' and verb_kind is ClauseKind.GO and not only_room:
        return None
    return None


def _is_turn_phrase(words: list[str]) -> str:
    """Return the direction of "take a right", "make your second left", "go left", else ''."""
    text = ' '.join(words)
    if re.search(
        r'\b(turn (right |left |all the way )?around|u.?turn|turn back|turn 180|about face'
        r'|180 degrees)',
        text,
    ):
        return 'around'
    side = re.match(r'(?:take|make|hang|do)\b[\w -]{0,30}?\b(left|right)\b', text)
    return side.group(1) if side else ''


def _absorb(clause: Clause, phrase: _Phrase) -> None:
    clause.landmarks += [name for name in phrase.landmarks if name not in clause.landmarks]
    clause.rooms += [name for name in phrase.rooms if name not in clause.rooms]
    clause.ordinal = clause.ordinal or phrase.ordinal
    clause.side = clause.side or phrase.side


def _read_verb_clause(words: list[str]) -> list[Clause]:
    """Turn one verb clause into one or several fine clauses."""
    asked, forbidden = _split_negation(words)
    clauses = _asked_clauses(asked) if asked else []
    if forbidden:
        target = clauses[-1] if clauses else Clause(words=list(words))
        for phrase in _phrases(forbidden):
            target.avoid_landmarks += phrase.landmarks
            target.avoid_rooms += phrase.rooms
        target.avoid_directions += [w for w in forbidden if w in ('left', 'right', 'straight')]
        clauses = clauses or [target]
    return clauses


def _asked_clauses(words: list[str]) -> list[Clause]:
    lead = words[0]
    verb = next((w for w in words[:4] if w in lx.VERBS), '')
    if lead in _SUBORDINATE or lead == 'with':
        return _condition(words)
    kind = _verb_kind(verb) if verb else ClauseKind.GO
    turn = _is_turn_phrase(words)
    if turn:
        kind = ClauseKind.TURN
    elif verb == 'turn' and not {'left', 'right', 'around'} & set(words):
        kind = ClauseKind.GO  # "turn into the kitchen"
    elif verb == 'keep' and re.search(r'\bon (?:the|your) (?:left|right)\b', ' '.join(words)):
        kind = ClauseKind.PASS  # "keep the sofa on your left"
    first = Clause(words=list(words), kind=kind, direction=turn, distance=_distance(words))
    clauses = [first]
    for phrase in _phrases(words):
        new_kind = _kind_of_phrase(kind, phrase)
        current = clauses[-1]
        if phrase.path == 'in' and current.landmarks:
            new_kind = None  # "the chair in the kitchen" is one goal
        has_path = current is not first or bool(current.landmarks or current.rooms)
        fits_turn = kind is ClauseKind.TURN and new_kind is not None
        if new_kind is not None and (has_path or fits_turn):
            clauses.append(Clause(words=[phrase.path, *phrase.words], kind=new_kind))
            current = clauses[-1]
        elif new_kind is not None and kind in (ClauseKind.GO,):
            current.kind = new_kind
        if phrase.path == 'from' and kind is ClauseKind.GO and current.kind is ClauseKind.GO:
            if phrase.rooms and 'into' in words and current is first:
                # "go from the kitchen into the hall" leaves before it enters
                left = Clause(words=['from', *phrase.words], kind=ClauseKind.EXIT)
                left.rooms = list(phrase.rooms)
                clauses.insert(0, left)
            continue  # "away from the bed" names where one leaves, not where one goes
        if phrase.path == 'with' and current.kind is ClauseKind.GO and current.is_bare:
            continue
        _absorb(current, phrase)
        _take_direction(current, phrase)
        if phrase.path == 'at' and kind is ClauseKind.STOP and 'before' in words:
            current.is_before = True
    if not verb and not first.direction and first.kind is ClauseKind.GO and first.landmarks:
        first.kind = ClauseKind.FIND  # a bare noun names something to look for
    if first.kind is ClauseKind.GO and not first.direction:
        if any(w in ('straight', 'forward', 'ahead') for w in first.words[:4]):
            first.direction = 'straight'
    if first.kind is ClauseKind.GO and first.direction in ('left', 'right'):
        if not (first.landmarks or first.rooms):
            first.kind = ClauseKind.TURN
    return _merge_doors(clauses, words)


def _merge_doors(clauses: list[Clause], words: list[str]) -> list[Clause]:
    """Make one clause of a doorway and the room that it leads to or out of."""
    text = ' '.join(words)
    first = clauses[0]
    if first.landmarks[:1] == ['doorway'] and first.kind in (ClauseKind.TURN, ClauseKind.GO):
        if re.match(r'(take|use)\b.*door|\w+ in (the|that|your)\b', text):
            first.kind = ClauseKind.ENTER
            first.direction = ''
    for clause in clauses:
        if clause.landmarks[:1] == ['doorway'] and clause.kind is ClauseKind.ENTER:
            _place_door(clause, text)
    merged: list[Clause] = []
    for clause in clauses:
        before = merged[-1] if merged else None
        if before is None or not _is_same_passage(before, clause):
            merged.append(clause)
            continue
        door = before if before.landmarks[:1] == ['doorway'] else clause
        other = clause if door is before else before
        door.kind = other.kind
        door.rooms = list(other.rooms) or door.rooms
        door.words = before.words if len(before.words) >= len(clause.words) else clause.words
        if other.kind is ClauseKind.EXIT and not (door.ordinal or door.side or door.direction):
            door.landmarks = []
        merged[-1] = door
    return merged


def _is_same_passage(a: Clause, b: Clause) -> bool:
    doors = [c for c in (a, b) if c.landmarks[:1] == ['doorway'] and c.kind is ClauseKind.ENTER]
    if len(doors) != 1:
        return False
    other = b if doors[0] is a else a
    goes = other.kind in (ClauseKind.ENTER, ClauseKind.EXIT)
    return goes and bool(other.rooms) and not other.landmarks


def _place_door(clause: Clause, text: str) -> None:
    """Read "at the end of the hall" and "straight ahead" as the place of a door."""
    end = re.search(r'\bend\b(?: of (?:the |this )?(\w+(?: room)?))?', text)
    if end:
        clause.ordinal = clause.ordinal or -1
        room = canonical_room(end.group(1)) if end.group(1) else None
        clause.rooms = [r for r in clause.rooms if r != room]
    elif re.search(r'\b(straight|ahead|in front of you)\b', text) and not clause.side:
        clause.direction = 'straight'


def _take_direction(clause: Clause, phrase: _Phrase) -> None:
    if clause.kind is ClauseKind.TURN and not clause.direction:
        clause.direction = phrase.direction or phrase.side
        if not clause.landmarks and clause.direction:
            clause.side = ''
    elif clause.kind in (ClauseKind.GO, ClauseKind.ENTER, ClauseKind.EXIT, ClauseKind.PASS):
        if not clause.direction:
            clause.direction = phrase.direction
        if clause.side and not (clause.landmarks or clause.rooms) and not clause.direction:
            clause.direction, clause.side = clause.side, ''


def _condition(words: list[str]) -> list[Clause]:
    """Read "until you reach X", "once at X", "when you see X": X has to be reached."""
    lead = words[0]
    clause = Clause(words=list(words), kind=ClauseKind.APPROACH)
    for phrase in _phrases(words[1:]):
        _absorb(clause, phrase)
    if lead in ('if', 'with', 'while', 'before', 'as'):
        return []
    text = ' '.join(words)
    if re.search(r'\b(exit|leave|out of)\b', text):
        clause.kind = ClauseKind.EXIT
    elif re.search(r'\b(enter|inside|into|in the)\b', text) and clause.rooms:
        clause.kind = ClauseKind.ENTER
    elif re.search(r'\b(pass|past)\b', text):
        clause.kind = ClauseKind.PASS
    elif clause.rooms and not clause.landmarks:
        clause.kind = ClauseKind.ENTER
    return [] if clause.is_bare else [clause]


# -------------------------------------------------------------------------------- whole text


def understand(text: str) -> list[Clause]:
    """Return the fine clauses of an instruction, the last of kind STOP carrying the goal.

    Args:
        text: Words of the operator, any length; what lies beyond ``MAX_WORDS`` is not read.

    Raises:
        PlannerError: The text holds nothing to do.
    """
    words = tokenise(text)
    if not words:
        raise PlannerError('The instruction is empty; say where to go, e.g. "go to the sofa".')
    clauses: list[Clause] = []
    told: list[Clause] = []
    for piece in _verb_clauses(words):
        piece = _without_sightings(piece)
        if _is_description(piece):
            told.append(_describe(piece, clauses))
            continue
        if piece[0] in ('when', 'once', 'until', 'before', 'after', 'as') and clauses:
            if clauses[-1].kind is ClauseKind.STOP:
                _extend_stop(clauses[-1], piece)
                continue
        clauses += _read_verb_clause(piece)
        _resolve_there(clauses, told)
        _resolve_it(clauses)
    clauses = [c for c in clauses if not _is_noise(c)]
    if not any(_says_something(c) for c in clauses):
        raise PlannerError(
            f'Nothing to do was understood in "{text.strip()[:80]}"; name a motion, a room or an '
            'object in English, e.g. "leave the bedroom and stop at the sofa".'
        )
    return _finish(clauses[:MAX_ITEMS])


def _without_sightings(piece: list[str]) -> list[str]:
    """Drop "... and you will see a lamp": it tells what one sees, not what to do."""
    for index in range(1, len(piece) - 1):
        if piece[index] in ("you'll", 'you') and any(
            w in ('see', 'find', 'notice') for w in piece[index + 1 : index + 3]
        ):
            if not {'when', 'until', 'once', 'where'} & set(piece[:index]):
                return piece[:index]
    return piece


def _is_description(piece: list[str]) -> bool:
    verbs = [w for w in piece if w in lx.VERBS]
    return not verbs and any(w in ('is', 'are', "it's", "that's") for w in piece[:6])


def _describe(piece: list[str], clauses: list[Clause]) -> Clause:
    """Read "it is in the kitchen" and give its rooms to the clause before."""
    said = Clause(words=piece)
    for phrase in _phrases(piece):
        _absorb(said, phrase)
    if clauses and piece[0] in ('it', 'they', 'this', 'that', "it's", "that's"):
        clauses[-1].rooms += [r for r in said.rooms if r not in clauses[-1].rooms]
    return said


def _resolve_there(clauses: list[Clause], told: list[Clause]) -> None:
    """Let "go there" mean what was described before."""
    if not clauses or not told or not clauses[-1].is_bare or 'there' not in clauses[-1].words:
        return
    clauses[-1].landmarks, clauses[-1].rooms = list(told[-1].landmarks), list(told[-1].rooms)
    clauses[-1].kind = ClauseKind.APPROACH


def _resolve_it(clauses: list[Clause]) -> None:
    """Let "go to it" mean the landmark named last."""
    if len(clauses) < 2 or not clauses[-1].is_bare or 'it' not in clauses[-1].words:
        return
    if clauses[-1].words[-2:-1] in (['to'], ['reach'], ['approach'], ['towards'], ['toward']):
        clauses[-1].landmarks = list(clauses[-2].landmarks)
        clauses[-1].rooms = list(clauses[-2].rooms)
        clauses[-1].kind = ClauseKind.APPROACH


def _is_noise(clause: Clause) -> bool:
    has_verb = any(w in lx.VERBS for w in clause.words)
    forbids = clause.avoid_landmarks or clause.avoid_rooms or clause.avoid_directions
    if clause.is_bare and not has_verb and not forbids and clause.kind is not ClauseKind.EXIT:
        return True
    seen = clause.words[:1] == ['you'] or clause.words[:2] == ['there', 'is']
    return seen and not has_verb


def _says_something(clause: Clause) -> bool:
    if clause.kind is not ClauseKind.GO:
        return True
    return not clause.is_bare or any(w in lx.VERBS for w in clause.words)


def _extend_stop(stop: Clause, piece: list[str]) -> None:
    stop.words += piece
    stop.is_before = stop.is_before or piece[0] == 'before'
    for phrase in _phrases(piece[1:]):
        _absorb(stop, phrase)


def _finish(clauses: list[Clause]) -> list[Clause]:
    """Make the last clause the only STOP, carrying the goal."""
    for clause in clauses[:-1]:
        if clause.kind is ClauseKind.STOP:
            clause.kind = ClauseKind.APPROACH if clause.landmarks else ClauseKind.GO
    clauses = _fold_warnings(clauses)
    last = clauses[-1]
    if last.kind is ClauseKind.APPROACH:
        last.kind = ClauseKind.STOP
        return clauses
    if last.kind is not ClauseKind.STOP:
        goal = replace(
            last, kind=ClauseKind.STOP, words=['stop'], direction='', distance=None,
            avoid_landmarks=[], avoid_rooms=[], avoid_directions=[],
        )  # fmt: skip
        goal.landmarks, goal.rooms = list(last.landmarks), list(last.rooms)
        if last.kind is ClauseKind.EXIT:
            goal.landmarks, goal.rooms, goal.ordinal, goal.side = [], [], 0, ''
        if last.kind is ClauseKind.PASS:
            goal.ordinal, goal.side = 0, ''
        return [*clauses, goal]
    if not last.landmarks and not last.rooms:
        return _inherit_goal(clauses)
    return clauses


def _fold_warnings(clauses: list[Clause]) -> list[Clause]:
    """Give what a clause only forbids to its neighbour, and drop clauses that say nothing."""
    kept: list[Clause] = []
    held: list[Clause] = []
    for clause in clauses:
        if clause.kind is ClauseKind.GO and clause.is_bare and clause is not clauses[-1]:
            held.append(clause)
            continue
        for warning in held:
            _take_warnings(clause, warning)
        held = []
        kept.append(clause)
    return kept


def _take_warnings(clause: Clause, warning: Clause) -> None:
    clause.avoid_landmarks += warning.avoid_landmarks
    clause.avoid_rooms += warning.avoid_rooms
    clause.avoid_directions += warning.avoid_directions


def _inherit_goal(clauses: list[Clause]) -> list[Clause]:
    """Give "... and stop" the goal of the clause before it."""
    last = clauses[-1]
    for before in reversed(clauses[:-1]):
        if before.kind in (ClauseKind.EXIT, ClauseKind.TURN):
            break
        if before.landmarks or before.rooms:
            last.landmarks, last.rooms = list(before.landmarks), list(before.rooms)
            last.ordinal = last.ordinal or before.ordinal
            last.side = last.side or before.side
            if before is clauses[-2] and before.kind is ClauseKind.APPROACH:
                last.words = [*before.words, 'and', *last.words]
                return [*clauses[:-2], last]
            break
    return clauses


def parse_instruction(text: str) -> list[ProgressItem]:
    """Turn an instruction into progress items, the last of kind STOP carrying the goal.

    Args:
        text: Words of the operator.

    Returns:
        At least one item; indices rise from 0.

    Raises:
        PlannerError: The text is empty, or holds nothing to do.
    """
    return [
        ProgressItem(
            index=index,
            text=' '.join(clause.words).replace(' ,', ','),
            kind=clause.kind,
            landmarks=tuple(clause.landmarks),
            rooms=tuple(clause.rooms),
            direction=clause.direction,
            ordinal=clause.ordinal,
            side=clause.side,
            distance=clause.distance,
        )
        for index, clause in enumerate(understand(text))
    ]
