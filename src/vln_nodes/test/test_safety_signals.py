# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""However the safety process is told to end, its last word to the base is zero."""

from __future__ import annotations

import signal
import time

import pytest
import rclpy
from scripted_robot import Process, ScriptedRobot, wait_until

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
