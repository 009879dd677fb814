# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Open-set detectors of Hugging Face transformers: (MM-)Grounding DINO and OWLv2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vln_core import vocabulary
from vln_core.errors import PerceptionError
from vln_core.observation import Segment, View
from vln_core.perception.detector import suppress_overlaps
from vln_core.perception.models import ModelConfig, load_network, load_pretrained, require

# Back end -> model types of transformers that it takes.
KINDS = {
    'grounding_dino': ('grounding-dino',),
    'mm_grounding_dino': ('mm-grounding-dino',),
    'owlv2': ('owlv2', 'owlvit'),
}
# Grounding DINO reads 256 tokens; three to a name leave room for the dots.
_WORDS_AT_ONCE = 50


class TransformersDetector:
    """Implements :class:`vln_core.perception.detector.Detector`."""

    def __init__(self, name: str, config: ModelConfig) -> None:
        """Load network and processor.

        Args:
            name: Key of :data:`KINDS`.
            config: Weights, device, thresholds.

        Raises:
            PerceptionError: The extra or the weights are absent, or of another kind.
        """
        self._config = config
        self._torch = require('torch', name)
        auto = require('transformers', name)
        self._processor = load_pretrained(auto.AutoProcessor, config.path, name, config)
        self._network = load_network(
            auto.AutoModelForZeroShotObjectDetection, config.path, name, config
        )
        kind = self._network.config.model_type
        if kind not in KINDS[name]:
            fits = [other for other, kinds in KINDS.items() if kind in kinds]
            hint = f"set detector to '{fits[0]}'" if fits else 'choose other weights'
            raise PerceptionError(f"{name}: '{config.path}' holds a network '{kind}'; {hint}")
        self._is_dino = name != 'owlv2'

    def detect(self, view: View, words: Sequence[str]) -> list[Segment]:
        """Return boxes of ``words``, best first; see Detector."""
        return self.detect_batch([view], words)[0]

    def detect_batch(self, views: Sequence[View], words: Sequence[str]) -> list[list[Segment]]:
        """Detect in several pictures of one size with one pass of the network for each 50 words.

        Returns:
            Segments of each view, best first.

        Raises:
            PerceptionError: The network fails, for example for lack of memory.
        """
        found: list[list[Segment]] = [[] for _ in views]
        if not views:
            return found
        for first in range(0, len(words), _WORDS_AT_ONCE):
            some = list(words[first : first + _WORDS_AT_ONCE])
            try:
                results = self._run(views, some)
            except (RuntimeError, ValueError) as error:
                text = str(error).split('\n')[0]
                raise PerceptionError(
                    f'the detector {self._config.path} failed: {text}'
                ) from error
            for segments, view, result in zip(found, views, results):
                segments += self._segments(view, result, some)
        return [suppress_overlaps(segments, self._config.max_iou) for segments in found]

    def _run(self, views: Sequence[View], words: list[str]) -> list[dict[str, Any]]:
        pictures = [view.rgb for view in views]
        text: list[Any]
        if self._is_dino:
            text = ['. '.join(word.lower() for word in words) + '.'] * len(views)
        else:
            text = [[f'a photo of a {word}' for word in words]] * len(views)
        inputs = self._processor(images=pictures, text=text, return_tensors='pt', padding=True)
        inputs = inputs.to(self._config.device)
        inputs['pixel_values'] = inputs['pixel_values'].to(self._network.dtype)
        with self._torch.inference_mode():
            outputs = self._network(**inputs)
        sizes = [view.rgb.shape[:2] for view in views]
        threshold = self._config.box_threshold
        if not self._is_dino:
            return self._processor.post_process_grounded_object_detection(
                outputs, threshold=threshold, target_sizes=sizes, text_labels=[words] * len(views)
            )
        return self._processor.post_process_grounded_object_detection(
            outputs,
            inputs['input_ids'],
            threshold=threshold,
            text_threshold=self._config.text_threshold,
            target_sizes=sizes,
        )

    @staticmethod
    def _segments(view: View, result: dict[str, Any], words: list[str]) -> list[Segment]:
        labels = result.get('text_labels')
        labels = result['labels'] if labels is None else labels
        boxes = result['boxes'].float().cpu().numpy()
        scores = result['scores'].float().cpu().numpy()
        height, width = view.rgb.shape[:2]
        boxes = np.clip(boxes, 0.0, [width, height, width, height])
        segments = []
        for box, score, label in zip(boxes.tolist(), scores, labels):
            word = asked_word(str(label), words)
            if word and box[2] - box[0] >= 1.0 and box[3] - box[1] >= 1.0:
                segments.append(Segment(word, float(score), (box[0], box[1], box[2], box[3])))
        return segments


def asked_word(label: str, words: Sequence[str]) -> str:
    """Return which of ``words`` a label of Grounding DINO means; '' for none of them.

    Labels are the tokens over the text threshold, so that they may be part of a word asked for
    ('dining') or of several ('chair office chair').
    """
    plain = vocabulary.category_of(label)
    by_category = {vocabulary.category_of(word): word for word in words}
    if plain in by_category:
        return by_category[plain]
    said = label.lower().replace('.', ' ').split()
    best, best_share = '', 0.0
    for word in words:
        own = word.lower().split()
        share = sum(part in said for part in own) / len(own) if own else 0.0
        # Among names that are wholly said the longer one fits better.
        if share > 0.0 and (share, len(own)) > (best_share, len(best.split())):
            best, best_share = word, share
    return best if best_share >= 0.5 else ''
