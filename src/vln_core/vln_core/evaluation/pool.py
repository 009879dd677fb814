# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Worker processes that may crash or hang without taking the run with them.

Each worker makes the benchmark once and then runs episode after episode. One that passes the
deadline or dies is replaced, and its episode gets a row that says so.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from vln_core.errors import ConfigError, VlnError
from vln_core.evaluation.benchmark import Row, make_benchmark

_START_GRACE = 300.0
_POLL = 0.2


def failed_row(episode_id: str, failure: str, message: str, seconds: float) -> Row:
    """Return the row of an episode that gave no result; it counts as a failure."""
    return {
        'id': episode_id, 'SR': 0.0, 'OSR': 0.0, 'SPL': 0.0, 'failure': failure,
        'error': message, 'timing': {'seconds': seconds},
    }  # fmt: skip


def run_guarded(benchmark: Any, episode_id: str) -> Row:
    """Run one episode; whatever it raises becomes its row."""
    started = time.perf_counter()
    try:
        row: Row = benchmark.run(episode_id)
        return row
    except VlnError as error:
        message = f'{type(error).__name__}: {error}'
    except Exception:  # noqa: BLE001 - a defect in one episode must not end the run
        message = traceback.format_exc(limit=6)
    return failed_row(episode_id, 'error', message, time.perf_counter() - started)


def _serve(connection: Connection, settings: Mapping[str, Any]) -> None:
    try:
        benchmark = make_benchmark(settings)
    except Exception as error:  # noqa: BLE001 - told to the parent, which ends the run
        connection.send(('unusable', f'{type(error).__name__}: {error}'))
        return
    connection.send(('ready', ''))
    try:
        while (episode_id := connection.recv()) is not None:
            connection.send(('row', run_guarded(benchmark, episode_id)))
    except (EOFError, KeyboardInterrupt):
        pass
    finally:
        benchmark.close()


@dataclass
class _Worker:
    """One process and what it is doing."""

    process: BaseProcess
    connection: Connection
    episode_id: str | None = None
    since: float = 0.0
    is_ready: bool = False


class ProcessPool:
    """Runs episodes in processes; rows come in the order in which they end."""

    def __init__(self, settings: Mapping[str, Any], num_workers: int, deadline: float) -> None:
        """Start the workers.

        Args:
            settings: Of the benchmark.
            num_workers: Processes.
            deadline: Longest time of an episode, seconds.
        """
        # spawned, not forked: simulators hold threads and GPU contexts that do not survive a fork
        self._context = multiprocessing.get_context('spawn')
        self._settings = dict(settings)
        self._deadline = deadline
        self._workers = [self._start() for _ in range(num_workers)]

    def rows(self, episode_ids: Sequence[str]) -> Iterator[Row]:
        """Yield a row for each episode.

        Raises:
            ConfigError: A worker cannot make the benchmark.
        """
        waiting = list(reversed(episode_ids))
        while waiting or any(worker.episode_id for worker in self._workers):
            for worker in self._workers:
                if waiting and worker.is_ready and worker.episode_id is None:
                    self._give(worker, waiting.pop())
            ready = set(wait([worker.connection for worker in self._workers], timeout=_POLL))
            for number, worker in enumerate(self._workers):
                row = self._hear(worker) if worker.connection in ready else self._late(worker)
                if row is None:
                    continue
                if row.get('failure') in ('crash', 'deadline'):
                    self._stop(worker)
                    self._workers[number] = self._start()
                if row['id']:
                    yield row

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            self._stop(worker)
        self._workers = []

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._settings), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours, since=time.monotonic())

    def _give(self, worker: _Worker, episode_id: str) -> None:
        worker.episode_id, worker.since = episode_id, time.monotonic()
        try:
            worker.connection.send(episode_id)
        except OSError:
            pass  # it died while idle; the closed connection is noticed next, with its episode

    def _hear(self, worker: _Worker) -> Row | None:
        seconds = time.monotonic() - worker.since
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError) as error:
            worker.process.join(1.0)
            if not worker.is_ready:
                raise ConfigError(
                    f'a worker died with exit code {worker.process.exitcode} while starting'
                ) from error
            message = f'the worker died with exit code {worker.process.exitcode}'
            return failed_row(worker.episode_id or '', 'crash', message, seconds)
        if kind == 'unusable':
            raise ConfigError(str(content))
        if kind == 'ready':
            worker.is_ready = True
            return None
        worker.episode_id = None
        row: Row = content
        return row

    def _late(self, worker: _Worker) -> Row | None:
        seconds = time.monotonic() - worker.since
        if not worker.is_ready and seconds > _START_GRACE:
            raise ConfigError(f'a worker did not start within {_START_GRACE:.0f} s')
        if worker.episode_id is None or seconds <= self._deadline:
            return None
        message = f'the deadline of {self._deadline:g} s passed'
        return failed_row(worker.episode_id, 'deadline', message, seconds)

    @staticmethod
    def _stop(worker: _Worker) -> None:
        worker.connection.close()
        worker.process.terminate()
        worker.process.join(2.0)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
