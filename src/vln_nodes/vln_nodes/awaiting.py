# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting inside callbacks of a single-threaded executor, always with a bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from rclpy.time import Time
from tf2_ros import Buffer, TransformListener

from vln_core.errors import PerceptionError
from vln_interfaces.msg import Panorama
from vln_nodes import conversions, qos
from vln_nodes.base import STEADY, steady_now

_POLL = 0.05


class Changed:
    """'Something arrived', for callbacks of one executor to await; not thread-safe.

    The time-out runs on the steady clock: simulated time may stand still for good reasons.
    """

    def __init__(self, node: Node) -> None:
        self._waiting: list[Future] = []
        self._is_closed = False
        self.group = ReentrantCallbackGroup()
        self._timer = node.create_timer(
            _POLL, self.notify, clock=STEADY, callback_group=self.group
        )
        self._timer.cancel()  # runs only while somebody waits

    def notify(self) -> None:
        """Let everybody look again."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            self._timer.cancel()
        for future in waiting:
            future.set_result(None)

    def close(self) -> None:
        """Let everybody give up."""
        self._is_closed = True
        self.notify()

    async def wait_for(self, is_met: Callable[[], bool], timeout: float) -> bool:
        """Return True once ``is_met()``, False after ``timeout`` seconds or at the node's end."""
        deadline = steady_now() + timeout
        while not is_met():
            if self._is_closed or steady_now() >= deadline:
                return False
            future: Future = Future()
            self._waiting.append(future)
            if self._timer.is_canceled():
                self._timer.reset()
            await future
        return True


class TfPoses:
    """Poses at the time of a sample, never 'latest'."""

    def __init__(self, node: Node, changed: Changed) -> None:
        self._changed = changed
        self._buffer = Buffer(node=node)
        self._listener = TransformListener(self._buffer, node)

    async def pose(
        self, target: str, source: str, stamp: int, timeout: float
    ) -> NDArray[np.float64]:
        """Return the (4, 4) pose of ``source`` in ``target`` at ``stamp`` (ns).

        Raises:
            PerceptionError: TF does not reach to that time within ``timeout`` seconds.
        """
        time = Time(nanoseconds=stamp)
        future = self._buffer.wait_for_transform_async(target, source, time)
        future.add_done_callback(lambda _: self._changed.notify())
        if not await self._changed.wait_for(future.done, timeout):
            _, reason = self._buffer.can_transform(
                target, source, time, return_debug_tuple=True
            )  # fmt: skip
            future.cancel()
            raise PerceptionError(
                f'no transform {target} <- {source} at {stamp * 1e-9:.3f} s within {timeout:g} s: '
                f'{reason or "it came too late"}; check /tf, /tf_static and the clocks'
            )
        return conversions.tform_of_transform(future.result().transform)

    def latest_stamp(self, target: str, source: str) -> int | None:
        """Return the newest time (ns) of a transform; None if it is unknown, 0 if static."""
        time = Time()
        if not self._buffer.can_transform(target, source, time):
            return None
        found = self._buffer.lookup_transform(target, source, time)
        return conversions.stamp_ns(found.header.stamp)

    def latest(self, target: str, source: str) -> NDArray[np.float64] | None:
        """Return the newest pose; only for transforms inside the robot's body."""
        time = Time()
        if not self._buffer.can_transform(target, source, time):
            return None
        found = self._buffer.lookup_transform(target, source, time)
        return conversions.tform_of_transform(found.transform)


class PanoramaCache:
    """The last few panoramas by id, as all nodes receive them."""

    def __init__(self, node: Node, changed: Changed) -> None:
        self._changed = changed
        self._messages: dict[int, Panorama] = {}
        self._subscription = node.create_subscription(
            Panorama, 'panorama', self._on_panorama, qos.PANORAMA, callback_group=changed.group
        )

    def _on_panorama(self, message: Panorama) -> None:
        self._messages.pop(message.id, None)
        self._messages[message.id] = message
        while len(self._messages) > qos.PANORAMA.depth:
            del self._messages[next(iter(self._messages))]
        self._changed.notify()

    async def get(self, panorama_id: int, timeout: float = 2.0) -> Panorama | None:
        """Return the panorama, waiting until it arrives; None after ``timeout`` seconds."""
        await self._changed.wait_for(lambda: panorama_id in self._messages, timeout)
        return self._messages.get(panorama_id)
