# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Reads one verb clause: what it asks for, of what, in which direction, and what it forbids."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vln_core.context import ClauseKind
from vln_core.system2 import lexicon as lx
from vln_core.system2.clause_cutting import split_negation
from vln_core.system2.noun_phrases import Phrase, phrases_of
from vln_core.system2.words import SUBORDINATE
from vln_core.vocabulary import canonical_room


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


def read_verb_clause(words: list[str]) -> list[Clause]:
    """Turn one verb clause into one or several fine clauses."""
    asked, forbidden = split_negation(words)
    clauses = _asked_clauses(asked) if asked else []
    if forbidden:
        target = clauses[-1] if clauses else Clause(words=list(words))
        for phrase in phrases_of(forbidden):
            target.avoid_landmarks += phrase.landmarks
            target.avoid_rooms += phrase.rooms
        target.avoid_directions += [w for w in forbidden if w in ('left', 'right', 'straight')]
        clauses = clauses or [target]
    return clauses


def _asked_clauses(words: list[str]) -> list[Clause]:
    lead = words[0]
    verb = next((w for w in words[:4] if w in lx.VERBS), '')
    if lead in SUBORDINATE or lead == 'with':
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
    for phrase in phrases_of(words):
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
        absorb(current, phrase)
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


def _kind_of_phrase(verb_kind: ClauseKind, phrase: Phrase) -> ClauseKind | None:
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


def absorb(clause: Clause, phrase: Phrase) -> None:
    """Add what a phrase names to a clause; what the clause has already stays."""
    clause.landmarks += [name for name in phrase.landmarks if name not in clause.landmarks]
    clause.rooms += [name for name in phrase.rooms if name not in clause.rooms]
    clause.ordinal = clause.ordinal or phrase.ordinal
    clause.side = clause.side or phrase.side


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


def _take_direction(clause: Clause, phrase: Phrase) -> None:
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
    for phrase in phrases_of(words[1:]):
        absorb(clause, phrase)
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
