# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A campaign of the legs benchmark goes on where it was interrupted."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'tests' / 'benchmarks'))

from legs_campaign import Campaign, add


@dataclass
class Tally:
    runs: int = 0
    nearest: list[float] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)


def test_pieces_that_are_done_are_kept_and_added(tmp_path: Path) -> None:
    file = tmp_path / 'runs' / 'state.jsonl'
    ran: list[str] = []

    def run(name: str) -> Tally:
        ran.append(name)
        return Tally(2, [0.5, float('inf')], Counter(REACHED=1, BLOCKED=1))

    first = Campaign(file)
    first.piece('a', Tally, lambda: run('a'))
    again, total = Campaign(file), Tally()
    for key in ('a', 'b'):
        add(total, again.piece(key, Tally, lambda key=key: run(key)))
    assert ran == ['a', 'b']
    assert total == Tally(4, [0.5, float('inf')] * 2, Counter(REACHED=2, BLOCKED=2))
    Campaign(None).piece('a', Tally, lambda: run('c'))
    assert ran[-1] == 'c'
