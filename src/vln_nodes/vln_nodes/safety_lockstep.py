# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The safety node in lock-step with a simulator; a robot never runs this file.

A command for a tick asks the gate, on simulated time, so that the answer does not depend on the
machine's load. A tick without a command releases nothing: simulated time, and with it the robot,
stands still.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vln_core.control.safety import SafetyConfig, SafetyGate, SafetyState
from vln_interfaces.msg import VelocityCommand
from vln_nodes import conversions
from vln_nodes.base import steady_now
from vln_nodes.ticks import Arrival, TickQueue

# How long the node looks for another stack before anything may move; discovery needs that.
SOLITUDE = 1.5
# A lost node freezes simulated time; after this long the tick is released with zero.
_PATIENCE = 10.0


class Lockstep:
    """Order of ticks; asks the gate of its node and sends through it."""

    def __init__(self, node: Any, gate: SafetyConfig, image_period: float, period: float) -> None:
        """Serve ``node``, a :class:`vln_nodes.safety_node.SafetyNode`; periods in s."""
        self._node, self._config, self._period = node, gate, period
        self._ticks = TickQueue(round(image_period * 1e9))
        self._heartbeats: dict[str, float] = {}
        self._commands: dict[int, VelocityCommand] = {}
        self._released: tuple[int, float, float] | None = None
        self._held = -1
        self._has_teleop = False
        self._is_emergency = False
        self._started = steady_now()

    @property
    def last(self) -> int | None:
        """Stamp of the last tick, ns; None before the first."""
        return self._ticks.last

    # -- inputs ---------------------------------------------------------------------------------

    def on_heartbeat(self, name: str) -> None:
        """Note that a node is alive."""
        self._heartbeats[name] = steady_now()

    def on_odometry(self, stamp: int, *, is_finite: bool) -> None:
        """Take an odometry sample; time that goes back is a simulator that began again."""
        if not is_finite:
            return
        arrival = self._ticks.arrival(stamp)
        if arrival is Arrival.RESTARTED:
            self._ticks.restart()
            self._commands.clear()
            self._node.gate = SafetyGate(self._config)
            self._node.gate.emergency_stop(self._is_emergency)
        if arrival is not Arrival.REPEATED:
            self._ticks.add_sample(stamp, None)
            self.advance()

    def on_depth(self, stamp: int, obstacles_base: np.ndarray) -> None:
        """Take what a depth image shows, (K, 2) metres in base_link."""
        self._ticks.add_depth(stamp, obstacles_base)
        self.advance()

    def on_command(self, message: VelocityCommand) -> None:
        """Take a command of the controller."""
        stamp = conversions.stamp_ns(message.header.stamp)
        if self._released is not None and stamp == self._released[0]:
            self._node.send(*self._released)  # the first one was lost
        else:
            self._commands[stamp] = message
            self.advance()

    def on_teleop(self, message: VelocityCommand) -> None:
        """Take a command of somebody who drives by hand."""
        if self._ticks.last is not None and not message.is_hold:
            self._node.put('teleop', message, self._ticks.last * 1e-9)
            self._has_teleop = True
            self.advance()

    def on_emergency(self, *, is_on: bool) -> None:
        """Note the latch, which outlives a restart of the simulator."""
        self._is_emergency = is_on
        self.on_timer()

    # -- decisions ------------------------------------------------------------------------------

    def on_timer(self) -> None:
        """Do what is due, and say how it stands where no command does."""
        self.advance()
        self._watch(steady_now())

    def advance(self) -> None:
        """Release the present tick if its data and its command are here."""
        node = self._node
        while (due := self._ticks.take_due()) is not None:
            stamp, _, seen = due
            now = stamp * 1e-9
            node.gate.on_odometry(stamp, now)
            node.gate.on_tf(now)
            if seen is not None:
                node.gate.on_depth(stamp, now, seen)
        stamp = self._ticks.last
        if stamp is None or stamp not in self._commands or self._is_frozen():
            return
        command = self._commands[stamp]
        if command.is_hold and stamp == self._held and not self._has_teleop:
            return
        self._held, self._has_teleop = stamp, False
        for name in self._config.required_nodes:
            if self._silence(name) <= self._config.node_timeout:
                node.gate.on_heartbeat(name, stamp * 1e-9)
        node.put('controller', command, stamp * 1e-9)
        decision = node.gate.decide(stamp * 1e-9, self._period)
        node.show(decision.state, decision.message, decision.source, (decision.v, decision.w))
        is_moving = decision.v != 0.0 or decision.w != 0.0
        if command.is_hold and not is_moving:
            return  # simulated time stands still
        self._commands.clear()
        self._released = (stamp, decision.v, decision.w)
        node.send(*self._released)

    def _silence(self, name: str) -> float:
        return steady_now() - self._heartbeats.get(name, -math.inf)

    def _is_frozen(self) -> bool:
        """Whether simulated time must wait: for the start, or for a node that is silent."""
        if steady_now() - self._started < SOLITUDE:
            return True
        limit = self._config.node_timeout
        silences = [self._silence(name) for name in self._config.required_nodes]
        return any(
            limit < silence < limit + _PATIENCE or math.isinf(silence) for silence in silences
        )

    def _watch(self, now: float) -> None:
        node, names = self._node, self._config.required_nodes
        status = node.status
        missing = [name for name in names if name not in self._heartbeats]
        if self._ticks.last is None:
            missing.append('sensors')
        lost = [name for name in names if self._silence(name) > self._config.node_timeout]
        if self._is_emergency:
            node.show(SafetyState.EMERGENCY_STOP, 'emergency stop', '', (0.0, 0.0))
        elif missing or now - self._started < SOLITUDE:
            node.show(SafetyState.STARTING, 'waiting for ' + ', '.join(missing), '', (0.0, 0.0))
        elif lost:
            node.show(SafetyState.NODE_LOST, f'no heartbeat of {", ".join(lost)}', '', (0.0, 0.0))
        elif status.state in (
            SafetyState.STARTING,
            SafetyState.EMERGENCY_STOP,
            SafetyState.NODE_LOST,
        ):
            node.show(SafetyState.OK, 'ready', '', (0.0, 0.0))
        else:
            node.show(status.state, status.message, status.source, None)
