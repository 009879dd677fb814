# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Texts on a small picture that never cover each other."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_SCALE = 0.4
_RINGS = (0, 7, 16, 28)
# Right, left, above, below, then the corners.
_DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))

Box = tuple[int, int, int, int]  # left, top, right, bottom, px, all inclusive


@lru_cache(maxsize=512)
def text_size(text: str) -> tuple[int, int]:
    """Return width and height of a text, px."""
    (width, height), _ = cv2.getTextSize(text, _FONT, _SCALE, 1)
    return int(width), int(height)


@lru_cache(maxsize=64)
def _around(radius: int) -> tuple[tuple[int, int], ...]:
    """Return where a disc is tried: at its spot, then on three rings, px to the right and up."""
    found = []
    for ring in (0, 1, 2, 3):
        steps = max(1, 8 * ring)
        for k in range(steps):
            angle, reach = 2.0 * math.pi * k / steps, ring * (radius + 3)
            found.append((round(reach * math.cos(angle)), round(reach * math.sin(angle))))
    return tuple(found)


class LabelLayout:
    """Knows which part of a square picture is taken."""

    def __init__(self, size_px: int) -> None:
        self._size = size_px
        self._taken: NDArray[np.bool_] = np.zeros((size_px, size_px), np.bool_)
        self.boxes: list[tuple[str, Box]] = []

    def block(self, box: Box) -> None:
        """Take a part of the picture."""
        left, top, right, bottom = box
        self._taken[max(0, top) : max(0, bottom + 1), max(0, left) : max(0, right + 1)] = True

    def _is_free(self, box: Box) -> bool:
        left, top, right, bottom = box
        if left < 1 or top < 1 or right >= self._size - 1 or bottom >= self._size - 1:
            return False
        taken = self._taken
        if (
            taken[top, left]
            or taken[bottom, right]
            or taken[(top + bottom) // 2, (left + right) // 2]
        ):
            return False  # three looks are quicker than all, and mostly enough
        return not taken[top : bottom + 1, left : right + 1].any()

    def label(
        self,
        image: NDArray[np.uint8],
        text: str,
        spot: tuple[int, int],
        colour: tuple[int, int, int],
        gap: int,
        *,
        is_bold: bool = False,
    ) -> bool:
        """Write a text beside a spot, ``gap`` px or more away; False where there is no room."""
        text = printable(text)
        width, height = text_size(text)
        half_w, half_h = width // 2 + 2, height // 2 + 3
        for ring in _RINGS:
            for dx, dy in _DIRECTIONS:
                u = spot[0] + dx * (gap + ring + half_w)
                v = spot[1] + dy * (gap + ring + half_h)
                box = (u - half_w, v - half_h, u + half_w, v + half_h)
                if not self._is_free(box):
                    continue
                self.block(box)
                self.boxes.append((text, box))
                if ring:
                    near = (min(max(spot[0], box[0]), box[2]), min(max(spot[1], box[1]), box[3]))
                    cv2.line(image, spot, near, colour, 1, cv2.LINE_AA)
                part = image[box[1] : box[3] + 1, box[0] : box[2] + 1]
                part[:] = (0.25 * part + 0.75 * 255).astype(np.uint8)
                self.write(image, text, (box[0] + 2, box[1] + 3), colour, is_bold=is_bold)
                return True
        return False

    def place_disc(self, spot: tuple[int, int], radius: int) -> tuple[int, int] | None:
        """Take room for a disc at a spot or near it; return its centre, or None without room."""
        for right, up in _around(radius):
            u, v = spot[0] + right, spot[1] - up
            box = (u - radius, v - radius, u + radius, v + radius)
            if self._is_free(box):
                self.block(box)
                self.boxes.append(('', box))
                return u, v
        return None

    @staticmethod
    def write(
        image: NDArray[np.uint8],
        text: str,
        corner: tuple[int, int],
        colour: tuple[int, int, int],
        *,
        is_bold: bool = False,
    ) -> None:
        """Write a text whose upper left corner is given, px."""
        _, height = text_size(text)
        base = (corner[0], corner[1] + height)
        cv2.putText(image, text, base, _FONT, _SCALE, colour, 1, cv2.LINE_AA)
        if is_bold:
            cv2.putText(image, text, (base[0] + 1, base[1]), _FONT, _SCALE, colour, 1, cv2.LINE_AA)


def printable(text: str) -> str:
    """Return the text with what the font lacks replaced by '?'."""
    return ''.join(c if ' ' <= c <= '~' else '?' for c in text)
