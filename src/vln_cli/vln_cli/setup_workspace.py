# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln setup`: from a bare machine to a built workspace, and the check that all is current."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from vln_cli import building, environment, machine
from vln_cli.installing import INSTALLING, install_requirements
from vln_cli.paths import (
    BUILD,
    ENVIRONMENT,
    HABITAT,
    INSTALL,
    LOG,
    PYTHON,
    REQUIREMENTS,
    ROOT,
    STATE,
    VENV,
)
from vln_cli.steps import Log, Step, StepError, exclusive, hash_of, minutes, run_steps

_HABITAT_RECIPE = ROOT / 'sim_bridge' / 'habitat'
_WORKSPACE_STEPS = ('build', 'environment', 'check')
_WHEELS = Path(__file__).with_name('wheels.py')
_CHECK = """
import cv2, networkx, numba, numpy, open3d, pydantic, scipy.ndimage, skfmm, sklearn.cluster, yaml
import cv_bridge, rclpy, sensor_msgs.msg, tf2_ros, vln_core, vln_interfaces.action
import vln_interfaces.msg, vln_interfaces.srv, vln_nodes, vln_sim_bridge
"""


def main(argv: Sequence[str]) -> int:
    """Set the checkout up; 0 on success."""
    parser = argparse.ArgumentParser(
        prog='./vln setup',
        description='Install and build all that this checkout needs, inside its .vln folder. '
        'Every command does this by itself when something is missing or has changed. It may be '
        'interrupted and run again at any time.',
    )
    parser.add_argument(
        '--habitat',
        action='store_true',
        help='also set up habitat-sim (from conda where there is one, else about 500 MB of '
        'Debian packages and wheels)',
    )
    parser.add_argument(
        '--clean', action='store_true', help='remove .vln first and start from nothing'
    )
    parser.add_argument(
        '--only-dependencies', action='store_true', help='install, but build no package yet'
    )
    options = parser.parse_args(argv)
    return _set_up(
        with_habitat=options.habitat,
        clean=options.clean,
        only_dependencies=options.only_dependencies,
    )


def ensure() -> int:
    """Set the checkout up if anything is missing or has changed; 0 when it is usable.

    On a current checkout this hashes some small files and starts no program.
    """
    if is_current():
        return 0
    print('vln: this checkout is not set up, or its packages have changed', file=sys.stderr)
    return _set_up()


def is_current() -> bool:
    """Tell whether nothing is missing and nothing has changed since the set-up."""
    return _venv_is_sound() and all(step.is_done() for step in all_steps() if not step.is_optional)


def all_steps() -> list[Step]:
    """Return the steps of the set-up without Habitat, as they would run on this machine."""
    return _steps(machine.choose_distribution())


