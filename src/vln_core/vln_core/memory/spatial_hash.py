# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers filed by where they are, so that a look-up costs what is near and not what is known."""

from __future__ import annotations

import math


class SpatialHash:
    """Maps square cells of the ground to the numbers filed there."""

    def __init__(self, cell: float) -> None:
        self._cell = cell
        # Lists, not sets: a look-up walks over them far more often than anything leaves them.
        self._cells: dict[tuple[int, int], list[int]] = {}

    def _key(self, x: float, y: float) -> tuple[int, int]:
        return math.floor(x / self._cell), math.floor(y / self._cell)

    def add(self, number: int, x: float, y: float) -> None:
        """File a number at (x, y) metres."""
        self._cells.setdefault(self._key(x, y), []).append(number)

    def remove(self, number: int, x: float, y: float) -> None:
        """Take a number from where it was filed."""
        key = self._key(x, y)
        found = self._cells.get(key)
        if found is not None and number in found:
            found.remove(number)
            if not found:
                del self._cells[key]

    def move(self, number: int, old: tuple[float, float], new: tuple[float, float]) -> None:
        """File a number at another spot."""
        if self._key(*old) != self._key(*new):
            self.remove(number, *old)
            self.add(number, *new)

    def clear(self) -> None:
        """Forget all numbers."""
        self._cells.clear()

    def near(self, x: float, y: float, radius: float) -> list[int]:
        """Return the numbers in all cells that a disc touches; some may lie outside it."""
        left, bottom = self._key(x - radius, y - radius)
        right, top = self._key(x + radius, y + radius)
        cells = self._cells
        result: list[int] = []
        for column in range(left, right + 1):
            for row in range(bottom, top + 1):
                if (column, row) in cells:
                    result += cells[column, row]
        return result
