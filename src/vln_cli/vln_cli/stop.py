# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln stop`: the emergency stop of a running stack, and its release, from a terminal."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

_REPEAT_PERIOD = 0.05  # s
_NOT_CONFIRMED = 'sent, but not confirmed: no safety process answers. Use the hardware stop'
_NO_ANSWER = (
    'no safety process answers: does a stack run in this ROS_DOMAIN_ID and namespace? '
    'The robot stays stopped'
)


def main(argv: Sequence[str]) -> int:
    """Stop the robot until released; 0 if its safety process confirmed, else 1."""
    parser = argparse.ArgumentParser(
        prog='./vln stop',
        description='Stop the robot of a running stack: zero velocity that is latched until it '
        'is released. Not a replacement of a hardware stop. The exit code is 0 if the safety '
        'process confirmed, else 1.',
    )
    parser.add_argument('--release', action='store_true', help='release the stop instead')
    parser.add_argument('--namespace', default='', help='namespace of the stack')
    parser.add_argument('--timeout', type=float, default=5.0, help='try so long, s (default 5)')
    options = parser.parse_args(argv)
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        answer = _tell(options.namespace, is_stop=not options.release, timeout=options.timeout)
    finally:
        rclpy.try_shutdown()
    if answer is None:
        print(f'vln: {_NO_ANSWER if options.release else _NOT_CONFIRMED}', file=sys.stderr)
        return 1
    print(answer)
    return 0


def _tell(namespace: str, *, is_stop: bool, timeout: float) -> str | None:
    """Call the service; a stop also goes by topic all the while, which needs no answer."""
    import rclpy
    from std_msgs.msg import Bool
    from std_srvs.srv import SetBool

    from vln_nodes import qos

    node = rclpy.create_node('vln_stop', namespace=namespace or None)
    publisher = node.create_publisher(Bool, 'emergency_stop', qos.COMMAND)
    client = node.create_client(SetBool, 'emergency_stop')
    future = None
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if is_stop:
            publisher.publish(Bool(data=True))
        if future is None and client.service_is_ready():
            future = client.call_async(SetBool.Request(data=is_stop))
        rclpy.spin_once(node, timeout_sec=_REPEAT_PERIOD)
        if future is not None and future.done():
            return str(future.result().message)
    return None
