# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Begins: until there is something to stop, an interrupt ends this process without a traceback."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line and return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from vln_launch import command_line

    return command_line.main()


if __name__ == '__main__':
    sys.exit(main())
