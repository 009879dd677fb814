# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""How long the navigator waits for the nodes that it calls."""

import threading
import time

import pytest
from std_srvs.srv import Trigger

from vln_nodes import calls


def _start_late(node, seconds):
    """Offer the service after a while, as a process does that is still starting."""

    def offer():
        node.create_service(Trigger, 'late', lambda _, response: response)

    timer = threading.Timer(seconds, offer)
    timer.start()
    return timer


def test_a_server_that_still_starts_is_waited_for(ros, monkeypatch):
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    monkeypatch.setattr(calls, 'SERVER_TIMEOUT', 0.2)
    server, user = rclpy.create_node('server'), rclpy.create_node('user')
    executor = SingleThreadedExecutor()
    executor.add_node(server)
    executor.add_node(user)
    spinning = threading.Thread(target=executor.spin, daemon=True)
    spinning.start()
    client = user.create_client(Trigger, 'late')
    timer = _start_late(server, 1.0)
    try:
        answer = calls.Caller(user).service(client, Trigger.Request(), 10.0)
        assert isinstance(answer, Trigger.Response)
    finally:
        timer.join()
        executor.shutdown()
        spinning.join(5.0)
        server.destroy_node()
        user.destroy_node()


def test_a_server_that_was_awaited_in_vain_is_not_awaited_as_long_again(ros, monkeypatch):
    import rclpy

    monkeypatch.setattr(calls, 'START_TIMEOUT', 0.6)
    monkeypatch.setattr(calls, 'SERVER_TIMEOUT', 0.1)
    user = rclpy.create_node('user')
    client = user.create_client(Trigger, 'never')
    caller = calls.Caller(user)
    seconds = []
    for _ in range(2):
        started = time.monotonic()
        with pytest.raises(calls.NoAnswer, match='never'):
            caller.service(client, Trigger.Request(), 1.0)
        seconds.append(time.monotonic() - started)
    user.destroy_node()
    assert seconds[0] >= 0.6
    assert seconds[1] < 0.5
