# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a benchmark prints at its end, the same for all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def tell(
    name: str,
    figures: Mapping[str, Any],
    declared: Sequence[str],
    *,
    as_json: bool,
    output: Path,
) -> None:
    """Write every figure to ``output/NAME_figures.json`` and print them.

    Args:
        name: Of the benchmark.
        figures: By name; those not measured may be missing.
        declared: Names of the figures that others rely on, in their order. With ``as_json`` only
            these are printed, as one line ``{"name", "metrics"}``.
        as_json: For a program, else as a table for people.
        output: Folder, made if absent.
    """
    rounded = {
        key: round(value, 4) if isinstance(value, float) else value
        for key, value in figures.items()
    }
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps({'name': name, 'figures': rounded}, indent=1)
    (output / f'{name}_figures.json').write_text(text + '\n', encoding='utf-8')
    if as_json:
        metrics = {key: rounded[key] for key in declared if key in rounded}
        print(json.dumps({'name': name, 'metrics': metrics}))
        return
    width = max((len(key) for key in rounded), default=0) + 2
    for key, value in rounded.items():
        print(f'{key:{width}s}{value}')
