# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln bench perception``: errors of grounded objects, spread on real frames, and cost."""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vln_cli import paths
from vln_cli.measured import tell

PARTS = ('truth', 'kitchen', 'cost', 'intake')
METRICS = (
    'position_error_m_p50',
    'position_error_m_p95',
    'kitchen_spread_m_p50',
    'view_ms_p95',
    'intake_loss_frac',
    'intake_core_frac',
)


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; what could not be measured is null."""
    options = _parser().parse_args(list(argv))
    sys.path.insert(0, str(paths.ROOT / 'tests' / 'benchmarks'))
    bench = importlib.import_module('perception')
    metrics: dict[str, Any] = dict.fromkeys(METRICS)
    lists: dict[str, list[float]] = {}
    scenes = [f'apartment:{options.first_scene + k}' for k in range(options.scenes)]
    if 'truth' in options.parts:
        lists['position error, m'] = errors = _truth(bench, scenes, options)
        metrics['position_error_m_p50'] = _percentile(errors, 50)
        metrics['position_error_m_p95'] = _percentile(errors, 95)
    if 'kitchen' in options.parts:
        lists['spread in the red kitchen, m'] = spreads = _kitchen(bench, options)
        metrics['kitchen_spread_m_p50'] = _percentile(spreads, 50)
    if 'cost' in options.parts:
        times = bench.view_costs(scenes[: options.cost_scenes], options.places, options.seed)
        lists['intake and grounding of a view, ms'] = times
        metrics['view_ms_p95'] = _percentile(times, 95)
        _say(options, f'cost: {len(times)} views of 640 x 480 px, processor time')
    if 'intake' in options.parts:
        wire = importlib.import_module('perception_intake')
        result = wire.measure(options.intake_seconds)
        metrics['intake_loss_frac'] = result['loss_frac']
        metrics['intake_core_frac'] = result['core_frac']
        _say(options, f'intake: {result["num_frames"]} frames sent in 30 Hz')
    tell('perception', metrics, METRICS, as_json=options.json, output=options.output)
    if options.json:
        return 0
    print(f'plots: {_plot(lists, options.output / "perception.png")}')
    return 0


def _truth(bench: Any, scenes: list[str], options: argparse.Namespace) -> list[float]:
    """Return the position errors of all scenes on all simulators that are there."""
    truth = bench.Truth()
    for kind in options.simulators:
        if kind == 'habitat' and not (paths.HABITAT / 'env.sh').is_file():
            _say(options, 'habitat: not set up, left out (./vln setup --habitat)')
            continue
        for scene in scenes:
            bench.measure_scene(kind, scene, options.places, options.seed, truth)
            _say(options, f'{kind} {scene}: {len(truth.errors)} positions so far')
    found = truth.num_near - len(truth.missed)
    _say(options, f'found within 5 m: {found} of {truth.num_near} {"; ".join(truth.missed)}')
    return list(truth.errors)


def _kitchen(bench: Any, options: argparse.Namespace) -> list[float]:
    spreads = bench.kitchen_spread(options.frames)
    if not spreads:
        _say(options, 'kitchen: no data or weights; set VLN_DATA')
        return []
    views = bench.kitchen_views(options.frames)
    _say(options, f'kitchen: {len(spreads)} objects seen in five or more frames')
    for later in (1, 10):
        for reach in (math.inf, 2.0):
            errors = bench.reprojection_errors(views, later, reach)
            median = _percentile(errors, 50)
            told = 'none' if median is None else f'{1000 * median:.1f} mm'
            _say(
                options,
                f'kitchen: depth within {reach:g} m, {later} frame(s) on: {told} '
                f'over {len(errors)} pairs',
            )
    return list(spreads)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='vln bench perception', description=__doc__)
    parser.add_argument('--json', action='store_true', help='print one JSON object as last line')
    parser.add_argument('--seed', type=int, default=0, help='of all random choices (0)')
    parser.add_argument('--scenes', type=int, default=20, help='apartments (20)')
    parser.add_argument('--first-scene', type=int, default=0, help='seed of the first apartment')
    parser.add_argument('--places', type=int, default=3, help='look-arounds in each (3)')
    parser.add_argument(
        '--simulators', nargs='+', choices=('raycast', 'habitat'), default=['raycast', 'habitat']
    )
    parser.add_argument('--cost-scenes', type=int, default=6, help='apartments for the cost (6)')
    parser.add_argument('--frames', type=int, default=50, help='real frames')
    parser.add_argument('--intake-seconds', type=float, default=20.0, help='stream over DDS, s')
    parser.add_argument(
        '--parts', nargs='+', choices=PARTS, default=list(PARTS), help='what to run'
    )
    parser.add_argument('--output', type=Path, default=Path('runs/bench'), help='folder of plots')
    return parser


def _percentile(values: list[float], percent: float) -> float | None:
    """Return a percentile; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    rank = (len(ordered) - 1) * percent / 100.0
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (rank - low) * (ordered[high] - ordered[low])


def _plot(lists: dict[str, list[float]], path: Path) -> Path:
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, rows = pyplot.subplots(max(len(lists), 1), 1, figsize=(6, 3 * max(len(lists), 1)))
    for axes, (name, values) in zip([rows] if len(lists) < 2 else rows, lists.items()):
        axes.hist(values, bins=40)
        axes.set_xlabel(name)
        axes.set_ylabel('count')
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return path


def _say(options: argparse.Namespace, text: str) -> None:
    print(text, file=sys.stderr if options.json else sys.stdout, flush=True)
