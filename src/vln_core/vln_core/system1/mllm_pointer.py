# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""System 1 by a grounding multimodal model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import base64
import logging
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError, PerceptionError, PlannerError
from vln_core.observation import Panorama
from vln_core.outcome import Grounding, GroundingCode
from vln_core.system1.answers import parse_answer
from vln_core.system1.contact import (
    Box,
    ContactConfig,
    core_pixel,
    doorway_floor,
    floor_contact,
)
from vln_core.system1.conventions import (
    Convention,
    SentPicture,
    convention_of,
    prepare,
    to_original,
)
from vln_core.system1.pointer import target_category

_LOG = logging.getLogger(__name__)

# Sends (JPEG, prompt) to the model and returns its text.
Ask = Callable[[bytes, str], str]


@dataclass(frozen=True)
class MllmPointerConfig:
    """Endpoint, model and picture.

    Attributes:
        base_url: Of the OpenAI-compatible endpoint, for example http://localhost:8000/v1.
        model: Name of the model; chooses the box convention.
        key_variable: Environment variable with the key; an unset one sends none.
        convention: Name of a convention that overrides the table; empty: by model.
        max_side_px: Longest side of the picture as sent.
        pad_square: Pad the picture to a square before sending.
        jpeg_quality: 1..100.
        request_timeout: s for one request.
        max_retries: Further attempts after time-outs, rate limits and server errors.
        max_tokens: Longest answer.
        min_score: Least confidence, where the model gives one.
        contact: Where the floor is looked for.
    """

    base_url: str = 'http://localhost:8000/v1'
    model: str = 'Qwen/Qwen2.5-VL-7B-Instruct'
    key_variable: str = 'VLN_SYSTEM1_API_KEY'
    convention: str = ''
    max_side_px: int = 1024
    pad_square: bool = False
    jpeg_quality: int = 90
    request_timeout: float = 30.0
    max_retries: int = 2
    max_tokens: int = 256
    min_score: float = 0.25
    contact: ContactConfig = ContactConfig()

    def __post_init__(self) -> None:
        if not self.base_url.startswith(('http://', 'https://')):
            raise ConfigError(f"system1 base_url '{self.base_url}' must begin with http(s)://")
        if not self.model:
            raise ConfigError('system1 needs the name of a model')
        if self.max_side_px < 32 or not 1 <= self.jpeg_quality <= 100:
            raise ConfigError('system1 needs max_side_px >= 32 and jpeg_quality in 1..100')
        if not (math.isfinite(self.request_timeout) and self.request_timeout > 0.0):
            raise ConfigError('system1 request_timeout must be a positive number')
        convention_of(self.model, self.convention)


class MllmPointer:
    """Implements :class:`vln_core.ports.Pointer`; one request a target, none is guessed."""

    def __init__(self, config: MllmPointerConfig, ask: Ask | None = None) -> None:
        """Take the settings; ``ask`` replaces the HTTP client, to share one."""
        self.config = config
        self.convention = convention_of(config.model, config.convention)
        self._ask = ask or endpoint(config)

    def ground(self, panorama: Panorama, view: int, target: str) -> Grounding:
        """Ask the model for the target in one view and choose its pixel; see the port."""
        if not 0 <= view < len(panorama.views):
            return Grounding(
                GroundingCode.UNKNOWN_VIEW,
                f'there is no view {view}; views are 0 to {len(panorama.views) - 1}',
            )
        picture = panorama.views[view]
        try:
            found = self.locate(picture.rgb, target)
        except (PerceptionError, PlannerError) as error:
            return Grounding(GroundingCode.MODEL_FAILED, str(error))
        if found is None:
            return Grounding(
                GroundingCode.NOT_IN_VIEW,
                f"{self.config.model} does not see '{target}' in view {view}",
            )
        box, score = found
        if score < self.config.min_score:
            return Grounding(
                GroundingCode.LOW_CONFIDENCE,
                f"'{target}' in view {view} is only {score:.2f} certain, "
                f'{self.config.min_score:.2f} is asked for',
                box,
                score=score,
            )
        pixel = None
        contact = self.config.contact
        area = _with_area(box, picture.camera.width, picture.camera.height)
        if target_category(target) == 'doorway':
            pixel = doorway_floor(picture, area, contact)
        elif not self.convention.is_point:
            pixel = floor_contact(picture, area, contact)
        pixel = pixel or core_pixel(picture, area, contact) or _far_centre(picture.depth, area)
        if pixel is None:
            return Grounding(
                GroundingCode.NO_DEPTH,
                f"'{target}' in view {view} has no depth to drive by",
                box,
                score=score,
            )
        return Grounding(
            GroundingCode.FOUND,
            f'{target} at pixel {pixel[0]}, {pixel[1]} by {self.config.model}',
            box,
            pixel,
            score,
        )

    def locate(self, rgb: NDArray[np.uint8], target: str) -> tuple[Box, float] | None:
        """Return the box of the target in px of ``rgb`` with its confidence, or None: not there.

        A model that gives no confidence counts as certain.

        Raises:
            PerceptionError: The answer cannot be read, or lies outside the picture.
            PlannerError: The endpoint cannot be reached or refuses.
        """
        sent = prepare(rgb, self.config.max_side_px, pad_square=self.config.pad_square)
        text = self._ask(
            jpeg_of(sent, self.config.jpeg_quality), prompt(target, self.convention, sent)
        )
        answer = parse_answer(text, is_point=self.convention.is_point)
        if answer is None:
            raise PerceptionError(
                f"{self.config.model} answered without a place: '{text.strip()[:120]}'"
            )
        if not answer.numbers:
            return None
        box = to_original(answer.numbers, self.convention, sent)
        if not self.convention.is_point and (box[2] - box[0] < 1.0 or box[3] - box[1] < 1.0):
            raise PerceptionError(f'{self.config.model} answered with a box without area: {box}')
        return box, 1.0 if answer.score is None else answer.score


