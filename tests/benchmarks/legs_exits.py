# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Wall time to zero velocity when a motion is cancelled, and when the safety process fails.

Both with the real processes over real DDS. As a program this is a safety process that raises an
exception in the middle of its loop when it gets SIGUSR1.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TURN = 2.5
_MODULE = Path(__file__).stem


def cancel(robot: Any, repeats: int, zero_after: Callable[[Any, float], float]) -> float:
    """Cancel turns of the real controller; return the longest time from request to zero, s."""
    from rclpy.action import ActionClient
    from scripted_robot import Process, wait_until

    from vln_interfaces.action import Spin

    robot.silent.add('command')  # the controller commands
    controller = Process('vln_nodes.controller_node')
    spins = ActionClient(robot.node, Spin, 'spin')
    longest = 0.0
    try:
        if not wait_until(spins.server_is_ready, 120.0):
            raise RuntimeError('the controller did not start')
        for _ in range(repeats):
            sent = spins.send_goal_async(Spin.Goal(angle=_TURN))
            if not wait_until(lambda: abs(robot.velocity()[1]) > 0.1, 30.0):
                raise RuntimeError(f'the controller does not turn: {robot.status.message}')
            began = time.monotonic()
            cancelled = sent.result().cancel_goal_async()
            longest = max(longest, zero_after(robot, began))
            if not wait_until(cancelled.done, 10.0):
                raise RuntimeError('the controller does not answer')
    finally:
        controller.end()
        spins.destroy()
        robot.silent.clear()
    return longest


def fail(
    robot: Any,
    repeats: int,
    arguments: tuple[str, ...],
    drive: Callable[[Any], None],
    zero_after: Callable[[Any, float], float],
) -> float:
    """Let safety processes fail under a driving robot; return the longest time to zero, s."""
    from scripted_robot import Process

    folder = str(Path(__file__).parent)
    os.environ['PYTHONPATH'] = os.pathsep.join([folder, os.environ.get('PYTHONPATH', '')])
    longest = 0.0
    for _ in range(repeats):
        process = Process(_MODULE, arguments)
        try:
            drive(robot)
            began = time.monotonic()
            code, output = process.end(signal.SIGUSR1)
            if code == 0 or 'injected' not in output:
                raise RuntimeError(f'the safety process did not fail:\n{output}')
            longest = max(longest, zero_after(robot, began))
        finally:
            process.end()
    return longest


def main() -> None:
    """Run a safety process that fails at its next decision after SIGUSR1."""
    # Before any thread is started, so that none but the one below gets the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    from vln_core.control.safety import SafetyGate
    from vln_nodes import safety_node

    decide, is_failing = SafetyGate.decide, threading.Event()

    def wait() -> None:
        signal.sigwait({signal.SIGUSR1})
        is_failing.set()

    def decide_or_fail(self: SafetyGate, now: float, dt: float | None = None) -> object:
        if is_failing.is_set():
            raise RuntimeError('injected')
        return decide(self, now, dt)

    SafetyGate.decide = decide_or_fail  # type: ignore[assignment,method-assign]
    threading.Thread(target=wait, daemon=True).start()
    safety_node.main()


if __name__ == '__main__':
    main()
