# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What every node of the stack has: a claim on its name, a heartbeat, diagnostics."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.lifecycle.node import LifecycleNodeMixin
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import ReliabilityPolicy
from rclpy.service import Service
from rclpy.subscription import Subscription

from vln_core.errors import ConfigError
from vln_core.file_lock import lock_file
from vln_nodes import qos
from vln_nodes.heartbeat import HeartbeatPublisher
from vln_nodes.meters import Meters

_MANAGED = ParameterDescriptor(
    description='Whether a lifecycle manager configures and activates this node.', read_only=True
)
# What a node says that has not said anything: it waits for whoever activates it.
_UNSAID = 'not activated'
STEADY = Clock(clock_type=ClockType.STEADY_TIME)


def steady_now() -> float:
    """Return seconds of the steady clock, which no simulation and no NTP moves."""
    return STEADY.now().nanoseconds * 1e-9


class StackNode(LifecycleNodeMixin, Node):
    """A node that is alone under its name, shows that it lives, and says how it is.

    With the parameter ``managed`` it has the services of a lifecycle node and sends heartbeats
    only while it is active: safety lets nothing move until the lifecycle manager has activated
    all nodes. Everything is made in the constructor but the networks, which perception loads when
    it is configured. Without ``managed`` there are no such services: they cost time in every wait.

    Attributes:
        is_managed: Whether somebody else configures and activates this node.
    """

    def __init__(self, name: str) -> None:
        """Create the node.

        Raises:
            ConfigError: A node of this name runs already on this machine in this ROS domain.
        """
        self.meters = Meters()  # rclpy makes services and subscriptions of its own
        Node.__init__(self, name)
        self.has_failed = False
        self._claim = claim_name(self.get_fully_qualified_name())
        self._heartbeat = HeartbeatPublisher(self)
        self.is_managed = bool(self.declare_parameter('managed', False, _MANAGED).value)
        if self.is_managed:
            self._heartbeat.is_enabled = False
            LifecycleNodeMixin.__init__(self)
        self._told: dict[str, str] = {}
        self._health = DiagnosticStatus(
            name=self.get_fully_qualified_name(), hardware_id='none', message=_UNSAID
        )
        self._health_publisher = self.create_publisher(DiagnosticArray, 'diagnostics', qos.EVENTS)
        self._health_timer = self.create_timer(1.0, self._publish_health, clock=STEADY)

    @property
    def is_active(self) -> bool:
        """Whether this node may act: unmanaged ones always, others while they are activated."""
        return not self.is_managed or self._heartbeat.is_enabled

    def create_publisher(self, *args: Any, **kwargs: Any) -> Publisher:
        """Create a publisher without QoS events, each of which costs time in every wait."""
        kwargs.setdefault(
            'event_callbacks', PublisherEventCallbacks(use_default_callbacks=False)
        )  # fmt: skip
        return super().create_publisher(*args, **kwargs)

    def create_subscription(self, *args: Any, **kwargs: Any) -> Subscription:
        """Create a subscription; warnings of QoS that does not fit are kept for sensors only."""
        profile = args[3] if len(args) > 3 else kwargs.get('qos_profile')
        is_sensor = getattr(profile, 'reliability', None) == ReliabilityPolicy.BEST_EFFORT
        if not is_sensor:
            kwargs.setdefault(
                'event_callbacks', SubscriptionEventCallbacks(use_default_callbacks=False)
            )
        if 'callback' in kwargs:
            kwargs['callback'] = self.meters.counted(_name(args, kwargs), kwargs['callback'])
        else:
            args = (*args[:2], self.meters.counted(_name(args, kwargs), args[2]), *args[3:])
        return super().create_subscription(*args, **kwargs)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[..., Any], **kwargs: Any
    ) -> Service:
        """Create a service whose latency and last refusal the diagnostics show."""
        timed = self.meters.timed(srv_name, callback)
        return super().create_service(srv_type, srv_name, timed, **kwargs)

    def report(self, *, error: str = '', warning: str = '', **values: object) -> None:
        """Set what the node says about itself; no error and no warning means that it is well."""
        status = self._health
        status.level = (
            DiagnosticStatus.ERROR
            if error
            else DiagnosticStatus.WARN
            if warning
            else DiagnosticStatus.OK
        )
        status.message = error or warning or 'ok'
        if values:
            self._told = {key: str(value) for key, value in values.items()}

    def _publish_health(self) -> None:
        if self._health.message in (_UNSAID, 'ok'):
            self._health.message = 'ok' if self.is_active else _UNSAID
        shown = {**self._told, **self.meters.values()}
        self._health.values = [KeyValue(key=key, value=value) for key, value in shown.items()]
        message = DiagnosticArray(status=[self._health])
        message.header.stamp = self.get_clock().now().to_msg()
        self._health_publisher.publish(message)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to send heartbeats."""
        self._heartbeat.is_enabled = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send no more heartbeats, whereupon the robot stands."""
        self._heartbeat.is_enabled = False
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Fall silent for good; the process ends with a signal."""
        self._heartbeat.is_enabled = False
        return super().on_shutdown(state)

    def destroy_node(self) -> None:
        """Fall silent, then give back what the node holds."""
        self._heartbeat.close()
        super().destroy_node()

    def fail(self) -> None:
        """End this process with exit code 1 soon; may be called from any thread."""
        self.has_failed = True

    def halt(self) -> None:
        """Do what a signal demands at once; in the main thread, while callbacks still run."""

    def close(self) -> None:
        """Leave the robot safe and end workers; called once, with the context still alive."""


def _name(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the topic that a subscription was asked for."""
    return str(kwargs['topic'] if 'topic' in kwargs else args[1])


def claim_name(full_name: str) -> IO[bytes]:
    """Take the machine-wide lock of a node name; the process's death frees it.

    Two stacks that publish into one graph would steer one robot, and discovery is too slow to
    notice before the first message. Stacks on other machines are found by the safety node.

    Raises:
        ConfigError: Another process holds it.
    """
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    digest = hashlib.sha256(full_name.encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f'vln-{os.getuid()}'
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = lock_file(folder / f'{domain}-{digest}.lock')
    if lock is None:
        raise ConfigError(
            f'{full_name} runs already in ROS domain {domain}: stop the other stack, or start '
            'this one with another namespace or ROS_DOMAIN_ID'
        )
    return lock
