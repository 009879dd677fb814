# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that the executor does not wake for."""

from __future__ import annotations

import time

import rclpy
from std_msgs.msg import Int32

from vln_monitor.polling import Polled
from vln_nodes import qos


def test_messages_wait_until_they_are_asked_for() -> None:
    rclpy.init()
    node = rclpy.create_node('test_polling')
    try:
        polled = Polled(node, Int32, 'numbers', qos.EVENTS)
        publisher = node.create_publisher(Int32, 'numbers', qos.EVENTS)
        deadline = time.monotonic() + 10.0
        while publisher.get_subscription_count() < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        for number in range(5):
            publisher.publish(Int32(data=number))
        found: list[int] = []
        while len(found) < 5 and time.monotonic() < deadline:
            rclpy.spin_once(node, timeout_sec=0.02)  # the executor must not eat them
            found += [message.data for message in polled.take()]
        assert found == [0, 1, 2, 3, 4]
        assert polled.take() == []
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
