# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln health`: do the nodes of a running stack live; for health checks of containers."""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Sequence

NODES = ('safety', 'controller', 'perception', 'memory', 'system1', 'system2')


def main(argv: Sequence[str]) -> int:
    """Listen for heartbeats; 0 if all nodes were heard, else 1."""
    parser = argparse.ArgumentParser(
        prog='./vln health',
        description='Listen for the heartbeats of a running stack. The exit code is 0 if every '
        'node was heard, else 1.',
    )
    parser.add_argument('nodes', nargs='*', default=NODES, help=f'default: {" ".join(NODES)}')
    parser.add_argument('--namespace', default='', help='namespace of the stack')
    parser.add_argument('--timeout', type=float, default=5.0, help='listen so long, s (default 5)')
    options = parser.parse_intermixed_args(argv)
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from vln_interfaces.msg import Heartbeat
    from vln_nodes import qos

    missing = set(options.nodes)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node('vln_health', namespace=options.namespace or None)
        node.create_subscription(
            Heartbeat, 'heartbeat', lambda message: missing.discard(message.node), qos.HEARTBEAT
        )
        deadline = time.monotonic() + options.timeout
        while missing and time.monotonic() < deadline:
            rclpy.spin_once(node, timeout_sec=0.1)
    finally:
        rclpy.try_shutdown()
    print(summary(options.nodes, missing))
    return 1 if missing else 0


def summary(nodes: Sequence[str], missing: Collection[str]) -> str:
    """Return what to tell: that all live, or how many, which, and who is silent."""
    if not missing:
        return 'all nodes live'
    live = [name for name in nodes if name not in missing]
    silent = [name for name in nodes if name in missing]
    told = f'{len(live)} of {len(nodes)} nodes live: {", ".join(live) or "none"}\n'
    told += f'silent: {", ".join(silent)}\n'
    if live:
        return told + 'the stack may still be loading: try again; else see its log'
    return told + 'no stack runs in this ROS_DOMAIN_ID and namespace, or it is still loading'
