# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The core runs without ROS: nothing in it may import any of it."""

import ast
import re
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[2] / 'src' / 'vln_core' / 'vln_core'
BANNED = re.compile(
    r'^(rclpy|rclcpp|launch(_\w+)?|tf2_\w+|tf2|cv_bridge|image_geometry|message_filters|rosbag2\w*|'
    r'rosidl\w*|ament\w*|ros2\w*|builtin_interfaces|\w+_msgs|\w+_srvs|\w+_interfaces|'
    r'sensor_msgs_py|vln_nodes|vln_launch|vln_cli)$'
)
FILES = sorted(CORE.rglob('*.py'))


def imported_modules(source: str) -> set[str]:
    """Return the top-level names of all modules that the source imports, at any depth of it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name.split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or '').split('.')[0])
        elif isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func)
            argument = node.args[0]
            is_import = called in ('__import__', 'importlib.import_module', 'import_module')
            if is_import and isinstance(argument, ast.Constant):
                names.add(str(argument.value).split('.')[0])
    return names


def test_core_is_found():
    assert len(FILES) > 20


@pytest.mark.parametrize('file', FILES, ids=lambda file: str(file.relative_to(CORE)))
def test_core_imports_no_ros(file):
    banned = sorted(name for name in imported_modules(file.read_text()) if BANNED.match(name))
    assert not banned, f'{file} imports {", ".join(banned)}; ROS belongs into vln_nodes'


@pytest.mark.parametrize(
    'line',
    [
        'import rclpy.node',
        'from sensor_msgs.msg import Image',
        'def f():\n    import tf2_ros',
        "__import__('cv_bridge')",
        "import importlib\nimportlib.import_module('vln_interfaces.msg')",
        'from launch import LaunchDescription',
    ],
)
def test_ban_sees_every_way_to_import(line):
    assert any(BANNED.match(name) for name in imported_modules(line))


def test_ban_lets_the_core_pass():
    source = 'import numpy\nfrom vln_core.errors import VlnError\nfrom . import launchpad'
    assert not any(BANNED.match(name) for name in imported_modules(source))
