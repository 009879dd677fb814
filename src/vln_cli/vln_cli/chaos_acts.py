# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""How each kind of fault begins, lasts and ends."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vln_cli.chaos_faults import Fault
    from vln_cli.chaos_goals import Goals
    from vln_cli.chaos_stack import ChaosStack
    from vln_cli.chaos_watch import Watch

# The memory writes its journal and logs; both end at this size, as on a full disk.
_FULL = 4096
_RUN, _PAUSE = 0.02, 0.18


def begin(fault: Fault, stack: ChaosStack, goals: Goals) -> float:
    """Make the fault happen; return the steady time from which it holds."""
    detail = fault.detail
    start = time.monotonic()
    if fault.act == 'rule':
        for rule in fault.rules:
            start = stack.order(**rule, since=time.monotonic())
    elif fault.act == 'signal':
        start = stack.signal(detail['process'], getattr(signal, f'SIG{detail["signal"]}'))
    elif fault.act == 'limit':
        start = stack.limit_files(detail['process'], _FULL)
    elif fault.act == 'model':
        stack.model.set_mode(detail['mode'])
    elif fault.act == 'cancel':
        goals.end()
        start = time.monotonic()
    return start


def during(fault: Fault, stack: ChaosStack, goals: Goals, start: float) -> None:
    """Keep it up for its time."""
    until = start + fault.seconds
    if fault.act == 'slow':
        _starve(stack.pids()[fault.detail['process']], until)
    elif fault.act == 'rogue':
        _steer(fault, goals.watch, until)
    elif fault.act == 'flood':
        goals.flood('Go to the kitchen and stop.', until)
    elif fault.act == 'instruction':
        goals.end()
        goals.send(fault.detail['text'])
        goals.watch.wait(lambda: False, fault.seconds)
    else:
        goals.watch.wait(lambda: not stack.is_alive, max(0.0, until - time.monotonic()))


def _starve(pid: int, until: float) -> None:
    """Let a process run for a tenth of the time."""
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(_PAUSE)
            os.kill(pid, signal.SIGCONT)
            time.sleep(_RUN)


def _steer(fault: Fault, watch: Watch, until: float) -> None:
    watch.is_rogue = True
    while time.monotonic() < until:
        watch.rogue(fault.detail['topic'], fault.detail.get('v', 0.3))
        time.sleep(0.05)


def finish(fault: Fault, stack: ChaosStack, watch: Watch) -> None:
    """End the fault."""
    detail = fault.detail
    if fault.act == 'rule':
        with contextlib.suppress(OSError, ValueError):
            stack.order(kind='clear')
    elif fault.act == 'signal' and detail['signal'] == 'STOP':
        with contextlib.suppress(ProcessLookupError):
            stack.signal(detail['process'], signal.SIGCONT)
    elif fault.act == 'limit':
        with contextlib.suppress(ProcessLookupError):
            stack.limit_files(detail['process'], None)
    elif fault.act == 'model':
        stack.model.set_mode('down')
    elif fault.act == 'rogue':
        watch.end_rogue()
        time.sleep(0.5)
        watch.is_rogue = False
