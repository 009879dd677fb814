# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln memory show|export|diff``: look into the memory that a robot keeps on disk."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vln_cli.subcommands import run_subcommand

if TYPE_CHECKING:
    from vln_core.memory.store import MemoryStore


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; 0 done (diff: equal), 1 diff: they differ, 2 something is wrong."""
    return run_subcommand(_parser(), argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='vln memory', description='Look into a memory store.')
    commands = parser.add_subparsers(dest='command', required=True)
    show = commands.add_parser('show', help='print what a store knows')
    show.add_argument('store', type=Path, help='file of the store')
    show.add_argument('--picture', type=Path, help='also draw the map into this PNG')
    show.add_argument('--history', action='store_true', help='also list every accepted write')
    show.set_defaults(run=_show)
    export = commands.add_parser('export', help='write a store as JSON, GraphML or picture')
    export.add_argument('store', type=Path, help='file of the store')
    export.add_argument('output', type=Path, help='file ending in .json, .graphml or .png')
    export.add_argument('--size', type=int, default=512, help='pixels of the picture (512)')
    export.set_defaults(run=_export)
    diff = commands.add_parser('diff', help='compare two stores; exit code 1 if they differ')
    diff.add_argument('first', type=Path, help='file of a store')
    diff.add_argument('second', type=Path, help='file of another store')
    diff.set_defaults(run=_diff)
    return parser


def _open(path: Path) -> MemoryStore:
    # Imported late, so that --help is quick.
    from vln_core.memory.journal import map_id_of
    from vln_core.memory.store import MemoryStore

    # Nothing is retrieved here, so no sentence model needs to be loaded.
    return MemoryStore(path=path, encoder='words', map_id=map_id_of(path))


def _write_picture(store: MemoryStore, path: Path, size_px: int) -> None:
    import cv2

    ok, data = cv2.imencode(
        '.png', cv2.cvtColor(store.map_image(size_px).pixels, cv2.COLOR_RGB2BGR)
    )
    if not ok:
        raise OSError(f'{path}: the picture cannot be encoded')
    path.write_bytes(data.tobytes())


def _show(options: argparse.Namespace) -> int:
    from vln_core.memory.export import to_text

    store = _open(options.store)
    print(to_text(store))
    if options.history:
        assert store.journal is not None  # it was opened from a file
        for number, kind, step, text in store.journal.history():
            print(f'{number:6d}  w{step}  {kind}: {text}')
    if options.picture:
        _write_picture(store, options.picture, 512)
        print(f'picture: {options.picture}')
    store.close()
    return 0


def _export(options: argparse.Namespace) -> int:
    from vln_core.memory.export import to_dict, to_graphml

    kind = options.output.suffix.lower()
    if kind not in ('.json', '.graphml', '.png'):
        print(f'vln memory: {options.output} must end in .json, .graphml or .png', file=sys.stderr)
        return 2
    if not 128 <= options.size <= 4096:
        print(f'vln memory: --size {options.size} is not in 128..4096', file=sys.stderr)
        return 2
    store = _open(options.store)
    if kind == '.json':
        options.output.write_text(json.dumps(to_dict(store), indent=1) + '\n', encoding='utf-8')
    elif kind == '.graphml':
        options.output.write_text(to_graphml(store), encoding='utf-8')
    else:
        _write_picture(store, options.output, options.size)
    store.close()
    print(options.output)
    return 0


def _diff(options: argparse.Namespace) -> int:
    from vln_core.memory.export import compare

    first, second = _open(options.first), _open(options.second)
    lines = compare(first, second)
    first.close()
    second.close()
    print('\n'.join(lines) if lines else 'the stores hold the same')
    return 1 if lines else 0
