# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where a result comes from: commit, configuration, episodes, model, seed and versions."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

_LIBRARIES = ('numpy', 'scipy', 'open3d', 'open3d-cpu', 'opencv-python-headless', 'numba', 'ray')
# where a result was computed, not what: such settings do not change rows
_PLACES = ('data', 'scenes')


def config_hash(settings: Mapping[str, Any]) -> str:
    """Return a hash of settings, whatever their order and wherever data lie: 16 digits."""
    kept = {key: value for key, value in settings.items() if key not in _PLACES}
    text = json.dumps(kept, sort_keys=True, separators=(',', ':'), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def commit_of(folder: Path) -> str:
    """Return the commit of a checkout, with '+changes' where files differ; 'unknown' outside."""
    try:
        commit = _git(folder, 'rev-parse', '--short=12', 'HEAD')
        changed = _git(folder, 'status', '--porcelain', '--untracked-files=no')
    except (OSError, subprocess.SubprocessError):
        return 'unknown'
    return commit + ('+changes' if changed else '')


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ['git', '-C', str(folder), *arguments],
        capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Return the versions of Python, the system and the libraries that numbers depend on."""
    found = {'python': platform.python_version(), 'system': platform.platform()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
