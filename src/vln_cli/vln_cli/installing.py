# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Installs requirement files into the virtual environment."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from vln_cli.environment import bare_environment
from vln_cli.machine import Distribution
from vln_cli.paths import PYTHON, REQUIREMENTS, VENV
from vln_cli.steps import Log, StepError

# Exists while packages are written; still there means: killed, and left half a package.
INSTALLING = VENV / '.vln-installing'
_UV = VENV / 'bin' / 'uv'


def install_requirements(
    log: Log, files: Sequence[Path], distribution: Distribution | None, *options: str
) -> None:
    """Install requirement files.

    Args:
        log: Runs the commands.
        files: Requirement files.
        distribution: ROS 2 distribution whose own Python packages must stay usable; pip sees
            those through the virtual environment. None: nothing of the system is used.
        options: Options that pip and uv share.

    Raises:
        StepError: Something could not be installed.
    """
    arguments = [*options]
    for file in files:
        arguments += ['-r', str(file)]
    if distribution is not None:
        arguments += ['-c', str(REQUIREMENTS / 'ros_distribution.txt')]
    INSTALLING.touch()
    try:
        if distribution is not None or not _install_with_uv(log, arguments):
            _install_with_pip(log, arguments)
    except StepError:
        INSTALLING.unlink(missing_ok=True)  # it ended by itself, so nothing is half written
        raise
    INSTALLING.unlink()


def _install_with_pip(log: Log, arguments: Sequence[str]) -> None:
    command = [str(PYTHON), '-m', 'pip', 'install', '--no-input', '--progress-bar', 'off']
    command += ['--disable-pip-version-check']
    environment = bare_environment()
    environment['PIP_ROOT_USER_ACTION'] = 'ignore'
    log.run([*command, *arguments], environment)


def _install_with_uv(log: Log, arguments: Sequence[str]) -> bool:
    """Install with uv; False where pip has to."""
    environment = bare_environment()
    environment.update(_settings_for_uv(_pip_settings()))
    command = [str(_UV), 'pip', 'install', '--python', str(PYTHON)]
    try:
        if not _UV.exists():
            _install_with_pip(log, ['-r', str(REQUIREMENTS / 'installer.txt')])
        log.run([*command, *arguments], environment)
    except StepError as error:
        log.note(f'uv could not do it, pip takes over: {error}')
        return False
    return True


def _pip_settings() -> dict[str, str]:
    """Return what the user has told pip, by files or environment; later wins."""
    command = [str(PYTHON), '-m', 'pip', '--disable-pip-version-check', 'config', 'list']
    output = subprocess.run(
        command, env=bare_environment(), stdout=subprocess.PIPE, text=True, check=False
    ).stdout
    settings = {}
    for line in output.splitlines():
        name, _, value = line.partition('=')
        settings[name.split('.')[-1]] = value.strip().strip('\'"').replace('\\n', ' ')
    return settings


def _settings_for_uv(pip: dict[str, str]) -> dict[str, str]:
    """Translate pip's settings into uv's environment variables."""
    names = {
        'index-url': 'UV_DEFAULT_INDEX',
        'extra-index-url': 'UV_INDEX',
        'find-links': 'UV_FIND_LINKS',
        'constraint': 'UV_CONSTRAINT',
        'cert': 'SSL_CERT_FILE',
    }
    settings = {names[name]: value for name, value in pip.items() if name in names and value}
    if 'UV_INDEX' in settings:
        # As pip does: the best version of all indexes, not the first index that has any.
        settings['UV_INDEX_STRATEGY'] = 'unsafe-best-match'
    settings['UV_HTTP_TIMEOUT'] = pip.get('default-timeout', pip.get('timeout', '120'))
    return settings
