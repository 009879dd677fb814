# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files with every kind of mistake: one clear line, and no node starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2: run ./vln test, or source the environment')

from vln_nodes import parameter_files
from vln_nodes.parameter_sections import NODES, misnamed

# A node with the parameters of the safety node; all files in one process, as each takes seconds.
_STARTS = """
import contextlib, io, json, sys
from vln_nodes import parameters, runtime
from rclpy.node import Node
from vln_nodes.safety_node import SafetyParameters

class Probe(Node):
    def __init__(self):
        super().__init__('safety')
        parameters.load(self, SafetyParameters())
        raise KeyboardInterrupt

ends = {}
for file in sys.argv[1:]:
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = runtime.run(Probe, args=['--ros-args', '--params-file', file])
    ends[file] = [code, said.getvalue()]
print(json.dumps(ends))
"""
_GOOD = '/**/safety:\n  ros__parameters:\n    '
MISTAKES = {
    'is not YAML': (_GOOD + 'gate.max_speed: [0.3', 'parameter file cannot be used'),
    'has a tab': ('/**/safety:\n\tros__parameters:\n', 'parameter file cannot be used'),
    'is a value': ('safety: 3\n', 'parameter file cannot be used'),
    'lacks ros__parameters': ('safety:\n  parameters:\n    a: 1\n', 'file cannot be used'),
    'is binary': ('\x00\x01\x02', 'parameter file cannot be used'),
    'names no parameter': (_GOOD + 'gate.max_sped: 0.3', 'did you mean gate.max_speed?'),
    'has text for a number': (_GOOD + 'gate.max_speed: fast', 'gate.max_speed'),
    'has a whole number for another': (_GOOD + 'gate.max_speed: 1', 'gate.max_speed'),
    'has a list': (_GOOD + 'gate.max_speed: [0.3, 0.4]', 'gate.max_speed'),
    'has no number': (_GOOD + 'gate.max_speed: .nan', 'max_speed'),
    'has a negative speed': (_GOOD + 'gate.max_speed: -0.3', 'max_speed'),
    'has endless speed': (_GOOD + 'gate.max_speed: .inf', 'max_speed'),
}


@pytest.fixture(scope='module')
def ends(tmp_path_factory) -> dict[str, tuple[int, str]]:
    """Exit code and error output of a start with each file."""
    folder = tmp_path_factory.mktemp('files')
    files = {str(folder / f'{k}.yaml'): name for k, name in enumerate(MISTAKES)}
    for file, name in files.items():
        Path(file).write_text(MISTAKES[name][0])
    files[str(folder / 'nowhere.yaml')] = 'is missing'
    (folder / 'good.yaml').write_text(_GOOD + 'gate.max_speed: 0.3')
    files[str(folder / 'good.yaml')] = 'is good'
    ended = subprocess.run(
        [sys.executable, '-c', _STARTS, *files], capture_output=True, text=True, timeout=300.0
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    return {name: tuple(found[file]) for file, name in files.items()}


@pytest.mark.parametrize('mistake', MISTAKES)
def test_a_file_that(mistake, ends):
    code, said = ends[mistake]
    assert code == 2, said
    assert MISTAKES[mistake][1] in said
    assert 'Traceback' not in said and len(said.splitlines()) <= 3


def test_a_missing_file(ends):
    code, said = ends['is missing']
    assert code == 2 and 'nowhere.yaml' in said


def test_a_good_file(ends):
    assert ends['is good'] == (0, '')


def test_a_section_for_nobody_is_told(tmp_path):
    file = tmp_path / 'parameters.yaml'
    file.write_text(
        '/**/safty:\n  ros__parameters: {a: 1}\nslam_toolbox:\n  ros__parameters: {}\n'
    )
    (warning,) = misnamed(['node', '--ros-args', '--params-file', str(file)])
    assert '"/**/safty"' in warning and 'did you mean "safety"?' in warning


def test_every_node_is_known():
    assert set(NODES) == set(parameter_files.nodes(with_bridge=True))
