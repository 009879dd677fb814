# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that are looked at now and then, for topics far faster than people see.

An executor wakes for each message, which for pictures, odometry and heartbeats together costs more
than everything that the page shows. These are left in the middleware until they are asked for.
"""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile


class _Never(CallbackGroup):
    """Keeps the executor from waiting for its members."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        return None


class Polled:
    """A subscription without callback; its history is as deep as the QoS profile says."""

    def __init__(
        self, node: Node, kind: Any, topic: str, profile: QoSProfile, *, raw: bool = False
    ) -> None:
        """Subscribe.

        Args:
            node: Node whose subscription it is.
            kind: Message type.
            topic: Relative name.
            profile: QoS.
            raw: Give messages as serialised bytes, for those that are mostly thrown away.
        """
        self._group = _Never()
        self._subscription = node.create_subscription(
            kind, topic, self._unused, profile, callback_group=self._group, raw=raw
        )

    def take(self) -> list[Any]:
        """Return what has arrived since the last time, oldest first."""
        found = []
        subscription = self._subscription
        with subscription.handle:
            while True:
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    return found
                found.append(taken[0])

    def _unused(self, message: Any) -> None:
        """Never called: the group keeps the executor away."""
