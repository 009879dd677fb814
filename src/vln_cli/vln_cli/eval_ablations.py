# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln eval ablations``: the table of ablations by one command, continued where it stopped."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from vln_cli.eval_run import PRESETS, RUNS, Progress
from vln_cli.paths import ROOT

_PREFIXES = ('ham-', 'agentic-', 'mcgpt-')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``ablations`` takes."""
    parser.add_argument('--episodes', type=int, default=0, help='of each row; default: all 40')
    parser.add_argument('--only', nargs='+', metavar='PRESET', help='some rows')
    parser.add_argument('--workers', type=int, default=1, help='processes')
    parser.add_argument('--out', type=Path, default=RUNS / 'ablations', help='folder of the runs')
    parser.add_argument('--json', action='store_true', help='one JSON object as the last line')


def run(options: argparse.Namespace) -> int:
    """Run what is missing and print the table; 130 interrupted."""
    from vln_core.errors import ConfigError
    from vln_core.evaluation import ablations
    from vln_core.evaluation.presets import load_presets
    from vln_core.evaluation.provenance import config_hash
    from vln_core.evaluation.runner import RunOptions, run_benchmark

    started = time.monotonic()
    presets = {
        name: settings
        for name, settings in load_presets(PRESETS).items()
        if name.startswith(_PREFIXES) and (not options.only or name in options.only)
    }
    if not presets:
        raise ConfigError(f'no ablation is named {", ".join(options.only or [])}')
    lines = []
    for group in ablations.groups(presets):
        settings = dict(group.settings)
        deadline = float(settings.pop('deadline', 900.0))
        if options.episodes:
            settings['episodes'] = options.episodes
        folder = options.out / f'{group.presets[0]}-{config_hash(settings)[:8]}'
        print(f'{", ".join(group.presets)}: {folder}', file=sys.stderr)
        progress = Progress()
        try:
            result = run_benchmark(
                group.presets[0], settings,
                RunOptions(folder, options.workers, '', deadline, True, False, ROOT),
                on_start=progress.start, on_row=progress.row,
            )  # fmt: skip
        except KeyboardInterrupt:
            print('\ninterrupted; the same command continues', file=sys.stderr)
            return 130
        finally:
            progress.stop()
        lines += ablations.table(group, presets, result.rows)
    text = ablations.as_markdown(lines)
    (options.out / 'table.md').write_text(text, encoding='utf-8')
    print(text)
    if options.json:
        seconds = round(time.monotonic() - started, 3)
        print(json.dumps({'rows': [asdict(line) for line in lines], 'seconds': seconds}))
    return 0
