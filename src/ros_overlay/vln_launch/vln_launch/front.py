# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The process that the user sees: it passes signals on and never leaves the others behind.

The processes of the launch file belong to a supervisor in a session of its own. When this front
is killed, even with SIGKILL, the kernel tells the supervisor, which stops everything in order;
when the supervisor is killed, the kernel kills its children and the front what they left behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from vln_launch.child import adopt_orphans, descendants, die_with_parent
from vln_launch.commands import ProcessPlan
from vln_launch.supervisor import STOP_SIGNALS, Supervisor


def run(plans: list[ProcessPlan]) -> int:
    """Run processes until they end or this process is told to stop; return the exit code."""
    folder = Path(tempfile.mkdtemp(prefix='vln_launch_'))
    front = os.getpid()
    adopt_orphans()
    # Held back until the handlers are there: a signal in between would end one side only.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = _supervise(plans, folder, front)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(code)
    for number in STOP_SIGNALS:
        signal.signal(number, lambda given, _frame: _pass_on(pid, given))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    code = _wait(pid)
    _kill_descendants()
    shutil.rmtree(folder, ignore_errors=True)
    return code


def _supervise(plans: list[ProcessPlan], folder: Path, front: int) -> int:
    os.setsid()
    supervisor = None
    with _log_file() as log:
        supervisor = Supervisor(plans, folder, log)
        die_with_parent(front, signal.SIGTERM)
        return supervisor.run()


def _pass_on(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _wait(pid: int) -> int:
    """Wait for the supervisor, taking in orphans meanwhile; return its exit code."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 1


def _kill_descendants() -> None:
    """Kill what a killed supervisor left behind."""
    deadline = time.monotonic() + 1.0
    while (left := descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in left:
            _pass_on(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def _log_file() -> IO[str]:
    """Open launch.log in a new folder of the ROS log directory, or nothing where that fails."""
    base = os.environ.get('ROS_LOG_DIR') or os.path.join(
        os.environ.get('ROS_HOME') or os.path.expanduser('~/.ros'), 'log'
    )
    stamp = time.strftime('%Y-%m-%d-%H-%M-%S')
    folder = Path(base) / f'{stamp}-{socket.gethostname()}-{os.getpid()}'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / 'launch.log').open('w', encoding='utf-8')
    except OSError:
        return open(os.devnull, 'w', encoding='utf-8')
