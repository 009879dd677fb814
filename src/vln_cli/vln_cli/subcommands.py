# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the commands with subcommands share: one way to run them and to tell what went wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def run_subcommand(parser: argparse.ArgumentParser, argv: Sequence[str]) -> int:
    """Run the function that a subcommand's parser set as ``run``.

    Returns:
        What it returned; 2 where the stack refused, or a file could not be read or written.
    """
    from vln_core.errors import VlnError

    options = parser.parse_args(list(argv))
    try:
        return int(options.run(options))
    except (VlnError, OSError) as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return 2
