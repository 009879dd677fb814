# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Managed nodes: started in order, found again when lost, given up, stopped in reverse order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import SetBool, Trigger

from vln_interfaces.msg import Heartbeat
from vln_nodes import qos
from vln_nodes.base import StackNode
from vln_nodes.heartbeat import HANG_LIMIT
from vln_nodes.lifecycle_manager import LifecycleManager

NAMES = ('alpha', 'beta', 'gamma')


class Managed(StackNode):
    """Writes down its transitions."""

    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__(name)
        self._log = log

    def on_activate(self, state):
        self._log.append(f'+{self.get_name()}')
        return super().on_activate(state)

    def on_deactivate(self, state):
        self._log.append(f'-{self.get_name()}')
        return super().on_deactivate(state)


class Graph:
    """Nodes that turn in threads."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._stops: dict[str, threading.Event] = {}
        self._threads: dict[str, threading.Thread] = {}
        self.nodes: dict[str, StackNode] = {}

    def add(self, node) -> None:
        name = node.get_name()
        stop = self._stops[name] = threading.Event()
        executor = SingleThreadedExecutor()
        executor.add_node(node)

        def spin() -> None:
            while not stop.is_set():
                executor.spin_once(timeout_sec=0.05)

        self.nodes[name] = node
        self._threads[name] = threading.Thread(target=spin)
        self._threads[name].start()

    def end(self, name: str) -> None:
        self._stops.pop(name).set()
        self._threads.pop(name).join()
        node = self.nodes.pop(name)
        if isinstance(node, StackNode):
            node.close()
            node._claim.close()
        node.destroy_node()


@pytest.fixture
def graph() -> Iterator[Graph]:
    words = ['--ros-args', '-p', f'lifecycle_manager:nodes:=[{", ".join(NAMES)}]']
    for name, value in (
        ('silence', 1.0), ('max_restarts', 1), ('return_timeout', 8.0), ('start_timeout', 30.0),
    ):  # fmt: skip
        words += ['-p', f'lifecycle_manager:{name}:={value}']
    for name in NAMES:
        words += ['-p', f'{name}:managed:=true']
    rclpy.init(args=words)
    made = Graph()
    yield made
    for name in list(made.nodes):
        made.end(name)
    rclpy.try_shutdown()


def wait_for(is_met: Callable[[], bool], timeout: float = 40.0) -> None:
    deadline = time.monotonic() + timeout
    while not is_met():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_order_loss_return_and_giving_up(graph: Graph) -> None:
    heard: set[str] = set()
    watcher = rclpy.create_node('watcher')
    watcher.create_subscription(
        Heartbeat, 'heartbeat', lambda message: heard.add(message.node), qos.HEARTBEAT
    )
    is_active = watcher.create_client(Trigger, 'lifecycle_manager/is_active')
    manage = watcher.create_client(SetBool, 'lifecycle_manager/manage_nodes')
    said: dict[str, str] = {}
    watcher.create_subscription(
        DiagnosticArray,
        'diagnostics',
        lambda message: said.update({s.name: s.message for s in message.status}),
        qos.EVENTS,
    )
    graph.add(watcher)
    for name in reversed(NAMES):  # the order of appearing does not matter
        graph.add(Managed(name, graph.log))
    time.sleep(0.5)
    assert not heard & set(NAMES)  # nobody sends heartbeats before it is active
    wait_for(lambda: [said.get(f'/{name}') for name in NAMES] == ['not activated'] * 3)
    manager = LifecycleManager()
    graph.add(manager)

    def ask(client, request):
        wait_for(client.service_is_ready)
        future = client.call_async(request)
        wait_for(future.done)
        return future.result()

    wait_for(lambda: ask(is_active, Trigger.Request()).success)
    assert graph.log == ['+alpha', '+beta', '+gamma']
    assert set(NAMES) <= heard
    wait_for(lambda: [said.get(f'/{name}') for name in NAMES] == ['ok'] * 3)

    graph.end('beta')  # its process died, and the launch starts it again
    time.sleep(1.5)
    graph.add(Managed('beta', graph.log))
    wait_for(lambda: graph.log[3:] == ['+beta'])

    assert ask(manage, SetBool.Request(data=False)).success
    wait_for(lambda: graph.log[4:] == ['-gamma', '-beta', '-alpha'])
    wait_for(lambda: not ask(is_active, Trigger.Request()).success)
    time.sleep(0.5)
    heard.clear()
    time.sleep(1.0)
    assert not heard & set(NAMES)

    assert ask(manage, SetBool.Request(data=True)).success
    wait_for(lambda: ask(is_active, Trigger.Request()).success)
    assert graph.log[7:] == ['+alpha', '+beta', '+gamma']
    graph.end('beta')
    wait_for(lambda: manager.has_failed)
    assert graph.log[10:] == ['-gamma', '-alpha']


def test_a_node_that_hangs_falls_silent(graph: Graph) -> None:
    heard: list[float] = []
    watcher = rclpy.create_node('watcher')
    watcher.create_subscription(
        Heartbeat,
        'heartbeat',
        lambda message: heard.append(time.monotonic()) if message.node == 'delta' else None,
        qos.HEARTBEAT,
    )
    graph.add(watcher)
    node = Managed('delta', [])
    graph.add(node)
    wait_for(lambda: len(heard) > 5)
    begin = time.monotonic()
    node.create_timer(0.01, lambda: time.sleep(HANG_LIMIT + 3.0))
    time.sleep(HANG_LIMIT + 2.5)
    # A callback of a second or two is no reason for silence, a hanging one is.
    assert max(heard) - begin > HANG_LIMIT - 0.5
    assert max(heard) - begin < HANG_LIMIT + 1.0
