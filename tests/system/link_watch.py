# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""On the robot's machine: gives an instruction, and writes down when the base moves and stands.

``python link_watch.py FACTS.jsonl``; times are of the steady clock, which namespaces share.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import rclpy
from geometry_msgs.msg import TwistStamped
from rclpy.action import ActionClient
from rclpy.executors import ExternalShutdownException

from vln_interfaces.action import Navigate
from vln_interfaces.msg import SafetyStatus
from vln_nodes import qos

TASK = 'Search the rooms for the sofa and stop beside it.'
_STEADY_COMMANDS = 8


def main(path: Path) -> None:
    """Run until interrupted."""
    rclpy.init()
    node = rclpy.create_node('link_watch')
    state = {'moving': 0, 'is_ready': False, 'is_sent': False}

    def note(kind: str) -> None:
        with path.open('a') as file:
            file.write(json.dumps({'kind': kind, 'time': time.monotonic()}) + '\n')

    def on_command(message: TwistStamped) -> None:
        twist = message.twist
        if abs(twist.linear.x) + abs(twist.angular.z) > 1e-3:
            state['moving'] += 1
            if state['moving'] >= _STEADY_COMMANDS:
                note('moving')
        else:
            if state['moving']:
                note('zero')
            state['moving'] = 0

    def on_status(message: SafetyStatus) -> None:
        if message.state == SafetyStatus.OK and not state['is_ready']:
            state['is_ready'] = True
            note('ready')
        if message.state == SafetyStatus.NODE_LOST:
            note('lost')

    node.create_subscription(TwistStamped, 'cmd_vel', on_command, 50)
    node.create_subscription(SafetyStatus, 'safety_status', on_status, qos.LATCHED)
    client = ActionClient(node, Navigate, 'navigate')
    while rclpy.ok():
        rclpy.spin_once(node, timeout_sec=0.1)
        if state['is_ready'] and not state['is_sent'] and client.server_is_ready():
            state['is_sent'] = True
            client.send_goal_async(Navigate.Goal(instruction=TASK))


if __name__ == '__main__':
    try:
        main(Path(sys.argv[1]))
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
