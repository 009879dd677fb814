# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the workspace's packages with colcon, those only whose inputs have changed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from vln_cli.environment import bare_environment
from vln_cli.machine import Distribution
from vln_cli.paths import BUILD, INSTALL, LOG, OVERLAY, PYTHON, ROOT, VENV
from vln_cli.steps import Log, StepError, hash_of, write_stamp

_PACKAGE_FILES = ('package.xml', 'setup.py', 'setup.cfg', 'CMakeLists.txt')
_RECORD = INSTALL / '.vln-packages.json'


def package_folders(distribution: Distribution | None) -> list[Path]:
    """Return the folders of the workspace's packages on this kind of machine."""
    bases = [ROOT / 'src', ROOT / 'sim_bridge', ROOT / 'tests']
    folders = [file.parent for base in bases for file in base.glob('package.xml')]
    folders += [file.parent for file in (ROOT / 'src').glob('*/package.xml')]
    if distribution is None:
        folders += [file.parent for file in OVERLAY.glob('*/package.xml')]
    return sorted(folders)


def package_keys(distribution: Distribution | None, base: str) -> dict[str, str]:
    """Return, for each package, a hash of what its build depends on.

    Python files are linked into the installation, so their content does not count, nor does
    that of launch and configuration files; their names do.

    Args:
        distribution: The ROS 2 distribution below the workspace; None for the wheels.
        base: Hash of what lies below the workspace.
    """
    keys = {}
    for folder in package_folders(distribution):
        files = [folder / name for name in _PACKAGE_FILES]
        for kind in ('msg', 'srv', 'action'):
            files += folder.glob(f'{kind}/*.{kind}')
        names = []
        if folder.name == 'vln_bringup':
            for linked in ('launch', 'config'):
                names += sorted(str(file) for file in (ROOT / linked).rglob('*'))
        files = [file for file in (*files, ROOT / 'colcon.meta') if file.is_file()]
        keys[_package_name(folder)] = hash_of(base, str(ROOT), *names, files=files)
    return keys


def _package_name(folder: Path) -> str:
    match = re.search(r'<name>\s*([\w-]+)\s*</name>', (folder / 'package.xml').read_text())
    if match is None:
        raise StepError(f'{folder / "package.xml"} names no package')
    return match[1]


def changed_packages(keys: dict[str, str]) -> list[str]:
    """Return the packages that are not installed as ``keys`` say."""
    try:
        built = json.loads(_RECORD.read_text())
    except (OSError, ValueError):
        built = {}
    return sorted(
        name for name, key in keys.items() if built.get(name) != key or not _is_installed(name)
    )


def _is_installed(name: str) -> bool:
    index = INSTALL / name / 'share' / 'ament_index' / 'resource_index' / 'packages' / name
    return index.exists()


def build(log: Log, distribution: Distribution | None, keys: dict[str, str]) -> None:
    """Build the packages that have changed.

    Raises:
        StepError: colcon failed.
    """
    changed = changed_packages(keys)
    if changed:
        _run_colcon(log, distribution, changed)
    # A package that was removed or renamed must not stay visible.
    if INSTALL.is_dir():
        for folder in INSTALL.iterdir():
            if folder.is_dir() and folder.name not in keys:
                shutil.rmtree(folder)
    write_stamp(_RECORD, json.dumps(keys, indent=1))


def _run_colcon(log: Log, distribution: Distribution | None, packages: Sequence[str]) -> None:
    below = distribution.prefix if distribution else VENV
    folders = [str(folder) for folder in package_folders(distribution)]
    command = [str(PYTHON), '-m', 'colcon', '--log-base', str(LOG / 'colcon'), 'build']
    command += ['--build-base', str(BUILD), '--install-base', str(INSTALL), '--symlink-install']
    command += ['--base-paths', *folders, '--packages-select', *packages]
    command += ['--cmake-args', '-DBUILD_TESTING=OFF', f'-DPython3_EXECUTABLE={PYTHON}']
    if shutil.which('ninja'):
        command.append('-GNinja')
    if distribution is None:
        flags = '-O1 -g0'
        command += ['-DVLN_PYTHON_ONLY=ON', f'-DCMAKE_C_FLAGS={flags}']
        command.append(f'-DCMAKE_CXX_FLAGS={flags}')
    environment = bare_environment()
    environment['PATH'] = os.pathsep.join([str(VENV / 'bin'), environment.get('PATH', os.defpath)])
    environment['VIRTUAL_ENV'] = str(VENV)
    # Without a number of its own colcon adds a load limit, which on a busy machine means that
    # the code generators run one after the other.
    environment.setdefault('MAKEFLAGS', f'-j{os.cpu_count() or 2}')
    setup = shlex.quote(str(below / 'setup.bash'))
    script = f'cd {shlex.quote(str(ROOT))} && . {setup} && exec "$@"'
    log.run(['bash', '-c', script, '-', *command], environment)
