# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instruction understanding without a model: words to clauses to progress items (SPEC 3.2, 4).

A clause opens at a motion verb or at a path preposition ("into", "past", "out of") that carries a
new landmark. The lexicon decides; nothing is learned, so the same words give the same items.
:mod:`.clause_cutting` cuts, :mod:`.noun_phrases` names, :mod:`.clause_reading` reads one clause;
here the clauses of a whole text are put in relation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from vln_core.context import ClauseKind, ProgressItem
from vln_core.errors import PlannerError
from vln_core.system2 import lexicon as lx
from vln_core.system2.clause_cutting import verb_clauses
from vln_core.system2.clause_reading import Clause, absorb, read_verb_clause
from vln_core.system2.noun_phrases import phrases_of
from vln_core.system2.words import tokenise

MAX_ITEMS = 40


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


@lru_cache(maxsize=32)
def forbidden_rooms(text: str) -> frozenset[str]:
    """Return the types of room that an instruction tells to stay out of.

    A type that another clause asks for is none of them: "not the first bedroom, the second".
    Words that are not understood forbid nothing.
    """
    try:
        clauses = understand(text)
    except PlannerError:
        return frozenset()
    asked = {room for clause in clauses for room in clause.rooms}
    return frozenset(room for clause in clauses for room in clause.avoid_rooms) - asked


def understand(text: str) -> list[Clause]:
    """Return the fine clauses of an instruction, the last of kind STOP carrying the goal.

    Args:
        text: Words of the operator, any length; what lies beyond ``words.MAX_WORDS`` is not read.

    Raises:
        PlannerError: The text holds nothing to do.
    """
    words = tokenise(text)
    if not words:
        raise PlannerError('The instruction is empty; say where to go, e.g. "go to the sofa".')
    clauses: list[Clause] = []
    told: list[Clause] = []
    for piece in verb_clauses(words):
        piece = _without_sightings(piece)
        if _is_description(piece):
            told.append(_describe(piece, clauses))
            continue
        if piece[0] in ('when', 'once', 'until', 'before', 'after', 'as') and clauses:
            if clauses[-1].kind is ClauseKind.STOP:
                _extend_stop(clauses[-1], piece)
                continue
        clauses += read_verb_clause(piece)
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
    for phrase in phrases_of(piece):
        absorb(said, phrase)
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


def _forbids(clause: Clause) -> bool:
    return bool(clause.avoid_landmarks or clause.avoid_rooms or clause.avoid_directions)


def _only_forbids(clause: Clause) -> bool:
    return clause.is_bare and _forbids(clause)


def _is_noise(clause: Clause) -> bool:
    has_verb = any(w in lx.VERBS for w in clause.words)
    if (
        clause.is_bare
        and not has_verb
        and not _forbids(clause)
        and clause.kind is not ClauseKind.EXIT
    ):
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
    for phrase in phrases_of(piece[1:]):
        absorb(stop, phrase)


def _finish(clauses: list[Clause]) -> list[Clause]:
    """Make the last clause the only STOP, carrying the goal."""
    while len(clauses) > 1 and clauses[-1].kind is ClauseKind.GO and _only_forbids(clauses[-1]):
        _take_warnings(clauses[-2], clauses[-1])
        clauses = clauses[:-1]
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
