# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln go "instruction"`: send an instruction to a running stack and watch it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

_NO_STACK = 3
_CANCEL_PATIENCE = 10.0
_INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Follow one instruction; 0 for a verified stop, 1 for any other end, 3 without a stack."""
    parser = argparse.ArgumentParser(
        prog='./vln go',
        description='Send an instruction to a running stack and watch it. Ctrl-C cancels: the '
        'robot stops. Exit code: 0 verified stop, 1 any other end, 3 no stack, 130 cancelled.',
        epilog='example: ./vln go "Leave the bedroom and stop at the refrigerator."',
    )
    parser.add_argument('instruction', nargs='+', help='what the robot shall do, in English')
    parser.add_argument('--namespace', default='', help='namespace of the stack')
    parser.add_argument('--episode-id', default='', help='name of the episode in the records')
    parser.add_argument('--timeout', type=float, help='cancel after so many seconds')
    parser.add_argument(
        '--wait', type=float, default=10.0, help='how long to wait for a stack, s (default 10)'
    )
    options = parser.parse_intermixed_args(argv)
    instruction = ' '.join(options.instruction).strip()
    if not instruction:
        print('vln: the instruction is empty', file=sys.stderr)
        return 2

    import rclpy
    from rclpy.executors import ExternalShutdownException
    from rclpy.signals import SignalHandlerOptions

    # Ctrl-C must not shut the context down: cancelling still needs it.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        return _Client(options).follow(instruction)
    except ExternalShutdownException:
        return _INTERRUPTED
    finally:
        rclpy.try_shutdown()


class _Client:
    """Action client of ``navigate``."""

    def __init__(self, options: argparse.Namespace) -> None:
        import rclpy
        from rclpy.action import ActionClient
        from rclpy.executors import SingleThreadedExecutor

        from vln_interfaces.action import Navigate

        self._options = options
        self._type = Navigate
        self._node = rclpy.create_node('vln_go', namespace=options.namespace or None)
        self._client = ActionClient(self._node, Navigate, 'navigate')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._started = time.monotonic()
        self._shown = ''

    def follow(self, instruction: str) -> int:
        """Send the goal and stay until it ends; the exit code."""
        if not self._wait_for_stack():
            print(
                f'vln: no stack answers on {self._node.resolve_service_name("navigate")} within '
                f'{self._options.wait:.0f} s (ROS_DOMAIN_ID and --namespace the same?); '
                'start one with: ./vln launch sim.launch.xml',
                file=sys.stderr,
            )
            return _NO_STACK
        goal = self._type.Goal()
        goal.instruction = instruction
        goal.episode_id = self._options.episode_id
        sending = self._client.send_goal_async(goal, feedback_callback=self._show)
        handle = None
        try:
            handle = self._wait(sending)
            if not handle.accepted:
                print('vln: the stack refused the goal; it may be busy', file=sys.stderr)
                return 1
            ending = handle.get_result_async()
            result = self._wait(ending, self._options.timeout)
            if result is None:
                print(f'vln: {self._options.timeout:.0f} s are over, cancelling', file=sys.stderr)
                return self._cancel(handle, 1)
        except KeyboardInterrupt:
            print('\nvln: cancelling, the robot stops (Ctrl-C again leaves at once)')
            if handle is None:
                handle = self._wait(sending, _CANCEL_PATIENCE)
            if handle is None or not handle.accepted:
                return _INTERRUPTED
            return self._cancel(handle, _INTERRUPTED)
        return self._report(result.result)

    def _wait_for_stack(self) -> bool:
        deadline = time.monotonic() + self._options.wait
        while time.monotonic() < deadline:
            if self._client.server_is_ready():
                return True
            self._executor.spin_once(timeout_sec=0.1)
        return False

    def _wait(self, future: Any, timeout: float | None = None) -> Any:
        """Spin until the future is done; its result, or None when time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not future.done():
            if deadline is not None and time.monotonic() > deadline:
                return None
            self._executor.spin_once(timeout_sec=0.2)
        return future.result()

    def _cancel(self, handle: Any, code: int) -> int:
        self._wait(handle.cancel_goal_async(), _CANCEL_PATIENCE)
        result = self._wait(handle.get_result_async(), _CANCEL_PATIENCE)
        if result is None:
            print('vln: no answer to the cancelling; stop the robot by hand', file=sys.stderr)
            return code
        self._report(result.result)
        return code

    def _show(self, message: Any) -> None:
        feedback = message.feedback
        line = f'waypoint {feedback.step:2d}  {feedback.state:<9} {feedback.text}'
        if line != self._shown:
            self._shown = line
            print(f'{time.monotonic() - self._started:6.1f} s  {line}', flush=True)

    def _report(self, result: Any) -> int:
        is_good = result.error_code == self._type.Result.STOPPED_VERIFIED and result.is_verified
        verdict = 'arrived, verified' if is_good else f'ended with code {result.error_code}'
        reason = f': {result.error_msg}' if result.error_msg else ''
        print(
            f'{verdict}{reason} ({result.num_decisions} decisions, '
            f'{result.distance_driven:.1f} m, {time.monotonic() - self._started:.0f} s)'
        )
        return 0 if is_good else 1
