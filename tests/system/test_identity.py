# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Lock-step: equal seeds give equal bits, whatever else the machine has to do."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from stack import wait_until

SCENE = 'apartment:1'
TASK = 'Search the rooms for the sofa and stop beside it.'
DECISIONS = 2


def trajectory(start_stack, watch):
    stack = start_stack(scene=SCENE, seed=5)
    watcher = watch(stack)
    watcher.wait_ready()
    watcher.start(TASK)
    wait_until(lambda: len(watcher.decisions) >= DECISIONS, 240.0, stack)
    poses = watcher.trajectory()
    stack.end()
    return poses


@pytest.mark.slow
def test_same_seed_same_trajectory(start_stack, watch):
    idle = trajectory(start_stack, watch)
    with subprocess.Popen([sys.executable, '-c', 'while True: pass']) as busy:
        try:
            loaded = trajectory(start_stack, watch)
        finally:
            busy.kill()
    common = sorted(set(idle) & set(loaded))
    assert len(common) >= 200
    assert [idle[stamp] for stamp in common] == [loaded[stamp] for stamp in common]
    driven = [idle[stamp][:2] for stamp in common]
    assert sum(map(math.dist, driven, driven[1:])) > 0.5
