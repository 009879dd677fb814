# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps a restarted node from taking the Fast DDS port of a killed one.

A process that is killed leaves its shared memory port behind, and who sent to it may go on sending
there: a new process with the same port number makes a port of that name anew, which the others do
not look for, and hears nothing for ever (eProsima/Fast-DDS issue 5469). It happens where the dead
one was in the middle of a message. With another number nothing is mixed up.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from vln_core.file_lock import lock_file

_SHARED_MEMORY = Path('/dev/shm')
_PROCESSES = Path('/proc')
_PORT = re.compile(rb'/(fastdds_port\d+)\b')


@contextlib.contextmanager
def dead_ports_held() -> Iterator[None]:
    """Make the ports of dead processes that living ones still have look taken.

    To be held while the first node of a process is made. Fast DDS tells the living from the dead
    by a lock beside each port; dead ports that nobody has are left to it, it makes them anew.
    """
    with contextlib.ExitStack() as held:
        dead = {}
        for file in sorted(_SHARED_MEMORY.glob('fastdds_port*_el')):
            with contextlib.suppress(OSError):  # another user's
                lock = lock_file(file)
                if lock is not None:
                    dead[file.name.removesuffix('_el')] = held.enter_context(lock)
        used = mapped_ports() if dead else set()
        for name, lock in dead.items():
            if name not in used:
                lock.close()
        yield


def mapped_ports() -> set[str]:
    """Return the names of the ports that living processes of this user have, dead ones too."""
    found: set[bytes] = set()
    for folder in _PROCESSES.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                found.update(_PORT.findall((folder / 'maps').read_bytes()))
    return {name.decode() for name in found}
