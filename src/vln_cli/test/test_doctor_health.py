# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What `./vln doctor` says of optional packages, and `./vln health` of a stack half awake."""

from vln_cli import doctor, health
from vln_cli.paths import MODELS_LINE, REQUIREMENTS, ROOT


def test_absent_detectors_are_a_note_with_the_line():
    [row] = doctor._look_at_models({'numpy': '2.0'})
    assert (row.what, row.state) == ('detectors with weights', doctor.NOTE)
    assert 'not installed (optional)' in row.seen
    assert row.fix == MODELS_LINE
    [row] = doctor._look_at_models({'torch': '2.6', 'transformers': '4.57'})
    assert row.state == doctor.OK


def test_the_line_names_what_there_is():
    assert (ROOT / MODELS_LINE.split()[-1]) == REQUIREMENTS / 'models.txt'
    assert MODELS_LINE in (ROOT / 'docs' / 'models.md').read_text()


def test_health_tells_who_lives():
    assert health.summary(health.NODES, set()) == 'all nodes live'
    told = health.summary(health.NODES, {'system2', 'memory'})
    assert told.startswith('4 of 6 nodes live: safety, controller, perception, system1\n')
    assert 'silent: memory, system2' in told
    assert 'may still be loading' in told
    assert health.summary(health.NODES, set(health.NODES)).startswith('0 of 6 nodes live: none')
