# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""How a scene's name becomes a folder: generated or imported once, then taken from a cache."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from vln_core.errors import SceneError
from vln_sim_bridge.scene import load_scene

_APARTMENT = re.compile(r'apartment:(\d{1,9})')


def cache_folder() -> Path:
    """Return the folder of generated scenes: in ``$VLN_CACHE``, or below ``~/.cache``.

    Each state of the generator has a folder of its own, so that a scene is never older than the
    code that is said to have made it.
    """
    root = os.environ.get('VLN_CACHE')
    base = Path(root).expanduser() if root else Path.home() / '.cache' / 'vln'
    return base / 'scenes' / _generator_digest()


@functools.cache
def _generator_digest() -> str:
    package = Path(__file__).parent
    sources = [
        *(package / 'apartments').glob('*.py'),
        package / 'imported.py',
        package / 'episodes.py',
    ]
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def resolve_scene(name: str | Path) -> Path:
    """Return the folder of a scene, making it first where the name asks for it.

    Args:
        name: ``apartment:SEED``, ``small_house``, or the path of a scene folder.

    Raises:
        SceneError: There is no such scene, or it cannot be made.
    """
    text = str(name)
    if text.startswith('apartment:'):
        match = _APARTMENT.fullmatch(text)
        if match is None:
            raise SceneError(f"'{text}': the seed must be a whole number, as in apartment:3")
        seed = int(match[1])
        return _cached(f'apartment_{seed}', lambda work: _generate(seed, work))
    if text == 'small_house':
        return _cached('small_house', _import_small_house)
    folder = Path(text).expanduser()
    if not (folder / 'scene.json').is_file():
        raise SceneError(
            f"no scene '{text}': it is neither apartment:SEED, nor small_house, nor a folder with "
            'a scene.json'
        )
    return folder.resolve()


def _generate(seed: int, folder: Path) -> None:
    # Here, because most commands find the scene made, and these modules load for seconds.
    from vln_sim_bridge import apartments

    apartments.generate(seed, folder)


def _import_small_house(folder: Path) -> None:
    from vln_sim_bridge import imported

    imported.import_small_house(folder)


def _cached(key: str, make: Callable[[Path], object]) -> Path:
    """Return the cached folder ``key``; made beside and renamed, it is whole or absent."""
    target = cache_folder() / key
    if (target / 'scene.json').is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f'.{key}.', dir=target.parent))
    try:
        make(work)
        load_scene(work)
        work.chmod(0o755)
        try:
            work.rename(target)
        except OSError:
            # Another process was faster: its result is the same, for the seed is.
            if not (target / 'scene.json').is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target
