# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln chaos``: the stack on the simulator under a seeded schedule of faults.

Invariants are checked all the time; the exit code is 0 only if every one of them held.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vln_cli.chaos_findings import Findings, Tried
from vln_cli.interrupts import interrupt
from vln_cli.paths import ROOT

if TYPE_CHECKING:
    from vln_cli.chaos_faults import Fault
    from vln_cli.chaos_goals import Goals
    from vln_cli.chaos_stack import ChaosStack
    from vln_cli.chaos_watch import Watch

_READY = 300.0
# Time below which no further stack is started, s.
_START = 60.0
# Resident memory may grow by this much after a minute of warm-up, MB and MB per hour.
_GROWTH_MB, _GROWTH_MB_PER_HOUR = 150.0, 600.0
_WARM_UP = 60.0
_PERIOD = 0.05
# A fault that must stop the robot shows nothing on one that looks around or thinks, s.
_UNTIL_MOVING, _OTHERS = 45.0, 10.0


def main(argv: Sequence[str]) -> int:
    """Run the campaign; 0 if every invariant held, 1 if not, 2 if nothing could be run."""
    options = _parser().parse_args(list(argv))
    # Not before: --help is there before anything is installed.
    from vln_cli.domains import claim_domain

    # Never the domain of the shell: a robot may be in it.
    os.environ['ROS_DOMAIN_ID'] = str(claim_domain())
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    from vln_cli.chaos_faults import catalogue
    from vln_cli.chaos_report import summary_of, write_report

    if options.list:
        for fault in catalogue():
            print(f'{fault.group:22s} {fault.name}')
        return 0
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    signal.signal(signal.SIGTERM, interrupt)
    campaign = Campaign(options)
    try:
        campaign.run()
    except KeyboardInterrupt:
        print('vln chaos: interrupted; the report holds what was done', file=sys.stderr)
    finally:
        campaign.close()
        rclpy.try_shutdown()
    summary = summary_of(campaign.findings, options.seed)
    write_report(options.out, campaign.findings, summary)
    if options.json:
        print(json.dumps(summary))
    return 0 if campaign.findings.tried and not campaign.findings.num_violations else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='vln chaos', description='Attack the stack on the simulator and check what must hold.'
    )
    parser.add_argument('--seed', type=int, default=0, help='of scene, noise and schedule (0)')
    parser.add_argument('--minutes', type=float, default=5.0, help='length of the campaign (5)')
    parser.add_argument('--json', action='store_true', help='print the result as one last line')
    parser.add_argument(
        '--out', type=Path, default=Path('runs/chaos'), help='folder of the report'
    )
    parser.add_argument('--only', default='', help='only faults whose name or group has this text')
    parser.add_argument('--soak', action='store_true', help='no faults: instructions without end')
    parser.add_argument('--list', action='store_true', help='list the faults and end')
    return parser


