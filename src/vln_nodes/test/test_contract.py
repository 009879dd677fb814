# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Files and messages must agree with the code that reads them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
import yaml

from vln_core.control.safety import SafetyState
from vln_core.outcome import EpisodeCode, GroundingCode, MotionCode
from vln_interfaces.action import MoveAlong, MoveToPixel, Navigate, Spin
from vln_interfaces.msg import SafetyStatus
from vln_interfaces.srv import Ground
from vln_nodes import parameter_files, parameters, qos

ROOT = Path(__file__).resolve().parents[3]
LAUNCH_FILES = sorted((ROOT / 'launch').rglob('*.launch.xml'))


def _constants(message: type) -> dict[str, int]:
    """Return the numeric constants of a message class."""
    names = [
        name for name in dir(type(message)) + dir(message) if re.fullmatch('[A-Z][A-Z_0-9]*', name)
    ]
    return {name: getattr(message, name) for name in names if name != 'SLOT_TYPES'}


@pytest.mark.parametrize(
    ('message', 'codes'),
    [
        (MoveToPixel.Result, MotionCode),
        (MoveAlong.Result, MotionCode),
        (Spin.Result, MotionCode),
        (Navigate.Result, EpisodeCode),
        (Ground.Response, GroundingCode),
        (SafetyStatus, SafetyState),
    ],
)
def test_codes_equal_the_core(message: Any, codes: type[IntEnum]) -> None:
    assert _constants(message) == {code.name: int(code) for code in codes}


@pytest.mark.parametrize('name', ['vln.yaml', 'simulation.yaml'])
def test_parameter_files_and_nodes_agree(name: str) -> None:
    pytest.importorskip('vln_sim_bridge')
    content = yaml.safe_load((ROOT / 'config' / 'params' / name).read_text())
    nodes = parameter_files.nodes(with_bridge=name == 'simulation.yaml')
    in_file = {
        key.removeprefix('/**/'): set(value['ros__parameters']) for key, value in content.items()
    }
    declared = {
        node: {
            row.name
            for row in parameters.rows(config)
            if row.name not in parameter_files.BY_LAUNCH and row.default != []
        }
        for node, config in nodes.items()
    }
    assert in_file == {node: names for node, names in declared.items() if names}


def test_every_parameter_is_described() -> None:
    pytest.importorskip('vln_sim_bridge')
    for node, config in parameter_files.nodes(with_bridge=True).items():
        for row in parameters.rows(config):
            assert row.description, f'{node}: {row.name}'


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_launch_arguments_are_described(path: Path) -> None:
    for argument in ElementTree.parse(path).getroot().iter('arg'):
        if 'value' in argument.attrib:
            continue
        assert argument.get('description'), argument.get('name')
        if argument.get('default') in ('true', 'false'):
            choices = {choice.get('value') for choice in argument.iter('choice')}
            assert choices == {'true', 'false'}, argument.get('name')


def test_included_arguments_exist() -> None:
    """A misspelt argument of an include would leave the default in force."""
    for path in (ROOT / 'launch').glob('*.launch.xml'):
        for include in ElementTree.parse(path).getroot().iter('include'):
            file = include.get('file').replace('$(dirname)', str(path.parent))
            there = {arg.get('name') for arg in ElementTree.parse(file).getroot().findall('arg')}
            assert {arg.get('name') for arg in include.findall('arg')} <= there, file


def test_topic_table_lists_every_topic_once() -> None:
    names = [topic.name for topic in qos.TOPICS]
    assert len(names) == len(set(names))
    assert all(not name.startswith('/') for name in names)
    assert qos.markdown_table().count('\n') == len(names) + 2


def test_rviz_shows_topics_that_exist() -> None:
    content = yaml.safe_load((ROOT / 'config' / 'rviz' / 'vln.rviz').read_text())
    displays = content['Visualization Manager']['Displays']
    shown = {display['Topic']['Value'] for display in displays if 'Topic' in display}
    assert shown
    assert shown <= {topic.name for topic in qos.TOPICS}
    for display in displays:
        topic = next(
            (t for t in qos.TOPICS if t.name == display.get('Topic', {}).get('Value')), None
        )
        if topic is not None:
            durability = display['Topic']['Durability Policy'].replace(' ', '_').upper()
            assert topic.profile.durability.name == durability, topic.name


def test_zero_is_out_in_time() -> None:
    """SPEC 6: zero 0.25 s after the last good sample, 1 s after a node's last sign of life."""
    safety = parameter_files.nodes(with_bridge=False)['safety']
    assert safety.gate.input_timeout + safety.control_period <= 0.25
    assert safety.gate.node_timeout + safety.control_period <= 1.0
