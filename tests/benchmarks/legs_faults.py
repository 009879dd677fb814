# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Wall time from a fault to zero velocity, and the steadiness of the safety loop; over real DDS.

Faults: the real safety process, fed by a scripted robot whose streams are cut one at a time. Loop:
the whole stack with the simulator, while the arrival of every cmd_vel is written down.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import legs_exits
import numpy as np

from vln_cli import paths
from vln_cli.domains import use_own_domain

_ARGUMENTS = ('-p', "gate.required_nodes:=['robot']")
_STREAMS = ('depth', 'odom', 'tf', 'command')
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CLOCK_ERROR = 5.0
# So long without motion is standing still: longer than any limit.
_SETTLED = 1.2


def measure_faults(
    repeats: int, say: Callable[[str], None] = lambda text: None
) -> dict[str, object]:
    """Inject every fault ``repeats`` times.

    Times of cut streams count from the last sample that was sent, all others from the call.
    After each the robot must stay still.

    Returns:
        ``fault_to_zero_max_s`` (sensor, command and signal faults), ``node_loss_to_zero_max_s``,
        and the worst of each fault.
    """
    use_own_domain()
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    sys.path.insert(0, str(paths.ROOT / 'src' / 'vln_nodes' / 'test'))
    import rclpy
    from scripted_robot import Process, ScriptedRobot

    from vln_nodes import runtime

    rclpy.init()
    robot = ScriptedRobot()
    # On a loaded machine the instrument's waiting for a processor would be taken for the robot's.
    # All threads or none: an ordinary one that waits with the interpreter's lock stops the others.
    runtime.raise_priority(10)
    worst: dict[str, float] = {}
    process = Process('vln_nodes.safety_node', _ARGUMENTS)
    try:
        for name in (*_STREAMS, 'heartbeat', 'emergency_stop', 'clock_jump'):
            worst[name] = max(_cut(robot, name) for _ in range(repeats))
            say(f'{name}: zero within {worst[name]:.3f} s')
        for number in _SIGNALS:
            worst[number.name] = 0.0
            for _ in range(repeats):
                _drive(robot)
                began = time.monotonic()
                process.end(number)
                worst[number.name] = max(worst[number.name], _zero_after(robot, began))
                process = Process('vln_nodes.safety_node', _ARGUMENTS)
            say(f'{number.name}: zero within {worst[number.name]:.3f} s')
        worst['cancel'] = legs_exits.cancel(robot, repeats, _zero_after)
        say(f'cancel: zero within {worst["cancel"]:.3f} s')
        process.end()
        worst['exception'] = legs_exits.fail(robot, repeats, _ARGUMENTS, _drive, _zero_after)
        say(f'exception: zero within {worst["exception"]:.3f} s')
        process = Process('vln_nodes.safety_node', (*_ARGUMENTS, '-p', 'managed:=true'))
        worst['deactivation'] = _deactivate(robot, repeats)
        say(f'deactivation: zero within {worst["deactivation"]:.3f} s')
    finally:
        process.end()
        robot.close()
        rclpy.try_shutdown()
    node_loss = worst.pop('heartbeat')
    return {
        'fault_to_zero_max_s': max(worst.values()),
        'node_loss_to_zero_max_s': node_loss,
        'fault_to_zero_s': {name: round(value, 3) for name, value in worst.items()},
    }


def _drive(robot: object) -> None:
    from scripted_robot import wait_until

    robot.silent.clear()
    robot.command = (0.2, 0.0, False)
    if not wait_until(lambda: robot.velocity()[0] > 0.19, 60.0):
        raise RuntimeError(f'the scripted robot does not drive: {robot.status.message}')


def _cut(robot: object, name: str) -> float:
    """Cut one stream of a driving robot; return seconds from its last sample to zero."""
    _drive(robot)
    if name == 'emergency_stop':
        began = time.monotonic()
        robot.emergency_stop(is_on=True)
        seconds = _zero_after(robot, began)
        robot.emergency_stop(is_on=False)
        return seconds
    if name == 'clock_jump':
        robot.clock_error, began = _CLOCK_ERROR, time.monotonic()
        seconds = _zero_after(robot, began)
        robot.clock_error = 0.0
        return seconds
    robot.silent.add(name)
    time.sleep(0.06)  # a beat under way ends
    seconds = _zero_after(robot, robot.sent[name])
    robot.silent.clear()
    return seconds


def _deactivate(robot: object, repeats: int) -> float:
    """Deactivate the managed safety process under a driving robot; return the longest time, s."""
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState
    from scripted_robot import wait_until

    client = robot.node.create_client(ChangeState, 'safety/change_state')
    client.wait_for_service(60.0)

    def change(number: int) -> None:
        request = ChangeState.Request(transition=Transition(id=number))
        if not wait_until(client.call_async(request).done, 30.0):
            raise RuntimeError('the safety process does not change its state')

    change(Transition.TRANSITION_CONFIGURE)
    longest = 0.0
    for _ in range(repeats):
        change(Transition.TRANSITION_ACTIVATE)
        _drive(robot)
        began = time.monotonic()
        change(Transition.TRANSITION_DEACTIVATE)
        longest = max(longest, _zero_after(robot, began))
    return longest


def _zero_after(robot: object, moment: float) -> float:
    """Return seconds from ``moment`` until the robot was told zero for good; inf if it was not.

    A zero that is taken back, because something else was late and came, does not count.
    """
    deadline = moment + 4.0
    while time.monotonic() < deadline:
        time.sleep(0.02)
        moves = [when for when, v, w in list(robot.received) if (v, w) != (0.0, 0.0)]
        zero = robot.first_zero_after(max([moment, *moves[-1:]]))
        if time.monotonic() - zero > _SETTLED:
            return zero - moment
    return float('inf')


def measure_loop(seconds: float) -> dict[str, object]:
    """Run the whole stack on the raycast simulator in real time; judge the periods of cmd_vel.

    Raises:
        RuntimeError: The stack did not come up within 60 s.
    """
    use_own_domain()
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    import rclpy
    from geometry_msgs.msg import TwistStamped
    from rclpy.node import Node

    from vln_nodes import qos

    arrivals: list[float] = []
    rclpy.init()
    node = Node('loop_benchmark')
    node.create_subscription(
        TwistStamped, 'cmd_vel', lambda _: arrivals.append(time.monotonic()), qos.COMMAND
    )
    with tempfile.TemporaryFile() as log:
        stack = subprocess.Popen(
            [str(paths.ROOT / 'vln'), 'launch', 'sim.launch.xml', 'lockstep:=false'],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + 60.0
            while len(arrivals) < 100:
                rclpy.spin_once(node, timeout_sec=0.1)
                if time.monotonic() > deadline or stack.poll() is not None:
                    log.seek(0)
                    tail = log.read()[-600:].decode(errors='replace')
                    raise RuntimeError(f'the stack does not drive cmd_vel:\n{tail}')
            arrivals.clear()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                rclpy.spin_once(node, timeout_sec=0.1)
        finally:
            stack.send_signal(signal.SIGINT)
            try:
                stack.wait(15.0)
            except subprocess.TimeoutExpired:
                stack.kill()
            node.destroy_node()
            rclpy.try_shutdown()
    periods = np.diff(arrivals)
    return {
        'loop_within_10ms_frac': float(np.mean(np.abs(periods - 0.05) <= 0.010)),
        'loop_period_p99_s': float(np.percentile(periods, 99)),
        'loop_samples': len(periods),
    }
