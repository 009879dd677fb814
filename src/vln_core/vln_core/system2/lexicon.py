# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Closed word classes of English route instructions, read by :mod:`.instructions`."""

from __future__ import annotations

STOP_VERBS = frozenset('stop wait halt stand finish pause remain stay park'.split())
TURN_VERBS = frozenset('turn veer bear rotate swing curve pivot face hang'.split())
EXIT_VERBS = frozenset('exit leave'.split())
ENTER_VERBS = frozenset('enter'.split())
PASS_VERBS = frozenset('pass cross skirt bypass'.split())
FIND_VERBS = frozenset('find search look locate seek spot'.split())
REACH_VERBS = frozenset('approach reach arrive visit'.split())
GO_VERBS = frozenset(
    'go walk move head proceed continue follow climb descend ascend keep step travel advance '
    'march navigate drive roll come run make take get bring lead start begin return explore '
    'ride'.split()
)
VERBS = (
    STOP_VERBS
    | TURN_VERBS
    | EXIT_VERBS
    | ENTER_VERBS
    | PASS_VERBS
    | FIND_VERBS
    | REACH_VERBS
    | GO_VERBS
)
# Verbs that open a clause even where neither punctuation nor a conjunction precedes them.
STRONG_VERBS = frozenset(
    'turn walk go enter proceed continue wait exit leave veer descend climb move'.split()
)
# Words after which a verb form is a noun, an infinitive or part of another phrase.
BLOCKERS = frozenset(
    'the a an your to you will would should can could must may i we it of first second third '
    'fourth next last final sharp slight immediate this that no not dont without instead before '
    'after while when until once if by in on into near night tv bottom hard please'.split()
)
CONJUNCTIONS = frozenset('and then or but next finally afterwards afterward , . ; ! ? :'.split())
SENTENCE_ENDS = frozenset('. ! ? ;'.split())
NUMBERS = {
    'a': 1.0, 'an': 1.0, 'one': 1.0, 'two': 2.0, 'three': 3.0, 'four': 4.0, 'five': 5.0,
    'six': 6.0, 'seven': 7.0, 'eight': 8.0, 'nine': 9.0, 'ten': 10.0, 'eleven': 11.0,
    'twelve': 12.0, 'fifteen': 15.0, 'twenty': 20.0, 'half': 0.5, 'couple': 2.0, 'few': 3.0,
}  # fmt: skip
UNITS = {
    'm': 1.0, 'meter': 1.0, 'meters': 1.0, 'metre': 1.0, 'metres': 1.0, 'feet': 0.3048,
    'foot': 0.3048, 'ft': 0.3048, 'yard': 0.9144, 'yards': 0.9144, 'cm': 0.01,
    'centimeters': 0.01, 'centimetres': 0.01, 'step': 0.7, 'steps': 0.7, 'pace': 0.75,
    'paces': 0.75,
}  # fmt: skip
ORDINALS = {
    'first': 1, 'second': 2, 'third': 3, 'fourth': 4, 'fifth': 5, 'sixth': 6, 'seventh': 7,
    '1st': 1, '2nd': 2, '3rd': 3, '4th': 4, '5th': 5, 'last': -1, 'final': -1,
}  # fmt: skip
# Preposition phrases that say which way a path goes; longest first.
PATHS: tuple[tuple[tuple[str, ...], str], ...] = (
    (('in', 'front', 'of'), 'at'),
    (('next', 'to'), 'at'),
    (('close', 'to'), 'at'),
    (('in', 'the', 'direction', 'of'), 'to'),
    (('on', 'to'), 'to'),
    (('up', 'to'), 'to'),
    (('over', 'to'), 'to'),
    (('back', 'to'), 'to'),
    (('away', 'from'), 'from'),
    (('out', 'of'), 'out'),
    (('out', 'from'), 'out'),
    (('out', 'through'), 'through'),
    (('out', 'into'), 'into'),
    (('out', 'to'), 'into'),
    (('up', 'the', 'stairs'), 'along'),
    (('into',), 'into'),
    (('inside',), 'into'),
    (('through',), 'through'),
    (('thru',), 'through'),
    (('past',), 'past'),
    (('passed',), 'past'),
    (('beyond',), 'past'),
    (('across',), 'past'),
    (('around',), 'past'),
    (('between',), 'past'),
    (('behind',), 'at'),
    (('towards',), 'to'),
    (('toward',), 'to'),
    (('to',), 'to'),
    (('down',), 'along'),
    (('along',), 'along'),
    (('up',), 'along'),
    (('out',), 'out'),
    (('from',), 'from'),
    (('onto',), 'to'),
    (('by',), 'by'),
    (('at',), 'at'),
    (('near',), 'at'),
    (('beside',), 'at'),
    (('before',), 'at'),
    (('after',), 'at'),
    (('against',), 'at'),
    (('for',), 'for'),
    (('with',), 'with'),
    (('in',), 'in'),
    (('on',), 'on'),
    (('of',), 'of'),
)
DETERMINERS = frozenset('the a an your this that these those some any another his her its'.split())
ADJECTIVES = frozenset(
    'big large small little tall short long round square wide narrow white black red blue green '
    'brown grey gray yellow beige dark light bright wooden wood glass metal double single open '
    'closed other old new nice fancy leather marble stone brick first second third fourth fifth '
    'last final next left right far nearest near closest immediate same whole entire very main '
    'front back large-ish huge tiny low high two three four five several many next'.split()
)
# Nouns that are no landmark a detector could find.
EMPTY_NOUNS = frozenset(
    'left right room way end side front back top bottom middle corner area wall floor ceiling '
    'turn direction house building apartment flat home center centre edge space part place other '
    'set pair one first second third fourth last next point spot position path route hand meters '
    'metres meter metre feet steps step degrees degree forward straight ahead there here it them '
    'you me foot base head level half distance time line intersection junction rest stop so bit '
    'moment something anything everything instructions instruction previous system robot'.split()
)
NEGATORS = frozenset("don't dont not never avoid without n't instead rather except ignore".split())
