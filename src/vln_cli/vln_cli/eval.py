# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln eval run|score|report|ablations``: benchmarks of the field, provenance, pictures."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from vln_cli import eval_ablations, eval_run
from vln_cli.eval_result import print_result
from vln_cli.subcommands import run_subcommand


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; 0 done, 2 something is wrong."""
    return run_subcommand(_parser(), argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='vln eval', description='Benchmarks and their metrics.')
    commands = parser.add_subparsers(dest='command', required=True)
    score = commands.add_parser('score', help='score a results file made elsewhere')
    score.add_argument('file', type=Path, help='R2R, REVERIE or R2R-CE results')
    score.add_argument('--data', type=Path, required=True, help='folder of splits and graphs')
    score.add_argument('--split', required=True, help='such as val_unseen')
    score.add_argument(
        '--preset', default='', choices=['', 'r2r', 'reverie', 'r2r-ce'],
        help='protocol; found out from the file where not given',
    )  # fmt: skip
    score.add_argument('--rows', type=Path, help='also write the per-episode rows as JSON lines')
    score.add_argument('--json', action='store_true', help='one JSON object as the last line')
    score.set_defaults(run=_score)
    report = commands.add_parser('report', help='HTML of one run, or comparing several')
    report.add_argument('runs', type=Path, nargs='+', help='folders of runs')
    report.add_argument(
        '--out', type=Path, help='file to write; default: report.html beside the rows'
    )
    report.set_defaults(run=_report)
    run = commands.add_parser('run', help='run a benchmark with this stack')
    eval_run.add_arguments(run)
    run.set_defaults(run=eval_run.run)
    table = commands.add_parser('ablations', help='the table of ablations')
    eval_ablations.add_arguments(table)
    table.set_defaults(run=eval_ablations.run)
    return parser


def _score(options: argparse.Namespace) -> int:
    from vln_core.evaluation.scoring import score_file

    started = time.monotonic()
    scores = score_file(options.file, options.data, options.split, options.preset)
    for note in scores.notes:
        print(f'note: {note}', file=sys.stderr)
    if options.rows:
        lines = [json.dumps(row, allow_nan=True) for row in scores.rows]
        options.rows.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    seconds = time.monotonic() - started
    print_result(scores.preset, len(scores.rows), scores.metrics, seconds, options.json)
    return 0


def _report(options: argparse.Namespace) -> int:
    from vln_cli.eval_pictures import path_picture
    from vln_core.evaluation.run_report import read_run, write_comparison, write_run_report

    runs = [read_run(folder) for folder in options.runs]
    out = options.out or (
        options.runs[0] / 'report.html' if len(runs) == 1 else Path('comparison.html')
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    if len(runs) == 1:
        write_run_report(runs[0], out, path_picture)
    else:
        write_comparison(runs, out)
    print(out)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
