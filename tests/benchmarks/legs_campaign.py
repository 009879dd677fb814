# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A long campaign in pieces: what is done is kept in a file; a later run goes on from there."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar('T')


class Campaign:
    """Tallies by piece, in JSON lines; a piece that is there already is not run again."""

    def __init__(self, path: Path | None) -> None:
        """Open the file; None: nothing is kept."""
        self._path = path
        self._done: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding='utf-8').splitlines():
                piece = json.loads(line)
                self._done[piece['key']] = piece['tally']

    def piece(self, key: str, kind: type[T], run: Callable[[], T]) -> T:
        """Return the tally of a piece, run now unless it was run before.

        Args:
            key: Of the piece, with everything it depends on.
            kind: Dataclass of numbers, lists and Counters.
            run: Makes the tally.
        """
        if key in self._done:
            fields = {
                field.name: Counter(value) if isinstance(value, dict) else value
                for field in dataclasses.fields(kind)  # type: ignore[arg-type]
                if (value := self._done[key].get(field.name)) is not None
            }
            return kind(**fields)
        tally = run()
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open('a', encoding='utf-8') as file:
                # Not asdict: it breaks Counters before Python 3.12.
                file.write(json.dumps({'key': key, 'tally': vars(tally)}) + '\n')
        return tally


def add(total: T, part: T) -> T:
    """Add the fields of a tally to another one, in place, and return it."""
    for field in dataclasses.fields(total):  # type: ignore[arg-type]
        value = getattr(total, field.name) + getattr(part, field.name)
        setattr(total, field.name, value)
    return total
