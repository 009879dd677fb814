# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln replay BAG`: play a bag, or let the stack decide anew on it and compare."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

_SAME, _DIFFERS, _NO_BAG, _INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str]) -> int:
    """Play or compare; 0 if all is well or the same, 1 if a decision differs, 2 without a bag."""
    parser = _parser()
    options = parser.parse_args(argv)
    from vln_core.errors import VlnError

    try:
        return _compare(options) if options.rerun is not None else _play(options)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (VlnError, OSError) as error:
        print(f'vln: {error}', file=sys.stderr)
        return _NO_BAG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='./vln replay',
        description='Play a bag into the ROS graph with the time of its recording on /clock; '
        'velocities are never played. With --rerun nothing is played: planner, grounding and '
        'memory decide anew on the recorded panoramas, with the recorded parameters and answers '
        'of models unless told otherwise, and every difference is shown. Exit code: 0 the same, '
        '1 something differs, 2 no bag.',
        epilog='example: ./vln replay runs/kitchen --rerun planner --params-file new.yaml',
    )
    parser.add_argument('bag', type=Path, help='folder of a bag, or an MCAP file')
    playing = parser.add_argument_group('playing')
    playing.add_argument('--rate', type=float, default=1.0, help='speed (default 1)')
    playing.add_argument('--start', type=float, default=0.0, metavar='S', help='skip so much')
    playing.add_argument('--duration', type=float, default=float('inf'), metavar='S')
    playing.add_argument('--topics', nargs='+', metavar='NAME', help='only these, by full name')
    again = parser.add_argument_group('deciding anew')
    again.add_argument(
        '--rerun', nargs='*', choices=('planner', 'grounding', 'memory'), metavar='PART',
        help='planner, grounding, memory; none named: all three',
    )  # fmt: skip
    again.add_argument('--params-file', type=Path, help='parameters instead of the recorded ones')
    again.add_argument('--planner', help='another mode of System 2; asks its model')
    again.add_argument('--ask-model', action='store_true', help='ask, do not use recorded answers')
    again.add_argument('--namespace', default='', help='namespace of the recorded stack')
    again.add_argument('--json', action='store_true', help='print the comparison as JSON')
    return parser


def _play(options: argparse.Namespace) -> int:
    if not options.rate > 0.0:
        print('vln: --rate must be greater than 0', file=sys.stderr)
        return _NO_BAG
    import time

    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from vln_nodes.play_node import Player

    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('vln_replay')
    stop = threading.Event()
    try:
        time.sleep(1.0)  # until the others in the graph are known
        topics = set(options.topics) if options.topics else None
        player = Player(
            node, options.bag, rate=options.rate, start=options.start,
            duration=options.duration, topics=topics,
        )  # fmt: skip
        if player.left_out:
            print(f'left out: {", ".join(player.left_out)}')
        time.sleep(1.0)  # until who listens is connected
        count = player.play(stop)
        time.sleep(0.5)
        print(f'{count} messages played')
        return 0
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _compare(options: argparse.Namespace) -> int:
    from vln_nodes.bag_reader import Bag

    bag = Bag(options.bag)
    from vln_nodes import episode_replay as again
    from vln_nodes import recorded_episode
    from vln_nodes.parameter_files import read

    values = recorded_episode.recorded_parameters(bag)
    if not values and options.params_file is None:
        print('vln: the bag holds no parameters; the defaults are used', file=sys.stderr)
    if options.params_file is not None:
        values = read(options.params_file)
    asks = options.ask_model
    if options.planner:
        asks = asks or options.planner != values.get('system2', {}).get('planner')
        values = {**values, 'system2': {**values.get('system2', {}), 'planner': options.planner}}
    settings = again.Settings.of(values, asks_model=asks)
    results = [
        again.replay_episode(episode, settings, options.rerun or again.PARTS)
        for episode in recorded_episode.episodes_of(bag, options.namespace)
    ]
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    else:
        _show(results)
    return _DIFFERS if any(result.differences for result in results) else _SAME


def _show(results: list[Any]) -> None:
    for result in results:
        compared = ', '.join(f'{count} {part}' for part, count in result.num_compared.items())
        print(f'{result.name}: {result.num_decisions} decisions; compared: {compared}')
        if result.note:
            print(f'  {result.note}')
        for difference in result.differences:
            print(f'  waypoint {difference.step}, {difference.part}:')
            print(f'    recorded: {difference.recorded}')
            print(f'    now:      {difference.now}')
        if not result.differences and not result.note:
            print('  the same')
