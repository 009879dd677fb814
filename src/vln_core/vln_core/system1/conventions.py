# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""In which coordinates a model answers, and the way back to the picture: one table for all models.

A wrong convention does not fail, it drives the robot somewhere else. So every model is declared
here, the table can be overridden by name, and ``./vln check-grounding`` measures which one fits.
"""

from __future__ import annotations

import fnmatch
import math
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError, PerceptionError

Scale = Literal['sent', 'resized', 'unit', 'percent', 'thousand']
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Convention:
    """How a model writes a place in a picture.

    Attributes:
        name: For people and for overriding by parameter.
        scale: ``sent``: px of the picture as sent; ``resized``: px of the picture as the model's
            own processor resizes it; ``unit``, ``percent``, ``thousand``: fractions of width and
            height times 1, 100, 1000.
        is_y_first: (y, x) instead of (x, y).
        is_point: One point instead of a box.
        is_padded: Coordinates refer to the picture padded to a square, picture in the middle.
        factor: ``resized`` only: sides become multiples of this, px.
        min_pixels: ``resized`` only: least area after resizing, px.
        max_pixels: ``resized`` only: largest area after resizing, px.
    """

    name: str
    scale: Scale
    is_y_first: bool = False
    is_point: bool = False
    is_padded: bool = False
    factor: int = 28
    min_pixels: int = 56 * 56
    max_pixels: int = 12845056


CONVENTIONS: dict[str, Convention] = {
    entry.name: entry
    for entry in (
        Convention('sent-xy', 'sent'),
        Convention('sent-yx', 'sent', is_y_first=True),
        Convention('sent-point-xy', 'sent', is_point=True),
        Convention('sent-point-yx', 'sent', is_y_first=True, is_point=True),
        Convention('resized-xy', 'resized'),
        Convention('resized-yx', 'resized', is_y_first=True),
        Convention('resized-point-xy', 'resized', is_point=True),
        Convention('resized-point-yx', 'resized', is_y_first=True, is_point=True),
        Convention('unit-xy', 'unit'),
        Convention('unit-yx', 'unit', is_y_first=True),
        Convention('unit-point-xy', 'unit', is_point=True),
        Convention('unit-point-yx', 'unit', is_y_first=True, is_point=True),
        Convention('unit-padded-xy', 'unit', is_padded=True),
        Convention('percent-point-xy', 'percent', is_point=True),
        Convention('thousand-xy', 'thousand'),
        Convention('thousand-yx', 'thousand', is_y_first=True),
        Convention('thousand-point-xy', 'thousand', is_point=True),
        Convention('thousand-point-yx', 'thousand', is_y_first=True, is_point=True),
    )
}

# First pattern that fits the model's name in lower case, provider prefix removed.
MODELS: tuple[tuple[str, str], ...] = (
    ('*qwen3*vl*', 'thousand-xy'),
    ('*qwen2.5*vl*', 'resized-xy'),
    ('*qwen2_5*vl*', 'resized-xy'),
    ('*qwen2-vl*', 'thousand-xy'),
    ('*qwen-vl*', 'thousand-xy'),
    ('*robobrain*', 'resized-xy'),
    ('gemini*robotics*', 'thousand-point-yx'),
    ('gemini*', 'thousand-yx'),
    ('*internvl*', 'thousand-xy'),
    ('*glm-4*v*', 'thousand-xy'),
    ('*cogvlm*', 'thousand-xy'),
    ('*minicpm-v*', 'thousand-xy'),
    ('*deepseek-vl*', 'thousand-xy'),
    ('*molmo*', 'percent-point-xy'),
    ('*llava*', 'unit-padded-xy'),
    ('claude*', 'sent-xy'),
    ('*pixtral*', 'unit-xy'),
    ('gpt-*', 'unit-xy'),
    ('*', 'unit-xy'),
)


def convention_of(model: str, override: str = '') -> Convention:
    """Return the convention of a model, or the one named by ``override``.

    Raises:
        ConfigError: No convention has the name ``override``.
    """
    if override:
        if override not in CONVENTIONS:
            raise ConfigError(
                f"no box convention '{override}': choose one of {', '.join(CONVENTIONS)}"
            )
        return CONVENTIONS[override]
    plain = model.lower().rsplit('/', 1)[-1]
    for pattern, name in MODELS:
        if fnmatch.fnmatch(plain, pattern):
            return CONVENTIONS[name]
    raise AssertionError('the last pattern fits everything')


@dataclass(frozen=True, eq=False)
class SentPicture:
    """A picture as it goes to the model, and how it came from the original.

    Attributes:
        rgb: (h, w, 3) uint8.
        original_size: Width and height of the original, px.
        scale_xy: Sent px per original px, after which ``offset_xy`` is added.
        offset_xy: Left and top padding, px of the sent picture.
    """

    rgb: NDArray[np.uint8]
    original_size: tuple[int, int]
    scale_xy: tuple[float, float]
    offset_xy: tuple[float, float]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as sent, px."""
        return self.rgb.shape[1], self.rgb.shape[0]


