# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Detector that reads the simulator's semantic camera, with a seeded noise model.

It is the only way by which the simulator's truth reaches the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core import vocabulary
from vln_core.errors import ConfigError, PerceptionError
from vln_core.observation import Segment, View
from vln_core.perception.detector import suppress_overlaps


@dataclass(frozen=True)
class SimulatedDetectorConfig:
    """Noise of the simulated detector.

    Attributes:
        min_pixels_px: An instance with fewer visible pixels is not seen.
        miss_rate: Fraction of instances missed, 0..1.
        false_label_rate: Fraction of instances given the label of another category, 0..1.
        box_jitter: Sigma of the box's edges as a fraction of its size.
        seed: Of the noise; the same view of the same stamp gives the same detections.
    """

    min_pixels_px: int = 60
    miss_rate: float = 0.0
    false_label_rate: float = 0.0
    box_jitter: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ('miss_rate', 'false_label_rate', 'box_jitter'):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigError(f'simulated detector: {name} = {value} is not within 0..1')
        if self.min_pixels_px < 1:
            raise ConfigError(
                f'simulated detector: min_pixels_px = {self.min_pixels_px} is not > 0'
            )


class SimulatedDetector:
    """Implements :class:`vln_core.perception.detector.Detector`."""

    def __init__(
        self,
        categories: Mapping[int, str],
        semantic_of: Callable[[View], NDArray[np.unsignedinteger]],
        config: SimulatedDetectorConfig | None = None,
    ) -> None:
        """Create the detector.

        Args:
            categories: Category of each instance id of the semantic image; 0 is never asked for.
            semantic_of: Returns the (H, W) semantic image that belongs to a view.
            config: Noise; none by default.
        """
        self._categories = dict(categories)
        self._semantic_of = semantic_of
        self._config = config or SimulatedDetectorConfig()

    def detect(self, view: View, words: Sequence[str]) -> list[Segment]:
        """Return the visible instances of ``words`` with their masks, best first.

        Raises:
            PerceptionError: The semantic image does not fit the view or has unknown ids.
        """
        semantic = self._semantic_of(view)
        if semantic.shape != view.depth.shape:
            raise PerceptionError(
                f'semantic image of shape {semantic.shape} for a view of {view.depth.shape}'
            )
        wanted = {vocabulary.category_of(word) for word in words}
        segments = []
        for instance in np.unique(semantic):
            if instance == 0:
                continue
            category = self._categories.get(int(instance))
            if category is None:
                raise PerceptionError(f'semantic id {instance} is not in the label table')
            segment = self._segment(semantic == instance, category, int(instance), view)
            if segment is not None and vocabulary.category_of(segment.label) in wanted:
                segments.append(segment)
        return suppress_overlaps(segments, max_iou=0.95)

    def _segment(
        self, mask: NDArray[np.bool_], category: str, instance: int, view: View
    ) -> Segment | None:
        if np.count_nonzero(mask) < self._config.min_pixels_px:
            return None
        rng = np.random.default_rng((self._config.seed, view.stamp, view.index, instance))
        missed, mislabelled = rng.random(2)
        if missed < self._config.miss_rate:
            return None
        label = category
        if mislabelled < self._config.false_label_rate:
            others = [name for name in vocabulary.OBJECTS if name != category]
            label = others[int(rng.integers(len(others)))]
        columns = np.flatnonzero(mask.any(axis=0))
        rows = np.flatnonzero(mask.any(axis=1))
        box = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], dtype=float)
        if self._config.box_jitter > 0.0:
            size = np.array([box[2] - box[0], box[3] - box[1]] * 2)
            box = box + rng.normal(0.0, self._config.box_jitter, 4) * size
            height, width = mask.shape
            box = np.clip(box, 0, [width, height, width, height])
            if box[2] - box[0] < 1 or box[3] - box[1] < 1:
                return None
        score = 1.0 - 0.5 / np.sqrt(np.count_nonzero(mask))
        left, top, right, bottom = (float(edge) for edge in box)
        return Segment(label, float(score), (left, top, right, bottom), mask)
