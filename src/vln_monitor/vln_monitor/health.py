# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes live, and what they say about themselves. Pure logic on an injected clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# A node that is silent for so long is shown as lost, s (SPEC: five heartbeats).
SILENCE = 1.0
# Shown from the start, so that a node that never came is seen to be missing.
EXPECTED = ('safety', 'controller', 'perception', 'memory', 'system1', 'system2')


@dataclass
class _Row:
    beat: float | None = None
    told: dict[str, Any] = field(default_factory=dict)
    told_time: float = 0.0


class HealthTable:
    """One row a node."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {name: _Row() for name in EXPECTED}

    def beat(self, node: str, now: float) -> None:
        """Take a heartbeat."""
        self._rows.setdefault(node, _Row()).beat = now

    def tell(self, name: str, told: dict[str, Any], now: float) -> None:
        """Take a diagnostic status; the node is the last part of its name."""
        row = self._rows.setdefault(name.rpartition('/')[2] or name, _Row())
        row.told, row.told_time = told, now

    def rows(self, now: float) -> list[dict[str, Any]]:
        """Return what the page shows: name, state, age of the heartbeat (s), words, values."""
        shown = []
        for name, row in self._rows.items():
            age = None if row.beat is None else now - row.beat
            if age is None:
                state = 'absent'
            elif age > SILENCE:
                state = 'silent'
            else:
                state = row.told.get('level', 'ok')
            shown.append(
                {
                    'name': name,
                    'state': state,
                    # Whole seconds unless it is late: what does not change is not sent again.
                    'age': None if age is None else (0.0 if age <= SILENCE else round(age)),
                    'text': row.told.get('text', ''),
                    'values': row.told.get('values', {}),
                }
            )
        return shown
