# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln bench legs``: goals without contact, faults to zero, time of grid, replan and loop."""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vln_cli import paths
from vln_cli.measured import tell

METRICS = (
    'goals', 'collisions', 'reached_within_0_10_frac', 'refusal_reasons', 'fault_to_zero_max_s',
    'node_loss_to_zero_max_s', 'grid_update_ms_p50', 'grid_update_ms_p95', 'replan_ms_p50',
    'replan_ms_p95', 'loop_within_10ms_frac', 'grid_update_over_numpy_ratio',
    'replan_over_skfmm_ratio',
)  # fmt: skip
PARTS = ('goals', 'crossings', 'grid', 'replan', 'faults', 'kill', 'loop')


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; 0 unless something was touched."""
    options = _parser().parse_args(list(argv))
    sys.path.insert(0, str(paths.ROOT / 'tests' / 'benchmarks'))
    legs = importlib.import_module('legs')
    campaign = importlib.import_module('legs_campaign').Campaign(options.state, options.workers)
    metrics: dict[str, Any] = {}
    tally = None
    for part in options.parts:
        began = time.perf_counter()
        if part == 'goals':
            first = options.first_scene
            scenes = [f'apartment:{k}' for k in range(first, first + options.scenes)]
            tally = legs.run_goals(
                [*scenes, 'small_house'],
                options.goals,
                options.seed,
                say=lambda text: _say(options, text),
                campaign=campaign,
            )
            metrics |= _goal_metrics(tally)
        elif part == 'crossings':
            metrics |= _crossings(options, campaign)
        elif part == 'kill':
            kill = importlib.import_module('legs_kill')
            metrics |= kill.measure_kills(options.repeats, say=lambda text: _say(options, text))
        elif part == 'grid':
            metrics |= legs.time_grid('apartment:0', options.seed)
        elif part == 'replan':
            metrics |= legs.time_replan(
                ['apartment:0', 'apartment:1', 'small_house'], options.seed
            )
        else:
            faults = importlib.import_module('legs_faults')
            if part == 'faults':
                metrics |= faults.measure_faults(
                    options.repeats, say=lambda text: _say(options, text)
                )
            else:
                metrics |= faults.measure_loop(options.loop_seconds)
        _say(options, f'{part}: {time.perf_counter() - began:.0f} s')
    tell('legs', metrics, METRICS, as_json=options.json, output=options.output)
    if not options.json and tally is not None and tally.errors:
        print(f'plot: {_plot(tally, options.output / "legs_errors.png")}')
    was_touched = tally is not None and tally.collisions
    return 1 if was_touched or metrics.get('crossings_touched') else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='vln bench legs', description=__doc__)
    parser.add_argument('--json', action='store_true', help='print one JSON object as last line')
    parser.add_argument('--seed', type=int, default=0, help='of all random choices (0)')
    parser.add_argument('--goals', type=int, default=2000, help='random pixel goals in all')
    parser.add_argument('--scenes', type=int, default=20, help='apartments beside the small house')
    parser.add_argument('--first-scene', type=int, default=0, help='seed of the first apartment')
    parser.add_argument('--crossings', type=int, default=200, help='people who cross the way')
    parser.add_argument('--repeats', type=int, default=20, help='injections of each fault')
    parser.add_argument(
        '--workers', type=int, default=os.cpu_count() or 1, help='processes for goals, crossings'
    )
    parser.add_argument(
        '--state', type=Path, help='file of what is done: goals and crossings go on from there'
    )
    parser.add_argument(
        '--loop-seconds', type=float, default=120.0, help='length of the loop test'
    )
    parser.add_argument(
        '--parts', nargs='+', choices=PARTS, default=list(PARTS), help='what to run'
    )
    parser.add_argument('--output', type=Path, default=Path('runs/bench'), help='folder of plots')
    return parser


def _goal_metrics(tally: Any) -> dict[str, Any]:
    return {
        'goals': tally.goals,
        'collisions': tally.collisions,
        'reached_within_0_10_frac': tally.near / tally.accepted if tally.accepted else 0.0,
        'refusal_reasons': dict(sorted(tally.refusals.items())),
        'accepted': tally.accepted,
        'failures': dict(sorted(tally.failures.items())),
        'over_deadline': tally.overdue,
    }


def _crossings(options: argparse.Namespace, campaign: Any) -> dict[str, Any]:
    """Somebody crosses the way, in a tenth as many scenes as crossings."""
    legs_campaign = importlib.import_module('legs_campaign')
    moving = importlib.import_module('legs_moving')
    num_scenes = max(1, min(options.scenes, options.crossings // 10))
    pieces = []
    for k in range(num_scenes):
        share = options.crossings // num_scenes + (k < options.crossings % num_scenes)
        scene = f'apartment:{options.first_scene + k}'
        run = functools.partial(moving.run_crossings, scene, share, options.seed)
        key = f'crossings {scene} {share} {options.seed}'
        pieces.append(legs_campaign.Piece(key, moving.CrossingTally, run))
    total = moving.CrossingTally()
    for tally in campaign.tallies(pieces):
        legs_campaign.add(total, tally)
        _say(options, f'{total.runs} crossings, {total.touched} touched while moving')
        for note in tally.notes:
            _say(options, note)
    return {
        'crossings': total.runs,
        'crossings_touched': total.touched,
        'crossings_touched_standing': total.touched_standing,
        'crossings_ends': dict(sorted(total.ends.items())),
        'crossings_passed_by_ends': dict(sorted(total.passed.items())),
    }


def _plot(tally: Any, path: Path) -> Path:
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.hist(tally.errors, bins=40)
    axes.set_xlabel('distance from the commanded point, m')
    axes.set_ylabel('accepted goals')
    figure.savefig(path, dpi=120)
    return path


def _say(options: argparse.Namespace, text: str) -> None:
    print(text, file=sys.stderr if options.json else sys.stdout, flush=True)
