# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The operator's stop word: it ends whatever runs, before any planner reads it."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_STOPS = frozenset('stop halt freeze abort'.split())
_PHRASES = frozenset(("don't move", 'do not move', 'stand still', 'hold still', 'stay put'))
# What people say around it. Anything else makes an instruction of it: "stop at the sofa".
_AROUND = frozenset(
    'robot please now immediately moving it that here there right emergency everything hey the '
    'you must no enough ok okay at once driving'.split()
)


def is_stop_word(text: str) -> bool:
    """Tell whether words of the operator mean nothing but: stand still, now.

    Args:
        text: What was said or typed: "Stop!", "robot, please stop now", "emergency stop".
    """
    words = _WORD.findall(text.lower().replace('’', "'"))
    if not words or len(words) > 12:
        return False
    plain = ' '.join(words)
    for phrase in _PHRASES:
        plain = plain.replace(phrase, 'stop')
    left = plain.split()
    return any(w in _STOPS for w in left) and all(w in _STOPS | _AROUND for w in left)