def _set_up(
    *, with_habitat: bool = False, clean: bool = False, only_dependencies: bool = False
) -> int:
    started = time.monotonic()
    try:
        STATE.mkdir(exist_ok=True)
        with exclusive(STATE / 'setup.lock'):
            if clean:
                _remove_state()
            (STATE / 'COLCON_IGNORE').touch()
            distribution = _announce_machine()
            steps = _steps(distribution, with_habitat=with_habitat)
            if only_dependencies:
                steps = [step for step in steps if step.name not in _WORKSPACE_STEPS]
            if not _venv_is_sound():
                shutil.rmtree(VENV, ignore_errors=True)
            run_steps(steps, LOG / 'setup')
    except StepError as error:
        print(f'vln: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('vln: interrupted; ./vln setup continues from here', file=sys.stderr)
        return 130
    elapsed = minutes(time.monotonic() - started)
    print(f'vln: set up ({elapsed}); try ./vln demo, or ./vln doctor', file=sys.stderr)
    return 0


def _remove_state() -> None:
    print(f'vln: removing what is in {STATE}', file=sys.stderr)
    for child in STATE.iterdir():
        if child.name == 'setup.lock':
            continue
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()


def _announce_machine() -> machine.Distribution | None:
    distribution = machine.choose_distribution()
    for other in machine.find_distributions():
        if not other.is_supported:
            names = ' and '.join(machine.SUPPORTED_DISTRIBUTIONS)
            print(
                f'vln: ROS 2 {other.name} in {other.prefix} is not supported ({names} are)',
                file=sys.stderr,
            )
    if distribution is not None:
        print(
            f'vln: building on ROS 2 {distribution.name} in {distribution.prefix}', file=sys.stderr
        )
        return distribution
    if sys.platform != 'linux' or platform.machine() != 'x86_64':
        raise StepError(
            f'there are no ROS 2 wheels for {sys.platform} on {platform.machine()}; '
            'install ROS 2 Jazzy or Kilted, or use docker/ here'
        )
    print(
        f'vln: no ROS 2 distribution on {machine.operating_system()}; using the Kilted wheels '
        f'from PyPI with Python {machine.python_version()}',
        file=sys.stderr,
    )
    return None


def _venv_is_sound() -> bool:
    return PYTHON.exists() and not INSTALLING.exists()


def _steps(distribution: machine.Distribution | None, *, with_habitat: bool = False) -> list[Step]:
    """Return the set-up's steps; each key includes those of the steps it stands on."""
    name = distribution.name if distribution else 'wheels'
    packages = machine.system_packages()
    system_key = hash_of(*(one for package in packages for one in package.names))
    steps = [
        Step(
            'system',
            'system packages',
            system_key,
            STATE / 'stamps' / 'system',
            _install_system_packages,
        )
    ]
    # Not of the running Python: a shell with another one in front must not rebuild everything.
    venv_key = hash_of('venv 1', name)
    stamps = VENV / '.vln-stamps'

    def create_venv(log: Log) -> None:
        _create_venv(log, distribution)

    def add(step: str, title: str, files: Sequence[str], *, is_optional: bool = False) -> str:
        paths = [REQUIREMENTS / file for file in files]
        key = hash_of(steps[-1].key, step, files=[*paths, _WHEELS])

        def install(log: Log) -> None:
            install_requirements(log, paths, distribution)
            if step == 'ros':
                log.run([str(PYTHON), str(_WHEELS)])

        steps.append(Step(step, title, key, stamps / step, install, is_optional))
        return key

    steps.append(Step('venv', 'virtual environment', venv_key, stamps / 'venv', create_venv))
    if distribution is None:
        add('ros', 'ROS 2 Kilted wheels and colcon', ['ros_wheels.txt', 'build.txt'])
    else:
        add('build_tools', 'colcon', ['build.txt'])
    interfaces_base = steps[-1].key
    add('libraries', 'libraries and test tools', ['core.txt', 'test.txt'])
    add('language', 'parser and sentence embeddings', ['language.txt'], is_optional=True)
    models = [REQUIREMENTS / 'language_models.txt']
    models_key = hash_of(steps[-1].key, 'models', files=models)

    def install_models(log: Log) -> None:
        install_requirements(log, models, None, '--no-deps', '--require-hashes')

    steps.append(
        Step('models', 'their weights', models_key, stamps / 'models', install_models, True)
    )

    keys = building.package_keys(distribution, interfaces_base)

    def build(log: Log) -> None:
        building.build(log, distribution, keys)

    build_key = hash_of(*keys, *keys.values())
    steps.append(
        Step('build', 'packages of the workspace', build_key, INSTALL / '.vln-stamp', build)
    )

    def record(log: Log) -> None:
        environment.record_environment(distribution)

    def check(log: Log) -> None:
        # Fails here rather than in the middle of a run, and compiles what every process loads.
        log.run([str(PYTHON), '-c', _CHECK], environment.stack_environment())

    record_key = hash_of(build_key, files=[Path(environment.__file__)])
    check_key = hash_of(models_key, *keys, _CHECK)
    steps += [
        Step('environment', 'environment', record_key, ENVIRONMENT.with_suffix('.key'), record),
        Step('check', 'a first start', check_key, stamps / 'check', check),
    ]
    if with_habitat:
        files = [file for file in _HABITAT_RECIPE.rglob('*') if file.is_file()]
        files = [file for file in files if '__pycache__' not in file.parts]
        habitat_key = hash_of('habitat', files=files)
        steps.append(
            Step('habitat', 'habitat-sim', habitat_key, HABITAT / '.vln-stamp', _set_up_habitat)
        )
    return steps


def _install_system_packages(log: Log) -> None:
    missing = machine.missing_packages()
    if not missing:
        return
    line = machine.install_line(missing)
    if os.geteuid() != 0 or shutil.which('apt-get') is None:
        raise StepError(
            f'this machine lacks some system packages. Run this, then go on:\n  {line}'
        )
    apt = {**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}
    log.run(['sh', '-c', line], apt)
    still_missing = machine.missing_packages()
    if still_missing:
        names = ', '.join(name for package in still_missing for name in package.names)
        raise StepError(f'installed, but still not found: {names}')


def _create_venv(log: Log, distribution: machine.Distribution | None) -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    base = str(Path(machine.base_python(distribution)).resolve())
    command = [base, '-m', 'venv', str(VENV)]
    if distribution is not None:
        command.insert(3, '--system-site-packages')
    log.run(command)
    # What was built for the old one may be of another Python.
    for folder in (BUILD, INSTALL):
        shutil.rmtree(folder, ignore_errors=True)
    ENVIRONMENT.with_suffix('.key').unlink(missing_ok=True)


def _set_up_habitat(log: Log) -> None:
    log.run(
        ['bash', str(_HABITAT_RECIPE / 'setup.sh'), str(HABITAT)], environment.bare_environment()
    )


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
