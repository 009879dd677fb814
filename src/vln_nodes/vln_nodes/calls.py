# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Blocking calls from the navigator's thread into the ROS graph, all of them cancellable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from vln_core.errors import VlnError
from vln_core.navigator import CancelToken

_POLL = 0.05
# How long a server may be away before a call gives up; covers slow discovery.
SERVER_TIMEOUT = 10.0
# The same for one that has not been there yet: its process may still be starting.
START_TIMEOUT = 60.0


class NoAnswer(VlnError):
    """A node does not answer."""


class Caller:
    """Calls services and actions; never from a callback of the node's own executor."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.token = CancelToken()
        self._closed = threading.Event()
        self._awaited: set[str] = set()

    def close(self) -> None:
        """Make every waiting call raise."""
        self._closed.set()
        self.token.cancel()

    def service(self, client: Client, request: Any, timeout: float) -> Any:
        """Call a service and return its response.

        Raises:
            NoAnswer: There is no server, or no answer within ``timeout`` seconds.
            Cancelled: The episode was cancelled meanwhile.
        """
        self._await_server(client.service_is_ready, client.srv_name)
        future = client.call_async(request)
        try:
            return self.wait(future, timeout, f'service {client.srv_name}')
        finally:
            client.remove_pending_request(future)

    def action(
        self,
        client: ActionClient,
        goal: Any,
        name: str,
        is_interrupted: Callable[[], bool] = lambda: False,
        on_feedback: Callable[[Any], None] | None = None,
    ) -> Any:
        """Send a goal and return the result when it has ended; None if it was not accepted.

        Cancelling the episode cancels the goal and waits for its end, so that the robot stands.

        Args:
            client: Of the action.
            goal: What to send.
            name: Of the action, for messages.
            is_interrupted: Once true, the goal is cancelled; its result is returned all the same.
            on_feedback: Called in the executor's thread.

        Raises:
            NoAnswer: There is no server, or it vanished.
            Cancelled: The episode was cancelled.
        """
        self._await_server(client.server_is_ready, name)
        sending = self._in_executor(
            lambda: client.send_goal_async(goal, feedback_callback=on_feedback), name
        )
        handle = self.wait(sending, SERVER_TIMEOUT, f'action {name}')
        if not handle.accepted:
            return None
        future = self._in_executor(handle.get_result_async, name)
        missing_since: float | None = None
        is_ending = False
        while not self._done_within(future, _POLL):
            if self.token.is_cancelled:
                cancelled = handle.cancel_goal_async()
                self._done_within(cancelled, 1.0)
                self._done_within(future, 3.0)
                self.token.check()
            if not is_ending and is_interrupted():
                is_ending = True
                handle.cancel_goal_async()
            now = time.monotonic()
            missing_since = None if client.server_is_ready() else (missing_since or now)
            if missing_since is not None and now - missing_since > 2.0:
                raise NoAnswer(f'the node of action {name} has vanished while a goal was active')
        return future.result().result

    def wait(self, future: Future, timeout: float, what: str) -> Any:
        """Return a future's result.

        Raises:
            NoAnswer: Not done within ``timeout`` seconds.
            Cancelled: The episode was cancelled meanwhile.
        """
        deadline = time.monotonic() + timeout
        while not self._done_within(future, _POLL):
            self.token.check()
            if time.monotonic() > deadline:
                raise NoAnswer(f'{what} did not answer within {timeout:g} s')
        return future.result()

    def _await_server(self, is_ready: Callable[[], bool], name: str) -> None:
        is_starting = name not in self._awaited
        timeout = START_TIMEOUT if is_starting else SERVER_TIMEOUT
        started = time.monotonic()
        while not is_ready():
            self.token.check()
            if self._closed.is_set() or time.monotonic() - started > timeout:
                self._awaited.add(name)
                raise NoAnswer(
                    f'nobody has offered {name} for {timeout:g} s; is the whole stack running?'
                )
            time.sleep(_POLL)
        self._awaited.add(name)
        if is_starting and time.monotonic() - started > 1.0:
            waited = time.monotonic() - started
            self._node.get_logger().info(f'{name} is there after {waited:.1f} s')

    def _in_executor(self, send: Callable[[], Future], name: str) -> Future:
        """Send from the executor's thread, which cannot take the answer meanwhile.

        rclpy of Kilted registers a request's future a second time after it has been sent: an
        answer that another thread takes in between is lost, and the caller waits for ever.
        """
        task = self._node.executor.create_task(send)
        deadline = time.monotonic() + SERVER_TIMEOUT
        while not self._done_within(task, _POLL):
            # Not cancellable: once sent, the goal must be known to be cancelled in order.
            if time.monotonic() > deadline:
                raise NoAnswer(f'action {name} was not sent within {SERVER_TIMEOUT:g} s')
        return task.result()

    def _done_within(self, future: Future, seconds: float) -> bool:
        if future.done():
            return True
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        return done.wait(seconds) or future.done()
