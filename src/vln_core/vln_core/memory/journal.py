# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The memory on disk: SQLite in WAL mode, one transaction for each accepted write (SPEC 3.1).

A row per entity, keyed by kind and number. A write returns when its commit is flushed
(``synchronous=FULL``), so what was acknowledged survives ``kill -9`` and power loss. Any number of
processes may read a store, one writes: who holds the lock on ``FILE.lock``.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from pydantic import ConfigDict, TypeAdapter

from vln_core.errors import MemoryStoreError
from vln_core.file_lock import lock_file

SCHEMA_VERSION = 2
_APPLICATION_ID = 0x564C4E4D  # 'VLNM'
_log = logging.getLogger(__name__)

# An eighth of the time of json: an update writes some twenty rows.
_WRITER = TypeAdapter(Any, config=ConfigDict(ser_json_inf_nan='constants'))

Row = tuple[str, int, 'bytes | None']  # kind, number, data; None deletes


class Journal:
    """An open store; its first write makes this process the only writer until it is closed."""

    def __init__(self, path: Path, map_id: str) -> None:
        """Open or create the store of a map.

        Raises:
            MemoryStoreError: The file is not a store, is damaged, is of a newer schema, or of
                another map. It is never changed then.
        """
        self.path = path
        self.flush_seconds = 0.0
        self.flush_processor_seconds = 0.0
        self._connection = _open(path, map_id)
        self._lock: IO[bytes] | None = None
        self._last_seq = self._newest()

    def write(self, rows: Iterable[Row], entry: tuple[str, int, str]) -> None:
        """Store rows and a line (kind, step, text) of the history in one transaction.

        Raises:
            MemoryStoreError: The disk refused, or another process writes or has written into the
                store since it was opened; nothing of the write is kept.
        """
        if self._lock is None:
            self._become_writer()
        try:
            cursor = self._connection.cursor()
            cursor.execute('BEGIN IMMEDIATE')
            # Of several rows of one key the last holds, so a deletion must not come after its
            # replacement.
            latest = {row[:2]: row for row in rows}.values()
            cursor.executemany(
                'DELETE FROM entity WHERE kind = ? AND id = ?',
                [row[:2] for row in latest if row[2] is None],
            )
            cursor.executemany(
                'INSERT OR REPLACE INTO entity VALUES (?, ?, ?)',
                [row for row in latest if row[2] is not None],
            )
            cursor.execute('INSERT INTO history(kind, step, text) VALUES (?, ?, ?)', entry)
            started, busy = time.perf_counter(), time.thread_time()
            cursor.execute('COMMIT')
            self.flush_seconds = time.perf_counter() - started
            self.flush_processor_seconds = time.thread_time() - busy
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.rollback()
            raise MemoryStoreError(f'memory store {self.path} refused a write: {error}') from error

    def _become_writer(self) -> None:
        try:
            self._lock = lock_file(self.path.with_name(self.path.name + '.lock'))
        except OSError as error:
            raise MemoryStoreError(f'memory store {self.path} refused a write: {error}') from error
        if self._lock is None:
            raise MemoryStoreError(
                f'memory store {self.path} is written by another process; '
                'end that one or choose another file'
            )
        if self._newest() != self._last_seq:
            self.close()
            raise MemoryStoreError(
                f'memory store {self.path} was written by another process since it was opened; '
                'open it again'
            )

    def _newest(self) -> int:
        return int(self._read('SELECT coalesce(max(seq), 0) FROM history')[0][0])

    def clear(self) -> Iterator[Row]:
        """Yield the rows that delete everything stored."""
        for kind, number in self._read('SELECT kind, id FROM entity'):
            yield kind, number, None

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._connection.execute(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise MemoryStoreError(f'memory store {self.path} cannot be read: {error}') from error

    def rows(self, kind: str) -> list[tuple[int, bytes]]:
        """Return the (number, data) rows of a kind by rising number."""
        return self._read('SELECT id, data FROM entity WHERE kind = ? ORDER BY id', (kind,))

    def sizes(self, kind: str) -> list[tuple[int, int]]:
        """Return the (number, bytes) of the rows of a kind by rising number."""
        return self._read(
            'SELECT id, length(data) FROM entity WHERE kind = ? ORDER BY id', (kind,)
        )

    def get(self, kind: str, number: int) -> bytes | None:
        """Return one row's data, or None."""
        found = self._read('SELECT data FROM entity WHERE kind = ? AND id = ?', (kind, number))
        return found[0][0] if found else None

    def history(self) -> list[tuple[int, str, int, str]]:
        """Return (sequence number, kind, step, text) of every accepted write."""
        return self._read('SELECT seq, kind, step, text FROM history ORDER BY seq')

    def close(self) -> None:
        """Release the file."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def map_id_of(path: Path) -> str:
    """Return the map that a store belongs to.

    Raises:
        MemoryStoreError: There is no such file, or it is not a readable store.
    """
    if not path.is_file():
        raise MemoryStoreError(f'there is no memory store {path}')
    _inspect(path, None)
    connection = sqlite3.connect(path)
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'map_id'").fetchone()
        return str(row[0])
    finally:
        connection.close()


def encode(value: Any) -> bytes:
    """Return JSON: the same value, its keys in the same order, gives the same bytes.

    Raises:
        ValueError: It holds what JSON cannot.
    """
    return bytes(_WRITER.dump_json(value))


def decode(data: bytes) -> Any:
    """Return the value of a row's JSON."""
    return json.loads(data)


def _open(path: Path, map_id: str) -> sqlite3.Connection:
    is_new = not path.exists() or path.stat().st_size == 0
    if not is_new:
        _inspect(path, map_id)  # read-only first: a file that is not ours is never touched
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path, timeout=5.0, isolation_level=None, check_same_thread=False
        )
        connection.execute('PRAGMA journal_mode=WAL')
        connection.execute('PRAGMA synchronous=FULL')
        if is_new:
            connection.execute('BEGIN IMMEDIATE')
            connection.execute(f'PRAGMA application_id={_APPLICATION_ID}')
            connection.execute(f'PRAGMA user_version={SCHEMA_VERSION}')
            connection.execute('CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT)')
            connection.execute(
                'CREATE TABLE IF NOT EXISTS entity(kind TEXT, id INTEGER, data BLOB, '
                'PRIMARY KEY(kind, id)) WITHOUT ROWID'
            )
            connection.execute(
                'CREATE TABLE IF NOT EXISTS history'
                '(seq INTEGER PRIMARY KEY, kind TEXT, step INTEGER, text TEXT)'
            )
            connection.execute('INSERT OR IGNORE INTO meta VALUES (?, ?)', ('map_id', map_id))
            connection.execute('COMMIT')
        elif connection.execute('PRAGMA user_version').fetchone()[0] < SCHEMA_VERSION:
            _upgrade(connection)
        return connection
    except (sqlite3.Error, OSError) as error:
        raise MemoryStoreError(f'memory store {path} cannot be opened: {error}') from error


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring a store of schema 1, which kept anchors within their place, to this one."""
    connection.execute('BEGIN IMMEDIATE')
    places = connection.execute("SELECT id, data FROM entity WHERE kind = 'place'").fetchall()
    for number, data in places:
        value = decode(data)
        del value['anchors']
        anchors = [
            ('anchor', int(anchor), encode([*pose, number]))
            for anchor, pose in value.pop('poses').items()
        ]
        connection.executemany(
            'INSERT OR REPLACE INTO entity VALUES (?, ?, ?)',
            [*anchors, ('place', number, encode(value))],
        )
    connection.execute(f'PRAGMA user_version={SCHEMA_VERSION}')
    connection.execute('COMMIT')


def _inspect(path: Path, map_id: str | None) -> None:
    try:
        # A plain connection, so that a WAL left by a crash is recovered; nothing is written by us.
        connection = sqlite3.connect(path, timeout=5.0, isolation_level=None)
        try:
            application = connection.execute('PRAGMA application_id').fetchone()[0]
            version = connection.execute('PRAGMA user_version').fetchone()[0]
            if application != _APPLICATION_ID:
                raise MemoryStoreError(
                    f'{path} is a database of another program (application id {application:#x}); '
                    'choose another file for the memory store'
                )
            if version > SCHEMA_VERSION:
                raise MemoryStoreError(
                    f'memory store {path} has schema {version}, newer than {SCHEMA_VERSION}; '
                    'update the stack or choose another file'
                )
            verdict = connection.execute('PRAGMA quick_check(1)').fetchone()[0]
            if verdict != 'ok':
                raise MemoryStoreError(
                    f'memory store {path} is damaged ({verdict}); '
                    'move it away, it is not overwritten'
                )
            stored = connection.execute("SELECT value FROM meta WHERE key = 'map_id'").fetchone()
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise MemoryStoreError(
            f'memory store {path} is damaged or not a store ({error}); '
            'move it away, it is not overwritten'
        ) from error
    if map_id is not None and (stored is None or stored[0] != map_id):
        found = '' if stored is None else stored[0]
        raise MemoryStoreError(
            f'memory store {path} belongs to map "{found}", not to "{map_id}"; '
            'choose the store of this map, or another file'
        )
