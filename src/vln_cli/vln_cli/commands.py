# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The table of subcommands: to add one, add a line here and a module with main(argv) -> int."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One subcommand.

    Attributes:
        module: Module of this package whose ``main(argv) -> int`` does the work.
        summary: One line for the overview.
        needs_setup: False for the few that run on the bare standard library.
    """

    module: str
    summary: str
    needs_setup: bool = True


COMMANDS: dict[str, Command] = {
    'setup': Command('setup_workspace', 'install and build what this machine needs', False),
    'doctor': Command('doctor', 'what is installed, missing or mismatched, and the fix', False),
    'demo': Command('demo', 'the whole stack on a simulator, with a report'),
    'launch': Command('launch', 'start a launch file: FILE.launch.xml name:=value ...'),
    'run': Command('run', 'run one executable of a package'),
    'health': Command('health', 'do the nodes of a running stack live'),
    'go': Command('go', 'give a running stack an instruction and watch it'),
    'stop': Command('stop', 'stop the robot at once, until ./vln stop --release'),
    'teleop': Command('teleop', 'drive by keyboard, through the safety process'),
    'monitor': Command('monitor', 'watch, instruct and stop the robot in a browser'),
    'record': Command('record', 'record a running stack into a bag'),
    'replay': Command('replay', 'play a bag, or decide anew on it and compare'),
    'memory': Command('memory', 'show, export and compare stores of the memory'),
    'demonstrations': Command('demonstrations', 'mine and list examples of reasoning'),
    'check-grounding': Command('check_grounding', 'which box convention does the model speak'),
    'eval': Command('eval', 'run and score the benchmarks: run, score, report'),
    'bench': Command('bench', 'measure one part of the stack: legs, memory, perception, system2'),
    'chaos': Command('chaos', 'the stack under a seeded schedule of faults, with a report'),
    'test': Command('testing', 'lint, types and all tests, in lanes'),
    'docs': Command('documents', 'write the tables of the documentation from the code'),
    'env': Command('environment', 'print the shell lines that set the environment'),
}
