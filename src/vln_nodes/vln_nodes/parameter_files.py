# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the parameter files of ``config/params`` and the parameter tables of the README.

``python -m vln_nodes.parameter_files config/params`` after a parameter was added or changed.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from vln_core.errors import ConfigError
from vln_nodes import parameters
from vln_nodes.camera_mount import CameraMountParameters
from vln_nodes.controller_node import ControllerParameters
from vln_nodes.lifecycle_manager import LifecycleParameters
from vln_nodes.memory_node import MemoryParameters
from vln_nodes.perception_parameters import PerceptionParameters
from vln_nodes.record_node import RecordParameters
from vln_nodes.safety_node import SafetyParameters
from vln_nodes.system1_node import System1Parameters
from vln_nodes.system2_config import System2Parameters

Values = Mapping[str, Mapping[str, Any]]

_HEADER = '# Copyright 2026 The VLN stack authors\n# SPDX-License-Identifier: Apache-2.0\n'
# SPEC: readings beyond 6 m give no object position on a robot, beyond 10 m in simulation.
# A robot is among people and looks to both sides before it drives off; nobody walks in the
# simulator unless asked.
ROBOT: Values = {
    'perception': {'grounding.max_depth': 6.0},
    'memory': {'memory.max_depth': 6.0},
    'controller': {'motion.max_depth': 6.0, 'motion.movers.glance': 1.0},
}
SIMULATION: Values = {
    'perception': {'grounding.max_depth': 10.0},
    'memory': {'memory.max_depth': 10.0},
    'controller': {'motion.max_depth': 10.0},
}
# Set by launch arguments, which a file would contradict: rcl lets the file win in a process of
# several nodes.
BY_LAUNCH = frozenset(
    'lockstep planner sim scene seed simulated.seed enable_stamped_cmd_vel '
    'host port tls_certificate tls_key folder'.split()
)


def read(file: Path) -> dict[str, dict[str, Any]]:
    """Return the values of a parameter file by the last part of the node's name.

    Raises:
        ConfigError: It cannot be read, or is no parameter file.
    """
    try:
        content = yaml.safe_load(file.read_text()) or {}
        return {
            name.rpartition('/')[2]: dict(entry['ros__parameters'])
            for name, entry in content.items()
        }
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f'{file} is no parameter file: {error}') from error


def nodes(*, with_bridge: bool) -> dict[str, Any]:
    """Return the default parameters of every node by name."""
    found: dict[str, Any] = {
        'perception': PerceptionParameters(),
        'memory': MemoryParameters(),
        'system1': System1Parameters(),
        'system2': System2Parameters(),
        'controller': ControllerParameters(),
        'safety': SafetyParameters(),
        'lifecycle_manager': LifecycleParameters(),
        'recorder': RecordParameters(),
        'camera_mount': CameraMountParameters(),
    }
    from vln_monitor.config import MonitorConfig  # a package above this one

    found['monitor'] = MonitorConfig()
    if with_bridge:
        from vln_sim_bridge.bridge_config import BridgeConfig

        found['sim_bridge'] = BridgeConfig()
    return found


def dump(changes: Values, title: str, *, with_bridge: bool) -> str:
    """Return a parameter file with every parameter, its meaning and its value."""
    lines = [_HEADER + f'# {title}', '# Keys begin with /**/ so that they hold in any namespace.']
    for name, config in nodes(with_bridge=with_bridge).items():
        entries: list[str] = []
        for row in parameters.rows(config):
            value = changes.get(name, {}).get(row.name, row.default)
            if row.name in BY_LAUNCH or value == []:
                continue  # YAML cannot say of what an empty list is
            entries += textwrap.wrap(
                row.description, 90, initial_indent='    # ', subsequent_indent='    # '
            )
            text = yaml.safe_dump(value, default_flow_style=True, width=1000).split('\n...')[0]
            entries.append(f'    {row.name}: {text.strip()}')
        if entries:
            lines += ['', f'/**/{name}:', '  ros__parameters:', *entries]
    return '\n'.join(lines) + '\n'


def markdown() -> str:
    """Return the parameter tables of all nodes for the README."""
    tables = [
        parameters.markdown_table(name, config) for name, config in nodes(with_bridge=True).items()
    ]
    return '\n'.join(tables)


def main(argv: Sequence[str] | None = None) -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description='Write the parameter files.')
    parser.add_argument('folder', type=Path, help='usually config/params')
    folder = parser.parse_args(argv).folder
    robot = dump(ROBOT, 'Parameters on a robot.', with_bridge=False)
    (folder / 'vln.yaml').write_text(robot)
    simulation = dump(SIMULATION, 'Parameters in simulation.', with_bridge=True)
    (folder / 'simulation.yaml').write_text(simulation)


if __name__ == '__main__':
    main()
