# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Closed loop in one process and over ROS on the same episodes: how far do they agree?

``python tests/benchmarks/parity.py --scenes 0 1 --episodes 10 --rows parity.jsonl`` in the stack's
environment (``./vln env``). The success of both may differ by one of twenty episodes. Episodes
that the file of rows holds already are not driven again, so that a long run can be done in parts.
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

from stack import Stack
from watcher import Watcher

from vln_cli.domains import use_own_domain
from vln_core.evaluation.runner import read_rows
from vln_core.system2.record import describe_action
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
            'actions': [
                describe_action(trace.record.action) if trace.record else ''
                for trace in run.result.decisions
            ],
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
                watcher.decisions.clear()
                result = watcher.follow(episode.instruction, _TIMEOUT)
                distance = watcher.distance_to(*episode.goal)
                _await_decisions(watcher, result.num_decisions)
                yield {
                    'success': result.is_verified and distance <= _RADIUS,
                    'distance': distance,
                    'decisions': result.num_decisions,
                    'collisions': watcher.num_collisions,
                    'message': result.error_msg,
                    'actions': [message.action_text for message in watcher.decisions],
                }
        finally:
            if watcher is not None:
                watcher.close()
            stack.end()


def _await_decisions(watcher: Watcher, count: int) -> None:
    """Wait until the records of an episode's decisions are here too; its result may be faster."""
    deadline = time.monotonic() + 5.0
    while len(watcher.decisions) < count and time.monotonic() < deadline:
        time.sleep(0.05)


def main(argv: Sequence[str] | None = None) -> int:
    """Run both and print a line for each episode; 1 if they differ by more than one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--sim', choices=['raycast', 'habitat'], default='raycast')
    parser.add_argument('--scenes', type=int, nargs='+', default=[0, 1], help='apartment seeds')
    parser.add_argument('--episodes', type=int, default=10, help='of each scene')
    parser.add_argument('--rows', type=Path, help='file of JSON lines; what it holds is kept')
    options = parser.parse_args(argv)
    use_own_domain()
    rows = read_rows(options.rows) if options.rows else []
    done = {(row['scene'], row['episode']) for row in rows}
    for seed in options.scenes:
        numbers = [k for k in range(options.episodes) if (seed, k) not in done]
        for row in run_scene(options.sim, seed, numbers) if numbers else ():
            rows.append(row)
            if options.rows:
                with options.rows.open('a', encoding='utf-8') as stream:
                    stream.write(json.dumps(row) + '\n')
            print(  # noqa: T201
                f'{seed}:{row["episode"]:<2} in process {_text(row["in_process"])} | over ROS '
                f'{_text(row["ros"])} ({row["seconds"]:.0f} s) {row["instruction"][:60]}',
                flush=True,
            )
    totals = [sum(row[way]['success'] for row in rows) for way in ('in_process', 'ros')]
    same = sum(row['in_process']['actions'] == row['ros']['actions'] for row in rows)
    print(  # noqa: T201
        f'{totals[0]} in one process and {totals[1]} over ROS of {len(rows)} succeeded; '
        f'{same} with the same actions'
    )
    return 0 if abs(totals[0] - totals[1]) <= 1 else 1


def run_scene(sim: str, seed: int, numbers: Sequence[int]) -> Iterator[dict]:
    """Yield a row for each of some episodes of an apartment, driven both ways."""
    folder = resolve_scene(f'apartment:{seed}')
    listed = load_episodes(folder)
    episodes = [listed[number] for number in numbers]
    over_ros = run_over_ros(sim, folder, episodes)
    for number, episode, alone in zip(
        numbers, episodes, run_in_process(sim, folder, episodes), strict=True
    ):
        started = time.monotonic()
        yield {
            'scene': seed,
            'episode': number,
            'instruction': episode.instruction,
            'in_process': alone,
            'ros': next(over_ros),
            'seconds': time.monotonic() - started,
        }
    over_ros.close()


def _text(row: dict) -> str:
    mark = 'ok  ' if row['success'] else 'FAIL'
    return f'{mark} {row["distance"]:5.2f} m {row["decisions"]:2d} decisions'


if __name__ == '__main__':
    raise SystemExit(main())
