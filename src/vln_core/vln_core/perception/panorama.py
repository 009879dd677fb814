# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The look-around: how many views, at which angles, and their assembly into a panorama."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError, PerceptionError
from vln_core.geometry.transforms import wrap_angle
from vln_core.observation import Panorama, View
from vln_core.perception.captioner import Captioner
from vln_core.perception.detector import Detector, detect_all, prompt_words
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
    """Detects and grounds view by view, then assembles.

    Attributes:
        detector: May be exchanged between look-arounds; None: there is none yet.
        captioner: Likewise; None: views get no captions.
    """

    def __init__(
        self,
        detector: Detector | None,
        config: GroundingConfig | None = None,
        captioner: Captioner | None = None,
    ) -> None:
        self.detector = detector
        self.captioner = captioner
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
        """Detect and ground the next view; see :meth:`add_all`."""
        self.add_all([view], landmarks)

    def add_all(self, views: Sequence[View], landmarks: Sequence[str]) -> None:
        """Detect and ground the next views, with one pass of the network where it can.

        Raises:
            PerceptionError: A view is out of order or the detector cannot run.
        """
        for due, view in enumerate(views, len(self._views)):
            if view.index != due:
                raise PerceptionError(
                    f'view {view.index} arrived when view {due} was due; '
                    'begin the look-around again'
                )
        if self.detector is None:
            raise PerceptionError('there is no detector yet: nothing tells what is to be seen')
        found = detect_all(self.detector, views, prompt_words(landmarks))
        for view, segments in zip(views, found):
            self._sightings += [sight(view, segment, self._config) for segment in segments]
            if self.captioner is not None:
                self._captions.append(self.captioner.caption(view, segments))
            self._views.append(view)

    def finish(
        self, odom_tform_base: NDArray[np.float64], *, is_complete: bool = True, note: str = ''
    ) -> Panorama:
        """Return the panorama of all views added, from straight ahead counter-clockwise.

        Args:
            odom_tform_base: (4, 4) pose of the base when the look-around began.
            is_complete: False when part of the circle was not seen.
            note: Why, for people.

        Raises:
            PerceptionError: There is no view.
        """
        if not self._views:
            raise PerceptionError('a panorama needs at least one view')
        self._put_in_order()
        panorama = Panorama(
            id=self._next_id,
            stamp=min(view.stamp for view in self._views),
            odom_tform_base=odom_tform_base,
            views=tuple(self._views),
            detections=tuple(merge_views(self._sightings, self._views)),
            is_complete=is_complete,
            note=note,
            captions=tuple(self._captions),
        )
        self._next_id += 1
        self.begin()
        return panorama

    def _put_in_order(self) -> None:
        """Number the views by their yaw: a camera that is mounted turned begins elsewhere."""
        yaws = [view.yaw for view in self._views]
        first = min(yaws, key=lambda yaw: abs(wrap_angle(yaw)))
        # A full turn less a rounding error is none.
        order = sorted(
            range(len(yaws)), key=lambda k: (yaws[k] - first + 1e-6) % (2.0 * math.pi)
        )  # fmt: skip
        if order == list(range(len(yaws))):
            return
        number_of = {old: new for new, old in enumerate(order)}
        self._views = [replace(self._views[k], index=number_of[k]) for k in order]
        self._captions = [self._captions[k] for k in order] if self._captions else []
        self._sightings = [
            replace(s, detection=replace(s.detection, view=number_of[s.detection.view]))
            for s in self._sightings
        ]
