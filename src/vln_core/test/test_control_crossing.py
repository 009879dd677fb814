# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A person crosses the way of the robot; a few runs of the benchmark."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip('vln_sim_bridge', reason='needs the simulators: set PYTHONPATH to sim_bridge')
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'tests' / 'benchmarks'))


@pytest.mark.slow
@pytest.mark.parametrize('seed', [0, 1])
def test_nobody_is_touched_by_a_moving_robot(seed: int) -> None:
    from legs_moving import run_crossings

    tally = run_crossings('apartment:0', 3, seed)
    assert tally.runs == 3 and len(tally.nearest) == 3
    assert tally.touched == 0, tally.notes
