# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of a model endpoint through the whole graph: each ends as stated, and the robot waits."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from stack import PATIENCE, wait_until

from vln_cli.paths import ROOT
from vln_interfaces.action import Navigate
from vln_system_tests.model_faults import FAULTS, Fault, fault_profile
from vln_system_tests.model_server import ModelServer, Play, good

SCENE = 'apartment:1'
# One of each way to end; the others run with the marker slow.
COMMON = ('fenced', 'unknown action', '503 for ever', 'stalls half way, then good')
_STILL = 1e-3
# The last turn of the look-around is braked within this of its end, seconds.
_BRAKED = 0.25
# Feedback may be heard so much later than the motion that it announces, seconds.
_HEARD = 0.1
_logger = logging.getLogger(__name__)


def parameters_file(folder: Path, base_url: str) -> Path:
    """Return the simulation's parameters with System 2 pointed at a scripted server."""
    path = ROOT / 'config' / 'params' / 'simulation.yaml'
    values: dict[str, Any] = yaml.safe_load(path.read_text(encoding='utf-8'))
    system2 = values['/**/system2']['ros__parameters']
    # Longer than a busy machine takes to load the client's library.
    profile = fault_profile(base_url, stall_timeout=5.0, call_timeout=20.0, breaker_failures=1000)
    for name in (
        'base_url', 'key_variable', 'backoff', 'max_backoff', 'max_retries', 'stall_timeout',
        'call_timeout', 'picture_size_px', 'breaker_failures',
    ):  # fmt: skip
        system2[f'model.{name}'] = getattr(profile, name)
    system2['model.model'] = profile.model
    file = folder / 'scripted.yaml'
    file.write_text(yaml.safe_dump(values), encoding='utf-8')
    return file


class Director:
    """The script of the server: the plays of one fault, then valid records for ever."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plays: list[Play] = [good()]
        self.num_requests = 0

    def play(self, fault: Fault) -> None:
        """Play a fault from the next request on."""
        with self._lock:
            self._plays = list(fault.script)
            self.num_requests = 0

    def __call__(self, request: dict[str, Any]) -> Play:
        with self._lock:
            number = min(self.num_requests, len(self._plays) - 1)
            self.num_requests += 1
            return self._plays[number]


class Run:
    """One instruction with a fault in its first decision, ended once the robot may move."""

    def __init__(self, watcher: Any) -> None:
        self.watcher = watcher
        self.states: list[tuple[float, str]] = []
        watcher.feedback.clear()
        watcher.feedback_times.clear()
        watcher.decisions.clear()
        self.result: Navigate.Result | None = None

    def go(self) -> None:
        handle = self.watcher.start('Go to the sofa.')
        ending = handle.get_result_async()

        def is_over() -> bool:
            told = list(zip(self.watcher.feedback_times, self.watcher.feedback, strict=False))
            for moment, line in told[len(self.states) :]:
                self.states.append((moment, line.split()[1]))
            return ending.done() or any(state == 'moving' for _, state in self.states)

        wait_until(is_over, PATIENCE, self.watcher._stack)
        if not ending.done():
            handle.cancel_goal_async()
        wait_until(ending.done, PATIENCE, self.watcher._stack)
        self.result = ending.result().result
        self.ended_at = time.monotonic()

    @property
    def has_moved_on(self) -> bool:
        """Whether a valid record came out of it."""
        return any(state == 'moving' for _, state in self.states)

    def commands_while_waiting(self) -> list[tuple[float, float]]:
        """Return every velocity commanded between 'thinking' and what followed it."""
        found = []
        times = [*self.states, (self.ended_at, 'ended')]
        for (begin, state), (end, _) in zip(times, times[1:], strict=False):
            if state == 'thinking':
                commands = self.watcher.commands
                found += [(v, w) for t, v, w in commands if begin + _BRAKED <= t < end - _HEARD]
        return found


def play_in_graph(faults: list[Fault], start_stack: Any, watch: Any, tmp_path: Path) -> list[str]:
    """Play faults one after the other in one stack; returns what did not end as stated."""
    wrong = []
    director = Director()
    with ModelServer(director) as server:
        file = parameters_file(tmp_path, server.base_url)
        stack = start_stack(scene=SCENE, planner='ham', params_file=file)
        watcher = watch(stack)
        watcher.wait_ready()
        x, y, yaw = watcher.truths[-1][2:]
        for fault in faults:
            assert watcher.place(x, y, yaw) == ''
            director.play(fault)
            run = Run(watcher)
            run.go()
            problem = _judge(fault, run, director.num_requests)
            _logger.info('%s: %s', fault.name, problem or 'as stated')
            wrong += [f'{fault.name}: {problem}'] if problem else []
    return wrong


def _judge(fault: Fault, run: Run, num_requests: int) -> str:
    assert run.result is not None
    moving = [c for c in run.commands_while_waiting() if max(map(abs, c)) > _STILL]
    if moving:
        return f'the robot was driven while it waited: {moving[:3]}'
    if fault.ends == 'failure':
        is_clean = run.result.error_code == Navigate.Result.PLANNER_FAILED
        if not is_clean or run.has_moved_on or not run.result.error_msg:
            return f'ended with {run.result.error_code}: {run.result.error_msg}'
        return ''
    if not run.has_moved_on:
        return f'no valid record: {run.result.error_code} {run.result.error_msg}'
    wanted = 1 if fault.ends == 'record' else 2
    return '' if num_requests >= wanted else f'only {num_requests} requests'


def test_common_faults_in_the_graph(start_stack, watch, tmp_path):
    faults = [fault for fault in FAULTS if fault.name in COMMON]
    assert len(faults) == len(COMMON)
    assert play_in_graph(faults, start_stack, watch, tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_fault_in_the_graph(start_stack, watch, tmp_path):
    assert play_in_graph(list(FAULTS), start_stack, watch, tmp_path) == []


def test_stop_word_beats_a_waiting_model(start_stack, watch, tmp_path):
    """Said while the model is asked, it ends the instruction at once."""
    with ModelServer([Play(json.dumps({}), delay=60.0)]) as server:
        file = parameters_file(tmp_path, server.base_url)
        stack = start_stack(scene=SCENE, planner='ham', params_file=file)
        watcher = watch(stack)
        watcher.wait_ready()
        ending = watcher.start('Go to the sofa.').get_result_async()
        wait_until(lambda: bool(server.requests), PATIENCE, stack)
        result = watcher.follow('Stop!', timeout=PATIENCE)
        assert (result.error_code, result.is_verified) == (0, True)
        wait_until(ending.done, 5.0, stack)
        first = ending.result().result
        assert first.error_code == Navigate.Result.CANCELLED
        assert first.error_msg == 'the operator said stop'
