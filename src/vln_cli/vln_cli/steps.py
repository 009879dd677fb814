# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Set-up steps: done once per state of their inputs, logged, timed, safe to interrupt."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class StepError(Exception):
    """A step failed; the message says what to do."""


@dataclass(frozen=True)
class Step:
    """One step of the set-up.

    Attributes:
        name: Short name, also of the log file.
        title: What is done, for people.
        key: Hash of everything that the result depends on.
        stamp: File that holds the key of the last success. It lies inside what the step
            makes, so that removing the product removes the stamp.
        action: Does the work.
        is_optional: A failure is reported and the set-up goes on.
    """

    name: str
    title: str
    key: str
    stamp: Path
    action: Callable[[Log], None]
    is_optional: bool = False

    def is_done(self) -> bool:
        """Tell whether the last success was for the same inputs."""
        try:
            return self.stamp.read_text() == self.key
        except OSError:
            return False


def hash_of(*parts: str, files: Iterable[Path] = ()) -> str:
    """Return a hash of strings, and of files by name and content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b'\0')
    for file in sorted(files):
        digest.update(str(file).encode() + b'\0' + file.read_bytes() + b'\0')
    return digest.hexdigest()


class Log:
    """Runs a step's commands, keeps their output in a file and shows that time passes."""

    def __init__(self, label: str, path: Path) -> None:
        self._label = label
        self._started = time.monotonic()
        self._shown = self._started
        self._is_terminal = sys.stderr.isatty()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open('w', encoding='utf-8')

    def start(self) -> None:
        """Announce the step."""
        print(self._label, file=sys.stderr, flush=True, end='\r' if self._is_terminal else '\n')

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Run a command to its end.

        Raises:
            StepError: It failed; the message holds the end of its output.
        """
        self._file.write(f'$ {" ".join(command)}\n')
        self._file.flush()
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise StepError(f'{command[0]}: {error.strerror}') from error
        try:
            self._follow(process)
        except BaseException:
            _end_group(process)
            raise
        if process.returncode != 0:
            raise StepError(f'{Path(command[0]).name} failed:\n{self.tail()}\n')

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        os.set_blocking(pipe, False)
        last_line = ''
        has_ended = False
        while True:
            try:
                data = os.read(pipe, 65536)
            except BlockingIOError:
                # A daemon that kept the pipe open must not keep the step open as well; what the
                # command said last is read before it is believed to have ended.
                if has_ended:
                    return
                self._show(last_line)
                time.sleep(0.1)
                has_ended = process.poll() is not None
                continue
            if not data:
                process.wait()
                return
            text = data.decode(errors='replace')
            self._file.write(text)
            self._file.flush()
            lines = [line for line in text.splitlines() if line.strip()]
            last_line = lines[-1].strip() if lines else last_line
            self._show(last_line)

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if now - self._shown < (0.5 if self._is_terminal else 15.0):
            return
        self._shown = now
        line = f'{self._label} {self.elapsed()}  {text}'
        if self._is_terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            print(f'\r\x1b[K{line[:width]}', end='', file=sys.stderr, flush=True)
        else:
            print(line[:120], file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Write a remark into the file."""
        self._file.write(text + '\n')

    def finish(self, verdict: str) -> None:
        """Close the file and print how the step ended."""
        self._file.close()
        start = '\r\x1b[K' if self._is_terminal else ''
        print(f'{start}{self._label} {verdict} ({self.elapsed()})', file=sys.stderr, flush=True)

    def elapsed(self) -> str:
        """Return the time since the step's start as ``m:ss``."""
        return minutes(time.monotonic() - self._started)

    def tail(self, num_lines: int = 15) -> str:
        """Return the end of the output so far."""
        self._file.flush()
        lines = self.path.read_text(encoding='utf-8', errors='replace').splitlines()
        return '\n'.join('    ' + line[:200] for line in lines[-num_lines:])


def minutes(seconds: float) -> str:
    """Return a duration as ``m:ss``."""
    return f'{int(seconds) // 60}:{int(seconds) % 60:02d}'


def run_steps(steps: Sequence[Step], log_folder: Path) -> None:
    """Run the steps that are not done yet.

    Raises:
        StepError: A step that is not optional failed.
    """
    for number, step in enumerate(steps, 1):
        if step.is_done():
            continue
        log = Log(f'[{number}/{len(steps)}] {step.title}', log_folder / f'{step.name}.log')
        log.start()
        try:
            step.action(log)
        except StepError as error:
            log.finish('FAILED')
            if not step.is_optional:
                raise StepError(f'{error}The whole output: {log.path}') from error
            print(f'{error}Going on without it.', file=sys.stderr)
            continue
        except KeyboardInterrupt:
            log.finish('interrupted')
            raise
        write_stamp(step.stamp, step.key)
        log.finish('done')


def write_stamp(stamp: Path, key: str) -> None:
    """Write a stamp so that it is there whole or not at all."""
    stamp.parent.mkdir(parents=True, exist_ok=True)
    partial = stamp.with_name(stamp.name + '.partial')
    partial.write_text(key)
    partial.replace(stamp)


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file, waiting for another process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('a+') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            print(f'vln: waiting for another set-up (process {holder})', file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5.0)
    # Also when the command itself is gone: its children may ignore SIGINT.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
