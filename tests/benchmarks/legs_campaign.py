# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A long campaign in pieces: what is done is kept in a file; a later run goes on from there."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar('T')


@dataclasses.dataclass(frozen=True)
class Piece(Generic[T]):
    """A part of a campaign that depends on no other.

    Attributes:
        key: With everything that the tally depends on.
        kind: Of the tally: a dataclass of numbers, lists and Counters.
        run: Makes the tally; a partial of a module's function, as another process may call it.
    """

    key: str
    kind: type[T]
    run: Callable[[], T]


class Campaign:
    """Tallies by piece, in JSON lines; a piece that is there already is not run again."""

    def __init__(self, path: Path | None, workers: int = 1) -> None:
        """Open the file; None: nothing is kept. ``workers`` processes share the pieces."""
        self._path = path
        self._workers = workers
        self._done: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding='utf-8').splitlines():
                piece = json.loads(line)
                self._done[piece['key']] = piece['tally']

    def tallies(self, pieces: Sequence[Piece[T]]) -> Iterator[T]:
        """Yield the tally of each piece, in their order, run now unless it was run before."""
        missing = [piece for piece in pieces if piece.key not in self._done]
        with ExitStack() as ends:
            futures: dict[str, Future[T]] = {}
            if self._workers > 1 and len(missing) > 1:
                # Not forked: a copy of a process with threads of a ray caster may hang.
                spawn = multiprocessing.get_context('spawn')
                pool = ends.enter_context(ProcessPoolExecutor(self._workers, mp_context=spawn))
                ends.callback(pool.shutdown, wait=False, cancel_futures=True)
                futures = {piece.key: pool.submit(piece.run) for piece in missing}
            for piece in pieces:
                if piece.key in self._done:
                    yield self._read(piece)
                    continue
                future = futures.get(piece.key)
                tally = piece.run() if future is None else future.result()
                self._keep(piece.key, tally)
                yield tally

    def _read(self, piece: Piece[T]) -> T:
        fields = {
            field.name: Counter(value) if isinstance(value, dict) else value
            for field in dataclasses.fields(piece.kind)  # type: ignore[arg-type]
            if (value := self._done[piece.key].get(field.name)) is not None
        }
        return piece.kind(**fields)

    def _keep(self, key: str, tally: Any) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open('a', encoding='utf-8') as file:
                # Not asdict: it breaks Counters before Python 3.12.
                file.write(json.dumps({'key': key, 'tally': vars(tally)}) + '\n')


def add(total: T, part: T) -> T:
    """Add the fields of a tally to another one, in place, and return it."""
    for field in dataclasses.fields(total):  # type: ignore[arg-type]
        value = getattr(total, field.name) + getattr(part, field.name)
        setattr(total, field.name, value)
    return total
