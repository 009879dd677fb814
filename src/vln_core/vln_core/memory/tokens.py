# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The one formula by which context is counted.

Text: one token per started four characters. Images: one token per started 28 x 28 px patch, as the
Qwen2-VL family of models counts them.
"""

from __future__ import annotations

_CHARACTERS = 4
_PATCH_PX = 28


def text_tokens(text: str) -> int:
    """Return ``ceil(characters / 4)``."""
    return -(-len(text) // _CHARACTERS)


def image_tokens(height_px: int, width_px: int) -> int:
    """Return ``ceil(height / 28) * ceil(width / 28)``."""
    return -(-height_px // _PATCH_PX) * -(-width_px // _PATCH_PX)
