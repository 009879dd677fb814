# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The safety process over real DDS: every watchdog, every priority, every exit ends in zero."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import rclpy
from scripted_robot import Process, ScriptedRobot, wait_until

from vln_interfaces.msg import SafetyStatus

# Longer time-outs than on a robot, so that a loaded machine does not look like a fault.
TIMEOUT, NODE_TIMEOUT = 0.8, 2.0
ARGUMENTS = [
    *('-p', "gate.required_nodes:=['robot']"),
    *('-p', f'gate.input_timeout:={TIMEOUT}'),
    *('-p', f'gate.node_timeout:={NODE_TIMEOUT}'),
]
# Scheduling on a loaded machine, on top of the limits; the benchmark measures these exactly.
SLACK = 0.75


@pytest.fixture(scope='module')
def robot() -> Iterator[ScriptedRobot]:
    rclpy.init()
    scripted = ScriptedRobot()
    yield scripted
    scripted.close()
    rclpy.try_shutdown()


@pytest.fixture(scope='module')
def safety(robot: ScriptedRobot) -> Iterator[Process]:
    process = Process('vln_nodes.safety_node', ARGUMENTS)
    yield process
    code, output = process.end()
    assert code == 0, output
    assert 'Traceback' not in output


@pytest.fixture
def driving(robot: ScriptedRobot, safety: Process) -> ScriptedRobot:
    """A robot that drives forward at 0.2 m/s."""
    _drive(robot)
    return robot


def _drive(robot: ScriptedRobot) -> None:
    robot.silent.clear()
    robot.wall, robot.teleop, robot.has_intrinsics = 5.0, None, True
    robot.command = (0.2, 0.0, False)
    assert wait_until(lambda: robot.velocity()[0] > 0.19, 60.0), robot.status.message
    assert wait_until(lambda: robot.status.source == 'controller')


@pytest.mark.parametrize(
    ('stream', 'state', 'limit'),
    [
        ('depth', SafetyStatus.STALE_DEPTH, TIMEOUT),
        ('odom', SafetyStatus.STALE_ODOMETRY, TIMEOUT),
        ('tf', None, TIMEOUT),
        ('command', SafetyStatus.STALE_COMMAND, TIMEOUT),
        ('heartbeat', SafetyStatus.NODE_LOST, NODE_TIMEOUT),
    ],
)
def test_silence_stops_in_time(
    driving: ScriptedRobot, stream: str, state: int | None, limit: float
) -> None:
    driving.silent.add(stream)
    assert wait_until(lambda: driving.velocity() == (0.0, 0.0), 5.0)
    last = driving.sent[stream]
    assert driving.first_zero_after(last) - last < limit + SLACK
    if state is None:  # depth without a pose is no sample either: whichever is noticed first
        ends = (SafetyStatus.STALE_TF, SafetyStatus.STALE_DEPTH)
        assert wait_until(lambda: driving.status.state in ends, 5.0)
    else:
        assert wait_until(lambda: driving.status.state == state, 2.0), driving.status
    time.sleep(0.3)
    assert driving.velocity() == (0.0, 0.0)
    driving.silent.clear()
    assert wait_until(lambda: driving.velocity()[0] > 0.19, 5.0)


def test_emergency_stop_is_latched(driving: ScriptedRobot) -> None:
    assert driving.emergency_stop(is_on=True)
    assert wait_until(lambda: driving.velocity() == (0.0, 0.0), 5.0)
    assert wait_until(lambda: driving.status.state == SafetyStatus.EMERGENCY_STOP, 5.0)
    driving.teleop = (0.1, 0.0)
    time.sleep(0.5)
    assert driving.velocity() == (0.0, 0.0)
    assert driving.emergency_stop(is_on=False)
    assert wait_until(lambda: driving.velocity()[0] > 0.05, 5.0)


def test_teleop_comes_before_the_controller(driving: ScriptedRobot) -> None:
    driving.teleop = (-0.1, 0.3)
    assert wait_until(lambda: driving.velocity() == (-0.1, 0.3), 5.0)
    assert wait_until(lambda: driving.status.source == 'teleop', 5.0)
    driving.teleop = None
    assert wait_until(lambda: driving.velocity() == (0.2, 0.0), 5.0)


def test_an_obstacle_ahead_stops_forward_motion_only(driving: ScriptedRobot) -> None:
    driving.wall = 0.22
    assert wait_until(lambda: driving.velocity() == (0.0, 0.0), 5.0)
    assert wait_until(lambda: driving.status.state == SafetyStatus.COLLISION_STOP, 5.0)
    driving.command = (-0.1, 0.0, False)
    assert wait_until(lambda: driving.velocity() == (-0.1, 0.0), 5.0)


def test_commands_are_limited(driving: ScriptedRobot) -> None:
    driving.command = (9.0, 9.0, False)
    assert wait_until(lambda: driving.velocity()[0] > 0.55, 5.0)
    time.sleep(0.5)
    assert max(v for _, v, _ in driving.received) <= 0.6 + 1e-9
    assert max(abs(w) for _, _, w in driving.received) <= 1.2 + 1e-9


def test_a_command_that_is_not_finite_is_none(driving: ScriptedRobot) -> None:
    driving.command = (float('nan'), 0.0, False)
    assert wait_until(lambda: driving.velocity() == (0.0, 0.0), 5.0)


def test_camera_without_intrinsics_never_moves(driving: ScriptedRobot) -> None:
    driving.has_intrinsics = False
    assert wait_until(lambda: driving.velocity() == (0.0, 0.0), 5.0)
    assert wait_until(lambda: driving.status.state == SafetyStatus.STALE_DEPTH, 5.0)


def test_a_second_safety_node_leaves_at_once(driving: ScriptedRobot) -> None:
    code, output = Process('vln_nodes.safety_node', ARGUMENTS).wait()
    assert code == 2
    assert output.strip().count('\n') == 0
    assert 'runs already in ROS domain' in output
    assert wait_until(lambda: driving.velocity()[0] > 0.19, 5.0)
