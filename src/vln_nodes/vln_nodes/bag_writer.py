# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Writes bags: a folder of MCAP files and the metadata.yaml of rosbag2.

ros2 bag, Foxglove and PyPI's rosbags read them. Messages are stored as they came from the wire,
with the full text of their definitions, so that a reader needs none of the stack's packages.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import get_package_share_directory
from mcap.writer import CompressionType, Writer

from vln_core.errors import ConfigError, VlnError

_PRIMITIVE = re.compile(r'(bool|byte|char|u?int(8|16|32|64)|float(32|64)|w?string)\b')
_FIELD = re.compile(r'^\s*([A-Za-z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+\w+', re.M)
_FOREVER = {'sec': 9223372036, 'nsec': 854775807}
_DISTRO_VERSION = 9


class BagFull(VlnError):
    """The bag has reached the size that it may have."""


@dataclass(frozen=True)
class BagLimits:
    """How large a bag and its files may become.

    Attributes:
        split_size: Size of a file after which the next one is begun, bytes; 0: never.
        split_duration: Length of a file after which the next one is begun, seconds; 0: never.
        max_size: Size of all files together, bytes; 0: no limit.
        keeps_newest: At ``max_size`` delete the oldest file; else recording ends.
    """

    split_size: int = 500_000_000
    split_duration: float = 0.0
    max_size: int = 0
    keeps_newest: bool = False

    def __post_init__(self) -> None:
        if min(self.split_size, self.split_duration, self.max_size) < 0:
            raise ConfigError('sizes and durations of a bag must not be negative')
        if self.keeps_newest and not 0 < self.split_size <= self.max_size / 2:
            raise ConfigError(
                'a bag that keeps the newest needs a max_size of at least twice its split_size'
            )


@dataclass
class _File:
    """What metadata.yaml says about one file."""

    path: Path
    first: int = 0
    last: int = 0
    counts: Counter[str] = field(default_factory=Counter)


def message_definition(type_name: str) -> str:
    """Return the text of a message and of all that it contains, as MCAP's ``ros2msg`` wants it.

    Raises:
        ConfigError: The definition of a type is not installed.
    """
    texts: dict[str, str] = {}
    waiting = [type_name]
    while waiting:
        name = waiting.pop(0)
        if name in texts:
            continue
        package, short = name.split('/')[0], name.split('/')[-1]
        file = _definition_file(package, short, '.msg')
        texts[name] = file.read_text()
        for kind in _FIELD.findall(re.sub(r'#.*', '', texts[name])):
            if _PRIMITIVE.fullmatch(kind):
                continue
            parts = kind.split('/')
            waiting.append(f'{parts[0] if len(parts) > 1 else package}/msg/{parts[-1]}')
    parts = [texts.pop(type_name)]
    for name, text in texts.items():
        parts += ['=' * 80, f'MSG: {name.replace("/msg/", "/")}', text]
    return '\n'.join(parts)


def type_hash(type_name: str) -> str:
    """Return the hash of a type's description (REP-2016); '' where none is installed."""
    package, short = type_name.split('/')[0], type_name.split('/')[-1]
    try:
        content = json.loads(_definition_file(package, short, '.json').read_text())
    except (ConfigError, OSError, ValueError):
        return ''
    hashes = {entry['type_name']: entry['hash_string'] for entry in content['type_hashes']}
    return str(hashes.get(type_name, ''))


def _definition_file(package: str, short: str, suffix: str) -> Path:
    try:
        folder = Path(get_package_share_directory(package))
    except LookupError as error:
        raise ConfigError(f'package {package} is not installed') from error
    file = folder / 'msg' / f'{short}{suffix}'
    if not file.is_file():
        raise ConfigError(f'package {package} has no definition of {short} at {file}')
    return file


def qos_entry(*, depth: int, is_reliable: bool, is_latched: bool) -> dict[str, Any]:
    """Return a QoS profile as metadata.yaml lists it."""
    return {
        'history': 'keep_last',
        'depth': depth,
        'reliability': 'reliable' if is_reliable else 'best_effort',
        'durability': 'transient_local' if is_latched else 'volatile',
        'deadline': dict(_FOREVER),
        'lifespan': dict(_FOREVER),
        'liveliness': 'automatic',
        'liveliness_lease_duration': dict(_FOREVER),
        'avoid_ros_namespace_conventions': False,
    }


