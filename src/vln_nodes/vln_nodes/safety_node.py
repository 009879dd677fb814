# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The only publisher of the base's velocity. Small on purpose: read it whole.

Emergency stop before teleop before controller; every doubt ends in zero. What is decided is in
:class:`vln_core.control.safety.SafetyGate`; here are only the wires. Free running, a steady 20 Hz
timer asks the gate. In lock-step a command for a tick asks it, on simulated time, so that the
answer does not depend on the machine's load; a tick without a command releases nothing, and
simulated time, and with it the robot, stands still.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from vln_core.control.body_band import BodyBandConfig, obstacles_in_band
from vln_core.control.safety import SafetyConfig, SafetyDecision, SafetyGate, SafetyState
from vln_core.errors import ConfigError, GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_interfaces.msg import Heartbeat, SafetyStatus, VelocityCommand
from vln_nodes import conversions, parameters, qos, runtime
from vln_nodes.awaiting import Changed, TfPoses
from vln_nodes.base import STEADY, StackNode, steady_now
from vln_nodes.parameters import parameter
from vln_nodes.ticks import Arrival, TickQueue

_NODES = ('perception', 'memory', 'system1', 'system2', 'controller')
# How long the node looks for another stack before anything may move; discovery needs that.
_SOLITUDE = 1.5
# In lock-step a lost node freezes simulated time; after this long the tick is released with zero.
_PATIENCE = 10.0


@dataclass(frozen=True)
class SafetyParameters:
    """Parameters of the safety node."""

    lockstep: bool = parameter(False, 'Strict lock-step with the simulator.')
    control_period: float = parameter(0.05, 'Period of cmd_vel, s.', minimum=0.01, maximum=0.2)
    image_period: float = parameter(0.1, 'Period of images in lock-step, s.', minimum=0.01)
    enable_stamped_cmd_vel: bool = parameter(True, 'cmd_vel is TwistStamped; else Twist.')
    odom_frame: str = parameter('odom', 'Odometry frame.')
    base_frame: str = parameter('base_link', 'Body frame of the robot.')
    band: BodyBandConfig = field(default_factory=BodyBandConfig)
    # With a period of 0.05 s the zero is out 0.25 s after the last good sample, 1 s after a node.
    gate: SafetyConfig = field(
        default_factory=lambda: SafetyConfig(
            input_timeout=0.2, node_timeout=0.9, required_nodes=_NODES
        )
    )


