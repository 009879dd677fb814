# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The means of a scored run, for programs and for people."""

from __future__ import annotations

import json
from collections.abc import Mapping

_RATES = ('SR', 'OSR', 'SPL', 'RGS', 'RGSPL', 'nDTW', 'SDTW')


def print_result(
    preset: str,
    episodes: int,
    metrics: Mapping[str, float | None],
    seconds: float,
    as_json: bool,
) -> None:
    """Print the means as one line of JSON, or as a table for people."""
    if as_json:
        result = {
            'preset': preset, 'episodes': episodes, 'metrics': dict(metrics),
            'seconds': round(seconds, 3),
        }  # fmt: skip
        print(json.dumps(result))
        return
    print(f'{preset}: {episodes} episodes in {seconds:.1f} s')
    for name, value in metrics.items():
        if value is not None:
            print(
                f'  {name:6s}' + (f'{100 * value:8.2f} %' if name in _RATES else f'{value:8.2f} m')
            )
