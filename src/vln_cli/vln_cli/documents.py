# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln docs`: write the tables of the documentation that come from the code.

A contract test calls :func:`stale` so that no table falls behind.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from vln_cli.paths import ROOT

_MARK = re.compile(r'(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)', re.DOTALL)


def tables() -> dict[str, str]:
    """Return the generated tables by name."""
    from vln_cli.commands import COMMANDS
    from vln_nodes import parameters, qos
    from vln_nodes.controller_node import ControllerParameters
    from vln_nodes.memory_node import MemoryParameters
    from vln_nodes.perception_parameters import PerceptionParameters
    from vln_nodes.safety_node import SafetyParameters
    from vln_nodes.system1_node import System1Parameters
    from vln_nodes.system2_config import System2Parameters
    from vln_sim_bridge.bridge_node import BridgeConfig

    nodes = {
        'perception': PerceptionParameters(),
        'memory': MemoryParameters(),
        'system1': System1Parameters(),
        'system2': System2Parameters(),
        'controller': ControllerParameters(),
        'safety': SafetyParameters(),
        'sim_bridge': BridgeConfig(),
    }
    commands = ['| command | what it does |', '|---|---|']
    commands += [f'| `./vln {name}` | {c.summary} |' for name, c in sorted(COMMANDS.items())]
    return {
        'topics': qos.markdown_table(),
        'parameters': '\n'.join(parameters.markdown_table(n, c) for n, c in nodes.items()),
        'commands': '\n'.join(commands) + '\n',
    }


def pages() -> list[Path]:
    """Return the pages that hold generated tables."""
    return [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]


def render(text: str, named: dict[str, str]) -> str:
    """Return ``text`` with every marked table replaced by the one of that name.

    Raises:
        KeyError: A mark names a table that does not exist.
    """
    return _MARK.sub(lambda mark: f'{mark[1]}{named[mark[2]]}{mark[3]}', text)


def stale() -> list[Path]:
    """Return the pages whose tables differ from the code."""
    named = tables()
    return [page for page in pages() if render(page.read_text(), named) != page.read_text()]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tables, or with --check only tell which pages are stale."""
    parser = argparse.ArgumentParser(prog='vln docs', description=__doc__.splitlines()[0])
    parser.add_argument('--check', action='store_true', help='write nothing; exit 1 if stale')
    options = parser.parse_args(argv)
    old = stale()
    for page in old:
        if not options.check:
            page.write_text(render(page.read_text(), tables()))
        verb = 'is stale; run ./vln docs' if options.check else 'written'
        print(f'{page.relative_to(ROOT)} {verb}')
    return 1 if old and options.check else 0
