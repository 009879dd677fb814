# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Reads bags of MCAP files, also those whose writer was killed before it could finish them."""

from __future__ import annotations

import importlib
import logging
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from mcap.exceptions import McapError
from mcap.records import Channel, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from rclpy.serialization import deserialize_message

from vln_core.errors import VlnError

_logger = logging.getLogger(__name__)


class BagError(VlnError):
    """There is no bag, or it holds nothing that can be read."""


@dataclass(frozen=True)
class Recorded:
    """One message of a bag: topic, type, time of arrival (ns), CDR bytes."""

    topic: str
    type_name: str
    log_time: int
    data: bytes

    def message(self) -> Any:
        """Return the message; an error of the middleware if the installed type differs."""
        return deserialize_message(self.data, message_class(self.type_name))


def message_class(type_name: str) -> Any:
    """Return the class of a message type.

    Raises:
        BagError: Its package is not installed.
    """
    package, short = type_name.split('/')[0], type_name.split('/')[-1]
    try:
        return getattr(importlib.import_module(f'{package}.msg'), short)
    except (ImportError, AttributeError) as error:
        raise BagError(f'message type {type_name} is not installed here') from error


class Bag:
    """A bag on disk."""

    def __init__(self, path: Path) -> None:
        """Look at a bag's files without reading them.

        Args:
            path: The folder of a bag, or one MCAP file.

        Raises:
            BagError: There is no MCAP file.
        """
        self.path = path
        if path.is_file():
            self._files = [path]
            return
        self._files = sorted(path.glob('*.mcap'), key=_number)
        if not self._files:
            raise BagError(f'{path} is no bag: it is not there or has no file that ends in .mcap')

    def topics(self) -> dict[str, str]:
        """Return the type of every topic that has messages."""
        return {message.topic: message.type_name for message in self.messages()}

    def latched(self) -> set[str]:
        """Return the topics whose publishers kept the last message for late joiners."""
        found = set()
        for record in self._records():
            if isinstance(record, Channel):
                profiles = yaml.safe_load(record.metadata.get('offered_qos_profiles') or '[]')
                if any(_is_latched(profile.get('durability')) for profile in profiles):
                    found.add(record.topic)
        return found

    def metadata(self, name: str) -> dict[str, str]:
        """Return named text that the recorder added; empty where there is none."""
        found: dict[str, str] = {}
        for record in self._records():
            if isinstance(record, Metadata) and record.name == name:
                found = dict(record.metadata)
        return found

    def messages(self, topics: set[str] | None = None) -> Iterator[Recorded]:
        """Yield the messages in the order of recording.

        Args:
            topics: Full names; None: all.
        """
        schemas: dict[int, Schema] = {}
        channels: dict[int, Channel] = {}
        for record in self._records():
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message):
                channel = channels[record.channel_id]
                if topics is None or channel.topic in topics:
                    type_name = schemas[channel.schema_id].name
                    yield Recorded(channel.topic, type_name, record.log_time, record.data)

    def _records(self) -> Iterator[Any]:
        for file in self._files:
            with file.open('rb') as stream:
                try:
                    yield from StreamReader(stream).records
                except (McapError, EOFError, ValueError, struct.error) as error:
                    _logger.warning('%s ends early (%r): its writer did not close it', file, error)


def _is_latched(durability: object) -> bool:
    """rosbag2 writes the name of the policy, or its number before version 9."""
    return durability in ('transient_local', 1)


def _number(file: Path) -> tuple[int, str]:
    """Order files by the number at the end of their name: _10 comes after _9."""
    digits = file.stem.rpartition('_')[2]
    return (int(digits) if digits.isdigit() else -1, file.name)
