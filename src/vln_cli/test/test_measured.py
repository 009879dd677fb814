# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks print at their end, and which of them there are."""

from __future__ import annotations

import json

from vln_cli import bench
from vln_cli.measured import tell

FIGURES = {'extra': [1, 2], 'b': 0.123456, 'a': 3}


def test_a_program_gets_the_declared_figures_alone(tmp_path, capsys):
    tell('legs', FIGURES, ('a', 'b', 'absent'), as_json=True, output=tmp_path / 'new')
    last = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(last) == {'name': 'legs', 'metrics': {'a': 3, 'b': 0.1235}}
    kept = json.loads((tmp_path / 'new' / 'legs_figures.json').read_text())
    assert kept['figures'] == {'extra': [1, 2], 'b': 0.1235, 'a': 3}


def test_people_get_all_of_them(tmp_path, capsys):
    tell('legs', FIGURES, ('a',), as_json=False, output=tmp_path)
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == set(FIGURES)


def test_every_part_is_named(capsys):
    assert bench.main(['--help']) == 0
    assert 'parts: legs, memory, perception, system2' in capsys.readouterr().out
