# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Seeded parts of ``./vln bench perception``: the truth of simulation and real Kinect frames."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('vln_sim_bridge', reason='the simulators are not there')

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'tests' / 'benchmarks'))
bench = importlib.import_module('perception')


def test_positions_and_finds_in_an_apartment():
    pytest.importorskip('open3d', reason='the ray caster is not there')
    truth = bench.Truth()
    bench.measure_scene('raycast', 'apartment:1', 2, 3, truth)
    assert len(truth.errors) >= 25
    assert np.percentile(truth.errors, 50) < 0.10
    assert np.percentile(truth.errors, 95) < 0.40
    assert truth.num_near >= 10 and truth.missed == []


def test_a_detector_that_misses_is_noticed(monkeypatch):
    """The check of what is found can fail."""
    pytest.importorskip('open3d', reason='the ray caster is not there')
    seen = bench.SimulatedDetector.detect
    monkeypatch.setattr(
        bench.SimulatedDetector, 'detect', lambda *args: seen(*args)[::2], raising=True
    )
    truth = bench.Truth()
    bench.measure_scene('raycast', 'apartment:1', 1, 3, truth)
    assert truth.missed


@pytest.fixture(scope='module')
def views():
    found = bench.kitchen_views(50)
    if not found:
        pytest.skip(f'no frames in {bench.DATA}; set VLN_DATA')
    return found


def test_real_depth_agrees_from_frame_to_frame(views):
    """Frames are 20 pictures of the camera apart; over ten of them the poses drift too."""
    assert np.median(bench.reprojection_errors(views, 1)) < 0.010
    assert np.median(bench.reprojection_errors(views, 10, 2.0)) < 0.010


def test_real_objects_stay_in_place():
    spreads = bench.kitchen_spread(50)
    if not spreads:
        pytest.skip(f'no frames or weights in {bench.DATA}; set VLN_DATA')
    assert len(spreads) >= 5 and np.median(spreads) < 0.10
