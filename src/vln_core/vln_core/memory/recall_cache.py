# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Cache C of past views for recall(p, k): bounded in bytes, least recalled first out (SPEC 3.6).

Views are JPEG. With a store on disk each is written there with its waypoint, and memory keeps the
ones recalled last; without one, memory is all there is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import UnknownReference, UpdateRefused
from vln_core.memory.journal import Journal, Row

_JPEG_QUALITY = 90
_Key = tuple[int, int]  # waypoint, view


class RecallCache:
    """Past views by waypoint and view."""

    def __init__(
        self, max_bytes: int, disk: Journal | None = None, max_disk_bytes: int = 0
    ) -> None:
        """Take the limits; views already on disk can be recalled at once."""
        self._max_bytes, self._max_disk_bytes = max_bytes, max_disk_bytes
        self._disk = disk
        self._images: OrderedDict[_Key, bytes] = OrderedDict()
        self._on_disk: OrderedDict[_Key, int] = OrderedDict()
        self.num_bytes = 0
        self.num_disk_bytes = 0
        if disk is not None:
            for number, size in disk.sizes('view'):
                self._on_disk[number >> 8, number & 0xFF] = size
                self.num_disk_bytes += size

    def add(self, waypoint: int, views: Sequence[NDArray[np.uint8]]) -> list[Row]:
        """Keep the (H, W, 3) RGB views of a waypoint; return the rows to write to disk.

        Raises:
            UpdateRefused: A picture cannot be encoded.
        """
        encoded = [self._encode(waypoint, k, rgb) for k, rgb in enumerate(views)]
        rows: list[Row] = []
        for k, data in enumerate(encoded):
            self._keep((waypoint, k), data)
            if self._disk is not None:
                self._on_disk[waypoint, k] = len(data)
                self.num_disk_bytes += len(data)
                rows.append(('view', _number((waypoint, k)), data))
        while self.num_disk_bytes > self._max_disk_bytes and self._on_disk:
            key, size = self._on_disk.popitem(last=False)
            self.num_disk_bytes -= size
            self._drop(key)
            rows.append(('view', _number(key), None))
        return rows

    @staticmethod
    def _encode(waypoint: int, k: int, rgb: NDArray[np.uint8]) -> bytes:
        bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
        ok, data = cv2.imencode('.jpg', bgr, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
        if not ok:
            raise UpdateRefused(f'view {k} of waypoint {waypoint} cannot be encoded as JPEG')
        return data.tobytes()

    def _keep(self, key: _Key, data: bytes) -> None:
        self._drop(key)
        self._images[key] = data
        self.num_bytes += len(data)
        while self.num_bytes > self._max_bytes and self._images:
            _, gone = self._images.popitem(last=False)
            self.num_bytes -= len(gone)

    def _drop(self, key: _Key) -> None:
        data = self._images.pop(key, None)
        self.num_bytes -= 0 if data is None else len(data)

    def get(self, waypoint: int, view: int) -> NDArray[np.uint8]:
        """Return a (H, W, 3) uint8 RGB view.

        Raises:
            UnknownReference: Not in the cache; the message names what is.
        """
        key = (waypoint, view)
        data = self._images.get(key)
        if data is None and self._disk is not None and key in self._on_disk:
            data = self._disk.get('view', _number(key))
        if data is None:
            raise UnknownReference(
                f'view {view} of waypoint {waypoint} cannot be recalled; {self.describe()}'
            )
        if key in self._on_disk:
            self._on_disk.move_to_end(key)
        self._keep(key, data)
        bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        if bgr is None:
            raise UnknownReference(
                f'the stored view {view} of waypoint {waypoint} is damaged; {self.describe()}'
            )
        return cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB).astype(np.uint8, copy=False)

    def forget(self) -> None:
        """Forget everything; the caller deletes what is on disk."""
        self._images.clear()
        self._on_disk.clear()
        self.num_bytes = self.num_disk_bytes = 0

    def views(self, waypoint: int, count: int) -> tuple[NDArray[np.uint8], ...]:
        """Return those of the first ``count`` views of a waypoint that can be recalled."""
        keys = [(waypoint, k) for k in range(count)]
        return tuple(self.get(*k) for k in keys if k in self._images or k in self._on_disk)

    def describe(self) -> str:
        """Return what can be recalled, in words."""
        views: dict[int, list[int]] = {}
        for waypoint, view in sorted({*self._images, *self._on_disk}):
            views.setdefault(waypoint, []).append(view)
        if not views:
            return 'nothing can be recalled'
        names = [f'w{w} views {v[0]}..{v[-1]}' for w, v in list(views.items())[-20:]]
        return 'can be recalled: ' + ', '.join(names)


def _number(key: _Key) -> int:
    return (key[0] << 8) | key[1]
