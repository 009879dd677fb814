# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Locks between processes that a dead process cannot leave behind."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO


def lock_file(path: Path) -> IO[bytes] | None:
    """Return the open file with its lock (flock), None where another holder has it.

    Closing the file, or the end of the process, releases it.

    Raises:
        OSError: The file cannot be created.
    """
    file = path.open('ab')
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
