# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: rates, ages, latencies and refusals appear without a node's doing."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String
from std_srvs.srv import Trigger

from vln_nodes.base import StackNode
from vln_nodes.meters import Meters


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rates_and_ages() -> None:
    clock = Clock()
    meters = Meters(clock)
    heard: list[int] = []
    callback = meters.counted('odom', heard.append)
    assert meters.values() == {'odom: rate': 'nothing yet'}
    for number in range(100):
        clock.now = 100.0 + 0.1 * number
        callback(number)
    clock.now += 0.3
    assert heard == list(range(100))
    shown = meters.values()
    assert shown['odom: age'] == '0.30 s'
    assert 9.0 <= float(shown['odom: rate'].split()[0]) <= 10.0
    clock.now += 60.0
    assert meters.values()['odom: rate'] == '0.0 Hz'
    assert meters.values()['odom: age'] == '60.30 s'


def test_fast_topics_are_not_underrated() -> None:
    clock = Clock()
    meters = Meters(clock)
    callback = meters.counted('imu', lambda _: None)
    for number in range(2000):
        clock.now = 100.0 + 0.002 * number
        callback(None)
    assert 490.0 < float(meters.values()['imu: rate'].split()[0]) < 510.0


def test_latencies_and_refusals() -> None:
    clock = Clock()
    meters = Meters(clock)

    def answer(seconds: float, response: SimpleNamespace) -> SimpleNamespace:
        clock.now += seconds
        return response

    timed = meters.timed('memory/commit', answer)
    for number in range(1, 101):
        timed(0.001 * number, SimpleNamespace(error_code=0, error_msg=''))
    assert meters.values() == {'memory/commit: p50': '50 ms', 'memory/commit: p95': '95 ms'}
    timed(0.001, SimpleNamespace(error_code=602, error_msg='no such place'))
    assert meters.values()['last refusal'] == 'memory/commit: no such place'


def test_coroutines_stay_coroutines() -> None:
    meters = Meters()

    async def slow(request: int, response: int) -> int:
        await asyncio.sleep(0.02)
        return request + response

    assert asyncio.run(meters.timed('add', slow)(2, 3)) == 5
    assert int(meters.values()['add: p50'].split()[0]) >= 20


def test_a_node_tells_it_once_a_second() -> None:
    rclpy.init(args=[])
    try:
        node, other = StackNode('metered'), rclpy.create_node('other')
        heard: list[DiagnosticArray] = []
        node.create_subscription(String, 'words', lambda message: None, 10)
        node.create_service(Trigger, 'do', lambda request, response: response)
        node.report(warning='low', state='idle')
        other.create_subscription(DiagnosticArray, 'diagnostics', heard.append, 10)
        publisher = other.create_publisher(String, 'words', 10)
        client = other.create_client(Trigger, 'do')
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.add_node(other)
        future, deadline = None, time.monotonic() + 30.0
        while len(heard) < 4 and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
            publisher.publish(String(data='x'))
            if future is None and client.service_is_ready():
                future = client.call_async(Trigger.Request())
        node.destroy_node()
        other.destroy_node()
    finally:
        rclpy.try_shutdown()
    status = heard[-1].status[0]
    values = {item.key: item.value for item in status.values}
    assert (status.name, status.message) == ('/metered', 'low')
    assert values['state'] == 'idle'
    assert float(values['words: rate'].split()[0]) > 0.0
    assert values['do: p95'].endswith(' ms')
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in heard]
    gaps = [b - a for a, b in zip(stamps, stamps[1:], strict=False)]
    assert sum(gaps) / len(gaps) < 2.0
