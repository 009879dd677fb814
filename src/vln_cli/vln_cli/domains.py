# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""ROS domains of their own for commands that start a stack: two demos must not meet."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from vln_core.file_lock import lock_file

# 1 to 101: the ports of higher domains lie where Linux gives ports to anybody.
_COUNT = 101
_held: dict[int, IO[bytes]] = {}
_given: list[int] = []


def use_own_domain() -> str:
    """Set ROS_DOMAIN_ID to a domain that is free on this machine, unless it is set; return it."""
    if 'ROS_DOMAIN_ID' not in os.environ:
        os.environ['ROS_DOMAIN_ID'] = str(claim_domain())
    return os.environ['ROS_DOMAIN_ID']


def claim_domain() -> int:
    """Return a domain in which no stack of this machine runs, and long not given before.

    It is kept until :func:`release_domain`, or until this process ends.

    Raises:
        RuntimeError: All are taken.
    """
    # After the last one, where what was in it may not have left the graph yet.
    for domain in _from(1 + (_given[-1] if _given else os.getpid()) % _COUNT):
        lock = lock_file(_folder() / f'domain-{domain}.lock')
        if lock is None:
            continue
        if has_stack(domain):
            lock.close()
            continue
        _held[domain] = lock
        _given.append(domain)
        return domain
    raise RuntimeError('every ROS domain from 1 to 101 has a stack on this machine: end some')


def has_stack(domain: int | str) -> bool:
    """Tell whether a node of a stack of this machine runs in a domain, in whatever namespace."""
    return any(_is_held(file) for file in _folder().glob(f'{domain}-*.lock'))


def release_domain(domain: int) -> None:
    """Let others have a domain that :func:`claim_domain` returned."""
    _held.pop(domain).close()


def _folder() -> Path:
    """Return the folder in which nodes take their names, see ``vln_nodes.base.claim_name``."""
    folder = Path(tempfile.gettempdir()) / f'vln-{os.getuid()}'
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _from(first: int) -> Iterator[int]:
    return (1 + (first - 1 + k) % _COUNT for k in range(_COUNT))


def _is_held(file: Path) -> bool:
    lock = lock_file(file)
    if lock is not None:
        lock.close()
    return lock is None
