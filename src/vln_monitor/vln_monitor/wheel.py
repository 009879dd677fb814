# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One driver at a time, and a dead man's switch whose silence means zero. Pure logic."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass


class WheelTaken(Exception):
    """Somebody else drives; the message says who."""


class Wheel:
    """Who may move the robot. Used by the server's thread only."""

    def __init__(self) -> None:
        self._driver: int | None = None
        self._name = ''

    @property
    def driver(self) -> int | None:
        """Number of the page that drives."""
        return self._driver

    @property
    def name(self) -> str:
        """Its name."""
        return self._name if self._driver is not None else ''

    def take(self, client: int, name: str, *, force: bool = False) -> int | None:
        """Give the wheel to a page; return the page that lost it, if any.

        Raises:
            WheelTaken: Another page has it, and ``force`` was not asked for.
        """
        previous = self._driver
        if previous is not None and previous != client and not force:
            raise WheelTaken(f'{self._name} is driving; take over first')
        self._driver, self._name = client, name
        return previous if previous != client else None

    def leave(self, client: int) -> bool:
        """Take the wheel from a page; True if it had it."""
        if self._driver != client:
            return False
        self._driver, self._name = None, ''
        return True


@dataclass(frozen=True)
class TeleopLimits:
    """Limits of driving by hand.

    Attributes:
        max_linear: m/s.
        max_angular: rad/s.
        timeout: Silence of the driver that means zero, s.
    """

    max_linear: float = 0.5
    max_angular: float = 1.0
    timeout: float = 0.25


class Teleop:
    """Turns the driver's messages into a velocity at each tick; thread-safe."""

    # Zeros after the last motion, so that one lost message does no harm.
    NUM_ZEROS = 5

    def __init__(self, limits: TeleopLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._velocity = (0.0, 0.0)
        self._expires = -math.inf
        self._zeros_left = 0

    def hold(self, linear: float, angular: float, speed: float, now: float) -> None:
        """Take a message of a driver who holds the switch.

        Args:
            linear: Fraction of the top speed, -1..1.
            angular: Fraction of the top turning rate, -1..1, left positive.
            speed: Fraction that the driver limits both to, 0..1.
            now: Steady clock, s.
        """

        def clamp(value: float) -> float:
            return min(1.0, max(-1.0, value)) if math.isfinite(value) else 0.0

        scale = min(1.0, max(0.0, speed)) if math.isfinite(speed) else 0.0
        with self._lock:
            self._velocity = (
                clamp(linear) * scale * self._limits.max_linear,
                clamp(angular) * scale * self._limits.max_angular,
            )
            self._expires = now + self._limits.timeout
            self._zeros_left = self.NUM_ZEROS

    def let_go(self) -> bool:
        """Zero from now on; True if somebody was driving."""
        with self._lock:
            was_held = self._zeros_left == self.NUM_ZEROS
            self._expires = -math.inf
            return was_held

    def tick(self, now: float) -> tuple[float, float] | None:
        """Return what to send now, m/s and rad/s; None for silence, so that others may drive."""
        with self._lock:
            if now < self._expires:
                return self._velocity
            if self._zeros_left == 0:
                return None
            self._zeros_left -= 1
            return 0.0, 0.0
