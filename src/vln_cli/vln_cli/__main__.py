# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the subcommand, sees to it that the checkout is set up, and hands over."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from vln_cli.commands import COMMANDS, Command
from vln_cli.interrupts import handle_interrupts
from vln_cli.paths import PYTHON, ROOT

# Set for the process that runs inside the environment; names the checkout it belongs to.
_INSIDE = 'VLN_INSIDE'


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``./vln ARGUMENTS`` and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ('-h', '--help', 'help'):
        _print_overview()
        return 0
    name, rest = arguments[0], arguments[1:]
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.4)
        hint = f'did you mean "{near[0]}"?' if near else 'see ./vln --help'
        print(f'vln: there is no subcommand "{name}"; {hint}', file=sys.stderr)
        return 2
    if not command.needs_setup or os.environ.get(_INSIDE) == str(ROOT):
        return _call(command, rest)
    if '-h' in rest or '--help' in rest:
        try:
            return _call(command, rest)
        except ImportError:
            pass  # this one builds its help from installed libraries
        from vln_cli.setup_workspace import is_current

        if not is_current():
            print(f'usage: ./vln {name} ...\n\n{command.summary}\n')
            print('Its options are told once this checkout is set up: ./vln setup')
            return 0
    from vln_cli.setup_workspace import ensure

    code = ensure()
    if code != 0:
        return code
    from vln_cli.environment import stack_environment

    environment = stack_environment()
    environment[_INSIDE] = str(ROOT)
    sys.stdout.flush()
    os.execve(str(PYTHON), [str(PYTHON), '-m', 'vln_cli', name, *rest], environment)


def _call(command: Command, arguments: Sequence[str]) -> int:
    try:
        module = importlib.import_module(f'vln_cli.{command.module}')
        return int(module.main(list(arguments)) or 0)
    except KeyboardInterrupt:
        return 130


def _print_overview() -> None:
    width = max(map(len, COMMANDS))
    print('usage: ./vln COMMAND [ARGUMENTS]     (./vln COMMAND --help tells more)\n')
    for name, command in COMMANDS.items():
        print(f'  {name:<{width}}  {command.summary}')
    print('\nThe first command sets the checkout up; nothing outside .vln is written.')


if __name__ == '__main__':
    handle_interrupts()
    sys.exit(main())
