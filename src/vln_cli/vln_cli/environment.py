# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of the stack's processes: worked out once at set-up, then read from a file."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from vln_cli.machine import ROS_FOLDER, Distribution
from vln_cli.paths import DDS_PROFILE, ENVIRONMENT, INSTALL, ROOT, VENV

_LISTS = (
    'PATH',
    'PYTHONPATH',
    'LD_LIBRARY_PATH',
    'AMENT_PREFIX_PATH',
    'CMAKE_PREFIX_PATH',
    'COLCON_PREFIX_PATH',
    'PKG_CONFIG_PATH',
)
_PLAIN = ('ROS_DISTRO', 'ROS_VERSION', 'ROS_PYTHON_VERSION')
_BOOTSTRAP_MARK = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'


def record_environment(distribution: Distribution | None) -> None:
    """Source the setup files once in a bare shell and keep what they set.

    Args:
        distribution: The ROS 2 distribution below the workspace; None for the wheels.

    Raises:
        subprocess.CalledProcessError: A setup file failed.
    """
    below = distribution.prefix if distribution else VENV
    bare = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'HOME': os.environ.get('HOME', '/')}
    script = f'. {shlex.quote(str(below / "setup.bash"))} && '
    script += f'. {shlex.quote(str(INSTALL / "local_setup.bash"))} && exec env -0'
    output = subprocess.run(
        ['bash', '-c', script], env=bare, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    after = dict(item.split('=', 1) for item in output.split('\0') if '=' in item)
    record: dict[str, object] = {'distribution': distribution.name if distribution else None}
    lists = {}
    for name in _LISTS:
        old = bare.get(name, '').split(os.pathsep)
        entries = [one for one in after.get(name, '').split(os.pathsep) if one and one not in old]
        lists[name] = entries
    lists['PATH'].insert(0, str(VENV / 'bin'))
    values = {name: after[name] for name in _PLAIN if name in after}
    values['VIRTUAL_ENV'] = str(VENV)
    if distribution is None:
        # What the wheels' bootstrap would add by running Python a second time in each process.
        libraries = [VENV / 'lib', *sorted(VENV.glob('lib/python3*/site-packages/ros_*.libs'))]
        lists['LD_LIBRARY_PATH'] += [str(one) for one in libraries]
        values[_BOOTSTRAP_MARK] = '1'
        values.setdefault('ROS_DISTRO', 'kilted')
    record.update(lists=lists, values=values)
    partial = ENVIRONMENT.with_suffix('.partial')
    partial.write_text(json.dumps(record, indent=1))
    partial.replace(ENVIRONMENT)


def stack_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a process of the stack.

    Args:
        base: What to start from; this process's environment by default. Its own entries stay
            behind the stack's, but paths of a ROS distribution that the checkout was not
            built on are dropped.

    Returns:
        A complete environment.

    Raises:
        FileNotFoundError: The checkout is not set up.
    """
    record = json.loads(ENVIRONMENT.read_text())
    environment = dict(os.environ if base is None else base)
    is_wheels = record['distribution'] is None
    for name, entries in record['lists'].items():
        kept = [one for one in environment.get(name, '').split(os.pathsep) if one]
        if is_wheels:
            kept = [one for one in kept if not one.startswith(f'{ROS_FOLDER}/')]
        merged = list(dict.fromkeys([*entries, *kept]))
        if merged:
            environment[name] = os.pathsep.join(merged)
        else:
            environment.pop(name, None)
    environment.update(record['values'])
    environment['VLN_ROOT'] = str(ROOT)
    environment.pop('PYTHONHOME', None)
    environment.setdefault('FASTDDS_DEFAULT_PROFILES_FILE', str(DDS_PROFILE))
    if record['distribution'] == 'jazzy':
        # Its Fast DDS 2 knows the variable by this name; Fast DDS 3 warns of it.
        environment.setdefault('FASTRTPS_DEFAULT_PROFILES_FILE', str(DDS_PROFILE))
    environment.setdefault('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp')
    # The parts of the stack are processes; threads inside numpy would only fight them.
    environment.setdefault('OMP_NUM_THREADS', '1')
    environment.setdefault('OPENBLAS_NUM_THREADS', '1')
    return environment


def bare_environment() -> dict[str, str]:
    """Return this process's environment without anything of ROS: for core tests, for Habitat."""
    environment = dict(os.environ)
    for name in (*_LISTS[1:], *_PLAIN, _BOOTSTRAP_MARK):
        environment.pop(name, None)
    return environment


def prefixes(environment: Mapping[str, str]) -> list[Path]:
    """Return the installation prefixes that an environment names, first wins."""
    entries = environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    return [Path(entry) for entry in entries if entry]


def main(argv: Sequence[str]) -> int:
    """Print export lines for a shell: ``eval "$(./vln env)"``."""
    parser = argparse.ArgumentParser(
        prog='./vln env', description='Print the environment as shell lines: eval "$(./vln env)"'
    )
    parser.parse_args(argv)
    skipped = {'VLN_INSIDE', 'PWD', 'OLDPWD', 'SHLVL', '_'}
    names = set(_LISTS) | set(_PLAIN) | {'VIRTUAL_ENV', 'VLN_ROOT', _BOOTSTRAP_MARK}
    names |= {name for name in os.environ if name.startswith(('FAST', 'RMW_'))}
    for name in sorted((names | {'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'}) - skipped):
        if name in os.environ:
            print(f'export {name}={shlex.quote(os.environ[name])}')
    return 0
