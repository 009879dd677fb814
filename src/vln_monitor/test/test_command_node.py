# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The command node against a scripted safety process: stop, dead man's switch, absent servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from vln_interfaces.msg import VelocityCommand
from vln_monitor.command_node import CommandNode
from vln_monitor.wheel import TeleopLimits
from vln_nodes import qos


class Graph:
    """The command node in its executor, and what it sends."""

    def __init__(self) -> None:
        rclpy.init()
        self.node = CommandNode()
        self.node.limit(TeleopLimits(0.5, 1.0, 0.25))
        self.other = rclpy.create_node('test_command_node')
        self.velocities: list[tuple[float, float]] = []
        self.emergencies: list[object] = []
        self.other.create_subscription(
            VelocityCommand, 'teleop/velocity_command', self._on_velocity, qos.COMMAND
        )
        self.other.create_subscription(
            Bool, 'emergency_stop', lambda message: self.emergencies.append(message.data), 10
        )
        self.threads = []
        self.executors = []
        for node in (self.node, self.other):
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            self.executors.append(executor)
            self.threads.append(threading.Thread(target=self._spin, args=(executor,)))
            self.threads[-1].start()
        assert self.until(lambda: self.node.count_subscribers('emergency_stop') == 1)
        assert self.until(lambda: self.node.count_subscribers('teleop/velocity_command') == 1)
        time.sleep(0.5)

    def _spin(self, executor: SingleThreadedExecutor) -> None:
        try:
            executor.spin()
        except ExternalShutdownException:
            pass

    def _on_velocity(self, message: VelocityCommand) -> None:
        self.velocities.append((message.twist.linear.x, message.twist.angular.z))

    def serve_stop(self) -> None:
        def answer(request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
            self.emergencies.append(f'service {request.data}')
            response.success, response.message = True, 'stopped'
            return response

        self.other.create_service(SetBool, 'emergency_stop', answer)
        self.executors[1].wake()
        assert self.until(self.node._stop.service_is_ready)

    @staticmethod
    def until(is_met: Callable[[], bool], timeout: float = 10.0) -> bool:
        deadline = time.monotonic() + timeout
        while not is_met() and time.monotonic() < deadline:
            time.sleep(0.01)
        return is_met()

    def close(self) -> None:
        rclpy.try_shutdown()
        for thread in self.threads:
            thread.join(timeout=5.0)
        for node in (self.node, self.other):
            node.destroy_node()


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    yield made
    made.close()


def test_stop_goes_by_topic_where_no_service_answers(graph: Graph) -> None:
    answer = graph.node.stop().result(timeout=2.0)
    assert not answer.ok and 'hardware' in answer.text
    assert graph.until(lambda: graph.emergencies.count(True) >= 3), 'said again and again'
    assert (0.0, 0.0) in graph.velocities


def test_stop_leaves_although_the_executor_hangs(graph: Graph) -> None:
    graph.node.create_timer(0.01, lambda: time.sleep(3.0))
    time.sleep(0.3)
    start = time.monotonic()
    graph.node.stop()
    assert time.monotonic() - start < 0.2, 'it blocks nobody'
    assert graph.until(lambda: True in graph.emergencies, 1.0)


def test_stop_is_confirmed_and_released_by_the_service(graph: Graph) -> None:
    graph.serve_stop()
    assert graph.node.stop().result(timeout=5.0).ok
    assert graph.node.release().result(timeout=5.0).ok
    assert graph.until(lambda: 'service False' in graph.emergencies)
    count = graph.emergencies.count(True)
    time.sleep(0.3)
    assert graph.emergencies.count(True) <= count + 1, 'no stop is said after the release'


def test_silence_of_the_driver_is_zero_and_then_silence(graph: Graph) -> None:
    for _ in range(6):
        graph.node.drive(1.0, -0.5, 0.5)
        time.sleep(0.05)
    last = time.monotonic()
    assert graph.until(lambda: (0.25, -0.25) in graph.velocities)
    assert graph.until(lambda: graph.velocities[-1] == (0.0, 0.0), 2.0)
    assert time.monotonic() - last < 0.6
    assert graph.until(lambda: graph.node._timer.is_canceled(), 2.0)
    count = len(graph.velocities)
    time.sleep(0.3)
    assert len(graph.velocities) == count, 'others may drive'
    graph.node.drive(1.0, 0.0, 1.0)
    assert graph.until(lambda: (0.5, 0.0) in graph.velocities), 'it begins again'


def test_absent_servers_are_named(graph: Graph) -> None:
    for future, name in (
        (graph.node.pause(True), 'system2/pause'),
        (graph.node.cancel(), 'navigate'),
        (graph.node.instruct('go', 'Ada'), 'navigate'),
    ):
        answer = future.result(timeout=2.0)
        assert not answer.ok and name in answer.text