def prompt(target: str, convention: Convention, picture: SentPicture) -> str:
    """Return the request for one target, in the words of the model's convention."""
    width, height = picture.size
    unit = {
        'sent': f'pixels of this {width} x {height} picture',
        'resized': 'absolute pixels',
        'unit': 'fractions of width and height between 0 and 1',
        'percent': 'percent of width and height',
        'thousand': 'integers from 0 to 1000 relative to width and height',
    }[convention.scale]
    if convention.is_point:
        key, form = 'point_2d', '[y, x]' if convention.is_y_first else '[x, y]'
    elif convention.is_y_first:
        key, form = 'box_2d', '[ymin, xmin, ymax, xmax]'
    else:
        key, form = 'bbox_2d', '[x1, y1, x2, y2]'
    return (
        f'Locate this in the picture: {target}\n'
        f'Answer with one JSON object {{"{key}": {form}, "confidence": c}}, in {unit}, c in 0..1. '
        f'If it is not visible, answer {{"{key}": null}}.'
    )


def endpoint(config: MllmPointerConfig) -> Ask:
    """Return a function that asks the configured endpoint; the key comes from the environment."""
    import openai

    client = openai.OpenAI(
        base_url=config.base_url,
        api_key=os.environ.get(config.key_variable) or 'none',
        timeout=config.request_timeout,
        max_retries=config.max_retries,
    )

    def ask(jpeg: bytes, text: str) -> str:
        url = 'data:image/jpeg;base64,' + base64.b64encode(jpeg).decode('ascii')
        content: list[Any] = [
            {'type': 'image_url', 'image_url': {'url': url}},
            {'type': 'text', 'text': text},
        ]
        try:
            reply = client.chat.completions.create(
                model=config.model,
                messages=[{'role': 'user', 'content': content}],
                max_tokens=config.max_tokens,
                temperature=0.0,
            )
        except openai.OpenAIError as error:
            raise PlannerError(
                f'System 1 got no answer from {config.model} at {config.base_url}: '
                f'{type(error).__name__}: {str(error)[:200]}'
            ) from error
        return (reply.choices[0].message.content if reply.choices else None) or ''

    return ask


def jpeg_of(picture: SentPicture, quality: int) -> bytes:
    """Return the picture as a JPEG file.

    Raises:
        PerceptionError: It could not be compressed.
    """
    is_done, data = cv2.imencode(
        '.jpg', cv2.cvtColor(picture.rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality]
    )
    if not is_done:
        raise PerceptionError('the picture could not be compressed')
    return data.tobytes()


def _with_area(box: Box, width: int, height: int) -> Box:
    """Grow a point to a small box around it."""
    if box[2] - box[0] >= 2.0 and box[3] - box[1] >= 2.0:
        return box
    half = max(2.0, 0.01 * max(width, height))
    u, v = 0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3])
    return u - half, v - half, u + half, v + half


def _far_centre(depth: NDArray[np.float32], box: Box) -> tuple[int, int] | None:
    """Return the middle of the box where it shows nothing within range: a direction to go."""
    u = min(depth.shape[1] - 1, max(0, int(0.5 * (box[0] + box[2]))))
    v = min(depth.shape[0] - 1, max(0, int(0.5 * (box[1] + box[3]))))
    return (u, v) if depth[v, u] == np.inf else None
