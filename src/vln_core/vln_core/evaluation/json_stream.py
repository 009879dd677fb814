# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the elements of a JSON array one after the other, plain or gzipped.

Episode files reach hundreds of megabytes (RxR-CE); only one element is in memory at a time.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from vln_core.errors import EpisodeError

_CHUNK = 1 << 16
_BLANK = ' \t\r\n'


class _Reader:
    """A text file with a window of it in memory."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path, self._stream = path, stream
        self._decoder = json.JSONDecoder()
        self._text = ''
        self._start = 0
        self._passed = 0

    def fill(self) -> bool:
        # doubling keeps long elements, which are decoded again after each chunk, linear
        chunk = self._stream.read(max(_CHUNK, len(self._text) - self._start))
        self._text = self._text[self._start :] + chunk
        self._passed += self._start
        self._start = 0
        return bool(chunk)

    def peek(self) -> str:
        while True:
            while self._start < len(self._text) and self._text[self._start] in _BLANK:
                self._start += 1
            if self._start < len(self._text):
                return self._text[self._start]
            if not self.fill():
                raise self.error('the file ends too early')

    def skip(self, wanted: str) -> None:
        found = self.peek()
        if found not in wanted:
            raise self.error(f'{found!r} where one of {wanted!r} was expected')
        self._start += 1

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._start)
            except ValueError as error:
                # the element may merely be longer than the window
                if self.fill():
                    continue
                raise self.error(f'broken JSON: {error}') from error
            # a number could go on in the next chunk
            if end == len(self._text) and self.fill():
                continue
            self._start = end
            return value

    def error(self, what: str) -> EpisodeError:
        return EpisodeError(f'{self._path}, character {self._passed + self._start}: {what}')


def _open_text(path: Path) -> TextIO:
    with path.open('rb') as stream:
        is_packed = stream.read(2) == b'\x1f\x8b'
    if is_packed:
        return gzip.open(path, 'rt', encoding='utf-8')
    return path.open(encoding='utf-8')


def stream_array(path: Path, key: str = '') -> Iterator[Any]:
    """Yield the elements of the array that a file holds, or of the member ``key`` of its object.

    Raises:
        EpisodeError: The file is missing, cut off, or not what was expected; the message names
            file and place.
    """
    if not path.is_file():
        raise EpisodeError(f'there is no file {path}')
    try:
        with _open_text(path) as stream:
            reader = _Reader(path, stream)
            if key:
                _find_member(reader, key)
            reader.skip('[')
            if reader.peek() == ']':
                return
            while True:
                yield reader.value()
                if reader.peek() == ']':
                    return
                reader.skip(',')
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise EpisodeError(f'{path} cannot be read: {error}') from error


def _find_member(reader: _Reader, key: str) -> None:
    reader.skip('{')
    while reader.peek() != '}':
        name = reader.value()
        reader.skip(':')
        if name == key:
            return
        reader.value()
        if reader.peek() == ',':
            reader.skip(',')
    raise reader.error(f'the object has no member "{key}"')


def read_object(path: Path) -> Any:
    """Read a whole JSON file, plain or gzipped.

    Raises:
        EpisodeError: As :func:`stream_array`.
    """
    if not path.is_file():
        raise EpisodeError(f'there is no file {path}')
    try:
        with _open_text(path) as stream:
            return json.load(stream)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise EpisodeError(f'{path} is not readable JSON: {error}') from error
