# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Records a running stack into a bag: everything that a decision can be replayed from."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from vln_core.errors import ConfigError
from vln_nodes import parameters, qos, runtime
from vln_nodes.bag_reader import BagError, message_class
from vln_nodes.bag_writer import BagFull, BagLimits, BagWriter, qos_entry
from vln_nodes.base import STEADY, StackNode
from vln_nodes.parameters import parameter

PARAMETERS = 'vln.parameters'
"""Name of the bag's metadata with the parameters of each node as JSON."""
PLANNED_BY = ('perception', 'memory', 'system1', 'system2', 'controller', 'safety', 'sim_bridge')
_EXTRA = ('clock', 'tf', 'tf_static', 'rosout')
_DEPTH = 200
_WAITING_BYTES = 256_000_000


@dataclass(frozen=True)
class RecordParameters:
    """Parameters of the recorder."""

    folder: str = parameter('', 'Folder of the bag, made by the recorder.')
    pictures: bool = parameter(
        False, "Whether the camera's topics are recorded; panoramas always are."
    )
    everything: bool = parameter(False, 'Whether all topics of the graph are recorded.')
    topics: tuple[str, ...] = field(
        default=(), metadata={'description': 'Further topics by name, relative or absolute.'}
    )
    split_size_mb: int = parameter(
        500, 'Size after which the next file is begun, MB; 0: never.', minimum=0
    )
    split_duration: float = parameter(
        0.0, 'Time after which the next file is begun, s; 0: never.', minimum=0.0
    )
    max_size_mb: int = parameter(0, 'Size of the whole bag, MB; 0: no limit.', minimum=0)
    keeps_newest: bool = parameter(
        False, 'At max_size_mb delete the oldest file; else recording ends.'
    )


def trace_topics(*, with_pictures: bool) -> list[str]:
    """Return the relative names of the topics that a decision can be replayed from."""
    known = [topic.name for topic in qos.TOPICS]
    pictures = [name for name in known if name.startswith('camera/') or name == 'sim/semantic']
    kept = known if with_pictures else [name for name in known if name not in pictures]
    return [*kept, *(name for name in _EXTRA if name not in kept)]


