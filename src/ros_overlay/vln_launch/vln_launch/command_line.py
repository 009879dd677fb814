# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Command line: python -m vln_launch FILE [name:=value ...]."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
import tempfile
from pathlib import Path

from vln_launch import front
from vln_launch.errors import LaunchError
from vln_launch.resolve import Argument, declared_arguments, resolve


def parse_arguments(words: list[str]) -> dict[str, str]:
    """Return the launch arguments of a command line; the last of equal names wins.

    Raises:
        LaunchError: A word is not of the form name:=value.
    """
    values = {}
    for word in words:
        name, separator, value = word.partition(':=')
        if not separator or not name or not value and word.count(':=') == 1:
            raise LaunchError(
                f"malformed launch argument '{word}', expected format '<name>:=<value>'"
            )
        values[name] = value
    return values


def arguments_text(arguments: list[Argument]) -> str:
    """Return what --show-args prints."""
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        lines.append(f"\n    '{argument.name}':{'*' if argument.is_conditional else ''}")
        lines.append(f'        {argument.description}')
        if argument.default is not None:
            lines.append(f'        (default: {argument.default})')
    if not arguments:
        lines.append('\n  No arguments.')
    elif any(argument.is_conditional for argument in arguments):
        lines.append('\n* argument(s) which are only used if specific conditions occur')
    return '\n'.join(lines)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='vln_launch', description='Run a ROS 2 XML launch file without a ROS 2 distribution.'
    )
    parser.add_argument('file', type=Path, help='the *.launch.xml file')
    parser.add_argument(
        'arguments', nargs='*', metavar='name:=value', help='values of its launch arguments'
    )
    parser.add_argument(
        '-s', '--show-args', action='store_true', help='list the arguments of the file and exit'
    )
    parser.add_argument(
        '-p',
        '--print-commands',
        action='store_true',
        help='print the command lines that would be run, one a line, and exit',
    )
    parser.add_argument(
        '--params-dir',
        type=Path,
        help='with --print-commands: an existing directory to leave the parameter files in',
    )
    return parser


def _print_commands(path: Path, values: dict[str, str], params_dir: Path | None) -> None:
    plans = resolve(path, values)
    with tempfile.TemporaryDirectory(prefix='vln_launch_') as temporary:
        folder = params_dir or Path(temporary)
        for plan in plans:
            sys.stdout.write(shlex.join(plan.command(folder)) + '\n')


def main(argv: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    logging.basicConfig(format='[%(levelname)s] [%(name)s]: %(message)s', level=logging.INFO)
    options = _options().parse_intermixed_args(argv)
    try:
        values = parse_arguments(options.arguments)
        if options.show_args:
            sys.stdout.write(arguments_text(declared_arguments(options.file)) + '\n')
            return 0
        if options.print_commands:
            _print_commands(options.file, values, options.params_dir)
            return 0
        plans = resolve(options.file, values)
    except LaunchError as error:
        sys.stderr.write(f'error: {error}\n')
        return 1
    return front.run(plans)
