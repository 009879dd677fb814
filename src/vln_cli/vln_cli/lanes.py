# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The lanes of `./vln test`: what each runs, where, and how long it may take."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vln_cli.environment import bare_environment, stack_environment
from vln_cli.machine import choose_distribution
from vln_cli.paths import HABITAT, MODELS_LINE, OVERLAY, ROOT

_MARKERS = 'not slow and not gpu and not network'
# Folders of tests/ that hold no tests of the whole stack, or tests of a lane of their own.
_NO_SYSTEM_TESTS = ('contract', 'data', 'benchmarks', 'resource', 'local_model', '__pycache__')


@dataclass(frozen=True)
class Lane:
    """One lane.

    Attributes:
        name: What it is called on the command line.
        summary: What it checks.
        timeout: How long it may take, seconds, on two busy cores.
        paths: Where its tests lie; empty for a lane that runs ``commands``.
        markers: pytest marker expression.
        commands: Command lines, for a lane without tests.
        has_ros: Runs in the stack's environment; else in one without anything of ROS.
        skip_reason: Says why the lane cannot run on this machine, or returns None.
        by_default: Whether it runs when no lane is named.
    """

    name: str
    summary: str
    timeout: float
    paths: Sequence[Path] = ()
    markers: str = _MARKERS
    commands: Sequence[Sequence[str]] = ()
    has_ros: bool = True
    skip_reason: Callable[[], str | None] = field(default=lambda: None)
    by_default: bool = True

    def environment(self) -> dict[str, str]:
        """Return the environment that the lane's processes start with."""
        if self.has_ros:
            return stack_environment()
        environment = bare_environment()
        sources = ('src/vln_core', 'sim_bridge', 'src/vln_cli')
        environment['PYTHONPATH'] = ':'.join(str(ROOT / source) for source in sources)
        environment['OMP_NUM_THREADS'] = '1'
        return environment

    def test_files(self) -> list[Path]:
        """Return the lane's test files."""
        return [file for path in self.paths for file in sorted(path.rglob('test_*.py'))]


def _without_overlay() -> str | None:
    distribution = choose_distribution()
    return f'ROS 2 {distribution.name} brings these packages' if distribution else None


def _without_habitat() -> str | None:
    if (HABITAT / '.vln-stamp').is_file() or (HABITAT / 'env.sh').is_file():
        return None
    return 'habitat-sim is not set up; run ./vln setup --habitat'


def _without_browser() -> str | None:
    if importlib.util.find_spec('playwright') is None:
        return 'playwright is not installed; see docs/monitor.md'
    if not (os.environ.get('VLN_CHROMIUM') or shutil.which('chromium')):
        return 'chromium is not installed; see docs/monitor.md'
    return None


def _without_models() -> str | None:
    missing = [n for n in ('torch', 'transformers') if importlib.util.find_spec(n) is None]
    if missing:
        return f'{missing[0]} is not installed: {MODELS_LINE}'
    return None


def lanes() -> dict[str, Lane]:
    """Return all lanes in the order they run, the cheap ones first."""
    tests = ROOT / 'tests'
    python = sys.executable
    system = [folder for folder in sorted(tests.glob('*/')) if folder.name not in _NO_SYSTEM_TESTS]
    simulators = [ROOT / 'sim_bridge' / 'test']
    every = [
        Lane(
            'lint',
            'ruff: rules and format',
            120,
            commands=(
                (python, '-m', 'ruff', 'check', str(ROOT)),
                (python, '-m', 'ruff', 'format', '--check', str(ROOT)),
            ),
        ),
        Lane('types', 'mypy', 300, commands=((python, '-m', 'mypy'),), has_ros=False),
        Lane(
            'core',
            'the core and the contracts, without ROS',
            600,
            paths=[ROOT / 'src' / 'vln_core' / 'test', tests / 'contract'],
            markers=f'{_MARKERS} and not models',
            has_ros=False,
        ),
        Lane(
            'models',
            'detectors, segmenters and captioners of torch and transformers, tiny ones',
            600,
            paths=[ROOT / 'src' / 'vln_core' / 'test'],
            markers=f'{_MARKERS} and models',
            has_ros=False,
            skip_reason=_without_models,
        ),
        Lane(
            'cli',
            'set-up, doctor and the other subcommands',
            300,
            paths=[ROOT / 'src' / 'vln_cli' / 'test'],
        ),
        Lane(
            'overlay',
            'tf2_ros, cv_bridge, launch runner',
            600,
            paths=[file.parent / 'test' for file in sorted(OVERLAY.glob('*/package.xml'))],
            skip_reason=_without_overlay,
        ),
        Lane('nodes', 'the ROS nodes', 600, paths=[ROOT / 'src' / 'vln_nodes' / 'test']),
        Lane(
            'monitor',
            'the web page: server, roles, stop; RViz and Foxglove files',
            300,
            paths=[ROOT / 'src' / 'vln_monitor' / 'test'],
            markers=f'{_MARKERS} and not browser',
        ),
        Lane(
            'sim',
            'simulators, generator and bridge on raycast',
            600,
            paths=simulators,
            markers=f'{_MARKERS} and not habitat',
        ),
        Lane(
            'habitat',
            'the same on habitat-sim',
            600,
            paths=[*simulators, *system],
            markers=f'{_MARKERS} and habitat',
            skip_reason=_without_habitat,
        ),
        Lane(
            'system',
            'launch files and the whole stack on raycast',
            900,
            paths=system,
            markers=f'{_MARKERS} and not habitat',
        ),
        Lane(
            'browser',
            'the web page in headless Chromium, beside a free-running simulation',
            900,
            paths=[ROOT / 'src' / 'vln_monitor' / 'test'],
            markers=f'{_MARKERS} and browser',
            skip_reason=_without_browser,
        ),
        Lane(
            'local-model',
            'a real language model on this machine decides; also by --local-model',
            1800,
            paths=[tests / 'local_model'],
            markers='local_model',
            has_ros=False,
            by_default=False,
        ),
    ]
    return {lane.name: lane for lane in every}
