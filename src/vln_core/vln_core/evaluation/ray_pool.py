# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The same episodes on a Ray cluster (optional: ``pip install ray``)."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vln_core.errors import ConfigError
from vln_core.evaluation.benchmark import Row, make_benchmark
from vln_core.evaluation.pool import failed_row, run_guarded

_POLL = 0.5
_START_GRACE = 300.0


class _Runner:
    """What an actor does: the same as a worker process."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._benchmark = make_benchmark(settings)

    def ready(self) -> bool:
        return True

    def run(self, episode_id: str) -> Row:
        return run_guarded(self._benchmark, episode_id)


class RayPool:
    """Runs episodes in Ray actors; the interface of :class:`.pool.ProcessPool`."""

    def __init__(
        self, settings: Mapping[str, Any], num_workers: int, deadline: float, address: str
    ) -> None:
        """Join the cluster and start the actors.

        Args:
            settings: Of the benchmark; its data folder must be the same on every machine.
            num_workers: Actors.
            deadline: Longest time of an episode, seconds.
            address: Of the cluster; 'local' starts one on this machine.

        Raises:
            ConfigError: Ray is not installed, or no cluster answers.
        """
        try:
            self._ray = importlib.import_module('ray')
        except ImportError as error:
            raise ConfigError('--ray needs the package ray: pip install ray') from error
        self._settings, self._deadline = dict(settings), deadline
        try:
            self._ray.init(
                address=address, num_cpus=num_workers if address == 'local' else None,
                include_dashboard=False if address == 'local' else None, log_to_driver=False,
            )  # fmt: skip
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ConfigError(f'no Ray cluster at "{address}": {error}') from error
        self._remote = self._ray.remote(max_restarts=0)(_Runner)
        self._actors = [self._start() for _ in range(num_workers)]

    def rows(self, episode_ids: Sequence[str]) -> Iterator[Row]:
        """Yield a row for each episode, in the order in which they end."""
        waiting = list(reversed(episode_ids))
        running: dict[Any, tuple[int, str, float]] = {}
        idle = list(range(len(self._actors)))
        while waiting or running:
            while waiting and idle:
                number, name = idle.pop(0), waiting.pop()
                running[self._actors[number].run.remote(name)] = (number, name, time.monotonic())
            done, _ = self._ray.wait(list(running), timeout=_POLL)
            for task in done:
                number, name, since = running.pop(task)
                yield self._result(task, number, name, since)
                idle.append(number)
            for task, (number, name, since) in list(running.items()):
                if time.monotonic() - since > self._deadline:
                    del running[task]
                    self._replace(number)
                    idle.append(number)
                    message = f'the deadline of {self._deadline:g} s passed'
                    yield failed_row(name, 'deadline', message, time.monotonic() - since)

    def close(self) -> None:
        """End the actors and leave the cluster."""
        self._ray.shutdown()

    def _start(self) -> Any:
        actor = self._remote.remote(self._settings)
        try:
            self._ray.get(actor.ready.remote(), timeout=_START_GRACE)
        except self._ray.exceptions.RayError as error:
            raise ConfigError(f'a Ray actor cannot make the benchmark: {error}') from error
        return actor

    def _replace(self, number: int) -> None:
        self._ray.kill(self._actors[number])
        self._actors[number] = self._start()

    def _result(self, task: Any, number: int, name: str, since: float) -> Row:
        try:
            row: Row = self._ray.get(task)
            return row
        except self._ray.exceptions.RayError as error:
            self._replace(number)
            return failed_row(name, 'crash', str(error), time.monotonic() - since)
