# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Bringing together images that belong together, by stamp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class FrameBuffer:
    """The last images of several streams; the first stream leads, the others match its stamp."""

    def __init__(self, streams: Sequence[str], slop: int, capacity: int = 10) -> None:
        """Create the buffer.

        Args:
            streams: Names; the first one leads.
            slop: Largest difference of the stamps of one instant, nanoseconds.
            capacity: Images kept of each stream.
        """
        self._streams = {name: {} for name in streams}
        self._lead = streams[0]
        self._slop = slop
        self._capacity = capacity

    def add(self, stream: str, stamp: int, image: Any) -> None:
        """Keep an image; the oldest one goes. An image of the same stamp is replaced."""
        images: dict[int, Any] = self._streams[stream]
        images.pop(stamp, None)
        images[stamp] = image
        while len(images) > self._capacity:
            del images[next(iter(images))]

    def newest(self, not_before: int) -> dict[str, Any] | None:
        """Return the last complete set from ``not_before`` (ns) on with its stamp, or None."""
        for stamp in sorted(self._streams[self._lead], reverse=True):
            if stamp < not_before:
                return None
            found = {name: self._match(name, stamp) for name in self._streams}
            if all(image is not None for image in found.values()):
                return {**found, 'stamp': stamp}
        return None

    def missing(self, not_before: int) -> list[str]:
        """Return the streams without an image from ``not_before`` on, for people."""
        return [
            name
            for name, images in self._streams.items()
            if not any(stamp >= not_before - self._slop for stamp in images)
        ]

    def _match(self, stream: str, stamp: int) -> Any | None:
        images = self._streams[stream]
        if stamp in images:
            return images[stamp]
        nearest = min(images, key=lambda other: abs(other - stamp), default=None)
        if nearest is None or abs(nearest - stamp) > self._slop:
            return None
        return images[nearest]
