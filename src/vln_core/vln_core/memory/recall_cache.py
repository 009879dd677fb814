# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Cache C of past views for recall(p, k): bounded in bytes, least recalled first out (SPEC 3.6)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import UnknownReference

_JPEG_QUALITY = 90


class RecallCache:
    """Past views as JPEG."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._images: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self.num_bytes = 0

    def add(self, waypoint: int, views: Sequence[NDArray[np.uint8]]) -> None:
        """Keep the (H, W, 3) RGB views of a waypoint."""
        for k, rgb in enumerate(views):
            ok, data = cv2.imencode(
                '.jpg',
                cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR),
                [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY],
            )
            if not ok:
                raise UnknownReference(f'view {k} of waypoint {waypoint} cannot be encoded')
            self._images[waypoint, k] = data.tobytes()
            self.num_bytes += len(self._images[waypoint, k])
        while self.num_bytes > self._max_bytes and self._images:
            _, gone = self._images.popitem(last=False)
            self.num_bytes -= len(gone)

    def get(self, waypoint: int, view: int) -> NDArray[np.uint8]:
        """Return a (H, W, 3) uint8 RGB view.

        Raises:
            UnknownReference: Not in the cache; the message names what is.
        """
        data = self._images.get((waypoint, view))
        if data is None:
            raise UnknownReference(
                f'view {view} of waypoint {waypoint} cannot be recalled; {self.describe()}'
            )
        self._images.move_to_end((waypoint, view))
        return cv2.cvtColor(
            cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB
        )

    def describe(self) -> str:
        """Return what can be recalled, in words."""
        views: dict[int, list[int]] = {}
        for waypoint, view in sorted(self._images):
            views.setdefault(waypoint, []).append(view)
        if not views:
            return 'nothing can be recalled'
        names = [f'w{w} views {v[0]}..{v[-1]}' for w, v in list(views.items())[-20:]]
        return 'can be recalled: ' + ', '.join(names)
