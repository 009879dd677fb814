# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The only publisher of the base's velocity. Small on purpose: read it whole.

Emergency stop before teleop before controller; every doubt ends in zero. What is decided is in
:class:`vln_core.control.safety.SafetyGate`; here are only the wires. A thread of its own asks the
gate at 20 Hz and at the instant something becomes too old, so that no callback can delay a zero.
"""

from __future__ import annotations

import gc
import math
import threading
import time
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from vln_core.control.body_band import warm_up
from vln_core.control.safety import SafetyDecision, SafetyGate, SafetyState
from vln_core.errors import ConfigError
from vln_interfaces.msg import Heartbeat, SafetyStatus, VelocityCommand
from vln_nodes import conversions, parameters, qos, runtime
from vln_nodes.base import STEADY, StackNode, steady_now
from vln_nodes.safety_lockstep import SOLITUDE, Lockstep
from vln_nodes.safety_parameters import SafetyParameters
from vln_nodes.safety_sensors import SafetySensors

_LOG_PERIOD = 2.0  # s, of one state in the log; topic and diagnostics tell every change


class SafetyNode(StackNode):
    """Publishes ``cmd_vel`` and ``safety_status``; serves ``emergency_stop``."""

    def __init__(self) -> None:
        super().__init__('safety')
        config = self._config = parameters.load(self, SafetyParameters())
        self.gate = SafetyGate(config.gate)
        warm_up(config.band, self.gate.body)  # before anything depends on this process
        self.status = SafetyStatus(state=SafetyStatus.STARTING, message='starting')
        self._status_time = 0.0
        self._logged: dict[str, float] = {}
        self._lock = threading.RLock()  # of the gate and of cmd_vel
        self._lockstep: Lockstep | None = None
        self._started = steady_now()
        self._is_ending = False
        self._failure: Exception | None = None
        kind = TwistStamped if config.enable_stamped_cmd_vel else Twist
        command = qos.COMMAND_LOCKSTEP if config.lockstep else qos.COMMAND
        self._cmd_vel = self.create_publisher(kind, 'cmd_vel', command)
        self._status_publisher = self.create_publisher(SafetyStatus, 'safety_status', qos.LATCHED)
        period = config.control_period
        if config.lockstep:
            self._lockstep = Lockstep(self, config.gate, config.image_period, period)
            self._timer = self.create_timer(period, self._lockstep.on_timer, clock=STEADY)
        self._sensors = SafetySensors(self, config, self._lock, self._lockstep)
        self._subscribe(command)
        self.create_service(SetBool, 'emergency_stop', self._on_emergency_service)
        self._check_timer = self.create_timer(0.5, self._check, clock=STEADY)
        if not runtime.raise_priority(config.realtime_priority):
            self.get_logger().info('no real-time priority; grant it with rtprio in limits.conf')
        gc.collect()
        gc.freeze()  # a full collection over all that was imported would hold everything up
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._pace, name='pace', daemon=True)
        if self._lockstep is None:
            self._thread.start()

    def _subscribe(self, command: Any) -> None:
        self.create_subscription(VelocityCommand, 'velocity_command', self._on_command, command)
        self.create_subscription(
            VelocityCommand, 'teleop/velocity_command', self._on_teleop, qos.COMMAND
        )
        self.create_subscription(Heartbeat, 'heartbeat', self._on_heartbeat, qos.HEARTBEAT)
        self.create_subscription(Bool, 'emergency_stop', self._on_emergency, qos.COMMAND)

    # -- inputs ---------------------------------------------------------------------------------

    def _on_heartbeat(self, message: Heartbeat) -> None:
        if self._lockstep is not None:
            self._lockstep.on_heartbeat(message.node)
            return
        with self._lock:
            self.gate.on_heartbeat(message.node, steady_now())

    def _on_command(self, message: VelocityCommand) -> None:
        if self._lockstep is not None:
            self._lockstep.on_command(message)
        else:
            self.put('controller', message, steady_now())

    def _on_teleop(self, message: VelocityCommand) -> None:
        if self._lockstep is not None:
            self._lockstep.on_teleop(message)
        else:
            self.put('teleop', message, steady_now())

    def put(self, source: str, message: VelocityCommand, now: float) -> None:
        """Hand a command to the gate; ``now`` in s of the gate's clock."""
        twist = message.twist
        with self._lock:
            self.gate.on_command(source, twist.linear.x, twist.angular.z, message.is_hold, now)

    def _on_emergency(self, message: Bool) -> None:
        if message.data:  # a topic can only stop; releasing needs the service
            self._stop(is_on=True, reason='emergency stop by topic')

    def _on_emergency_service(self, request: Any, response: Any) -> SetBool.Response:
        self._stop(is_on=request.data, reason='emergency stop by service')
        response.success = True
        response.message = 'stopped until released' if request.data else 'released'
        return response

    def _stop(self, *, is_on: bool, reason: str) -> None:
        with self._lock:
            self.gate.emergency_stop(is_on, reason)
            if self._lockstep is None:
                self._decide()
        if self._lockstep is not None:
            self._lockstep.on_emergency(is_on=is_on)
        self.get_logger().warning(reason if is_on else 'emergency stop released')

    # -- decisions ------------------------------------------------------------------------------

    def _pace(self) -> None:
        """Decide every period, and at once when something becomes too old."""
        due = steady_now()
        try:
            while not self._has_ended.is_set():
                now = steady_now()
                if now >= due:
                    due = max(due + self._config.control_period, now)
                with self._lock:
                    self._decide()
                    until = min(due, self.gate.next_expiry(now) + 0.001)
                self._has_ended.wait(max(0.0, until - steady_now()))
        except Exception as error:  # whatever it is: zero, and the end of the process
            self._failure = error
            self.halt()

    def _decide(self) -> None:
        now = steady_now()
        decision = self.gate.decide(now)
        if now - self._started < SOLITUDE:
            decision = SafetyDecision(0.0, 0.0, SafetyState.STARTING, 'starting', True, '')
        elif not self.is_active:
            decision = SafetyDecision(0.0, 0.0, SafetyState.STARTING, 'not activated', True, '')
        self.send(self.get_clock().now().nanoseconds, decision.v, decision.w)
        self.show(decision.state, decision.message, decision.source, (decision.v, decision.w))

    def _check(self) -> None:
        """Twice a second: the pace must live, and nobody else may steer."""
        if self._failure is not None:
            raise self._failure
        if self.count_publishers('cmd_vel') > 1:
            text = f'{self.resolve_topic_name("cmd_vel")} has another publisher: a second stack?'
            if steady_now() - self._started < 5.0:
                raise ConfigError(f'{text} Stop it, or choose another ROS domain or namespace')
            self.report(error=text)

    # -- outputs --------------------------------------------------------------------------------

    def send(self, stamp: int, v: float, w: float) -> None:
        """Publish a velocity, m/s and rad/s; zero once the end began, and while not active."""
        message = TwistStamped() if self._config.enable_stamped_cmd_vel else Twist()
        twist = message.twist if self._config.enable_stamped_cmd_vel else message
        if self._config.enable_stamped_cmd_vel:
            message.header.stamp = conversions.stamp_msg(stamp)
            message.header.frame_id = self._config.base_frame
        with self._lock:
            if not self._is_ending and self.is_active:
                twist.linear.x, twist.angular.z = float(v), float(w)
            self._cmd_vel.publish(message)

    def show(self, state: int, text: str, source: str, velocity: tuple | None) -> None:
        """Publish the status at every change and at 10 Hz; ``velocity`` None: as before."""
        status, now = self.status, steady_now()
        is_change = int(state) != status.state
        status.state, status.message, status.source = int(state), text, source
        if velocity is not None:
            status.commanded.linear.x, status.commanded.angular.z = map(float, velocity)
        if is_change or now - self._status_time >= 0.099:
            self._status_time = now
            status.stamp = self.get_clock().now().to_msg()
            self._status_publisher.publish(status)
            ok = (SafetyState.OK, SafetyState.STARTING)
            self.report(warning='' if int(state) in ok else text, source=source)
        if is_change:
            self._log(SafetyState(int(state)).name, text, now)

    def _log(self, name: str, text: str, now: float) -> None:
        """Log a state, and one that flickers not at every change."""
        if now - self._logged.get(name, -math.inf) >= _LOG_PERIOD:
            self._logged[name] = now
            self.get_logger().info(f'{name}: {text}')

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Zero at once, and until the node is activated again."""
        result = super().on_deactivate(state)
        self._send_zero()
        return result

    def halt(self) -> None:
        """Zero, now and from now on; called in the thread that took the signal."""
        self._is_ending = True
        self._send_zero()

    def _send_zero(self) -> None:
        tick = None if self._lockstep is None else self._lockstep.last
        self.send(tick or self.get_clock().now().nanoseconds, 0.0, 0.0)

    def close(self) -> None:
        """Zero velocity, several times, and only then the end."""
        for _ in range(5):
            self.halt()
            time.sleep(0.03)
        self._has_ended.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        self._cmd_vel.wait_for_all_acked(Duration(seconds=0.2))
        self._sensors.close()


def main() -> None:
    """Run the node."""
    runtime.main(SafetyNode)


if __name__ == '__main__':
    main()
