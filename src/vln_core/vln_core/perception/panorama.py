# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The look-around: how many views, at which angles, and their assembly into a panorama."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError, PerceptionError
from vln_core.observation import Panorama, View
from vln_core.perception.captioner import Captioner
from vln_core.perception.detector import Detector, prompt_words
from vln_core.perception.grounding import GroundingConfig, Sighting, sight
from vln_core.perception.merging import merge_views

_COUNTS = (4, 6, 8, 12)
_OVERLAP = math.radians(5.0)


def num_views(hfov: float) -> int:
    """Return the smallest of 4, 6, 8, 12 views whose step is at most ``hfov`` less 5 deg (SPEC 1).

    Raises:
        ConfigError: Even 12 views leave gaps with this horizontal field of view (rad).
    """
    for count in _COUNTS:
        if 2.0 * math.pi / count <= hfov - _OVERLAP + 1e-9:
            return count
    raise ConfigError(
        f'a horizontal field of view of {math.degrees(hfov):.1f} deg needs more than '
        f'{_COUNTS[-1]} views; use a camera of at least 35 deg'
    )


class PanoramaBuilder:
    """Detects and grounds view by view, then assembles."""

    def __init__(
        self,
        detector: Detector,
        config: GroundingConfig | None = None,
        captioner: Captioner | None = None,
    ) -> None:
        self._detector = detector
        self._captioner = captioner
        self._captions: list[str] = []
        self._config = config or GroundingConfig()
        self._next_id = 0
        self._views: list[View] = []
        self._sightings: list[Sighting] = []

    @property
    def num_views_taken(self) -> int:
        """Views added since the last :meth:`begin`."""
        return len(self._views)

    def begin(self) -> None:
        """Forget the views of an unfinished look-around."""
        self._views = []
        self._sightings = []
        self._captions = []

    def add(self, view: View, landmarks: Sequence[str]) -> None:
        """Detect and ground the next view.

        Raises:
            PerceptionError: The view is out of order or the detector cannot run.
        """
        if view.index != len(self._views):
            raise PerceptionError(
                f'view {view.index} arrived when view {len(self._views)} was due; '
                'begin the look-around again'
            )
        segments = self._detector.detect(view, prompt_words(landmarks))
        self._sightings += [sight(view, segment, self._config) for segment in segments]
        if self._captioner is not None:
            self._captions.append(self._captioner.caption(view, segments))
        self._views.append(view)

    def finish(
        self, odom_tform_base: NDArray[np.float64], *, is_complete: bool = True, note: str = ''
    ) -> Panorama:
        """Return the panorama of all views added.

        Args:
            odom_tform_base: (4, 4) pose of the base when the look-around began.
            is_complete: False when part of the circle was not seen.
            note: Why, for people; captions of the views follow it.

        Raises:
            PerceptionError: There is no view.
        """
        if not self._views:
            raise PerceptionError('a panorama needs at least one view')
        captions = [f'view {k}: {text}' for k, text in enumerate(self._captions)]
        panorama = Panorama(
            id=self._next_id,
            stamp=self._views[0].stamp,
            odom_tform_base=odom_tform_base,
            views=tuple(self._views),
            detections=tuple(merge_views(self._sightings, self._views)),
            is_complete=is_complete,
            note='\n'.join([note, *captions] if note else captions),
        )
        self._next_id += 1
        self.begin()
        return panorama
