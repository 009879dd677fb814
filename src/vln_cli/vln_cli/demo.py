# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln demo`: the whole stack on a simulator, three instructions, a table and a report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; 0 if it ran to its end, whatever the robot achieved."""
    options = _parse(argv)
    # Only now: --help is there before anything is installed.
    from vln_cli.demo_run import run

    return run(options)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='vln demo',
        description='Start the stack on a simulator, give instructions, write a report. It takes '
        'a ROS domain of its own unless ROS_DOMAIN_ID is set, so it may run beside a stack. The '
        'exit code is 0 if it ran to its end, whatever became of the instructions; 1 if the '
        'stack failed; 2 for a wrong scene or domain.',
    )
    parser.add_argument('--sim', choices=['raycast', 'habitat'], default='raycast')
    parser.add_argument('--scene', help='apartment:SEED, small_house or a scene folder')
    parser.add_argument('--seed', type=int, default=0, help='apartment to generate (default 0)')
    parser.add_argument(
        '--instruction',
        action='append',
        default=[],
        help='your own words from the start of the scene; may be given again',
    )
    parser.add_argument('--layout', choices=['compact', 'separate'], default='compact')
    parser.add_argument('--out', type=Path, help='folder for log and report (default runs/...)')
    parser.add_argument('--json', action='store_true', help='print the result as one last line')
    parser.add_argument('--keep', action='store_true', help='leave the stack running afterwards')
    return parser.parse_args(argv)


if __name__ == '__main__':
    sys.exit(main())
