# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The parameter files of robots: every key is declared, every value accepted, the parts agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from vln_core.perception.factory import DETECTORS
from vln_nodes import parameter_files, parameters

FOLDER = Path(__file__).resolve().parents[3] / 'config' / 'robots'
FILES = sorted(FOLDER.glob('*.yaml'))


def _values(path: Path) -> dict[str, dict[str, Any]]:
    content = yaml.safe_load(path.read_text())
    assert all(key.startswith('/**/') for key in content), 'keys must hold in any namespace'
    return {key[len('/**/') :]: value['ros__parameters'] for key, value in content.items()}


def test_files_are_there() -> None:
    assert len(FILES) >= 4


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_keys_are_declared_and_values_accepted(path: Path) -> None:
    nodes = parameter_files.nodes(with_bridge=False)
    for node, values in _values(path).items():
        rows = {row.name: row for row in parameters.rows(nodes[node])}
        for name, value in values.items():
            assert name in rows, f'{node} has no parameter {name}'
            assert type(value) is type(rows[name].default), f'{name}: {value!r}'
            assert name not in parameter_files.BY_LAUNCH, f'{name} belongs to a launch argument'
        parameters._rebuild(nodes[node], values, '')  # the configuration validates itself


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_nodes_agree_about_the_body(path: Path) -> None:
    values = _values(path)
    perception, memory = values['perception'], values['memory']
    controller, safety = values['controller'], values['safety']
    assert perception['base_frame'] == controller['base_frame'] == safety['base_frame']
    assert controller['motion.radius'] == safety['gate.radius'] == memory['memory.robot_radius']
    height = controller['motion.robot_height']
    assert height == safety['band.robot_height'] == memory['memory.body_max']
    assert controller['motion.step_height'] == safety['band.step_height']
    assert controller['motion.step_height'] < memory['memory.body_min']
    assert controller['motion.max_depth'] == memory['memory.max_depth']
    assert controller['motion.max_depth'] == perception['grounding.max_depth'] <= 6.0
    assert controller['motion.grid.self_radius'] == safety['band.self_radius']
    assert safety['band.self_radius'] <= safety['gate.radius']
    assert controller['motion.follower.max_speed'] <= safety['gate.max_speed']
    assert controller['motion.follower.max_turn_rate'] <= safety['gate.max_turn_rate']
    assert controller['motion.follower.max_acceleration'] <= safety['gate.max_acceleration']


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_the_camera_is_mounted_on_the_robot(path: Path) -> None:
    values = _values(path)
    mount = values['camera_mount']
    assert mount['base_frame'] == values['perception']['base_frame']
    assert mount['camera_frame'].endswith('optical_frame')
    assert 0.1 < mount['height'] <= values['controller']['motion.robot_height']
    assert 0.0 <= mount['tilt'] < 0.6  # down to the floor before the robot, not to its feet
    assert max(abs(mount['x']), abs(mount['y'])) <= values['controller']['motion.radius']


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_each_robot_has_a_launch_file(path: Path) -> None:
    launch = FOLDER.parents[1] / 'launch'
    overlay = ElementTree.parse(launch / 'robots' / f'{path.stem}.launch.xml').getroot()
    base = ElementTree.parse(launch / 'robot.launch.xml').getroot()
    known = {argument.get('name') for argument in base.findall('arg')}
    given = {argument.get('name'): argument.get('default') for argument in overlay.findall('arg')}
    assert set(given) <= known
    assert str(given['params_file']).endswith(f'config/robots/{path.name}')
    # A copied file may still name the one that it was copied from.
    for name in re.findall(r'robots/\w+\.launch\.xml', path.read_text()):
        assert (launch / name).is_file(), name


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_eyes_are_real(path: Path) -> None:
    perception = _values(path)['perception']
    assert perception['detector'] in set(DETECTORS) - {'simulated'}
    assert perception['models.path']
    assert perception['cameras']
