# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a node's diagnostics say by themselves: rates, ages, latencies, the last refusal."""

from __future__ import annotations

import functools
import inspect
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

WINDOW = 5.0
"""Rates are of the last so many seconds."""
_KEPT = 200


class Meters:
    """Counts what comes in and times what is answered; costs a microsecond a message."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing.

        Args:
            clock: Steady seconds.
        """
        self._clock = clock
        self._arrivals: dict[str, deque[float]] = {}
        self._latencies: dict[str, deque[float]] = {}
        self.last_refusal = ''

    def arrived(self, topic: str) -> None:
        """Count a message."""
        self._arrivals[topic].append(self._clock())

    def took(self, what: str, seconds: float) -> None:
        """Note how long something took, seconds."""
        self._latencies.setdefault(what, deque(maxlen=_KEPT)).append(seconds)

    def counted(self, topic: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a subscription's callback that also counts."""
        self._arrivals.setdefault(topic, deque(maxlen=_KEPT))
        if inspect.iscoroutinefunction(callback):

            @functools.wraps(callback)  # rclpy looks at the signature: with or without its info
            async def counted_async(*arguments: Any) -> None:
                self.arrived(topic)
                await callback(*arguments)

            return counted_async

        @functools.wraps(callback)
        def counted(*arguments: Any) -> None:
            self.arrived(topic)
            callback(*arguments)

        return counted

    def timed(self, name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a service's callback that also times, and keeps the last refusal."""
        if inspect.iscoroutinefunction(callback):

            async def timed_async(request: Any, response: Any) -> Any:
                started = self._clock()
                return self._answered(name, started, await callback(request, response))

            return timed_async

        def timed(request: Any, response: Any) -> Any:
            started = self._clock()
            return self._answered(name, started, callback(request, response))

        return timed

    def _answered(self, name: str, started: float, response: Any) -> Any:
        self.took(name, self._clock() - started)
        if getattr(response, 'error_code', 0) and getattr(response, 'error_msg', ''):
            self.last_refusal = f'{name}: {response.error_msg}'
        return response

    def values(self) -> dict[str, str]:
        """Return all of it as text by name."""
        now = self._clock()
        shown: dict[str, str] = {}
        for topic, times in list(self._arrivals.items()):
            arrivals = list(times)
            if not arrivals:
                shown[f'{topic}: rate'] = 'nothing yet'
                continue
            recent = [moment for moment in arrivals if now - moment <= WINDOW]
            # The window is shorter where more came in it than is kept.
            span = WINDOW if len(recent) < _KEPT else max(1e-3, now - recent[0])
            shown[f'{topic}: rate'] = f'{len(recent) / span:.1f} Hz'
            shown[f'{topic}: age'] = f'{now - arrivals[-1]:.2f} s'
        for what, seconds in list(self._latencies.items()):
            ordered = sorted(seconds)
            shown[f'{what}: p50'] = _milliseconds(ordered, 0.5)
            shown[f'{what}: p95'] = _milliseconds(ordered, 0.95)
        if self.last_refusal:
            shown['last refusal'] = self.last_refusal
        return shown


def _milliseconds(ordered: list[float], share: float) -> str:
    """Return a percentile by nearest rank."""
    index = max(0, math.ceil(share * len(ordered)) - 1)
    return f'{1000.0 * ordered[index]:.0f} ms'
