# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln bench perception``: errors of grounded objects, spread on real frames, and cost."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vln_cli import paths

PARTS = ('truth', 'kitchen', 'intake')


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; what could not be measured is null."""
    options = _parser().parse_args(list(argv))
    sys.path.insert(0, str(paths.ROOT / 'tests' / 'benchmarks'))
    bench = importlib.import_module('perception')
    metrics: dict[str, Any] = dict.fromkeys(
        (
            'position_error_m_p50',
            'position_error_m_p95',
            'kitchen_spread_m_p50',
            'view_ms_p95',
            'intake_loss_frac',
            'intake_core_frac',
        )
    )
    errors: list[float] = []
    times: list[float] = []
    if 'truth' in options.parts:
        scenes = [f'apartment:{options.first_scene + k}' for k in range(options.scenes)]
        errors, found = bench.simulated_errors(
            scenes,
            options.places,
            options.seed,
            options.simulator,
            lambda text: _say(options, text),
        )
        times += found
        metrics['position_error_m_p50'] = _percentile(errors, 50)
        metrics['position_error_m_p95'] = _percentile(errors, 95)
    if 'kitchen' in options.parts:
        spreads, found = bench.kitchen_spread(options.frames)
        times += found
        if not spreads:
            _say(options, 'kitchen: no data or weights; set VLN_DATA')
        metrics['kitchen_spread_m_p50'] = _percentile(spreads, 50)
        _say(options, f'kitchen: {len(spreads)} objects seen in five or more frames')
    if 'intake' in options.parts:
        wire = importlib.import_module('perception_intake')
        result = wire.measure(options.intake_seconds)
        metrics['intake_loss_frac'] = result['loss_frac']
        metrics['intake_core_frac'] = result['core_frac']
        times += result['view_ms']
    metrics['view_ms_p95'] = _percentile(times, 95)
    metrics = {k: v if v is None else round(v, 4) for k, v in metrics.items()}
    if options.json:
        print(json.dumps({'name': 'perception', 'metrics': metrics}))
    else:
        for name, value in metrics.items():
            print(f'{name:24s} {value}')
        if errors:
            options.output.mkdir(parents=True, exist_ok=True)
            print(f'plot: {_plot(errors, options.output / "perception_errors.png")}')
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='vln bench perception', description=__doc__)
    parser.add_argument('--json', action='store_true', help='print one JSON object as last line')
    parser.add_argument('--seed', type=int, default=0, help='of all random choices (0)')
    parser.add_argument('--scenes', type=int, default=2, help='apartments (full: 20)')
    parser.add_argument('--first-scene', type=int, default=0, help='seed of the first apartment')
    parser.add_argument('--places', type=int, default=8, help='views in each apartment')
    parser.add_argument('--simulator', default='raycast', help="'raycast' or 'habitat'")
    parser.add_argument('--frames', type=int, default=50, help='real frames')
    parser.add_argument('--intake-seconds', type=float, default=6.0, help='stream over DDS, s')
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


def _plot(errors: list[float], path: Path) -> Path:
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.hist(errors, bins=40)
    axes.set_xlabel('distance from the true visible surface, m')
    axes.set_ylabel('objects')
    figure.savefig(path, dpi=120)
    return path


def _say(options: argparse.Namespace, text: str) -> None:
    print(text, file=sys.stderr if options.json else sys.stdout, flush=True)
