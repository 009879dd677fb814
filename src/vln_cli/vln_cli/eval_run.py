# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln eval run PRESET``: settings from the preset and the command line, progress, results."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from vln_cli.eval_result import print_result
from vln_cli.paths import ROOT

PRESETS = ROOT / 'config' / 'eval'
RUNS = ROOT / 'runs' / 'eval'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``run`` takes."""
    parser.add_argument('preset', help='name of a protocol; "list" prints them')
    parser.add_argument('--data', type=Path, help='folder of splits, graphs and text worlds')
    parser.add_argument('--split', help='such as val_unseen; default: of the preset')
    parser.add_argument('--planner', help='mode of System 2; default: of the preset')
    parser.add_argument('--limit', type=int, metavar='STEPS', help='decisions an episode may have')
    parser.add_argument('--episodes', type=int, default=0, help='only that many, spread evenly')
    parser.add_argument('--seed', type=int, help='of all that is drawn; default: of the preset')
    parser.add_argument('--scenes', type=Path, help='folder of licensed scenes (Habitat presets)')
    parser.add_argument('--model', type=Path, help='YAML file with a model profile')
    parser.add_argument(
        '--set', action='append', default=[], metavar='NAME=VALUE', help='other settings, as YAML'
    )
    parser.add_argument('--workers', type=int, default=1, help='processes, or actors with --ray')
    parser.add_argument('--ray', default='', metavar='ADDRESS', help='spread over a Ray cluster')
    parser.add_argument('--deadline', type=float, help='longest time of an episode, seconds')
    parser.add_argument('--out', type=Path, help='folder of the run; default: runs/eval/...')
    parser.add_argument('--resume', action='store_true', help='continue the run in the folder')
    parser.add_argument('--retry-failed', action='store_true', help='with --resume: errors too')
    parser.add_argument('--dry-run', action='store_true', help='estimate calls, tokens and price')
    parser.add_argument('--json', action='store_true', help='one JSON object as the last line')


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a run: the preset with what the command line changes.

    Raises:
        ConfigError: There is no such preset, or a setting is malformed.
    """
    from vln_core.errors import ConfigError
    from vln_core.evaluation.presets import load_presets, merge

    presets = load_presets(PRESETS)
    if options.preset not in presets:
        near = difflib.get_close_matches(options.preset, presets, n=3, cutoff=0.4)
        hint = f'did you mean: {", ".join(near)}' if near else 'see ./vln eval run list'
        raise ConfigError(f'there is no preset "{options.preset}"; {hint}')
    change: dict[str, Any] = {
        name: value
        for name in ('split', 'planner', 'limit', 'seed')
        if (value := getattr(options, name)) is not None
    }
    if options.data is not None:
        change['data'] = str(options.data.resolve())
    if options.scenes is not None:
        change['scenes'] = str(options.scenes.resolve())
    if options.episodes:
        change['episodes'] = options.episodes
    if options.model is not None:
        change['model'] = _yaml(options.model.read_text(encoding='utf-8'), str(options.model))
    settings = merge(presets[options.preset], change)
    for text in options.set:
        settings = merge(settings, _assignment(text))
    if settings.get('limit', 1) < 1:
        raise ConfigError(f'--limit {settings["limit"]} must be at least 1')
    if settings['kind'] in ('text', 'habitat') and 'data' not in settings:
        raise ConfigError(f'preset "{options.preset}" needs --data DIR, the folder of its splits')
    return settings


def _yaml(text: str, where: str) -> Any:
    from vln_core.errors import ConfigError

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f'{where} is not YAML: {error}') from error


def _assignment(text: str) -> dict[str, Any]:
    from vln_core.errors import ConfigError

    name, mark, value = text.partition('=')
    if not mark or not name:
        raise ConfigError(f'--set {text}: NAME=VALUE is expected, such as detector.miss_rate=0.1')
    content: Any = _yaml(value, f'--set {text}')
    for part in reversed(name.split('.')):
        content = {part: content}
    return dict(content)


def print_presets() -> None:
    """Print every preset with what it is."""
    from vln_core.evaluation.presets import load_presets

    for name, settings in load_presets(PRESETS).items():
        what = settings.get('dataset') or settings['kind']
        print(f'{name:32s} {what}, planner {settings["planner"]}, limit {settings["limit"]}')


class Progress:
    """A bar with running means on standard error; plain lines where that is no terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._console = Console(stderr=True)
        self._bar = Bar(
            TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(),
            TimeRemainingColumn(), console=self._console, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._rows: list[Mapping[str, Any]] = []
        self._total = 0

    def start(self, total: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Show the bar; rows that were there already count."""
        self._rows, self._total = list(rows), total
        self._bar.start()
        self._task = self._bar.add_task('', total=total, completed=len(rows))
        if rows:
            self._console.print(f'{len(rows)} of {total} episodes were there already')

    def row(self, row: Mapping[str, Any]) -> None:
        """Count a row and show the means so far."""
        self._rows.append(row)
        text = self._means()
        self._bar.update(self._task, advance=1, description=text)
        if row.get('error'):
            first = str(row['error']).strip().splitlines()[-1]
            self._console.print(f'{row["id"]}: {row["failure"]}: {first}', markup=False)
        count = len(self._rows)
        if not self._console.is_terminal and (count % 50 == 0 or count == self._total):
            print(f'{count}/{self._total}  {text}', file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()

    def _means(self) -> str:
        parts = []
        for name in ('SR', 'SPL', 'RGS'):
            values = [row[name] for row in self._rows if row.get(name) is not None]
            if values:
                parts.append(f'{name} {100 * sum(values) / len(values):.1f}')
        return '  '.join(parts)


def free_folder(preset: str, digest: str, *, resume: bool) -> Path:
    """Return the newest folder of this configuration to resume, or the next free one."""
    number = 1
    name = f'{preset}-{digest[:8]}'
    while (RUNS / f'{name}-{number}').exists():
        number += 1
    if resume and number > 1:
        number -= 1
    return RUNS / f'{name}-{number}'


def run(options: argparse.Namespace) -> int:
    """Run a preset; 0 done, 130 interrupted (resume continues)."""
    from vln_core.evaluation.provenance import config_hash
    from vln_core.evaluation.runner import RunOptions, run_benchmark

    if options.preset == 'list':
        print_presets()
        return 0
    settings = settings_of(options)
    deadline = options.deadline or float(settings.pop('deadline', 600.0))
    settings.pop('deadline', None)
    if options.dry_run:
        from vln_cli.eval_estimate import print_estimate

        return print_estimate(options.preset, settings, options.json)
    folder = options.out or free_folder(
        options.preset, config_hash(settings), resume=options.resume
    )
    progress = Progress()
    try:
        result = run_benchmark(
            options.preset,
            settings,
            RunOptions(
                folder, options.workers, options.ray, deadline, options.resume,
                options.retry_failed, ROOT,
            ),
            on_start=progress.start,
            on_row=progress.row,
        )  # fmt: skip
    except KeyboardInterrupt:
        print(f'\ninterrupted; ./vln eval run ... --out {folder} --resume continues',
              file=sys.stderr)  # fmt: skip
        return 130
    finally:
        progress.stop()
    for name, text in result.facts['facts'].items():
        print(f'{name}: {text}', file=sys.stderr)
    print(f'results: {folder}', file=sys.stderr)
    print_result(options.preset, len(result.rows), result.metrics, result.seconds, options.json)
    return 0
