# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln run`: start one executable of a package."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vln_cli.environment import prefixes


def find_executable(package: str, name: str, environment: Mapping[str, str]) -> Path:
    """Return the file of an executable that a package installed.

    Raises:
        LookupError: No such package, or it has no such executable; the message lists what is.
    """
    is_installed = False
    near: set[str] = set()
    for prefix in prefixes(environment):
        index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
        if index.is_dir():
            near.update(file.name for file in index.iterdir())
        if not (index / package).is_file():
            continue
        is_installed = True
        folder = prefix / 'lib' / package
        if os.access(folder / name, os.X_OK) and (folder / name).is_file():
            return folder / name
        if folder.is_dir():
            have = sorted(file.name for file in folder.iterdir() if os.access(file, os.X_OK))
            raise LookupError(
                f'package {package} has no executable "{name}"; it has: {", ".join(have)}'
            )
    if is_installed:
        raise LookupError(f'package {package} has no executables')
    guess = difflib.get_close_matches(package, near, n=1)
    hint = f'; did you mean "{guess[0]}"?' if guess else ''
    raise LookupError(f'there is no package "{package}"{hint}')


def main(argv: Sequence[str]) -> int:
    """Replace this process by the executable."""
    parser = argparse.ArgumentParser(
        prog='./vln run',
        description='Start one executable of a package, as ros2 run does.',
        epilog='example: ./vln run vln_nodes memory_node --ros-args -p use_sim_time:=true',
    )
    parser.add_argument('package')
    parser.add_argument('executable')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, help='passed on as they are')
    options = parser.parse_args(argv)
    try:
        file = find_executable(options.package, options.executable, os.environ)
    except LookupError as error:
        print(f'vln: {error}', file=sys.stderr)
        return 2
    sys.stdout.flush()
    os.execv(str(file), [str(file), *options.arguments])
