# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A sentence for each view, written with the detections at hand as MC-GPT's V-D does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from vln_core.errors import ConfigError, PerceptionError, PlannerError
from vln_core.observation import Segment, View
from vln_core.perception.models import ModelConfig, load_network, load_pretrained, require
from vln_core.system2.messages import Message, Picture
from vln_core.system2.model_client import ModelClient

_MAX_CHARS = 300
_MAX_TOKENS = 96
# Florence-2 understands fixed tasks only: what was detected cannot be part of its prompt.
_FLORENCE_TASK = '<MORE_DETAILED_CAPTION>'


class Captioner(Protocol):
    """Picture and detections in, one sentence out."""

    def caption(self, view: View, segments: Sequence[Segment]) -> str:
        """Describe the view in at most 300 characters.

        Raises:
            PerceptionError: The back end cannot run.
        """
        ...


def detected_text(view: View, segments: Sequence[Segment]) -> str:
    """Return what was detected and on which side, best first: 'sofa (left), lamp (middle)'."""
    parts = []
    for segment in segments[:12]:
        where = 0.5 * (segment.box_xyxy[0] + segment.box_xyxy[2]) / view.rgb.shape[1]
        side = 'left' if where < 1 / 3 else 'right' if where > 2 / 3 else 'middle'
        parts.append(f'{segment.label} ({side})')
    return ', '.join(parts)


def caption_prompt(view: View, segments: Sequence[Segment]) -> str:
    """Return the question to a model that can be asked freely."""
    seen = detected_text(view, segments)
    return (
        'Describe for a robot in one sentence which room this is and what stands where'
        + (f'; a detector found: {seen}' if seen else '')
        + '. Name no object that is not visible.'
    )


class TransformersCaptioner:
    """Florence-2 or InstructBLIP; implements :class:`Captioner`."""

    def __init__(self, name: str, config: ModelConfig) -> None:
        """Load network and processor.

        Args:
            name: 'florence2' or 'instructblip'.
            config: Weights and device.

        Raises:
            PerceptionError: The extra or the weights are absent.
        """
        self._name, self._config = name, config
        self._torch = require('torch', name)
        auto = require('transformers', name)
        path = config.captioner_path
        cls = getattr(auto, 'AutoModelForImageTextToText', None)
        if name == 'instructblip':
            cls = getattr(auto, 'InstructBlipForConditionalGeneration', None)
        if cls is None:
            raise PerceptionError(f'{name} needs a newer transformers than {auto.__version__}')
        self._processor = load_pretrained(auto.AutoProcessor, path, name, config)
        self._network = load_network(cls, path, name, config)

    def caption(self, view: View, segments: Sequence[Segment]) -> str:
        """Describe the view; see Captioner."""
        is_florence = self._name == 'florence2'
        text = _FLORENCE_TASK if is_florence else caption_prompt(view, segments)
        try:
            inputs = self._processor(images=view.rgb, text=text, return_tensors='pt')
            inputs = inputs.to(self._config.device)
            inputs['pixel_values'] = inputs['pixel_values'].to(self._network.dtype)
            with self._torch.inference_mode():
                tokens = self._network.generate(
                    **inputs, max_new_tokens=_MAX_TOKENS, num_beams=3, do_sample=False
                )
        except (RuntimeError, ValueError, IndexError) as error:
            first = str(error).split('\n')[0]
            raise PerceptionError(f'the captioner {self._name} failed: {first}') from error
        said = self._processor.decode(
            _answer(tokens[0].tolist(), inputs['input_ids'][0].tolist()), skip_special_tokens=True
        ).strip()
        seen = detected_text(view, segments)
        added = f' Detected: {seen[: _MAX_CHARS // 2]}.' if is_florence and seen else ''
        return _short(said, _MAX_CHARS - len(added)) + added


class MllmCaptioner:
    """A model behind an OpenAI-compatible endpoint; implements :class:`Captioner`."""

    def __init__(self, config: ModelConfig, client: ModelClient | None = None) -> None:
        """Prepare; nothing is sent."""
        if not config.mllm.model or not config.mllm.has_vision:
            raise ConfigError('the captioner mllm needs models.mllm.model with has_vision: true')
        self._client = client or ModelClient(config.mllm)

    def caption(self, view: View, segments: Sequence[Segment]) -> str:
        """Describe the view; see Captioner."""
        message = Message('user', caption_prompt(view, segments), (Picture('', view.rgb),))
        try:
            reply = self._client.chat([message])
        except PlannerError as error:
            raise PerceptionError(f'the captioner: {error}') from error
        if not self._client.has_pictures:
            raise PerceptionError('the captioner takes no pictures: its words would be invented')
        return _short(reply.text)


def make_captioner(config: ModelConfig, client: ModelClient | None = None) -> Captioner | None:
    """Return the captioner that the configuration names, loaded; None where it names none."""
    if not config.captioner:
        return None
    if config.captioner == 'mllm':
        return MllmCaptioner(config, client)
    return TransformersCaptioner(config.captioner, config)


def _answer(tokens: list[int], prompt: list[int]) -> list[int]:
    """Return the tokens without the prompt, which networks without an encoder say again."""
    return tokens[len(prompt) :] if tokens[: len(prompt)] == prompt else tokens


def _short(text: str, limit: int = _MAX_CHARS) -> str:
    plain = ' '.join(''.join(c if c.isprintable() else ' ' for c in text).split())
    return plain if len(plain) <= limit else plain[: limit - 1].rsplit(' ', 1)[0] + '…'
