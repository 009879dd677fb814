# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The interface of all detectors and what is shared between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from vln_core import vocabulary
from vln_core.observation import Segment, View


class Detector(Protocol):
    """An open-set detector: pictures and words in, boxes and masks out."""

    def detect(self, view: View, words: Sequence[str]) -> list[Segment]:
        """Find instances of ``words`` in the picture, best first.

        Raises:
            PerceptionError: The back end cannot run.
        """
        ...


def detect_all(
    detector: Detector, views: Sequence[View], words: Sequence[str]
) -> list[list[Segment]]:
    """Return the segments of each view; in one pass where the back end has ``detect_batch``.

    Raises:
        PerceptionError: The back end cannot run.
    """
    batch = getattr(detector, 'detect_batch', None)
    alike = len({view.rgb.shape for view in views}) == 1
    if batch is not None and len(views) > 1 and alike:
        return list(batch(views, words))
    return [detector.detect(view, words) for view in views]


def prompt_words(landmarks: Iterable[str]) -> list[str]:
    """Return the standing indoor list extended by the instruction's landmarks, without doubles."""
    words = list(vocabulary.OBJECTS)
    for landmark in landmarks:
        category = vocabulary.category_of(landmark)
        if category and category not in words:
            words.append(category)
    return words


def suppress_overlaps(segments: Sequence[Segment], max_iou: float = 0.7) -> list[Segment]:
    """Class-wise non-maximum suppression; best scores survive, ties keep their order."""
    kept: list[Segment] = []
    for segment in sorted(segments, key=lambda s: -s.score):
        category = vocabulary.category_of(segment.label)
        rivals = (k for k in kept if vocabulary.category_of(k.label) == category)
        if all(box_iou(segment.box_xyxy, rival.box_xyxy) <= max_iou for rival in rivals):
            kept.append(segment)
    return kept


def box_iou(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """Return intersection over union of two boxes (left, top, right, bottom), px."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    shared = width * height
    area_a = (a[2] - a[0]) * (a[3] - a[1])
    area_b = (b[2] - b[0]) * (b[3] - b[1])
    return float(shared / max(area_a + area_b - shared, np.finfo(float).tiny))
