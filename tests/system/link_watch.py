# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""On the robot: gives an instruction, cuts the link while the base drives, notes when it stands.

``python link_watch.py FACTS.jsonl DEVICE``; times are of the steady clock, which namespaces share.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
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


def cut(device: str) -> None:
    """Take a network device down at once; starting a program would take too long."""
    get_flags, set_flags, is_up = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack('16sh22x', device.encode(), 0)
        flags = struct.unpack('16sh22x', fcntl.ioctl(handle, get_flags, request))[1]
        fcntl.ioctl(handle, set_flags, struct.pack('16sh22x', device.encode(), flags & ~is_up))


def main(path: Path, device: str) -> None:
    """Run until interrupted."""
    rclpy.init()
    node = rclpy.create_node('link_watch')
    state = {'driving': 0, 'is_ready': False, 'is_sent': False, 'is_cut': False}

    def note(kind: str) -> None:
        with path.open('a') as file:
            file.write(json.dumps({'kind': kind, 'time': time.monotonic()}) + '\n')

    def on_command(message: TwistStamped) -> None:
        twist = message.twist
        moves = abs(twist.linear.x) + abs(twist.angular.z) > 1e-3
        state['driving'] = state['driving'] + 1 if twist.linear.x > 0.1 else 0
        if state['is_cut']:
            note('moving' if moves else 'zero')
        elif state['driving'] >= _STEADY_COMMANDS:
            state['is_cut'] = True
            cut(device)
            note('cut')

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
        main(Path(sys.argv[1]), sys.argv[2])
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
