# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The last word on the base's velocity: pure logic on an injected steady clock.

Small on purpose: read it whole. Nothing here plans; every doubt ends in zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.control.body_band import free_turn, free_way
from vln_core.control.footprint import Footprint
from vln_core.control.safety_config import SafetyConfig, SafetyState
from vln_core.errors import ConfigError

__all__ = ['SafetyConfig', 'SafetyDecision', 'SafetyGate', 'SafetyState']


@dataclass(frozen=True)
class SafetyDecision:
    """What goes to the base now.

    Attributes:
        v: m/s.
        w: rad/s.
        state: Why.
        message: For people.
        publish: False: a source holds and the base stands; lock-step time stands still.
        source: ``teleop``, ``controller`` or empty.
    """

    v: float
    w: float
    state: SafetyState
    message: str
    publish: bool
    source: str


@dataclass
class _Command:
    v: float
    w: float
    is_hold: bool
    time: float


class SafetyGate:
    """Fed with events, asked once a period; ``now`` is a steady clock in seconds."""

    def __init__(self, config: SafetyConfig | None = None) -> None:
        self.config = config or SafetyConfig()
        self.body = Footprint(self.config.radius, self.config.footprint)
        self._is_emergency = False
        self._emergency_reason = ''
        self._input_times: dict[str, float] = {}
        self._stamps: dict[str, tuple[int, float]] = {}
        self._delays: dict[str, float] = {}
        self._obstacles = np.empty((0, 2))
        self._commands: dict[str, _Command] = {}
        self._heartbeats: dict[str, float] = {}
        self._jump_time = -math.inf
        self._out = (0.0, 0.0)
        self._decided: float | None = None

    # -- events -----------------------------------------------------------------------------------

    def on_depth(
        self, stamp: int, now: float, obstacles_base: NDArray[np.float64], *, delay: float = 0.0
    ) -> None:
        """Take the newest depth image.

        Args:
            stamp: ns.
            now: Steady time of arrival, s.
            obstacles_base: (K, 2) things at body height in base_link, metres; see
                :func:`vln_core.control.body_band.obstacles_in_band`.
            delay: Age of the stamp at arrival by the clock that stamps, s; beyond
                ``max_sample_delay`` either way the sample is none.
        """
        if np.all(np.isfinite(obstacles_base)) and self._arrived('depth', stamp, now, delay):
            self._obstacles = np.asarray(obstacles_base, dtype=np.float64).reshape(-1, 2)

    def on_odometry(
        self, stamp: int, now: float, *, is_finite: bool = True, delay: float = 0.0
    ) -> None:
        """Take an odometry sample; one that is not finite, late or repeated is none."""
        if is_finite:
            self._arrived('odometry', stamp, now, delay)

    def on_tf(self, now: float) -> None:
        """Note that the camera's pose at the stamp of the depth was found."""
        self._input_times['tf'] = now

    def on_command(self, source: str, v: float, w: float, is_hold: bool, now: float) -> None:
        """Take a command of ``teleop`` or ``controller``; one that is not finite is none."""
        if source not in ('teleop', 'controller'):
            raise ConfigError(f"no command source '{source}': teleop or controller")
        if math.isfinite(v) and math.isfinite(w):
            self._commands[source] = _Command(v, w, is_hold, now)

    def on_heartbeat(self, node: str, now: float) -> None:
        """Note that a node is alive."""
        self._heartbeats[node] = now

    def emergency_stop(self, is_on: bool, reason: str = 'emergency stop') -> None:
        """Latch the emergency stop, or release it."""
        self._is_emergency, self._emergency_reason = is_on, reason

    def _arrived(self, name: str, stamp: int, now: float, delay: float) -> bool:
        """Judge a sample by its stamp; return whether it is a good one."""
        last = self._stamps.get(name)
        if last is not None:
            step, passed = (stamp - last[0]) * 1e-9, now - last[1]
            if step == 0.0:
                return False  # a driver that hangs may send its last picture for ever
            if step < 0.0 or step > passed + self.config.max_clock_jump:
                self._jump_time = now
        self._stamps[name] = (stamp, now)
        if not abs(delay) <= self.config.max_sample_delay:
            self._delays[name] = delay
            return False
        self._delays.pop(name, None)
        self._input_times[name] = now
        return True

    # -- decision ---------------------------------------------------------------------------------

    def decide(self, now: float, dt: float | None = None) -> SafetyDecision:
        """Return the velocity for the base; call once a period.

        Args:
            now: Steady time, s.
            dt: Period, s; None: measured. In lock-step it is given, so that runs are identical.
        """
        if dt is None:
            dt = 0.05 if self._decided is None else min(max(now - self._decided, 1e-3), 0.2)
        self._decided = now
        source, command = self._chosen(now)
        state, message = self._fault(now, source, command)
        if state is not SafetyState.OK or command is None:
            self._out = self._braked(dt) if self.config.is_fault_ramped else (0.0, 0.0)
            return SafetyDecision(*self._out, state, message, True, source)
        if command.is_hold:
            is_standing = self._out == (0.0, 0.0)
            self._out = (0.0, 0.0)
            return SafetyDecision(0.0, 0.0, state, 'holding', not is_standing, source)
        v, w = self._limited(command, dt)
        limit, turn_limit = self._stoppable_speed(v, w), self._stoppable_turn(w)
        if abs(v) > limit or abs(w) > turn_limit:
            v = math.copysign(min(abs(v), limit), v)
            w = math.copysign(min(abs(w), turn_limit), w)
            state, message = SafetyState.COLLISION_STOP, 'something is in the way'
        self._out = (v, w)
        return SafetyDecision(v, w, state, message, True, source)

    def next_expiry(self, now: float) -> float:
        """Return when the next input, command or node becomes too old, s; inf: none will."""
        config = self.config
        times = [time + config.input_timeout for time in self._input_times.values()]
        times += [command.time + config.input_timeout for command in self._commands.values()]
        times += [
            self._heartbeats[name] + config.node_timeout
            for name in config.required_nodes
            if name in self._heartbeats
        ]
        return min((time for time in times if time >= now), default=math.inf)

    def _chosen(self, now: float) -> tuple[str, _Command | None]:
        """Teleop while it is fresh and not holding, else the controller."""
        teleop = self._commands.get('teleop')
        if teleop is not None and not teleop.is_hold and not self._is_old(teleop.time, now):
            return 'teleop', teleop
        controller = self._commands.get('controller')
        return ('controller', controller) if controller is not None else ('', None)

    def _is_old(self, time: float | None, now: float) -> bool:
        return time is None or now - time > self.config.input_timeout

    def _fault(self, now: float, source: str, command: _Command | None) -> tuple[SafetyState, str]:
        config = self.config
        if self._is_emergency:
            return SafetyState.EMERGENCY_STOP, self._emergency_reason
        missing = [name for name in ('depth', 'odometry', 'tf') if name not in self._input_times]
        missing += [name for name in config.required_nodes if name not in self._heartbeats]
        if missing:
            hints = ''.join(self._hint(name) for name in missing)
            return SafetyState.STARTING, f'waiting for {", ".join(missing)}{hints}'
        if now - self._jump_time < config.clock_hold:
            return SafetyState.CLOCK_JUMP, 'the clock of the sensors has jumped'
        lost = [
            name
            for name in config.required_nodes
            if now - self._heartbeats[name] > config.node_timeout
        ]
        if lost:
            return SafetyState.NODE_LOST, f'no heartbeat of {", ".join(lost)}'
        for name, state in (
            ('depth', SafetyState.STALE_DEPTH),
            ('odometry', SafetyState.STALE_ODOMETRY),
            ('tf', SafetyState.STALE_TF),
        ):
            if self._is_old(self._input_times.get(name), now):
                age = f'{config.input_timeout:.2f} s'
                return state, f'{name} is older than {age}{self._hint(name)}'
        if command is None or self._is_old(command.time, now):
            return SafetyState.STALE_COMMAND, 'no command source is alive'
        return SafetyState.OK, f'{source} drives'

    def _hint(self, name: str) -> str:
        """Why samples that do come are none."""
        delay = self._delays.get(name)
        return '' if delay is None else f'; stamps of {name} are {delay:.2f} s behind the clock'

    def _braked(self, dt: float) -> tuple[float, float]:
        """One period of the emergency deceleration, without a jerk limit."""
        v, w = self._out
        dv = self.config.emergency_deceleration * dt
        dw = self.config.emergency_turn_deceleration * dt
        return (
            math.copysign(max(0.0, abs(v) - dv), v) if abs(v) > dv else 0.0,
            math.copysign(max(0.0, abs(w) - dw), w) if abs(w) > dw else 0.0,
        )

    def _limited(self, command: _Command, dt: float) -> tuple[float, float]:
        config = self.config
        v = max(-config.max_reverse_speed, min(config.max_speed, command.v))
        w = max(-config.max_turn_rate, min(config.max_turn_rate, command.w))
        dv, dw = config.emergency_deceleration * dt, config.emergency_turn_deceleration * dt
        return (
            _approach(self._out[0], v, config.max_acceleration * dt, dv),
            _approach(self._out[1], w, config.max_turn_acceleration * dt, dw),
        )

    def _stoppable_speed(self, v: float, w: float) -> float:
        """Largest speed along the arc of (v, w) that stops before the nearest thing, m/s."""
        a, t = self.config.emergency_deceleration, self.config.latency
        reach = abs(v) * t + v * v / (2.0 * a) + self.config.stop_distance + 0.02
        way = free_way(self._obstacles, v, w, self.body, reach)
        return _stoppable(max(0.0, way - self.config.stop_distance), a, t)

    def _stoppable_turn(self, w: float) -> float:
        """Largest turn rate at which what sticks out of the body stops before a thing, rad/s."""
        a, t = self.config.emergency_turn_deceleration, self.config.latency
        slack = self.config.stop_distance / self.body.outer
        reach = abs(w) * t + w * w / (2.0 * a) + slack + 0.02
        way = free_turn(self._obstacles, w, self.body, reach)
        return _stoppable(max(0.0, way - slack), a, t)


def _stoppable(way: float, a: float, t: float) -> float:
    """Speed from which ``way`` is enough: way = v t + v^2 / 2a."""
    return math.inf if way == math.inf else a * (math.sqrt(t * t + 2.0 * way / a) - t)


def _approach(current: float, wanted: float, up: float, down: float) -> float:
    """Step towards ``wanted``: at most ``up`` away from zero, at most ``down`` towards it."""
    is_slowing = abs(wanted) < abs(current) or wanted * current < 0.0
    limit = down if is_slowing else up
    return current + max(-limit, min(limit, wanted - current))
