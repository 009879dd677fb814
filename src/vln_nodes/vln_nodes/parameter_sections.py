# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Sections of parameter files that were meant for a node of the stack and reach none.

ROS passes such a section over in silence, and the robot drives with the defaults.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

NODES = (
    'camera_mount', 'controller', 'lifecycle_manager', 'memory', 'monitor', 'perception',
    'recorder', 'safety', 'sim_bridge', 'system1', 'system2',
)  # fmt: skip
"""Nodes of the stack that have parameters; others may share a file with them."""


def misnamed(command_line: Sequence[str]) -> list[str]:
    """Return a warning for each section whose name is nearly that of a node.

    Args:
        command_line: With ``--params-file FILE``, as ROS has it; files that cannot be read are
            passed over, ROS refuses them itself.
    """
    return [
        f'{file}: section "{section}" is for no node of this stack, '
        f'so its values are not used; did you mean "{close}"?'
        for file in _files(command_line)
        for section, close in _doubtful(file)
    ]


def _files(command_line: Sequence[str]) -> Iterator[Path]:
    for word, value in zip(command_line, command_line[1:]):
        if word == '--params-file':
            yield Path(value)


def _doubtful(file: Path) -> Iterator[tuple[str, str]]:
    try:
        content = yaml.safe_load(file.read_text(encoding='utf-8'))
    except (OSError, ValueError, yaml.YAMLError):
        return
    for section in content if isinstance(content, dict) else ():
        name = str(section).rpartition('/')[2]
        close = difflib.get_close_matches(name, NODES, n=1, cutoff=0.75)
        if close and name not in NODES:
            yield str(section), close[0]
