# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the processes of a launch file until they end or are told to, and lets none escape."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from pathlib import Path
from typing import IO

from vln_launch.child import Child, Stream, adopt_orphans, descendants
from vln_launch.commands import ProcessPlan

SIGTERM_AFTER = 2.5
"""Seconds from SIGINT to SIGTERM. With the next one, everything is gone in less than 5 s."""
SIGKILL_AFTER = 1.0
"""Seconds from SIGTERM to SIGKILL."""
LOADING_LIMIT = 1.5
"""Seconds that SIGINT waits at most for a process that has only just been started."""
MAX_READS_AT_EXIT = 64
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """Starts processes, prints their output, restarts them where wanted, stops them all."""

    def __init__(self, plans: list[ProcessPlan], folder: Path, log_file: IO[str] | None) -> None:
        """Prepare.

        Args:
            plans: The processes, in order of starting.
            folder: Where parameter files are written.
            log_file: Gets everything that is printed and the output of processes with
                output="log", which is not printed.
        """
        self._children = [Child(plan, plan.command(folder)) for plan in plans]
        self._log_file = log_file
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self._stop_requests = 0
        self._loading_deadline = 0.0
        self._failed = False

    def run(self) -> int:
        """Run until everything has ended; return 1 when a process failed on its own, else 0."""
        adopt_orphans()
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        # Signals only wake the loop: nothing is done inside a handler.
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (*STOP_SIGNALS, signal.SIGCHLD):
            signal.signal(number, lambda _number, _frame: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        self._selector.register(wake_read, selectors.EVENT_READ, None)
        try:
            for child in self._children:
                self._start(child)
                self._turn(wake_read, timeout=0.0)
            while any(c.is_running or c.restart_at is not None for c in self._children):
                self._turn(wake_read, timeout=self._time_to_next())
        finally:
            self._drain()
            self._sweep()
            signal.set_wakeup_fd(-1)
        return 1 if self._failed else 0

    # -- one turn of the loop ---------------------------------------------------------------------

    def _turn(self, wake_read: int, timeout: float | None) -> None:
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._on_wake(wake_read)
            else:
                self._read(key.data)
        self._reap()
        now = time.monotonic()
        for child in self._children:
            while child.is_running and child.signals and child.signals[0][0] <= now:
                if self._must_wait(child, now):
                    break
                _, number = child.signals.pop(0)
                if number != signal.SIGINT:
                    self._say('ERROR', child.plan.label, f'does not end: sending {number.name}')
                child.send(number)
            if child.restart_at is not None and child.restart_at <= now:
                self._start(child)

    def _time_to_next(self) -> float | None:
        times = [c.signals[0][0] for c in self._children if c.is_running and c.signals]
        times += [c.restart_at for c in self._children if c.restart_at is not None]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _on_wake(self, wake_read: int) -> None:
        with contextlib.suppress(BlockingIOError):
            for number in os.read(wake_read, 1024):
                if number in STOP_SIGNALS:
                    self._stop(f'user interrupted with {signal.Signals(number).name}')

    def _stop(self, reason: str) -> None:
        """Begin to stop everything; asked again, go on to the next, harder signal."""
        self._stop_requests += 1
        if self._stopping:
            if self._stop_requests > 1:
                for child in self._children:
                    child.hurry()
            return
        self._stopping = True
        self._loading_deadline = time.monotonic() + LOADING_LIMIT
        self._say('INFO', 'launch', f'{reason}: stopping')
        for child in reversed(self._children):
            child.restart_at = None
            child.plan_stop(SIGTERM_AFTER, SIGKILL_AFTER)
            if child.is_running and not self._must_wait(child, time.monotonic()):
                child.send(child.signals.pop(0)[1])

    def _must_wait(self, child: Child, now: float) -> bool:
        """Put off SIGINT for a process that is still loading; say whether that was done."""
        is_first = child.signals[0][1] == signal.SIGINT
        if not (is_first and now < self._loading_deadline and child.is_loading):
            return False
        child.signals[0] = (now + 0.02, signal.SIGINT)
        return True

    # -- processes --------------------------------------------------------------------------------

    def _start(self, child: Child) -> None:
        label = child.plan.label
        try:
            child.start(lambda: not self._stopping)
        except OSError as error:
            self._failed = True
            self._say('ERROR', label, f'cannot be started: {error}')
            self._stop(f'process[{label}] cannot be started')
            return
        if self._stopping or child.process is None:
            return
        self._say('INFO', label, f'process started with pid [{child.process.pid}]')
        for pipe, is_error in zip(child.outputs, (False, True), strict=True):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, Stream(child, pipe, is_error))

    def _reap(self) -> None:
        for child in self._children:
            if child.is_running and child.process.poll() is not None:
                self._on_exit(child)
        # Orphans that were adopted: waited for, so that they do not stay as zombies.
        known = {c.process.pid for c in self._children if c.is_running}
        for pid in _ended_children():
            if pid not in known:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _on_exit(self, child: Child) -> None:
        label, process = child.plan.label, child.process
        # What the process left behind in its group goes with it.
        child.send(signal.SIGKILL)
        self._drain(child)
        code = process.returncode
        if code == 0:
            self._say('INFO', label, f'process has finished cleanly [pid {process.pid}]')
        else:
            words = ' '.join(child.command)
            self._say(
                'ERROR',
                label,
                f"process has died [pid {process.pid}, exit code {code}, cmd '{words}'].",
            )
        if self._stopping:
            return
        if child.respawn_wanted():
            child.restarts += 1
            child.restart_at = time.monotonic() + child.plan.respawn_delay
            return
        self._failed |= code != 0
        if child.plan.shutdown_on_exit:
            self._stop(f'process[{label}] was required')

    def _sweep(self) -> None:
        """Kill whatever escaped: children of children that left their group."""
        for child in self._children:
            if child.is_running:
                child.send(signal.SIGKILL)
                child.process.wait()
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            left = descendants(os.getpid())
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(0.01)

    # -- output -----------------------------------------------------------------------------------

    def _read(self, stream: Stream) -> None:
        """Print what has come."""
        lines = stream.read()
        if lines is None:
            self._close(stream)
            return
        for line in lines:
            self._print_line(stream, line)

    def _close(self, stream: Stream) -> None:
        if stream.rest:
            self._print_line(stream, stream.rest)
        self._selector.unregister(stream.pipe)
        stream.pipe.close()

    def _drain(self, only: Child | None = None) -> None:
        """Print what is in the pipes, then close them."""
        for key in list(self._selector.get_map().values()):
            stream = key.data
            if stream is None or (only is not None and stream.child is not only):
                continue
            # Not for ever: somebody else may hold the pipe and go on writing.
            for _ in range(MAX_READS_AT_EXIT):
                self._read(stream)
                if stream.is_dry:
                    break
            if not stream.pipe.closed:
                self._close(stream)

    def _print_line(self, stream: Stream, line: bytes) -> None:
        output = stream.child.plan.output
        shown = f'[{stream.child.plan.label}] {line.decode(errors="replace")}'
        on_screen = stream.is_error if output == 'log' else output != 'own_log'
        self._write(shown, on_screen, to_error=stream.is_error)

    def _say(self, level: str, label: str, text: str) -> None:
        self._write(f'[{level}] [{label}]: {text}', True, to_error=level == 'ERROR')

    def _write(self, text: str, on_screen: bool, to_error: bool) -> None:
        # A closed terminal or a full disk must not keep the processes from being stopped.
        with contextlib.suppress(OSError, ValueError):
            if on_screen:
                target = sys.stderr if to_error else sys.stdout
                target.write(text + '\n')
                target.flush()
        with contextlib.suppress(OSError, ValueError):
            if self._log_file is not None:
                self._log_file.write(f'{time.time():.6f} {text}\n')
                self._log_file.flush()


def _ended_children() -> list[int]:
    """Return the children that have ended, without waiting for them."""
    ended = []
    try:
        info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if info is not None and info.si_pid:
            ended.append(info.si_pid)
    except ChildProcessError:
        pass
    return ended
