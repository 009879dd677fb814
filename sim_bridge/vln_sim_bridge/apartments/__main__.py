# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Command: generate an apartment and draw its plan."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vln_core.errors import VlnError
from vln_sim_bridge.apartments.generator import generate
from vln_sim_bridge.apartments.picture import draw_plan
from vln_sim_bridge.episodes import load_episodes


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python -m vln_sim_bridge.apartments',
        description='Generate a furnished apartment as a scene folder. Equal seeds, equal files.',
    )
    parser.add_argument('--seed', type=int, required=True, help='which apartment: 0, 1, 2, ...')
    parser.add_argument('--out', type=Path, required=True, help='scene folder to write')
    parser.add_argument('--picture', type=Path, help='PNG file for a plan seen from above')
    parser.add_argument('--paths', type=int, default=3,
                        help='episodes to draw and to list (default 3)')  # fmt: skip
    options = parser.parse_args(arguments)
    if options.seed < 0:
        parser.error('--seed must not be negative')
    try:
        folder = generate(options.seed, options.out)
        if options.picture:
            draw_plan(folder, options.picture, num_paths=options.paths)
    except (VlnError, OSError) as error:
        sys.stderr.write(f'error: {error}\n')
        return 1
    lines = [f'{e.id}. {e.instruction}' for e in load_episodes(folder)[: options.paths]]
    sys.stdout.write('\n'.join([f'scene written to {folder}', *lines, '']))
    return 0


if __name__ == '__main__':
    sys.exit(main())
