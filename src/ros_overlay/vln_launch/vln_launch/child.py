# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One child process: starting it so that it cannot outlive its parent, reading its output."""

from __future__ import annotations

import ctypes
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from vln_launch.commands import ProcessPlan

STARTING_CPU = 0.3
"""Processor time (s) in which an interpreter loads itself; an interrupt then ends in noise."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent_pid: int, signal_number: int) -> None:
    """Have the kernel signal this process when its parent ends, however that ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent_pid:  # it ended before the call
        os.kill(os.getpid(), signal_number)


def adopt_orphans() -> None:
    """Make this process the parent of its descendants whose own parent ends."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Return the living processes below a process, children before grandchildren."""
    children: dict[int, list[int]] = {}
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / 'stat').read_text().rpartition(')')[2].split()
            except OSError:
                continue
            if fields[0] != 'Z':
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = list(children.get(pid, []))
    for child in found:
        found.extend(children.get(child, []))
    return found


@dataclass
class Stream:
    """One output pipe of a child and the part of a line that has come so far."""

    child: Child
    pipe: IO[bytes]
    is_error: bool
    rest: bytes = b''
    is_dry: bool = False
    """Whether the last read found nothing."""

    def read(self) -> list[bytes] | None:
        """Return the lines that have come; None at the end, when the pipe is closed.

        An unfinished last line is kept back until the end.
        """
        self.is_dry = True
        try:
            data = os.read(self.pipe.fileno(), 65536)
        except BlockingIOError:
            return []
        except OSError:  # how a terminal whose other end was closed says that it is at its end
            return None
        if not data:
            return None
        self.is_dry = False
        *lines, self.rest = (self.rest + data).split(b'\n')
        if self.child.plan.emulate_tty:  # a terminal ends lines in its own way
            return [line.removesuffix(b'\r') for line in lines]
        return lines


@dataclass
class Child:
    """A process of the launch file, over all its restarts."""

    plan: ProcessPlan
    command: list[str]
    process: subprocess.Popen | None = None
    outputs: list[IO[bytes]] = field(default_factory=list)
    """Where its standard output and its standard error can be read."""
    restarts: int = 0
    restart_at: float | None = None
    """Steady time at which to start it again, while it waits for that."""
    signals: list[tuple[float, int]] = field(default_factory=list)
    """What is still to be sent to it while stopping: steady time and signal."""

    def start(self, wanted: Callable[[], bool]) -> None:
        """Start the process in a session of its own.

        Raises:
            OSError: The executable cannot be run.
        """
        self.restart_at = None
        parent = os.getpid()

        def before_exec() -> None:
            die_with_parent(parent, signal.SIGKILL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])

        if not wanted():
            return
        shell = self.plan.shell
        # A program that believes to write to a terminal writes line by line, and in colours.
        ends = [pty.openpty() for _ in range(2)] if self.plan.emulate_tty else []
        self.process = subprocess.Popen(
            ' '.join(self.command) if shell else self.command,
            shell=shell,
            cwd=self.plan.cwd,
            # Without it a Python child keeps its prints to itself until it ends.
            env={'PYTHONUNBUFFERED': '1', **self.plan.environment},
            stdin=subprocess.DEVNULL,
            stdout=ends[0][1] if ends else subprocess.PIPE,
            stderr=ends[1][1] if ends else subprocess.PIPE,
            start_new_session=True,
            preexec_fn=before_exec,  # noqa: PLW1509 (this process has one thread)
        )
        self.outputs = [os.fdopen(master, 'rb', buffering=0) for master, _ in ends]
        for _, slave in ends:
            os.close(slave)
        if self.process.stdout and self.process.stderr:
            self.outputs = [self.process.stdout, self.process.stderr]

    @property
    def is_running(self) -> bool:
        """Whether the process has been started and not yet been waited for."""
        return self.process is not None and self.process.returncode is None

    @property
    def is_loading(self) -> bool:
        """Whether the process is busy with its first steps and cannot take a signal well yet."""
        try:
            text = Path(f'/proc/{self.process.pid}/stat').read_text()
        except OSError:
            return False
        fields = text.rpartition(')')[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
        return fields[0] in 'RD' and used < STARTING_CPU

    def send(self, number: int) -> None:
        """Send a signal to the process and to everything in its group."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            self.process.send_signal(number)

    def plan_stop(self, sigterm_after: float, sigkill_after: float) -> None:
        """Schedule the signals that end it: INT now, TERM and KILL when it does not."""
        now = time.monotonic()
        term = self.plan.sigterm_timeout
        kill = self.plan.sigkill_timeout
        term = sigterm_after if term is None else min(term, sigterm_after)
        kill = sigkill_after if kill is None else min(kill, sigkill_after)
        self.signals = [
            (now, signal.SIGINT),
            (now + term, signal.SIGTERM),
            (now + term + kill, signal.SIGKILL),
        ]

    def hurry(self) -> None:
        """Send the next signal at once instead of at its time."""
        if self.signals:
            self.signals[0] = (0.0, self.signals[0][1])

    def respawn_wanted(self) -> bool:
        """Say whether the process is to be started again after it has ended."""
        limit = self.plan.respawn_max_retries
        return self.plan.respawn and (limit < 0 or self.restarts < limit)
