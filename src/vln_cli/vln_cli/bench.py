# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln bench PART``: measure one part of the stack; each part is a module ``bench_PART``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Hand over to the benchmark named first; return its exit code."""
    parts = sorted(p.stem[len('bench_') :] for p in Path(__file__).parent.glob('bench_*.py'))
    if not argv or argv[0] in ('-h', '--help'):
        print(f'usage: vln bench PART [options]\n\nparts: {", ".join(parts)}')
        return 0
    if argv[0] not in parts:
        print(
            f'vln bench: there is no part "{argv[0]}"; there are: {", ".join(parts)}',
            file=sys.stderr,
        )
        return 2
    module = importlib.import_module(f'vln_cli.bench_{argv[0]}')
    return int(module.main(list(argv[1:])) or 0)
