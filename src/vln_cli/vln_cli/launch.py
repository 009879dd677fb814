# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln launch`: start a launch file with what the machine has for it."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vln_cli.paths import ROOT


def launch_command(file: str | Path, arguments: Mapping[str, str] | None = None) -> list[str]:
    """Return the command line that starts a launch file.

    Args:
        file: Path of a launch file, or the name of one in the checkout's launch folder, with
            or without ``.launch.xml``.
        arguments: Launch arguments by name.

    Returns:
        A command for ``subprocess``, to be run in the stack's environment.

    Raises:
        FileNotFoundError: There is no such file; the message names those that exist.
    """
    path = resolve_launch_file(str(file))
    pairs = [f'{name}:={value}' for name, value in (arguments or {}).items()]
    return [*_runner(), str(path), *pairs]


def resolve_launch_file(name: str) -> Path:
    """Return the launch file that ``name`` means.

    Raises:
        FileNotFoundError: There is none; the message names those that exist.
    """
    folder = ROOT / 'launch'
    for candidate in (
        Path(name),
        folder / name,
        folder / f'{name}.launch.xml',
        folder / 'components' / name,
        folder / 'components' / f'{name}.launch.xml',
    ):
        if candidate.is_file():
            return candidate.resolve()
    known = ', '.join(sorted(file.name for file in folder.glob('*.launch.*'))) or 'none'
    raise FileNotFoundError(f'there is no launch file "{name}"; in {folder} there are: {known}')


def _runner() -> list[str]:
    ros2 = shutil.which('ros2')
    if ros2 is not None:
        return [ros2, 'launch']
    return [sys.executable, '-m', 'vln_launch']


def main(argv: Sequence[str]) -> int:
    """Replace this process by the launch runner."""
    parser = argparse.ArgumentParser(
        prog='./vln launch',
        description='Start a launch file: with ros2 launch where there is a ROS 2 distribution, '
        'else with the runner of src/ros_overlay, which reads the same files.',
        epilog='example: ./vln launch sim.launch.xml sim:=raycast scene:=apartment:3',
    )
    parser.add_argument(
        'file', nargs='?', help='a path, or a name in launch/; without it the files are listed'
    )
    parser.add_argument('arguments', nargs='*', metavar='NAME:=VALUE', help='launch arguments')
    parser.add_argument(
        '-s', '--show-args', action='store_true', help='list the arguments of the file'
    )
    options = parser.parse_intermixed_args(argv)
    if options.file is None:
        for file in sorted((ROOT / 'launch').glob('*.launch.*')):
            print(file.name)
        return 0
    try:
        command = launch_command(options.file)
    except FileNotFoundError as error:
        print(f'vln: {error}', file=sys.stderr)
        return 2
    for argument in options.arguments:
        if ':=' not in argument:
            print(f'vln: "{argument}" is not of the form name:=value', file=sys.stderr)
            return 2
    if options.show_args:
        command.append('--show-args')
    sys.stdout.flush()
    os.execv(command[0], [*command, *options.arguments])
