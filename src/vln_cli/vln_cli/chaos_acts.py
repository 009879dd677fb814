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
    from vln_cli.chaos import Campaign
    from vln_cli.chaos_faults import Fault

# The memory writes its journal and logs; both end at this size, as on a full disk.
_FULL = 4096
_RUN, _PAUSE = 0.02, 0.18


def begin(fault: Fault, campaign: Campaign) -> float:
    """Make the fault happen; return the steady time from which it holds."""
    stack, detail = campaign.stack, fault.detail
    start = time.monotonic()
    if fault.act == 'rule':
        for rule in fault.rules:
            start = stack.order(**rule, since=time.monotonic())
    elif fault.act == 'signal':
        start = stack.signal(detail['process'], getattr(signal, f'SIG{detail["signal"]}'))
    elif fault.act == 'limit':
        start = stack.limit_files(detail['process'], _FULL)
    elif fault.act == 'cancel':
        campaign.end_goal()
        start = time.monotonic()
    return start


def during(fault: Fault, campaign: Campaign, start: float) -> None:
    """Keep it up for its time."""
    until = start + fault.seconds
    if fault.act == 'slow':
        _starve(campaign.stack.pids()[fault.detail['process']], until)
    elif fault.act == 'rogue':
        _steer(fault, campaign, until)
    elif fault.act == 'flood':
        while time.monotonic() < until:
            if campaign.send('Go to the kitchen and stop.'):
                campaign.count('accepted in a flood')
            time.sleep(0.02)
    elif fault.act == 'instruction':
        campaign.end_goal()
        campaign.send(fault.detail['text'])
        campaign.watch.wait(lambda: False, fault.seconds)
    else:
        campaign.watch.wait(
            lambda: not campaign.stack.is_alive, max(0.0, until - time.monotonic())
        )


def _starve(pid: int, until: float) -> None:
    """Let a process run for a tenth of the time."""
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(_PAUSE)
            os.kill(pid, signal.SIGCONT)
            time.sleep(_RUN)


def _steer(fault: Fault, campaign: Campaign, until: float) -> None:
    watch = campaign.watch
    watch.is_rogue = True
    while time.monotonic() < until:
        watch.rogue(fault.detail['topic'], fault.detail.get('v', 0.3))
        time.sleep(0.05)


def finish(fault: Fault, campaign: Campaign) -> None:
    """End the fault."""
    stack, detail = campaign.stack, fault.detail
    if fault.act == 'rule':
        with contextlib.suppress(OSError, ValueError):
            stack.order(kind='clear')
    elif fault.act == 'signal' and detail['signal'] == 'STOP':
        with contextlib.suppress(ProcessLookupError):
            stack.signal(detail['process'], signal.SIGCONT)
    elif fault.act == 'limit':
        with contextlib.suppress(ProcessLookupError):
            stack.limit_files(detail['process'], None)
    elif fault.act == 'rogue':
        campaign.watch.end_rogue()
        time.sleep(0.5)
        campaign.watch.is_rogue = False