def prepare(
    rgb: NDArray[np.uint8], max_side: int = 1024, *, pad_square: bool = False
) -> SentPicture:
    """Shrink a picture so that no side exceeds ``max_side`` px, and pad it if asked.

    Raises:
        PerceptionError: ``rgb`` is no (H, W, 3) uint8 picture.
    """
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or min(rgb.shape[:2]) < 1:
        raise PerceptionError(f'a picture of shape {rgb.shape} and type {rgb.dtype} is not RGB8')
    height, width = rgb.shape[:2]
    shrink = min(1.0, max_side / max(width, height))
    w, h = max(1, round(width * shrink)), max(1, round(height * shrink))
    picture = rgb if shrink == 1.0 else cv2.resize(rgb, (w, h), interpolation=cv2.INTER_AREA)
    left = top = 0
    if pad_square and w != h:
        side = max(w, h)
        left, top = (side - w) // 2, (side - h) // 2
        padded = np.full((side, side, 3), 127, dtype=np.uint8)
        padded[top : top + h, left : left + w] = picture
        picture = padded
    return SentPicture(
        np.ascontiguousarray(picture), (width, height), (w / width, h / height), (left, top)
    )


def smart_size(width: int, height: int, convention: Convention) -> tuple[int, int]:
    """Return the size to which processors of the Qwen2.5-VL kind resize a picture, px.

    Sides become multiples of ``factor`` and the area stays within the limits, aspect kept.
    """
    factor = convention.factor
    w = max(factor, round(width / factor) * factor)
    h = max(factor, round(height / factor) * factor)
    if w * h > convention.max_pixels:
        beta = math.sqrt(width * height / convention.max_pixels)
        w = max(factor, math.floor(width / beta / factor) * factor)
        h = max(factor, math.floor(height / beta / factor) * factor)
    elif w * h < convention.min_pixels:
        beta = math.sqrt(convention.min_pixels / (width * height))
        w = math.ceil(width * beta / factor) * factor
        h = math.ceil(height * beta / factor) * factor
    return w, h


def to_original(numbers: tuple[float, ...], convention: Convention, picture: SentPicture) -> Box:
    """Undo convention, resize and padding.

    Args:
        numbers: Four numbers of a box or two of a point, as the model wrote them.
        convention: What they mean.
        picture: What was sent.

    Returns:
        Box (left, top, right, bottom) in px of the original picture, clipped to it; edges count
        from the left edge of pixel 0, so that the whole picture is (0, 0, W, H). A point is a box
        without area.

    Raises:
        PerceptionError: Wrong count, not finite, or outside of what the convention can mean.
    """
    wanted = 2 if convention.is_point else 4
    if len(numbers) != wanted or not all(map(math.isfinite, numbers)):
        raise PerceptionError(
            f'the model wrote {len(numbers)} numbers, its convention {convention.name} has '
            f'{wanted}'
        )
    pairs = np.asarray(numbers, dtype=np.float64).reshape(-1, 2)
    if convention.is_y_first:
        pairs = pairs[:, ::-1]
    sent = _to_sent(pairs, convention, picture.size)
    width, height = picture.size
    slack = 0.02 * max(width, height) + 1.0
    if np.any(sent < -slack) or np.any(sent > np.array([width, height]) + slack):
        raise PerceptionError(
            f'the answer {numbers} lies outside the picture in convention {convention.name}; '
            'run ./vln check-grounding to find the one that fits'
        )
    original = (sent - np.asarray(picture.offset_xy)) / np.asarray(picture.scale_xy)
    if len(original) == 1:
        original = np.repeat(original, 2, axis=0)
    original = np.clip(original, 0.0, np.asarray(picture.original_size, dtype=np.float64))
    low, high = original.min(axis=0), original.max(axis=0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def from_original(
    box_xyxy: Box, convention: Convention, picture: SentPicture
) -> tuple[float, ...]:
    """Write a box of the original picture as a model of this convention would."""
    pairs = np.asarray(box_xyxy, dtype=np.float64).reshape(2, 2)
    pairs = pairs * np.asarray(picture.scale_xy) + np.asarray(picture.offset_xy)
    if convention.is_point:
        pairs = pairs.mean(axis=0, keepdims=True)
    scale, offset = _scale(convention, picture.size)
    pairs = (pairs + offset) * scale
    if convention.is_y_first:
        pairs = pairs[:, ::-1]
    return tuple(float(value) for value in pairs.ravel())


def _to_sent(
    pairs: NDArray[np.float64], convention: Convention, size: tuple[int, int]
) -> NDArray[np.float64]:
    scale, offset = _scale(convention, size)
    return pairs / scale - offset


def _scale(
    convention: Convention, size: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (scale, offset): model coordinates = (sent px + offset) * scale."""
    frame = np.asarray(size, dtype=np.float64)
    offset = np.zeros(2)
    if convention.is_padded:
        side = float(frame.max())
        offset = (side - frame) / 2.0
        frame = np.array([side, side])
    if convention.scale == 'sent':
        return np.ones(2), offset
    if convention.scale == 'resized':
        return np.asarray(smart_size(*size, convention), dtype=np.float64) / frame, offset
    return {'unit': 1.0, 'percent': 100.0, 'thousand': 1000.0}[convention.scale] / frame, offset
