# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A stack that a test started: its processes, what it prints, and how it ends."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from vln_cli.launch import launch_command
from vln_cli.processes import SHARED_MEMORY, marked_processes

PATIENCE = 120.0
"""How long a stack may take to start on a machine with other things to do, seconds."""
NODES = ('sim_bridge', 'safety_node', 'controller_node', 'light_nodes')
_MARK = 'VLN_TEST_STACK'
_STARTED = re.compile(r'\[([\w.-]+)-\d+\]: process started with pid \[(\d+)\]')


class Stack:
    """One launch file, started as a user does, in a ROS domain of its own."""

    def __init__(
        self,
        folder: Path,
        domain: int,
        file: str = 'sim.launch.xml',
        *,
        in_terminal: bool = False,
        **arguments: object,
    ) -> None:
        """Start it.

        Args:
            folder: Where its output goes.
            domain: ROS_DOMAIN_ID.
            file: Launch file.
            in_terminal: Give it a pseudo-terminal; :meth:`close_terminal` hangs up.
            arguments: Launch arguments.
        """
        self.domain = domain
        self._mark = f'{_MARK}={uuid.uuid4().hex}'
        self._log = folder / f'stack-{domain}.log'
        self._segments: set[str] = set()
        environment = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_LOG_DIR=str(folder))
        environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        environment[_MARK] = self._mark.partition('=')[2]
        given = {name: str(value) for name, value in arguments.items()}
        self._terminal: int | None = None
        with self._log.open('wb') as log:
            if in_terminal:
                self._terminal, other_end = pty.openpty()
            self.process = subprocess.Popen(
                launch_command(file, given),
                env=environment,
                stdin=other_end if in_terminal else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=not in_terminal,
                preexec_fn=_take_terminal if in_terminal else None,
            )
            if in_terminal:
                os.close(other_end)

    @property
    def output(self) -> str:
        """Everything printed so far."""
        return self._log.read_text(errors='replace')

    @property
    def is_alive(self) -> bool:
        """Whether the launch process runs."""
        return self.process.poll() is None

    @property
    def processes(self) -> list[int]:
        """Every process of this stack that is still there."""
        return [pid for pid in marked_processes(self._mark) if not _is_zombie(pid)]

    def pid(self, executable: str) -> int:
        """Return the process of an executable once the launch has started it."""
        wait_until(lambda: executable in dict(_STARTED.findall(self.output)), PATIENCE, self)
        return int(dict(_STARTED.findall(self.output))[executable])

    def close_terminal(self) -> None:
        """Hang up, as closing the window of a terminal does."""
        assert self._terminal is not None
        os.close(self._terminal)
        self._terminal = None

    def wait_end(self, timeout: float) -> int:
        """Wait until the launch process has ended and return its exit code."""
        return self.process.wait(timeout)

    def signal(self, number: int) -> None:
        """Send a signal to the launch process, as a terminal or a service manager does."""
        self.note_segments()
        self.process.send_signal(number)

    def note_segments(self) -> None:
        """Remember the shared memory that the processes hold now."""
        for pid in self.processes:
            self._segments |= _segments_of(pid)

    def segments_left(self) -> set[str]:
        """Return what is left of the shared memory noted and is not this process's."""
        own = _segments_of(os.getpid())
        return {name for name in self._segments - own if (SHARED_MEMORY / name).exists()}

    def seconds_until_gone(self, timeout: float = 30.0) -> float:
        """Return how long it takes until no process is left; fails after ``timeout``."""
        started = time.monotonic()
        while self.processes or self.is_alive:
            assert time.monotonic() - started < timeout, f'still there: {self._listing()}'
            time.sleep(0.05)
        return time.monotonic() - started

    def end(self) -> None:
        """Stop whatever is left, in order where it lets one."""
        if self._terminal is not None:
            self.close_terminal()
        if self.is_alive:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pid in self.processes:
            os.kill(pid, signal.SIGKILL)

    def _listing(self) -> list[str]:
        return [
            Path(f'/proc/{pid}/cmdline').read_text().replace('\0', ' ')[:160]
            for pid in self.processes
        ]


def wait_until(is_met: Callable[[], bool], timeout: float, stack: Stack | None = None) -> None:
    """Wait for a condition; fails after ``timeout`` seconds or when the stack has ended."""
    deadline = time.monotonic() + timeout
    while not is_met():
        assert stack is None or stack.is_alive, f'the stack ended:\n{stack.output[-3000:]}'
        assert time.monotonic() < deadline, (
            f'not within {timeout:.0f} s:\n{stack.output[-3000:] if stack else ""}'
        )
        time.sleep(0.02)


def _take_terminal() -> None:
    """Make the standard input the controlling terminal: closing it then sends SIGHUP."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _segments_of(pid: int) -> set[str]:
    """Shared memory that a process has for its own messages; ports belong to several."""
    try:
        maps = Path(f'/proc/{pid}/maps').read_text()
    except OSError:
        return set()
    return set(re.findall(r'/dev/shm/(fastdds_[0-9a-f]{16})$', maps, re.M))


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True
