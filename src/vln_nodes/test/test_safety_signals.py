# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""However the safety process is told to end or to rest, its last word to the base is zero."""

from __future__ import annotations

import signal
import time

import pytest
import rclpy
from geometry_msgs.msg import Twist
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from scripted_robot import Process, ScriptedRobot, wait_until

from vln_nodes import qos

# Longer time-outs than on a robot, so that a loaded machine does not look like a fault.
TIMEOUT, NODE_TIMEOUT = 0.8, 2.0
ARGUMENTS = [
    *('-p', "gate.required_nodes:=['robot']"),
    *('-p', f'gate.input_timeout:={TIMEOUT}'),
    *('-p', f'gate.node_timeout:={NODE_TIMEOUT}'),
]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_in_zero(number: signal.Signals) -> None:
    rclpy.init()
    robot = ScriptedRobot()
    process = Process('vln_nodes.safety_node', ARGUMENTS)
    try:
        robot.command = (0.2, 0.0, False)
        assert wait_until(lambda: robot.velocity()[0] > 0.19, 60.0), robot.status.message
        sent = time.monotonic()
        code, output = process.end(number)
        assert code == 0, output
        assert 'Traceback' not in output
        assert wait_until(lambda: robot.velocity() == (0.0, 0.0), 5.0)
        assert robot.first_zero_after(sent) - sent < 1.0
    finally:
        process.end()
        robot.close()
        rclpy.try_shutdown()


def test_deactivated_it_lets_nothing_move() -> None:
    rclpy.init()
    robot = ScriptedRobot()
    process = Process('vln_nodes.safety_node', [*ARGUMENTS, '-p', 'managed:=true'])
    client = robot.node.create_client(ChangeState, 'safety/change_state')

    def change(transition: int) -> None:
        request = ChangeState.Request(transition=Transition(id=transition))
        future = client.call_async(request)
        assert wait_until(future.done, 20.0) and future.result().success

    try:
        assert client.wait_for_service(60.0)
        robot.command = (0.2, 0.0, False)
        time.sleep(3.0)  # longer than it looks for another stack
        assert robot.velocity() == (0.0, 0.0)
        change(Transition.TRANSITION_CONFIGURE)
        for _ in range(2):
            change(Transition.TRANSITION_ACTIVATE)
            assert wait_until(lambda: robot.velocity()[0] > 0.19, 30.0), robot.status.message
            sent = time.monotonic()
            change(Transition.TRANSITION_DEACTIVATE)
            assert wait_until(lambda: robot.velocity() == (0.0, 0.0), 5.0)
            assert robot.first_zero_after(sent) - sent < 1.0
            time.sleep(0.5)
            assert robot.velocity() == (0.0, 0.0), 'it stays still'
            assert wait_until(lambda: robot.status.message == 'not activated', 5.0)
    finally:
        process.end()
        robot.close()
        rclpy.try_shutdown()


def test_a_base_without_stamps_gets_twist() -> None:
    rclpy.init()
    robot = ScriptedRobot()
    heard: list[Twist] = []
    robot.node.create_subscription(Twist, 'base/cmd_vel', heard.append, qos.COMMAND)
    process = Process(
        'vln_nodes.safety_node',
        [*ARGUMENTS, '-p', 'enable_stamped_cmd_vel:=false', '-r', 'cmd_vel:=base/cmd_vel'],
    )
    try:
        robot.command = (0.2, 0.1, False)
        assert wait_until(lambda: bool(heard) and heard[-1].linear.x > 0.19, 60.0)
        assert wait_until(lambda: abs(heard[-1].angular.z - 0.1) < 1e-6, 5.0)
        assert not robot.received, 'nothing with a stamp beside it'
        code, output = process.end()
        assert code == 0, output
        assert wait_until(lambda: heard[-1] == Twist(), 5.0)
    finally:
        process.end()
        robot.close()
        rclpy.try_shutdown()
