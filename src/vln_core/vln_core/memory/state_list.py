# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Read-only states in order of their numbers, renewed only where something changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Generic, TypeVar

State = TypeVar('State')


class StateList(Generic[State]):
    """A snapshot of 100,000 nodes must not cost 100,000 new objects when ten changed."""

    def __init__(self, build: Callable[[int], State | None]) -> None:
        """Take the function that makes the state of a number, None for one that is gone."""
        self._build = build
        self._ids: list[int] = []
        self._states: list[State] = []
        self._touched: set[int] = set()
        self._snapshot: tuple[State, ...] = ()

    def touch(self, number: int) -> None:
        """Mark a number as new, changed or gone."""
        self._touched.add(number)

    def snapshot(self) -> tuple[State, ...]:
        """Return all states by rising number."""
        if not self._touched:
            return self._snapshot
        for number in sorted(self._touched):
            state = self._build(number)
            at = bisect_left(self._ids, number)
            is_known = at < len(self._ids) and self._ids[at] == number
            if state is None:
                if is_known:
                    del self._ids[at], self._states[at]
            elif is_known:
                self._states[at] = state
            else:
                self._ids.insert(at, number)
                self._states.insert(at, state)
        self._touched.clear()
        self._snapshot = tuple(self._states)
        return self._snapshot
