# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A multimodal model behind an OpenAI-compatible endpoint as detector."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from vln_core import vocabulary
from vln_core.errors import ConfigError, PerceptionError, PlannerError
from vln_core.observation import Segment, View
from vln_core.perception.detector import suppress_overlaps
from vln_core.perception.models import ModelConfig
from vln_core.system1.answers import parse_answer
from vln_core.system1.conventions import Convention, convention_of, prepare, to_original
from vln_core.system2.loose_json import find_objects
from vln_core.system2.messages import Message, Picture
from vln_core.system2.model_client import ModelClient

_LOG = logging.getLogger(__name__)
_UNITS = {
    'sent': 'pixels of this {w} x {h} picture',
    'resized': 'absolute pixels',
    'unit': 'fractions of width and height between 0 and 1',
    'percent': 'percent of width and height',
    'thousand': 'integers from 0 to 1000 relative to width and height',
}
# A model that states no confidence is believed this much: more than any threshold in use.
_UNSTATED = 0.5


class MllmDetector:
    """Implements :class:`vln_core.perception.detector.Detector`; one request a view."""

    def __init__(self, config: ModelConfig, client: ModelClient | None = None) -> None:
        """Prepare; nothing is sent.

        Args:
            config: Endpoint, thresholds, convention.
            client: Shared with others; None: one of its own.

        Raises:
            ConfigError: No model is named, it has no eyes, or it answers with points only.
        """
        profile = config.mllm
        if not profile.model or not profile.has_vision:
            raise ConfigError(
                'the detector mllm needs models.mllm.model, a model with has_vision: true'
            )
        self._convention = convention_of(profile.model, config.box_convention)
        if self._convention.is_point:
            raise ConfigError(
                f'{profile.model} answers with points ({self._convention.name}), a detector needs '
                'boxes; choose another model or set models.box_convention'
            )
        self._config = config
        self._client = client or ModelClient(profile)

    def detect(self, view: View, words: Sequence[str]) -> list[Segment]:
        """Return boxes of ``words``, best first; see Detector."""
        size_px = self._client.picture_size_px
        sent = prepare(view.rgb, size_px)
        text = prompt(words, self._convention, *sent.size)
        try:
            reply = self._client.chat([Message('user', text, (Picture('', sent.rgb),))])
        except PlannerError as error:
            raise PerceptionError(f'the detector {self._config.mllm.model}: {error}') from error
        if not self._client.has_pictures:
            raise PerceptionError(
                f'{self._config.mllm.model} takes no pictures: it cannot detect anything'
            )
        if self._client.picture_size_px != size_px:
            sent = prepare(view.rgb, self._client.picture_size_px)
        entries = list(_entries(reply.text))
        if not entries and '[]' not in reply.text.replace(' ', ''):
            raise PerceptionError(
                f"{self._config.mllm.model} answered without objects: '{reply.text.strip()[:120]}'"
            )
        wanted = {vocabulary.category_of(word) for word in words}
        segments = []
        for entry in entries:
            segment = self._segment(entry, sent)
            if segment is not None and vocabulary.category_of(segment.label) in wanted:
                segments.append(segment)
        return suppress_overlaps(segments, self._config.max_iou)

    def _segment(self, entry: dict[str, Any], sent: Any) -> Segment | None:
        """Read one object; None where it has no usable box, which one bad object may not hide."""
        label = str(entry.get('label') or entry.get('name') or entry.get('category') or '')
        answer = parse_answer(json.dumps(entry), is_point=False)
        if not label or answer is None or not answer.numbers:
            return None
        try:
            box = to_original(answer.numbers, self._convention, sent)
        except PerceptionError as error:
            _LOG.warning('%s is dropped: %s', label, error)
            return None
        score = _UNSTATED if answer.score is None else answer.score
        if not self._config.box_threshold <= score <= 1.0:
            return None
        if box[2] - box[0] < 1.0 or box[3] - box[1] < 1.0:
            return None
        return Segment(label, score, box)


def prompt(words: Sequence[str], convention: Convention, width: int, height: int) -> str:
    """Return the request in the words of the model's convention; the sent picture's size in px."""
    form = '[ymin, xmin, ymax, xmax]' if convention.is_y_first else '[x1, y1, x2, y2]'
    key = 'box_2d' if convention.is_y_first else 'bbox_2d'
    unit = _UNITS[convention.scale].format(w=width, h=height)
    return (
        f'Detect every visible instance of: {", ".join(words)}.\n'
        'Answer with JSON only: {"objects": [{"label": one of these names, '
        f'"{key}": {form}, "confidence": c}}]}}, boxes in {unit}, c in 0..1. '
        'If there is none, answer {"objects": []}.'
    )


def _entries(text: str) -> Iterator[dict[str, Any]]:
    """Yield every JSON object that looks like a detection, however deep it lies."""
    pending: list[Any] = [found.value for found in find_objects(text)]
    while pending:
        value = pending.pop(0)
        if isinstance(value, dict):
            if any(key in value for key in ('label', 'name', 'category')):
                yield value
            else:
                pending += value.values()
        elif isinstance(value, list):
            pending += value
