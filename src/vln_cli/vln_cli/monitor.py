# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln monitor`: the web page to watch, instruct and stop the robot."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from vln_cli.run import find_executable


def main(argv: Sequence[str]) -> int:
    """Replace this process by the monitor."""
    parser = argparse.ArgumentParser(
        prog='./vln monitor',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Serve the web page to watch, instruct and stop a running stack. It listens '
        'on this machine only;\nother addresses need TLS and VLN_MONITOR_TOKEN (operators), '
        'VLN_MONITOR_VIEWER_TOKEN (viewers)\nin the environment. See docs/monitor.md.',
        epilog='example: ./vln launch sim.launch.xml lockstep:=false   and then   ./vln monitor',
    )
    parser.add_argument('--host', help='address to listen on (default 127.0.0.1)')
    parser.add_argument('--port', type=int, help='port of the page (default 8765)')
    parser.add_argument('--tls-certificate', metavar='PEM', help='certificate chain')
    parser.add_argument('--tls-key', metavar='PEM', help='private key')
    parser.add_argument('--namespace', default='', help='namespace of the stack')
    parser.add_argument('--camera-rate', type=float, help='most pictures a second (default 10)')
    parser.add_argument('--max-linear', type=float, help='top speed by hand, m/s (default 0.5)')
    parser.add_argument('--max-angular', type=float, help='top turning rate, rad/s (default 1)')
    parser.add_argument('--params-file', metavar='YAML', help='all parameters, key "monitor"')
    options = parser.parse_args(argv)
    try:
        file = find_executable('vln_monitor', 'monitor_node', os.environ)
    except LookupError as error:
        print(f'vln: {error}', file=sys.stderr)
        return 2
    sys.stdout.flush()
    os.execv(str(file), [str(file), *ros_arguments(options)])


def ros_arguments(options: argparse.Namespace) -> list[str]:
    """Return the options as arguments of a ROS process."""
    arguments = ['--ros-args']
    if options.namespace:
        namespace = '/' + options.namespace.strip('/')
        arguments += ['-r', f'__ns:={namespace}']
    if options.params_file:
        arguments += ['--params-file', options.params_file]
    for name in (
        'host',
        'port',
        'tls_certificate',
        'tls_key',
        'camera_rate',
        'max_linear',
        'max_angular',
    ):
        value = getattr(options, name)
        if value is not None:
            # Quoted, so that an address is never read as a number.
            text = f"'{value}'" if isinstance(value, str) else str(value)
            arguments += ['-p', f'{name}:={text}']
    return arguments