class SafetyNode(StackNode):
    """Publishes ``cmd_vel`` and ``safety_status``; serves ``emergency_stop``."""

    def __init__(self) -> None:
        super().__init__('safety')
        config = self._config = parameters.load(self, SafetyParameters())
        self._gate = SafetyGate(config.gate)
        self._ticks = TickQueue(round(config.image_period * 1e9))
        # Compile before anything depends on this node's timer.
        obstacles_in_band(
            np.ones((2, 2), np.float32),
            PinholeCamera(2, 2, 1.0, 1.0, 0.5, 0.5),
            np.eye(4),
            config.band,
        )
        self._changed = Changed(self)
        self._poses = TfPoses(self, self._changed)
        self._worker = runtime.Worker(self, 'collision')
        self._info: CameraInfo | None = None
        self._heartbeats: dict[str, float] = {}
        self._commands: dict[int, VelocityCommand] = {}
        self._released: tuple[int, Any] | None = None
        self._held = -1
        self._has_teleop = False
        self._status = SafetyStatus(state=SafetyStatus.STARTING, message='starting')
        self._status_time = 0.0
        self._started = steady_now()
        self._looked = 0.0
        self._is_emergency = False
        kind = TwistStamped if config.enable_stamped_cmd_vel else Twist
        command = qos.COMMAND_LOCKSTEP if config.lockstep else qos.COMMAND
        self._cmd_vel = self.create_publisher(kind, 'cmd_vel', command)
        self._status_publisher = self.create_publisher(SafetyStatus, 'safety_status', qos.LATCHED)
        self._subscribe(command)
        self.create_service(SetBool, 'emergency_stop', self._on_emergency_service)
        self._timer = self.create_timer(config.control_period, self._on_timer, clock=STEADY)

    def _subscribe(self, command: Any) -> None:
        sensor = qos.sensor(is_lockstep=self._config.lockstep)
        group = self._changed.group
        self.create_subscription(Odometry, 'odom', self._on_odometry, sensor)
        self.create_subscription(
            Image, 'camera/depth/image_raw', self._on_depth, sensor, callback_group=group
        )
        self.create_subscription(CameraInfo, 'camera/depth/camera_info', self._on_info, sensor)
        self.create_subscription(VelocityCommand, 'velocity_command', self._on_command, command)
        self.create_subscription(
            VelocityCommand, 'teleop/velocity_command', self._on_teleop, qos.COMMAND
        )
        self.create_subscription(Heartbeat, 'heartbeat', self._on_heartbeat, qos.HEARTBEAT)
        self.create_subscription(Bool, 'emergency_stop', self._on_emergency, qos.COMMAND)

    # -- inputs ---------------------------------------------------------------------------------

    def _on_info(self, info: CameraInfo) -> None:
        self._info = info
        self._changed.notify()

    def _on_heartbeat(self, message: Heartbeat) -> None:
        self._heartbeats[message.node] = steady_now()
        if not self._config.lockstep:
            self._gate.on_heartbeat(message.node, steady_now())

    def _on_odometry(self, message: Odometry) -> None:
        stamp = conversions.stamp_ns(message.header.stamp)
        position, twist = message.pose.pose.position, message.twist.twist
        is_finite = all(
            map(math.isfinite, (position.x, position.y, twist.linear.x, twist.angular.z))
        )
        if not self._config.lockstep:
            self._gate.on_odometry(stamp, steady_now(), is_finite=is_finite)
        elif is_finite:
            arrival = self._ticks.arrival(stamp)
            if arrival is Arrival.RESTARTED:
                self._ticks.restart()
                self._commands.clear()
                self._gate = SafetyGate(self._config.gate)
                self._gate.emergency_stop(self._is_emergency)
            if arrival is not Arrival.REPEATED:
                self._ticks.add_sample(stamp, None)
                self._advance()

    async def _on_depth(self, message: Image) -> None:
        arrived = steady_now()  # work on a sample must not make it younger
        stamp = conversions.stamp_ns(message.header.stamp)
        config, frame = self._config, message.header.frame_id
        try:
            if not await self._changed.wait_for(lambda: self._info is not None, 1.0):
                raise PerceptionError('no camera/depth/camera_info: the camera has no intrinsics')
            camera = conversions.camera_of_info(self._info)
            timeout = 5.0 if config.lockstep else config.gate.input_timeout
            await self._poses.pose(config.odom_frame, frame, stamp, timeout)
            mount = await self._poses.pose(config.base_frame, frame, stamp, timeout)
            seen = await self._worker.submit(self._obstacles, message, camera, mount)
        except (PerceptionError, GeometryError) as error:
            # No sample: the watchdog of depth or TF stops the robot.
            self.get_logger().warning(str(error), throttle_duration_sec=2.0)
            self.report(error=str(error))
            return
        if config.lockstep:
            self._ticks.add_depth(stamp, seen)
            self._advance()
        else:
            self._gate.on_tf(arrived)
            self._gate.on_depth(stamp, arrived, seen)

    def _obstacles(self, message: Image, camera: Any, mount: np.ndarray) -> np.ndarray:
        depth = conversions.depth_of_image(message)
        return obstacles_in_band(depth, camera, mount, self._config.band)

    def _on_command(self, message: VelocityCommand) -> None:
        if not self._config.lockstep:
            self._put('controller', message, steady_now())
            return
        stamp = conversions.stamp_ns(message.header.stamp)
        if self._released is not None and stamp == self._released[0]:
            self._cmd_vel.publish(self._released[1])  # the first one was lost
        else:
            self._commands[stamp] = message
            self._advance()

    def _on_teleop(self, message: VelocityCommand) -> None:
        if not self._config.lockstep:
            self._put('teleop', message, steady_now())
        elif self._ticks.last is not None and not message.is_hold:
            self._put('teleop', message, self._ticks.last * 1e-9)
            self._has_teleop = True
            self._advance()

    def _put(self, source: str, message: VelocityCommand, now: float) -> None:
        twist = message.twist
        self._gate.on_command(source, twist.linear.x, twist.angular.z, message.is_hold, now)

    def _on_emergency(self, message: Bool) -> None:
        if message.data:  # a topic can only stop; releasing needs the service
            self._stop(is_on=True, reason='emergency stop by topic')

    def _on_emergency_service(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        self._stop(is_on=request.data, reason='emergency stop by service')
        response.success = True
        response.message = 'stopped until released' if request.data else 'released'
        return response

    def _stop(self, *, is_on: bool, reason: str) -> None:
        self._is_emergency = is_on
        self._gate.emergency_stop(is_on, reason)
        self.get_logger().warning(reason if is_on else 'emergency stop released')
        self._on_timer()

    # -- decisions ------------------------------------------------------------------------------

    def _on_timer(self) -> None:
        now = steady_now()
        is_looking = now - self._started < _SOLITUDE
        if now - self._looked > 0.5 and self._is_second_master():
            if now - self._started < 5.0:
                raise ConfigError(
                    f'{self.resolve_topic_name("cmd_vel")} has another publisher: a second stack '
                    'in this ROS domain and namespace? Stop it, or choose another domain'
                )
            self.report(error='cmd_vel has another publisher: two masters of one robot')
        if self._config.lockstep:
            self._advance()
            self._watch_ticks(now)
        else:
            decision = self._gate.decide(now)
            if is_looking:
                decision = SafetyDecision(0.0, 0.0, SafetyState.STARTING, 'starting', True, '')
            stamp = self.get_clock().now().nanoseconds
            self._send(stamp, decision.v, decision.w)
            self._show(decision.state, decision.message, decision.source, (decision.v, decision.w))

    def _is_second_master(self) -> bool:
        self._looked = steady_now()
        return self.count_publishers('cmd_vel') > 1

    def _advance(self) -> None:
        """Lock-step: release the present tick if its data and its command are here."""
        while (due := self._ticks.take_due()) is not None:
            stamp, _, seen = due
            now = stamp * 1e-9
            self._gate.on_odometry(stamp, now)
            self._gate.on_tf(now)
            if seen is not None:
                self._gate.on_depth(stamp, now, seen)
        stamp = self._ticks.last
        if stamp is None or stamp not in self._commands or self._is_frozen():
            return
        command = self._commands[stamp]
        if command.is_hold and stamp == self._held and not self._has_teleop:
            return
        self._held, self._has_teleop = stamp, False
        for name in self._config.gate.required_nodes:
            if self._silence(name) <= self._config.gate.node_timeout:
                self._gate.on_heartbeat(name, stamp * 1e-9)
        self._put('controller', command, stamp * 1e-9)
        decision = self._gate.decide(stamp * 1e-9, self._config.control_period)
        self._show(decision.state, decision.message, decision.source, (decision.v, decision.w))
        is_moving = decision.v != 0.0 or decision.w != 0.0
        if command.is_hold and not is_moving:
            return  # simulated time stands still
        self._commands.clear()
        self._released = (stamp, self._send(stamp, decision.v, decision.w))

    def _silence(self, node: str) -> float:
        return steady_now() - self._heartbeats.get(node, -math.inf)

    def _is_frozen(self) -> bool:
        """Whether simulated time must wait: for the start, or for a node that is silent."""
        if steady_now() - self._started < _SOLITUDE:
            return True
        limit = self._config.gate.node_timeout
        silences = [self._silence(name) for name in self._config.gate.required_nodes]
        return any(
            limit < silence < limit + _PATIENCE or math.isinf(silence) for silence in silences
        )

    def _watch_ticks(self, now: float) -> None:
        """Lock-step: say how it stands where no command does."""
        nodes = self._config.gate.required_nodes
        missing = [name for name in nodes if name not in self._heartbeats]
        if self._ticks.last is None:
            missing.append('sensors')
        lost = [name for name in nodes if self._silence(name) > self._config.gate.node_timeout]
        if self._is_emergency:
            self._show(SafetyState.EMERGENCY_STOP, 'emergency stop', '', (0.0, 0.0))
        elif missing or now - self._started < _SOLITUDE:
            self._show(SafetyState.STARTING, 'waiting for ' + ', '.join(missing), '', (0.0, 0.0))
        elif lost:
            self._show(SafetyState.NODE_LOST, f'no heartbeat of {", ".join(lost)}', '', (0.0, 0.0))
        elif self._status.state in (
            SafetyState.STARTING,
            SafetyState.EMERGENCY_STOP,
            SafetyState.NODE_LOST,
        ):
            self._show(SafetyState.OK, 'ready', '', (0.0, 0.0))
        else:
            self._show(self._status.state, self._status.message, self._status.source, None)

    # -- outputs --------------------------------------------------------------------------------

    def _send(self, stamp: int, v: float, w: float) -> Any:
        message = TwistStamped() if self._config.enable_stamped_cmd_vel else Twist()
        twist = message.twist if self._config.enable_stamped_cmd_vel else message
        twist.linear.x, twist.angular.z = float(v), float(w)
        if self._config.enable_stamped_cmd_vel:
            message.header.stamp = conversions.stamp_msg(stamp)
            message.header.frame_id = self._config.base_frame
        self._cmd_vel.publish(message)
        return message

    def _show(
        self, state: int, text: str, source: str, velocity: tuple[float, float] | None
    ) -> None:
        """Publish the status at every change and at 10 Hz."""
        status, now = self._status, steady_now()
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
            self.get_logger().info(f'{SafetyState(int(state)).name}: {text}')

    def close(self) -> None:
        """Zero velocity, several times, and only then the end."""
        self._gate.emergency_stop(True, 'the safety node ends')
        self._timer.cancel()
        stamp = self._ticks.last or self.get_clock().now().nanoseconds
        for _ in range(5):
            self._send(stamp, 0.0, 0.0)
            time.sleep(0.03)
        self._cmd_vel.wait_for_all_acked(Duration(seconds=0.2))
        self._changed.close()
        self._worker.close()


def main() -> None:
    """Run the node."""
    runtime.main(SafetyNode)


if __name__ == '__main__':
    main()
