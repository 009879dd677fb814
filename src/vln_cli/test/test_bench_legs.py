# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A campaign of the legs benchmark goes on where it was interrupted."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'tests' / 'benchmarks'))

from legs_campaign import Campaign, Piece, add


@dataclass
class Tally:
    runs: int = 0
    nearest: list[float] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)


def made(name: str, log: Path) -> Tally:
    """Make a tally, and note that it was made; another process may call this."""
    with log.open('a') as file:
        file.write(name)
    return Tally(2, [0.5, float('inf')], Counter(REACHED=1, BLOCKED=1))


@pytest.mark.parametrize('workers', [1, 2])
def test_pieces_that_are_done_are_kept_and_added(tmp_path: Path, workers: int) -> None:
    file, log = tmp_path / 'runs' / 'state.jsonl', tmp_path / 'log'
    pieces = [Piece(name, Tally, functools.partial(made, name, log)) for name in 'abc']
    assert len(list(Campaign(file, workers).tallies(pieces[:1]))) == 1
    total = Tally()
    for tally in Campaign(file, workers).tallies(pieces):
        add(total, tally)
    assert sorted(log.read_text()) == ['a', 'b', 'c']
    assert total == Tally(6, [0.5, float('inf')] * 3, Counter(REACHED=3, BLOCKED=3))
    list(Campaign(None).tallies(pieces[:1]))
    assert sorted(log.read_text()) == ['a', 'a', 'b', 'c']
