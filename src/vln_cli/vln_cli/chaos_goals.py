# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instructions that a campaign gives, and how they end."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from vln_cli.chaos_findings import Findings
from vln_cli.chaos_watch import Watch
from vln_interfaces.action import Navigate
from vln_sim_bridge.episodes import Episode

# An instruction must have ended this long after it was cancelled, s, plus stalls.
_CANCELLED_WITHIN = 20.0


class Goals:
    """One instruction at a time for one stack."""

    def __init__(
        self,
        watch: Watch,
        findings: Findings,
        episodes: Sequence[Episode],
        chooser: random.Random,
        started: float,
    ) -> None:
        """Give instructions through ``watch``.

        Args:
            watch: Observer of the stack.
            findings: Outcomes and times go there.
            episodes: To choose from.
            chooser: Chooses.
            started: Steady time at which the campaign began.
        """
        self.watch = watch
        self._findings = findings
        self._episodes = episodes
        self._chooser = chooser
        self._started = started
        self._goal: Any = None
        self._result: Any = None

    def ensure(self) -> None:
        """Have an instruction running; one that ended is judged."""
        if self._result is not None and self._result.done():
            self.end()
        if self._goal is not None:
            return
        episode = self._chooser.choice(self._episodes)
        if not self.watch.place(*episode.start):
            self.watch.violate('the robot could not be placed')
        self.send(episode.instruction)

    def send(self, text: str) -> bool:
        """Give an instruction; return whether it was accepted."""
        sent = time.monotonic()
        answer = self.watch.navigate.send_goal_async(Navigate.Goal(instruction=text))
        if not self.watch.wait(answer.done, 30.0):
            self.watch.violate('an instruction got no answer within 30 s')
            return False
        handle = answer.result()
        self._findings.latencies.append((sent - self._started, time.monotonic() - sent))
        if not handle.accepted:
            self._findings.count('refused')
            return False
        self._goal, self._result = handle, handle.get_result_async()
        return True

    def flood(self, text: str, until: float) -> None:
        """Give the same instruction again and again until a steady time."""
        while time.monotonic() < until:
            if self.send(text):
                self._findings.count('accepted in a flood')
            time.sleep(0.02)

    def end(self) -> None:
        """Cancel the instruction if it still runs, and judge how it ended."""
        if self._goal is None:
            return
        started = time.monotonic()
        if not self._result.done():
            self._goal.cancel_goal_async()
        in_time = self.watch.wait(
            self._result.done,
            _CANCELLED_WITHIN + self.watch.stalls.within(started, started + 20.0),
        )
        if not in_time:
            self.watch.violate('an instruction did not end after its cancellation')
        else:
            result = self._result.result().result
            if not result.is_verified and not result.error_msg.strip():
                self.watch.violate(f'an instruction failed without a reason: {result.error_code}')
            outcome = 'success' if result.is_verified else f'failed {result.error_code}'
            self._findings.count(outcome)
        self.forget()

    def forget(self) -> None:
        """Wait for no result: the stack that would give it is gone."""
        self._goal = self._result = None
