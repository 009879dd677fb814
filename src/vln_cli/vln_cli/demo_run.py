# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Runs `./vln demo`: starts the stack, gives the instructions, writes table and report."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vln_cli.domains import has_stack, use_own_domain
from vln_cli.interrupts import interrupt
from vln_cli.launch import launch_command
from vln_core.errors import VlnError
from vln_sim_bridge.episodes import load_episodes
from vln_sim_bridge.scene import load_scene
from vln_sim_bridge.scene_cache import resolve_scene

if TYPE_CHECKING:
    from vln_cli.demo_client import Recording

_SUCCESS_RADIUS = 3.0
_READY_TIMEOUT = 180.0
_STOP_TIMEOUT = 12.0


@dataclass(frozen=True)
class Task:
    """One instruction with its start and, where known, its goal in the world (m, rad)."""

    instruction: str
    start: tuple[float, float, float]
    goal: tuple[float, float] | None


def run(options: argparse.Namespace) -> int:
    """Run the demo with its parsed options; return its exit code, see :mod:`vln_cli.demo`."""
    console = Console(stderr=options.json, highlight=False)
    started = time.monotonic()
    try:
        folder = resolve_scene(options.scene or f'apartment:{options.seed}')
        tasks = _tasks(folder, options.instruction)
    except VlnError as error:
        console.print(f'[red]error:[/red] {escape(str(error))}')
        return 2
    environment = _environment()
    domain = environment['ROS_DOMAIN_ID']
    if has_stack(domain):
        # Its instructions would go to the robot of the other stack.
        console.print(
            f'[red]error:[/red] a stack runs already in ROS domain {domain}: end it, or choose '
            'another ROS_DOMAIN_ID, or leave that unset'
        )
        return 2
    out = _output_folder(options.out)
    _stop_on_signals()
    console.print(f'scene {folder.name}, simulator {options.sim}; log and report in {out}')
    with (out / 'stack.log').open('w') as log:
        stack = _start(options, folder, environment, log)
        try:
            rows, reports = _run(options, folder, tasks, stack, console)
        except _Failed as failure:
            console.print(f'[red]error:[/red] {escape(str(failure))}')
            console.print(_tail(out / 'stack.log'), markup=False)
            return 1
        except KeyboardInterrupt:
            console.print('stopped')
            return 130
        finally:
            if not options.keep:
                _stop(stack)
    summary = _summary(options, folder, rows, time.monotonic() - started)
    (out / 'result.json').write_text(json.dumps(summary, indent=1))
    _write_report(out / 'report.html', options, folder, reports)
    console.print(_table(rows, summary))
    console.print(f'report: {out / "report.html"}')
    if options.keep:
        console.print(
            f'the stack keeps running (process {stack.pid}, ROS_DOMAIN_ID={domain}); '
            f'end it with: kill {stack.pid}'
        )
    if options.json:
        print(json.dumps(summary))
    return 0


class _Failed(Exception):
    """The stack did not start or broke down; the message is for people."""


def _tasks(folder: Path, instructions: Sequence[str]) -> list[Task]:
    """Return what to do: the scene's first three episodes, or the user's own words.

    Words of an episode of the scene have that episode's start and goal; others start at the
    scene's start, and only the robot's own verified stop tells whether they were followed.
    """
    episodes = load_episodes(folder)
    if not instructions:
        return [Task(e.instruction, e.start, e.goal) for e in episodes[:3]]
    known = {_plain(e.instruction): e for e in episodes}
    start = load_scene(folder).start
    tasks = []
    for words in instructions:
        episode = known.get(_plain(words))
        if episode:
            tasks.append(Task(words, episode.start, episode.goal))
        else:
            tasks.append(Task(words, (start[0], start[1], start[2]), None))
    return tasks


def _plain(instruction: str) -> str:
    return ' '.join(instruction.lower().split()).rstrip('.')


def _output_folder(wanted: Path | None) -> Path:
    """Make the folder of log and report: the user's, or one that no other demo writes to."""
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
        return wanted
    stem = time.strftime('demo-%Y%m%d-%H%M%S')
    for number in itertools.count(1):
        folder = Path('runs') / (stem if number == 1 else f'{stem}-{number}')
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError('unreachable')