class BagWriter:
    """One bag that is being written; not thread safe."""

    def __init__(self, folder: Path, limits: BagLimits | None = None, distro: str = '') -> None:
        """Begin a bag.

        Args:
            folder: Made here; its name is the name of the files.
            limits: Sizes.
            distro: ROS distribution, for metadata.yaml.

        Raises:
            ConfigError: The folder exists or cannot be made.
        """
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise ConfigError(
                f'{folder} exists, and a bag is never written over: choose another folder'
            ) from error
        except OSError as error:
            raise ConfigError(f'no bag can be begun at {folder}: {error.strerror}') from error
        self.folder = folder
        self._limits = limits or BagLimits()
        self._distro = distro
        self._topics: dict[str, tuple[str, dict[str, Any]]] = {}
        self._definitions: dict[str, str] = {}
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        self._files: list[_File] = []
        self._number = 0
        self._metadata: dict[str, dict[str, str]] = {}
        self._begin_file()

    @property
    def num_messages(self) -> int:
        """Messages in the files that are there."""
        return sum(sum(file.counts.values()) for file in self._files)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.path.stat().st_size for file in self._files if file.path.exists())

    def add_topic(self, name: str, type_name: str, qos: dict[str, Any]) -> None:
        """Announce a topic; must come before its first message.

        Args:
            name: Full name.
            type_name: Like ``std_msgs/msg/String``.
            qos: See :func:`qos_entry`.

        Raises:
            ConfigError: The definition of its type is not installed.
        """
        if type_name not in self._definitions:
            self._definitions[type_name] = message_definition(type_name)
        self._topics[name] = (type_name, qos)

    def write(self, topic: str, log_time: int, data: bytes) -> None:
        """Store one serialised message.

        Args:
            topic: A topic that was added.
            log_time: When it came, ns of the system clock.
            data: CDR, with its header.

        Raises:
            BagFull: The bag is complete; the message was not stored.
        """
        file = self._files[-1]
        if file.counts and self._is_file_full(file, log_time):
            self._end_file()
            self._begin_file()
            file = self._files[-1]
        self._keep_limit()
        if topic not in self._channels:
            self._channels[topic] = self._register(topic)
        self._writer.add_message(
            self._channels[topic], log_time=log_time, data=data, publish_time=log_time
        )
        file.first = min(file.first, log_time) if file.counts else log_time
        file.last = max(file.last, log_time)
        file.counts[topic] += 1

    def describe(self, name: str, values: dict[str, str]) -> None:
        """Add named text to this file and all later ones, such as the parameters of the nodes."""
        self._metadata[name] = values
        self._writer.add_metadata(name, values)

    def close(self) -> None:
        """Finish the last file and write metadata.yaml."""
        self._end_file()

    # -- files ------------------------------------------------------------------------------------

    def _begin_file(self) -> None:
        path = self.folder / f'{self.folder.name}_{self._number}.mcap'
        self._number += 1
        self._stream = path.open('wb')
        self._writer = Writer(self._stream, compression=CompressionType.ZSTD)
        self._writer.start(profile='ros2', library='vln_nodes')
        for name, values in self._metadata.items():
            self._writer.add_metadata(name, values)
        self._channels.clear()
        self._schemas.clear()
        self._files.append(_File(path))

    def _end_file(self) -> None:
        self._writer.finish()
        self._stream.close()
        self._write_metadata()

    def _is_file_full(self, file: _File, log_time: int) -> bool:
        limits = self._limits
        if limits.split_duration and log_time - file.first >= limits.split_duration * 1e9:
            return True
        return bool(limits.split_size) and self._stream.tell() >= limits.split_size

    def _keep_limit(self) -> None:
        limits = self._limits
        if not limits.max_size or self.size < limits.max_size:
            return
        if not limits.keeps_newest:
            raise BagFull(f'{self.folder} has reached its {limits.max_size / 1e6:.0f} MB')
        oldest = self._files.pop(0)
        oldest.path.unlink()

    def _register(self, topic: str) -> int:
        type_name, qos = self._topics[topic]
        if type_name not in self._schemas:
            text = self._definitions[type_name].encode()
            self._schemas[type_name] = self._writer.register_schema(type_name, 'ros2msg', text)
        details = {
            'offered_qos_profiles': yaml.safe_dump([qos]),
            'topic_type_hash': type_hash(type_name),
        }
        return self._writer.register_channel(topic, 'cdr', self._schemas[type_name], details)

    def _write_metadata(self) -> None:
        """Write metadata.yaml; with every file that is finished, so that a crash costs one."""
        files = [file for file in self._files if file.counts] or self._files
        first = min(file.first for file in files)
        last = max(file.last for file in files)
        counts = sum((file.counts for file in files), Counter())
        content = {
            'rosbag2_bagfile_information': {
                'version': _DISTRO_VERSION,
                'storage_identifier': 'mcap',
                'duration': {'nanoseconds': last - first},
                'starting_time': {'nanoseconds_since_epoch': first},
                'message_count': sum(counts.values()),
                'topics_with_message_count': [
                    {'topic_metadata': self._topic_entry(name), 'message_count': counts[name]}
                    for name in self._topics
                    if counts[name]
                ],
                'compression_format': '',
                'compression_mode': '',
                'relative_file_paths': [file.path.name for file in files],
                'files': [
                    {
                        'path': file.path.name,
                        'starting_time': {'nanoseconds_since_epoch': file.first},
                        'duration': {'nanoseconds': file.last - file.first},
                        'message_count': sum(file.counts.values()),
                    }
                    for file in files
                ],
                'custom_data': None,
                'ros_distro': self._distro,
            }
        }
        partial = self.folder / 'metadata.yaml.partial'
        partial.write_text(yaml.safe_dump(content, sort_keys=False))
        partial.replace(self.folder / 'metadata.yaml')

    def _topic_entry(self, name: str) -> dict[str, Any]:
        type_name, qos = self._topics[name]
        return {
            'name': name,
            'type': type_name,
            'serialization_format': 'cdr',
            'offered_qos_profiles': [qos],
            'type_description_hash': type_hash(type_name),
        }
