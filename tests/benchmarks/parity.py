# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Closed loop in one process and over ROS on the same episodes: how far do they agree?

``python tests/benchmarks/parity.py --scenes 0 1 --episodes 10`` in the stack's environment
(``./vln env``). The success of both may differ by one of twenty episodes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / 'system'))
os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))

from stack import Stack
from watcher import Watcher

from vln_sim_bridge.episodes import Episode, load_episodes
from vln_sim_bridge.in_process import RunConfig, run_episode
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.scene_cache import resolve_scene

_RADIUS = 3.0
_TIMEOUT = 1800.0


def run_in_process(sim: str, folder: Path, episodes: Sequence[Episode]) -> Iterator[dict]:
    """Yield a row for each episode."""
    config = RunConfig()
    simulator = make_simulator(sim, folder, config.simulator)
    for episode in episodes:
        run = run_episode(simulator, episode, config)
        yield {
            'success': run.success,
            'distance': run.distance,
            'decisions': len(run.result.decisions),
            'collisions': run.collisions,
            'message': run.result.message,
        }
    simulator.close()


def run_over_ros(sim: str, folder: Path, episodes: Sequence[Episode]) -> Iterator[dict]:
    """Yield a row for each episode, all on one stack in lock-step."""
    with tempfile.TemporaryDirectory() as logs:
        stack = Stack(Path(logs), int(os.environ['ROS_DOMAIN_ID']), sim=sim, scene=folder)
        watcher = None
        try:
            watcher = Watcher(stack)
            watcher.wait_ready()
            for episode in episodes:
                problem = watcher.place(*episode.start)
                if problem:
                    raise SystemExit(f'parity: the robot cannot be placed: {problem}')
                result = watcher.follow(episode.instruction, _TIMEOUT)
                distance = watcher.distance_to(*episode.goal)
                yield {
                    'success': result.is_verified and distance <= _RADIUS,
                    'distance': distance,
                    'decisions': result.num_decisions,
                    'collisions': watcher.num_collisions,
                    'message': result.error_msg,
                }
        finally:
            if watcher is not None:
                watcher.close()
            stack.end()


def main(argv: Sequence[str] | None = None) -> int:
    """Run both and print a line for each episode; 1 if they differ by more than one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--sim', choices=['raycast', 'habitat'], default='raycast')
    parser.add_argument('--scenes', type=int, nargs='+', default=[0, 1], help='apartment seeds')
    parser.add_argument('--episodes', type=int, default=10, help='of each scene')
    parser.add_argument('--json', type=Path, help='file for the rows')
    options = parser.parse_args(argv)
    rows = []
    for seed in options.scenes:
        folder = resolve_scene(f'apartment:{seed}')
        episodes = load_episodes(folder)[: options.episodes]
        alone = list(run_in_process(options.sim, folder, episodes))
        started = time.monotonic()
        for number, ros in enumerate(run_over_ros(options.sim, folder, episodes)):
            row = {'scene': seed, 'episode': number, 'in_process': alone[number], 'ros': ros}
            rows.append(row)
            print(  # noqa: T201
                f'{seed}:{number:<2} in process {_text(alone[number])} | over ROS {_text(ros)} '
                f'({time.monotonic() - started:.0f} s) {episodes[number].instruction[:60]}',
                flush=True,
            )
    totals = [sum(row[way]['success'] for row in rows) for way in ('in_process', 'ros')]
    print(f'{totals[0]} and {totals[1]} of {len(rows)} succeeded')  # noqa: T201
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if abs(totals[0] - totals[1]) <= 1 else 1


def _text(row: dict) -> str:
    mark = 'ok  ' if row['success'] else 'FAIL'
    return f'{mark} {row["distance"]:5.2f} m {row["decisions"]:2d} decisions'


if __name__ == '__main__':
    raise SystemExit(main())