def _stop_on_signals() -> None:
    """End as with Ctrl-C when killed or when the terminal closes: nobody else stops the stack."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def _environment() -> dict[str, str]:
    """Keep the demo away from robots in the network: this machine only, a domain of its own."""
    use_own_domain()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    return dict(os.environ)


def _start(
    options: argparse.Namespace, folder: Path, environment: dict[str, str], log: IO[str]
) -> subprocess.Popen[bytes]:
    arguments = {
        'sim': options.sim,
        'scene': str(folder),
        'lockstep': 'true',
        'layout': options.layout,
    }
    command = launch_command('sim.launch.xml', arguments)
    return subprocess.Popen(
        command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )


def _stop(stack: subprocess.Popen[bytes]) -> None:
    if stack.poll() is None:
        stack.send_signal(signal.SIGINT)
        try:
            stack.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(stack.pid, signal.SIGKILL)
            stack.wait()


def _run(
    options: argparse.Namespace,
    folder: Path,
    tasks: Sequence[Task],
    stack: subprocess.Popen[bytes],
    console: Console,
) -> tuple[list[dict[str, object]], list[object]]:
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from vln_cli.demo_client import DemoClient, StackError
    from vln_cli.demo_report import episode_report

    # Ctrl-C must not shut the context down: cancelling the instruction still needs it.
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    rows: list[dict[str, object]] = []
    reports: list[object] = []
    try:
        client = DemoClient(lambda text: console.print(f'    {text}', style='dim', markup=False))
        with console.status('starting the stack'):
            client.wait_for_stack(_READY_TIMEOUT, lambda: stack.poll() is None)
        for number, task in enumerate(tasks, start=1):
            console.print(f'[bold]{number}/{len(tasks)}[/bold] {escape(task.instruction)}')
            client.place(*task.start)
            recording = client.follow(task.instruction, lambda: stack.poll() is None)
            distance = client.distance_to(*task.goal) if task.goal else None
            row = _row(task, recording, distance)
            rows.append(row)
            reports.append(episode_report(folder, task.goal, row, recording, client.map_image()))
            mark = '[green]success[/green]' if row['success'] else '[red]failure[/red]'
            console.print(f'    {mark}: {escape(str(row["reason"]))}')
    except StackError as error:
        raise _Failed(str(error)) from error
    finally:
        rclpy.try_shutdown()
    return rows, reports


def _row(task: Task, recording: Recording, distance: float | None) -> dict[str, object]:
    result = recording.result
    assert result is not None  # navigate() returns with a result or raises
    near = distance is None or distance <= _SUCCESS_RADIUS
    shown = None if distance is None or not math.isfinite(distance) else round(distance, 3)
    return {
        'instruction': task.instruction,
        'success': bool(result.is_verified and near),
        'distance_m': shown,
        'decisions': int(result.num_decisions),
        'collisions': int(recording.num_collisions),
        'seconds': round(recording.seconds, 1),
        'reason': result.error_msg,
    }


def _summary(
    options: argparse.Namespace, folder: Path, rows: Sequence[dict[str, object]], seconds: float
) -> dict[str, object]:
    return {
        'sim': options.sim,
        'scene': folder.name,
        'seed': options.seed,
        'successes': sum(bool(row['success']) for row in rows),
        'collisions': sum(int(row['collisions']) for row in rows),  # type: ignore[call-overload]
        'seconds': round(seconds, 1),
        'episodes': list(rows),
    }


def _table(rows: Sequence[dict[str, object]], summary: dict[str, object]) -> Table:
    table = Table(title=f'{summary["successes"]} of {len(rows)} instructions followed')
    for name in ('instruction', 'success', 'distance', 'decisions', 'collisions', 'time'):
        table.add_column(name, overflow='fold')
    for row in rows:
        distance = 'not known' if row['distance_m'] is None else f'{row["distance_m"]:.2f} m'
        table.add_row(
            escape(str(row['instruction'])),
            '[green]yes[/green]' if row['success'] else '[red]no[/red]',
            distance,
            str(row['decisions']),
            str(row['collisions']),
            f'{row["seconds"]:.0f} s',
        )
    return table


def _write_report(
    path: Path, options: argparse.Namespace, folder: Path, reports: Sequence[object]
) -> None:
    from vln_core import __version__
    from vln_core.evaluation.report import write_report

    facts = {
        'scene': folder.name,
        'simulator': options.sim,
        'planner': 'rules',
        'detector': 'simulated',
        'version': __version__,
    }
    write_report(path, 'Demo of the VLN stack', facts, reports)  # type: ignore[arg-type]


def _tail(path: Path, lines: int = 15) -> str:
    return '\n'.join(path.read_text(errors='replace').splitlines()[-lines:])
