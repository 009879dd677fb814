# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln eval run PRESET --dry-run``: what a run would cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any


def print_estimate(preset: str, settings: Mapping[str, Any], as_json: bool) -> int:
    """Count the episodes, which also checks that data are there, and print the estimate."""
    from vln_core.evaluation.benchmark import make_benchmark
    from vln_core.evaluation.estimate import estimate
    from vln_core.evaluation.runner import spread

    benchmark = make_benchmark(settings)
    ids = spread(benchmark.episode_ids(), int(settings.get('episodes') or 0))
    benchmark.close()
    found = estimate(settings, len(ids))
    if as_json:
        print(json.dumps({'preset': preset, **asdict(found)}))
        return 0
    print(f'{preset} with planner {settings["planner"]}: at most about')
    print(f'  {found.episodes:>12,} episodes\n  {found.decisions:>12,} decisions')
    print(f'  {found.calls:>12,} calls of the model')
    print(f'  {found.prompt_tokens:>12,} prompt tokens\n  {found.reply_tokens:>12,} reply tokens')
    if found.calls == 0:
        print('no model is asked: nothing to pay')
    elif found.price is None:
        print('no price: give --model FILE with price_in and price_out (per million tokens)')
    else:
        print(f'  {found.price:>12,.2f} in the currency of the prices')
    return 0
