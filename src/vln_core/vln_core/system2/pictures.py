# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures on their way into a prompt."""

from __future__ import annotations

import base64

import cv2
import numpy as np
from numpy.typing import NDArray


def jpeg(rgb: NDArray[np.uint8], size_px: int, quality: int) -> bytes:
    """Return a JPEG whose longest side is at most ``size_px``.

    Args:
        rgb: (H, W, 3) uint8, red first.
        size_px: Longest side, px; smaller pictures are not enlarged.
        quality: 1..100.

    Raises:
        ValueError: It cannot be encoded.
    """
    height, width = rgb.shape[:2]
    scale = min(1.0, size_px / max(height, width))
    if scale < 1.0:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        rgb = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
    ok, data = cv2.imencode('.jpg', rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not ok:
        raise ValueError(f'a picture of shape {rgb.shape} cannot be encoded as JPEG')
    return data.tobytes()


def data_url(data: bytes) -> str:
    """Return JPEG bytes as a data URL."""
    return 'data:image/jpeg;base64,' + base64.b64encode(data).decode('ascii')