class Campaign:
    """Starts the stack, attacks it, starts it again; collects what was tried."""

    def __init__(self, options: argparse.Namespace) -> None:
        sys.path.insert(0, str(ROOT / 'tests'))  # the scripted endpoint is that of the tests
        from vln_cli.chaos_model import ChaosModel
        from vln_sim_bridge.episodes import load_episodes
        from vln_sim_bridge.scene_cache import resolve_scene

        self.options = options
        self.findings = Findings()
        self.started = time.monotonic()
        self._chooser = random.Random(options.seed)
        self._scene = resolve_scene(f'apartment:{options.seed}')
        self._episodes = load_episodes(self._scene)
        self._secret = f'sk-chaos-{secrets.token_hex(12)}'
        self._model = ChaosModel(options.seed)
        self._folder = options.out / time.strftime('%Y%m%d-%H%M%S')
        self._stack: ChaosStack | None = None
        self._goals: Goals | None = None

    @property
    def goals(self) -> Goals:
        """Return what gives instructions to the running stack."""
        assert self._goals is not None
        return self._goals

    @property
    def watch(self) -> Watch:
        """Return the observer of the running stack."""
        return self.goals.watch

    @property
    def stack(self) -> ChaosStack:
        """Return the running stack."""
        assert self._stack is not None
        return self._stack

    def run(self) -> None:
        """Attack until the time is over."""
        from vln_cli.chaos_faults import Fault, schedule

        faults = schedule(self.options.seed)
        wanted = self.options.only.lower()
        until = self.started + 60.0 * self.options.minutes
        idle = 0
        while time.monotonic() < until:
            if self._stack is None and self.findings.starts and until - time.monotonic() < _START:
                return  # a start would take what is left
            fault = Fault('none', 'soak', 'none') if self.options.soak else next(faults)
            if wanted and wanted not in f'{fault.name} {fault.group}'.lower():
                idle += 1
                if idle > 500:
                    raise SystemExit(f'vln chaos: no fault has "{wanted}" in its name')
                continue
            idle = 0
            if not self._ensure_stack():
                self.findings.general.append('the stack did not become ready')
                return
            self._try(fault)

    # -- one fault -------------------------------------------------------------------------------

    def _try(self, fault: Fault) -> None:
        from vln_cli import chaos_acts

        watch = self.watch
        watch.violations.clear()
        self.goals.ensure()
        patience = _OTHERS if fault.stop_within is None else _UNTIL_MOVING
        watch.wait(lambda: watch.is_moving or not self.stack.is_alive, patience)
        tried = Tried(fault.name, fault.group, watch.is_moving)
        self._say(f'{fault.name}{"" if tried.was_moving else " (standing)"}')
        start = chaos_acts.begin(fault, self.stack, self.goals)
        chaos_acts.during(fault, self.stack, self.goals, start)
        self._judge_reaction(tried, fault, start)
        chaos_acts.finish(fault, self.stack, self.watch)
        if fault.ends_stack:
            self._check_end()
        elif not self.stack.is_alive:
            tried.violations.append('the stack ended')
        if fault.act in ('limit', 'cancel', 'flood', 'instruction'):
            self.goals.end()
        tried.violations += watch.violations
        watch.violations.clear()
        self.findings.tried.append(tried)
        for text in tried.violations:
            self._say(f'  VIOLATION: {text}')
        if fault.ends_stack or not self.stack.is_alive:
            self._end_stack()
        else:
            self.stack.note_memory()

    def _judge_reaction(self, tried: Tried, fault: Fault, start: float) -> None:
        """Note how long the robot went on after ``start``, and whether that was too long."""
        end = time.monotonic()
        tried.stall = self.watch.stalls.within(start, start + 1.5)
        if fault.stop_within is None:
            return
        if fault.detail.get('passes'):
            tried.reaction = self.watch.first_zero(start, end)
        else:
            may_turn = bool(fault.detail.get('turning'))
            tried.reaction = self.watch.reaction(start, end, may_turn=may_turn)
        # The first message after a fault of messages is still a good one, hence a period.
        limit = fault.stop_within + 2.0 * _PERIOD + tried.stall
        if tried.reaction > limit:
            tried.violations.append(
                f'zero came after {tried.reaction:.2f} s, due within {limit:.2f} s'
            )

    def _check_end(self) -> None:
        """After one process died the launch must end by itself, and nothing may be lost."""
        if not self.watch.wait(lambda: not self.stack.is_alive, 30.0):
            self.watch.violate('the launch still runs 30 s after one of its processes died')
        self.goals.forget()

    # -- the stack -------------------------------------------------------------------------------

    def _ensure_stack(self) -> bool:
        from vln_cli.chaos_goals import Goals
        from vln_cli.chaos_stack import ChaosStack
        from vln_cli.chaos_watch import Watch

        if self._stack is not None:
            return True
        folder = self._folder / f'stack-{self.findings.starts}'
        self.findings.starts += 1
        self._say(f'starting stack {self.findings.starts}')
        self._stack = ChaosStack(folder, self._scene, self.options.seed, self._secret, self._model)
        watch = Watch(self.findings.starts)
        self._goals = Goals(watch, self.findings, self._episodes, self._chooser, self.started)

        def is_ready() -> bool:
            return not self.stack.is_alive or (
                watch.truth is not None and watch.navigate.server_is_ready()
            )

        is_in_time = watch.wait(is_ready, _READY)
        return is_in_time and self.stack.is_alive

    def _end_stack(self) -> None:
        if self._stack is None:
            return
        stack, watch = self._stack, self.watch
        where = f'stack {self.findings.starts}'
        left = stack.end()
        if left:
            self.findings.general.append(
                f'{where}: still running after the end: {", ".join(left)}'
            )
        lost = stack.journal_fault(watch.acknowledged)
        if lost:
            self.findings.general.append(f'{where}: {lost}')
        output = stack.output
        if self._secret in output:
            self.findings.general.append(f'{where}: a secret is in the log')
        if 'Traceback (most recent call last)' in output:
            self.findings.general.append(
                f'{where}: an exception was not caught, see {stack.folder}'
            )
        self._judge_memory(where, stack)
        watch.end_rogue()
        watch.close()
        watch.destroy_node()
        self._stack = self._goals = None

    def _judge_memory(self, where: str, stack: ChaosStack) -> None:
        from vln_cli.chaos_watch import slope

        for name, points in stack.memory.items():
            warm = [p for p in points if p[0] > points[0][0] + _WARM_UP]
            self.findings.memory.setdefault(name, []).extend(
                (t - self.started, b) for t, b in points
            )
            if len(warm) < 5:
                continue
            grown = (warm[-1][1] - warm[0][1]) / 1e6
            rate, error = slope(warm)
            per_hour = (rate - 2.0 * error) * 3600.0 / 1e6
            if grown > _GROWTH_MB and per_hour > _GROWTH_MB_PER_HOUR:
                self.findings.general.append(f'{where}: {name} grew by {grown:.0f} MB')

    def close(self) -> None:
        """End the stack and note the length."""
        self._end_stack()
        self._model.close()
        self.findings.seconds = time.monotonic() - self.started

    def _say(self, text: str) -> None:
        passed = time.monotonic() - self.started
        print(f'{passed:7.1f} s  {text}', file=sys.stderr if self.options.json else sys.stdout,
              flush=True)  # fmt: skip
