# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The order of work in lock-step: a tick is due once everything of its instant has arrived."""

from __future__ import annotations

from enum import Enum
from typing import Any


class Arrival(Enum):
    """What a sample's stamp says."""

    NEW = 'new'
    REPEATED = 'repeated'  # the simulator sent the present tick again
    RESTARTED = 'restarted'  # time went back: another run of the simulator


class TickQueue:
    """Collects odometry and depth by stamp; pure bookkeeping."""

    def __init__(self, image_period: int) -> None:
        """Create the queue; ``image_period`` is the time between images, nanoseconds."""
        self._image_period = image_period
        self._phase: int | None = None
        self._samples: dict[int, Any] = {}
        self._depths: dict[int, Any] = {}
        self.last: int | None = None
        """Stamp of the tick that was done last, ns."""

    def arrival(self, stamp: int) -> Arrival:
        """Classify the stamp of an odometry sample before it is added."""
        if self.last is None or stamp > self.last:
            return Arrival.REPEATED if stamp in self._samples else Arrival.NEW
        return Arrival.REPEATED if stamp == self.last else Arrival.RESTARTED

    def add_sample(self, stamp: int, sample: Any) -> None:
        """Keep an odometry sample."""
        self._samples[stamp] = sample

    def add_depth(self, stamp: int, depth: Any) -> None:
        """Keep a depth image unless its tick is done already."""
        if self._phase is None:
            self._phase = stamp % self._image_period
        if self.last is None or stamp > self.last:
            self._depths[stamp] = depth

    def is_image_tick(self, stamp: int) -> bool:
        """Whether images belong to the tick; False while none has been seen."""
        return self._phase is not None and stamp % self._image_period == self._phase

    def take_due(self) -> tuple[int, Any, Any | None] | None:
        """Return (stamp, sample, depth or None) of the next complete tick and mark it done."""
        if self._phase is None or not self._samples:
            return None
        stamp = min(self._samples)
        if self.is_image_tick(stamp) and stamp not in self._depths:
            return None
        sample, depth = self._samples.pop(stamp), self._depths.pop(stamp, None)
        for old in [key for key in self._depths if key < stamp]:
            del self._depths[old]
        self.last = stamp
        return stamp, sample, depth

    def restart(self) -> None:
        """Forget everything: the simulator began again."""
        self.__init__(self._image_period)
