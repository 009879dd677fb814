# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln record`: record a running stack into a bag that ./vln replay can decide anew."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Replace this process by the recorder."""
    parser = argparse.ArgumentParser(
        prog='./vln record',
        description='Record a running stack until Ctrl-C: MCAP files that ros2 bag, Foxglove and '
        'rosbags read. By default the topics from which every decision can be replayed: '
        'panoramas, decisions, graph, maps, odometry, TF, commands, safety, diagnostics, answers '
        'of models; about 1 MB a look-around.',
        epilog='example: ./vln record runs/kitchen --split-size 200 --max-size 2000',
    )
    parser.add_argument('folder', nargs='?', help='new folder (default: bag_DATE_TIME)')
    parser.add_argument('--pictures', action='store_true', help='the live camera, too: 5 MB/s')
    parser.add_argument('--all', action='store_true', help='every topic of the graph')
    parser.add_argument(
        '--topics', nargs='+', default=[], metavar='NAME', help='these topics, too'
    )
    parser.add_argument(
        '--split-size', type=int, metavar='MB', help='begin a new file at (default 500)'
    )
    parser.add_argument('--split-duration', type=float, metavar='S', help='begin a new file after')
    parser.add_argument('--max-size', type=int, metavar='MB', help='of all files; then it ends')
    parser.add_argument(
        '--keep-newest', action='store_true', help='at --max-size delete the oldest file instead'
    )
    parser.add_argument('--namespace', default='', help='namespace of the stack')
    options = parser.parse_args(argv)
    command = [sys.executable, '-m', 'vln_nodes.record_node', *ros_arguments(options)]
    sys.stdout.flush()
    os.execv(command[0], command)


def ros_arguments(options: argparse.Namespace) -> list[str]:
    """Return the options as arguments of a ROS process."""
    folder = options.folder or f'bag_{datetime.now():%Y%m%d_%H%M%S}'
    arguments = ['--ros-args', '-p', f"folder:='{Path(folder).resolve()}'"]
    if options.namespace:
        arguments += ['-r', f'__ns:=/{options.namespace.strip("/")}']
    values = {
        'pictures': options.pictures or None,
        'everything': options.all or None,
        'split_size_mb': options.split_size,
        'split_duration': options.split_duration,
        'max_size_mb': options.max_size,
        'keeps_newest': options.keep_newest or None,
    }
    for name, value in values.items():
        if value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            arguments += ['-p', f'{name}:={text}']
    if options.topics:
        listed = ', '.join(f"'{topic}'" for topic in options.topics)
        arguments += ['-p', f'topics:=[{listed}]']
    return arguments
