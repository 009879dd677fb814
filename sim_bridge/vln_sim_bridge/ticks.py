# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time in ticks, and which command holds for a tick. No ROS, no clock of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vln_core.errors import ConfigError

COMMAND_TIMEOUT = 0.5
"""Seconds after which the base stops by itself (SPEC section 6)."""

# Zero means 'latest' to TF and 'no clock yet' to nodes on simulated time.
_START_NS = 1_000_000_000


class Ticks:
    """Counts control periods; every n-th one carries images."""

    def __init__(self, control_rate: float, image_rate: float) -> None:
        """Start at an image tick.

        Args:
            control_rate: Ticks a second of simulated time, Hz.
            image_rate: Images a second of simulated time, Hz.

        Raises:
            ConfigError: ``control_rate`` is not a multiple of ``image_rate``.
        """
        if not (0.0 < image_rate <= control_rate <= 1000.0):
            raise ConfigError(
                f'image_rate {image_rate} Hz must lie between 0 and control_rate {control_rate} Hz'
            )
        ratio = control_rate / image_rate
        if abs(ratio - round(ratio)) > 1e-6:
            raise ConfigError(
                f'control_rate {control_rate} Hz is not a multiple of image_rate {image_rate} Hz'
            )
        self.period_ns = round(1e9 / control_rate)
        self._every = round(ratio)
        self._count = 0

    @property
    def period(self) -> float:
        """Length of a tick, seconds."""
        return self.period_ns * 1e-9

    @property
    def stamp(self) -> int:
        """Time of the current tick, nanoseconds."""
        return _START_NS + self._count * self.period_ns

    @property
    def has_images(self) -> bool:
        """True when the current tick carries images."""
        return self._count % self._every == 0

    def advance(self) -> None:
        """Go on by one tick."""
        self._count += 1

    def jump_to_images(self) -> None:
        """Go on to the next tick with images: the world has changed at once."""
        self._count += self._every - self._count % self._every


@dataclass(frozen=True)
class Command:
    """A velocity (m/s, rad/s) with the time it arrived on both clocks."""

    v: float
    w: float
    steady: float
    stamp: int


class CommandGate:
    """Holds the last command and lets it go when it is too old."""

    def __init__(self) -> None:
        self._last: Command | None = None

    def put(self, command: Command) -> bool:
        """Take a command; one that is not finite means standing still. False for such a one."""
        is_good = math.isfinite(command.v) and math.isfinite(command.w)
        self._last = command if is_good else None
        return is_good

    def clear(self) -> None:
        """Forget the command."""
        self._last = None

    def velocity(self, steady: float, stamp: int) -> tuple[float, float]:
        """Return (v, w) to drive with now.

        The robot stands still once the command is 0.5 s old on the steady or on the simulated
        clock, so that it stops in time however fast simulated time runs.
        """
        last = self._last
        if last is None:
            return 0.0, 0.0
        age = max(steady - last.steady, (stamp - last.stamp) * 1e-9)
        return (0.0, 0.0) if age > COMMAND_TIMEOUT else (last.v, last.w)
