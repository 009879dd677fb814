# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""SAM and SAM 2 by transformers: masks for the boxes of a detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vln_core.errors import PerceptionError
from vln_core.observation import Segment, View
from vln_core.perception.detector import Detector, detect_all
from vln_core.perception.models import (
    ModelConfig,
    install_line,
    load_network,
    load_pretrained,
    require,
)

# Name -> classes of transformers: network, processor.
_CLASSES = {'sam': ('SamModel', 'SamProcessor'), 'sam2': ('Sam2Model', 'Sam2Processor')}


class Segmenter:
    """Fills the masks of segments that have none."""

    def __init__(self, name: str, config: ModelConfig) -> None:
        """Load network and processor.

        Args:
            name: 'sam' or 'sam2'.
            config: Weights and device.

        Raises:
            PerceptionError: The extra or the weights are absent, or of another kind.
        """
        self._name, self._config = name, config
        self._torch = require('torch', name)
        auto = require('transformers', name)
        if not all(hasattr(auto, cls) for cls in _CLASSES[name]):
            raise PerceptionError(
                f'{name} needs a newer transformers than {auto.__version__}: '
                f'{install_line()} --upgrade'
            )
        network, processor = (getattr(auto, cls) for cls in _CLASSES[name])
        path = config.segmenter_path
        self._processor = load_pretrained(processor, path, name, config)
        self._network = load_network(network, path, name, config)

    def fill(self, view: View, segments: Sequence[Segment]) -> list[Segment]:
        """Return the segments with masks; one whose mask came out empty keeps its box only.

        Raises:
            PerceptionError: The network fails, for example for lack of memory.
        """
        boxes = [list(map(float, s.box_xyxy)) for s in segments if s.mask is None]
        if not boxes:
            return list(segments)
        try:
            masks = iter(self._masks(view, boxes))
        except (RuntimeError, ValueError) as error:
            text = str(error).split('\n')[0]
            raise PerceptionError(f'the segmenter {self._name} failed: {text}') from error
        filled = []
        for segment in segments:
            if segment.mask is None:
                mask = np.asarray(next(masks), dtype=bool)
                segment = replace(segment, mask=mask if mask.any() else None)
            filled.append(segment)
        return filled

    def _masks(self, view: View, boxes: list[list[float]]) -> Any:
        inputs = self._processor(images=view.rgb, input_boxes=[boxes], return_tensors='pt')
        sizes = inputs.pop('original_sizes')
        reshaped = inputs.pop('reshaped_input_sizes', None)
        # Boxes come in double precision, which neither network nor every device takes.
        inputs = {
            key: value.to(device=self._config.device, dtype=self._network.dtype)
            for key, value in inputs.items()
            if value.is_floating_point()
        }
        with self._torch.inference_mode():
            outputs = self._network(**inputs, multimask_output=False)
        arguments = (sizes,) if reshaped is None else (sizes, reshaped)
        masks = self._processor.post_process_masks(outputs.pred_masks.float().cpu(), *arguments)
        return masks[0].numpy().reshape(len(boxes), -1, *view.rgb.shape[:2])[:, 0]


class SegmentedDetector:
    """A detector of boxes followed by a segmenter; implements the Detector protocol."""

    def __init__(self, detector: Detector, segmenter: Segmenter) -> None:
        """Take both, loaded."""
        self._detector, self._segmenter = detector, segmenter

    def detect(self, view: View, words: Sequence[str]) -> list[Segment]:
        """Return instances with masks, best first; see Detector."""
        return self._segmenter.fill(view, self._detector.detect(view, words))

    def detect_batch(self, views: Sequence[View], words: Sequence[str]) -> list[list[Segment]]:
        """Return the same for several views; the boxes come from one pass of the network."""
        found = detect_all(self._detector, views, words)
        return [self._segmenter.fill(view, segments) for view, segments in zip(views, found)]
