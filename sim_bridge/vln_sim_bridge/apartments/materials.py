# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Procedural textures: wood, tiles, fabric, brick and plain paint.

The scenes are drawn without lights, so a texture exists in four brightnesses and each face takes
the one of its normal; otherwise a box of one colour would have no visible edges.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SHADES = (1.0, 0.92, 0.8, 0.62)  # up, along y, along x, down
_SIZE_PX = 64


@dataclass(frozen=True)
class Material:
    """One surface: kind of texture, mean colour, and metres that one repeat covers.

    'picture' is stretched once over each face; 'picture' and 'bright' are never shaded.
    """

    kind: str
    rgb: tuple[int, int, int]
    period: float = 1.0


def _wood(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    plank = x // 16
    grain = 0.9 + 0.1 * np.sin(y / 2.5 + 2 * np.sin(x / 7.0) + plank * 1.7)
    tone = rng.uniform(0.86, 1.05, 4)[plank]
    seam = np.where((x % 16 == 0) | ((y + plank * 23) % _SIZE_PX == 0), 0.6, 1.0)
    return grain * tone * seam


def _tiles(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    tone = rng.uniform(0.94, 1.04, (2, 2))[y // 32, x // 32]
    return tone * np.where((x % 32 < 2) | (y % 32 < 2), 0.72, 1.0)


def _checker(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    return np.where((x // 32 + y // 32) % 2 == 0, 1.0, 0.55) + rng.normal(0, 0.01, x.shape)


def _brick(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    row = y // 8
    shifted = (x + 16 * (row % 2)) % _SIZE_PX
    tone = rng.uniform(0.8, 1.1, (8, 2))[row, shifted // 32]
    return np.where((y % 8 == 0) | (shifted % 32 == 0), 1.5, tone)


def _fabric(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    return 0.95 + 0.06 * ((x + y) % 4 < 2) + rng.normal(0, 0.03, x.shape)


def _stripes(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    return np.where((x // 8) % 2 == 0, 1.0, 0.72) + rng.normal(0, 0.01, x.shape)


def _plain(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    return 1.0 + rng.normal(0, 0.008, x.shape)


def _plaster(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    coarse = rng.normal(0, 0.025, (8, 8))
    return 1.0 + np.kron(coarse, np.ones((8, 8))) + rng.normal(0, 0.012, x.shape)


def _leaves(y: NDArray, x: NDArray, rng: np.random.Generator) -> NDArray:
    return np.kron(rng.uniform(0.55, 1.25, (16, 16)), np.ones((4, 4)))


_KINDS = {
    'wood': _wood, 'tiles': _tiles, 'checker': _checker, 'brick': _brick, 'fabric': _fabric,
    'stripes': _stripes, 'plain': _plain, 'bright': _plain, 'plaster': _plaster, 'leaves': _leaves,
}  # fmt: skip


def _picture(base: NDArray, rng: np.random.Generator) -> NDArray:
    """Paint a small landscape of coloured blobs for picture frames and screens."""
    y, x = np.mgrid[:_SIZE_PX, :_SIZE_PX]
    image = np.where((y < 34)[..., None], base, base * np.array([0.5, 0.75, 0.4]))
    for _ in range(5):
        cy, cx, radius = rng.uniform(8, 56), rng.uniform(8, 56), rng.uniform(5, 13)
        image[(y - cy) ** 2 + (x - cx) ** 2 < radius**2] = rng.uniform(40, 250, 3)
    return image


@lru_cache(maxsize=512)
def texture(material: Material) -> NDArray[np.float64]:
    """Return the (64, 64, 3) texture of a material, 0..255; the same for equal materials."""
    # crc32, not hash(): Python salts the hash of a string in every process
    rng = np.random.default_rng(zlib.crc32(repr(material).encode()))
    base = np.array(material.rgb, float)
    if material.kind == 'picture':
        return _picture(base, rng)
    y, x = np.mgrid[:_SIZE_PX, :_SIZE_PX]
    return _KINDS[material.kind](y, x, rng)[..., None] * base


@lru_cache(maxsize=2048)
def texture_png(material: Material, shade: int) -> bytes:
    """Return the texture for faces of one orientation (index into SHADES) as a PNG file."""
    pixels = np.clip(texture(material) * SHADES[shade], 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format='PNG')
    return stream.getvalue()