class RecordNode(StackNode):
    """Subscribes to what appears in the graph and hands the bytes to a thread that writes."""

    def __init__(self) -> None:
        super().__init__('recorder')
        config = self._config = parameters.load(self, RecordParameters())
        if not config.folder:
            raise ConfigError('the recorder needs a folder for the bag: parameter folder')
        limits = BagLimits(
            config.split_size_mb * 1_000_000, config.split_duration,
            config.max_size_mb * 1_000_000, config.keeps_newest,
        )  # fmt: skip
        distro = os.environ.get('ROS_DISTRO', '')
        self._writer = BagWriter(Path(config.folder).expanduser(), limits, distro)
        names = [*trace_topics(with_pictures=config.pictures), *config.topics]
        # A remapped /tf and the plain one are both of use.
        self._wanted = {self.resolve_topic_name(name) for name in names} | {
            '/clock', '/tf', '/tf_static', '/rosout',
        }  # fmt: skip
        self._seen: dict[str, Any] = {}
        self._known_parameters: dict[str, str] = {}
        self._asked: set[str] = set()
        self._incoming: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._num_lost = 0
        self._full = ''
        self._thread = threading.Thread(target=self._write_all, name='bag', daemon=True)
        self._thread.start()
        self._discovery = self.create_timer(0.5, self._discover, clock=STEADY)
        self._discover()
        self.get_logger().info(f'recording into {self._writer.folder}')

    def _discover(self) -> None:
        own = self.get_fully_qualified_name()
        for name, types in self.get_topic_names_and_types():
            if name in self._seen or not (self._config.everything or name in self._wanted):
                continue
            infos = [i for i in self.get_publishers_info_by_topic(name) if i.node_name != own]
            if not infos:
                continue
            self._follow(name, types[0], [info.qos_profile for info in infos])
        for node in PLANNED_BY:
            self._ask_parameters(node)
        self.report(
            error=self._full,
            warning=f'{self._num_lost} messages were lost: the disk is too slow'
            if self._num_lost
            else '',
            topics=sum(found is not None for found in self._seen.values()),
            messages=self._writer.num_messages,
            megabytes=f'{self._writer.size / 1e6:.1f}',
            lost=self._num_lost,
        )

    def _follow(self, name: str, type_name: str, profiles: list[QoSProfile]) -> None:
        """Subscribe so that every publisher of the topic fits."""
        is_reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
        is_latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
        profile = QoSProfile(
            depth=_DEPTH,
            reliability=ReliabilityPolicy.RELIABLE
            if is_reliable
            else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL
            if is_latched
            else DurabilityPolicy.VOLATILE,
        )
        self._seen[name] = None
        try:
            kind = message_class(type_name)
        except BagError as error:
            self.get_logger().warning(f'{name} is left out: {error}')
            return
        entry = qos_entry(
            depth=max(p.depth for p in profiles) or 10,
            is_reliable=is_reliable,
            is_latched=is_latched,
        )
        self._incoming.put((name, type_name, entry))

        def keep(data: bytes) -> None:
            self._keep(name, data)

        self._seen[name] = self.create_subscription(kind, name, keep, profile, raw=True)

    def _keep(self, name: str, data: bytes) -> None:
        with self._lock:
            if self._full or self._waiting + len(data) > _WAITING_BYTES:
                self._num_lost += 1
                return
            self._waiting += len(data)
        self._incoming.put((name, time.time_ns(), data))

    def _write_all(self) -> None:
        """Write what comes until None comes; runs in a thread of its own."""
        while (item := self._incoming.get()) is not None:
            name, second, third = item
            try:
                if name == PARAMETERS:
                    self._writer.describe(name, third)
                elif isinstance(second, str):
                    self._writer.add_topic(name, second, third)
                elif not self._full:
                    self._writer.write(name, second, third)
            except (BagFull, ConfigError, OSError) as error:
                # A full bag or disk: what was written stays readable, and people are told.
                self._full = str(error)
                self.get_logger().error(f'recording has ended: {error}')
            if isinstance(third, bytes):
                with self._lock:
                    self._waiting -= len(third)

    # -- parameters -------------------------------------------------------------------------------

    def _ask_parameters(self, node: str) -> None:
        """Ask a node of the stack once for all that it was configured with."""
        base = f'{self.get_namespace().rstrip("/")}/{node}'
        if node in self._asked:
            return
        lister = self.create_client(ListParameters, f'{base}/list_parameters')
        getter = self.create_client(GetParameters, f'{base}/get_parameters')
        if not (lister.service_is_ready() and getter.service_is_ready()):
            self.destroy_client(lister)
            self.destroy_client(getter)
            return
        self._asked.add(node)

        def on_names(future: Any) -> None:
            names = list(future.result().result.names)
            answer = getter.call_async(GetParameters.Request(names=names))
            answer.add_done_callback(lambda done: self._note(node, names, done.result().values))

        lister.call_async(ListParameters.Request()).add_done_callback(on_names)

    def _note(self, node: str, names: list[str], values: list[Any]) -> None:
        plain = {
            name: _plain(value)
            for name, value in zip(names, values, strict=True)
            if value.type != ParameterType.PARAMETER_NOT_SET
        }
        self._known_parameters[node] = json.dumps(plain)
        self._incoming.put((PARAMETERS, 0, dict(self._known_parameters)))

    def close(self) -> None:
        """Write what has come, and finish the bag."""
        self._incoming.put(None)
        self._thread.join(timeout=20.0)
        self._writer.close()
        size = self._writer.size / 1e6
        self.get_logger().info(
            f'{self._writer.num_messages} messages, {size:.1f} MB in {self._writer.folder}'
        )


def _plain(value: Any) -> Any:
    """Return what a ParameterValue holds."""
    kinds = {
        ParameterType.PARAMETER_BOOL: 'bool_value',
        ParameterType.PARAMETER_INTEGER: 'integer_value',
        ParameterType.PARAMETER_DOUBLE: 'double_value',
        ParameterType.PARAMETER_STRING: 'string_value',
        ParameterType.PARAMETER_BOOL_ARRAY: 'bool_array_value',
        ParameterType.PARAMETER_INTEGER_ARRAY: 'integer_array_value',
        ParameterType.PARAMETER_DOUBLE_ARRAY: 'double_array_value',
        ParameterType.PARAMETER_STRING_ARRAY: 'string_array_value',
        ParameterType.PARAMETER_BYTE_ARRAY: 'byte_array_value',
    }
    found = getattr(value, kinds[value.type])
    return list(found) if not isinstance(found, (bool, int, float, str)) else found


def main() -> None:
    """Run the node."""
    runtime.main(RecordNode)


if __name__ == '__main__':
    main()
