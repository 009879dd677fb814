# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a test or a command may leave behind: processes and shared memory of the stack."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path

SHARED_MEMORY = Path('/dev/shm')


def marked_processes(mark: str) -> list[int]:
    """Return the processes whose environment holds ``mark`` (``NAME=value``), except this one."""
    wanted = mark.encode()
    found = []
    for folder in Path('/proc').iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if wanted in (folder / 'environ').read_bytes().split(b'\0'):
                found.append(int(folder.name))
        except OSError:
            continue  # gone, or another user's
    return found


def end_marked(mark: str, patience: float = 5.0, grace: float = 3.0) -> list[str]:
    """End every process that carries ``mark`` and is still there.

    Args:
        mark: ``NAME=value`` in the environment of the processes.
        patience: How long SIGINT may take before SIGKILL, seconds.
        grace: How long one may take to end by itself, as Python's resource tracker does when
            those that it serves are gone, seconds.

    Returns:
        The command lines of those that were still running.
    """
    deadline = time.monotonic() + grace
    while marked_processes(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = []
    for process in marked_processes(mark):
        with contextlib.suppress(OSError):
            line = Path(f'/proc/{process}/cmdline').read_bytes().replace(b'\0', b' ')
            if line:  # a zombie has none
                left.append(f'{process} {line.decode(errors="replace").strip()[:120]}')
    for number in (signal.SIGINT, signal.SIGKILL):
        for process in marked_processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        deadline = time.monotonic() + patience
        while left and marked_processes(mark) and time.monotonic() < deadline:
            time.sleep(0.1)
    return left


def shared_memory_names() -> set[str]:
    """Return the names of all Fast DDS files in shared memory."""
    if not SHARED_MEMORY.is_dir():
        return set()
    patterns = ('fastdds_*', 'fastrtps_*', 'sem.fastdds_*', 'sem.fastrtps_*')
    return {file.name for pattern in patterns for file in SHARED_MEMORY.glob(pattern)}


def remove_unused_segments(before: set[str]) -> list[str]:
    """Remove Fast DDS segments of dead processes, as ``fastdds shm clean`` does.

    A living participant holds a lock on the ``_el`` file beside each of its segments and
    ports; what nobody holds belongs to a process that was killed.

    Args:
        before: Names to leave alone, because they were there before our own processes.

    Returns:
        The names removed.
    """
    removed = []
    for name in sorted(shared_memory_names() - before):
        if name.startswith('sem.') or name.endswith(('_el', '_sl')):
            continue
        locks = [SHARED_MEMORY / f'{name}{suffix}' for suffix in ('_el', '_sl')]
        if any(_is_locked(lock) for lock in locks) or _is_young(SHARED_MEMORY / name):
            continue
        mutex = SHARED_MEMORY / f'sem.{name}_mutex'
        for file in (SHARED_MEMORY / name, *locks, mutex):
            with contextlib.suppress(OSError):
                file.unlink()
                removed.append(file.name)
    return removed


def _is_young(path: Path) -> bool:
    """Tell whether a file may be so new that its owner has not locked it yet."""
    try:
        return time.time() - path.stat().st_mtime < 2.0
    except OSError:
        return True


def _is_locked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
