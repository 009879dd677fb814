# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the memory with its growth curves; the same as ``./vln bench memory``."""

import sys

from vln_cli.bench_memory import main

if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
