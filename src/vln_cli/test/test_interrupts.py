# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A command that was interrupted while it imported ends with its own exit code."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_COMMAND = """
import signal, sys
from vln_cli.interrupts import handle_interrupts, interrupt

handle_interrupts()
signal.signal(signal.SIGTERM, interrupt)
number = int(sys.argv[1])
try:
    exec('import signal; signal.raise_signal(number)\\nfor _ in range(1000): pass')
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_exit_code_is_the_commands_own(number: int, tmp_path: Path) -> None:
    (tmp_path / 'command.py').write_text(_COMMAND)
    # -m, as ./vln starts it: only then does Python look at what it remembers.
    ended = subprocess.run(
        [sys.executable, '-m', 'command', str(int(number))], cwd=tmp_path, timeout=60.0
    )
    assert ended.returncode == 130


def test_what_was_ignored_stays_ignored(tmp_path: Path) -> None:
    (tmp_path / 'command.py').write_text(_COMMAND)
    ended = subprocess.run(
        [sys.executable, '-m', 'command', str(int(signal.SIGINT))],
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        timeout=60.0,
    )
    assert ended.returncode == 0
