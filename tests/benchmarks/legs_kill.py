# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``kill -9`` of the safety process in free running: how long the simulated base goes on.

Nobody sends a zero then; what is measured is the command time-out of the base itself, with the
real safety process, the real bridge and a scripted controller.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

from vln_cli import paths
from vln_cli.domains import use_own_domain

_BRIDGE = ('lockstep:=false', 'scene:=apartment:0', 'width:=64', 'height:=48')
_SAFETY = ('-p', "gate.required_nodes:=['kill_driver']", '-p', 'use_sim_time:=true')
# The base must stand after 0.5 s; looked at for longer, because something might wake up late.
_WATCHED = 4.0


def measure_kills(
    repeats: int, say: Callable[[str], None] = lambda text: None
) -> dict[str, float]:
    """Kill the safety process ``repeats`` times while the robot turns.

    Returns:
        ``kill_to_still_max_s`` from the signal to the last motion that odometry showed, and the
        median.
    """
    use_own_domain()
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    sys.path.insert(0, str(paths.ROOT / 'src' / 'vln_nodes' / 'test'))
    import numpy as np
    import rclpy
    from scripted_robot import Process

    rclpy.init()
    arguments = [word for value in _BRIDGE for word in ('-p', value)]
    bridge = Process('vln_sim_bridge.bridge_node', arguments)
    driver = _Driver()
    took: list[float] = []
    safety = None
    try:
        for k in range(repeats):
            safety = Process('vln_nodes.safety_node', _SAFETY)
            driver.wait(driver.is_turning, 300.0, 'the robot does not turn')
            moment = time.monotonic()
            safety.end(signal.SIGKILL)
            driver.spin_until(lambda: False, _WATCHED)
            after = [(when, w) for when, w in driver.seen if when > moment]
            if len(after) < 10:  # nothing seen is not standing still
                raise RuntimeError(f'{len(after)} odometry messages in {_WATCHED} s after a kill')
            moves = [when for when, w in after if abs(w) > 1e-6]
            took.append(max(moves, default=moment) - moment)
            say(f'kill {k + 1}: still after {took[-1]:.3f} s')
            # The dead publisher stays in the graph until its lease ends.
            driver.wait(
                lambda: driver.node.count_publishers('cmd_vel') == 0, 60.0, 'the dead stay'
            )
            driver.seen.clear()
    finally:
        if safety is not None:
            safety.end()
        bridge.end()
        driver.node.destroy_node()
        rclpy.try_shutdown()
    return {
        'kill_to_still_max_s': max(took),
        'kill_to_still_p50_s': float(np.median(took)),
        'kills': len(took),
    }


class _Driver:
    """Asks for a turn at 20 Hz, sends heartbeats, and writes down what odometry shows."""

    def __init__(self) -> None:
        import rclpy
        from nav_msgs.msg import Odometry

        from vln_interfaces.msg import Heartbeat, SafetyStatus, VelocityCommand
        from vln_nodes import qos
        from vln_nodes.base import STEADY

        self._rclpy = rclpy
        self.node = rclpy.create_node('kill_driver')
        self.seen: list[tuple[float, float]] = []
        heartbeat = self.node.create_publisher(Heartbeat, 'heartbeat', qos.HEARTBEAT)
        command = self.node.create_publisher(VelocityCommand, 'velocity_command', qos.COMMAND)
        turn = VelocityCommand()
        turn.twist.angular.z = 0.4

        def beat() -> None:
            heartbeat.publish(Heartbeat(node='kill_driver'))
            command.publish(turn)

        self.node.create_timer(0.05, beat, clock=STEADY)
        self.status = ''
        self.node.create_subscription(SafetyStatus, 'safety_status', self._on_status, qos.LATCHED)
        self.node.create_subscription(
            Odometry, 'odom', self._on_odometry, qos.sensor(is_lockstep=False)
        )

    def _on_odometry(self, message: object, info: dict[str, int]) -> None:
        # When the base said it; this process may have waited for a processor.
        waited = (time.time_ns() - info['source_timestamp']) * 1e-9
        turn_rate = message.twist.twist.angular.z  # type: ignore[attr-defined]
        self.seen.append((time.monotonic() - waited, turn_rate))

    def is_turning(self) -> bool:
        """Whether the robot has turned for a while."""
        return len(self.seen) > 20 and all(w > 0.2 for _, w in self.seen[-8:])

    def _on_status(self, message: object) -> None:
        self.status = message.message  # type: ignore[attr-defined]

    def spin_until(self, is_met: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not is_met():
            if time.monotonic() > deadline:
                return False
            self._rclpy.spin_once(self.node, timeout_sec=0.05)
        return True

    def wait(self, is_met: Callable[[], bool], seconds: float, problem: str) -> None:
        if not self.spin_until(is_met, seconds):
            raise RuntimeError(f'{problem}; safety says: {self.status}')
