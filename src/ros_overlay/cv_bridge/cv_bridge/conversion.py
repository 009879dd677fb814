# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of pixels from one encoding to another, by the rules of upstream's cvtColor."""

from __future__ import annotations

import cv2
import numpy as np

from cv_bridge import encodings
from cv_bridge.errors import CvBridgeError

# OpenCV names Bayer patterns by the second and third pixel of the second row.
_BAYER = {'BAYER_RGGB': 'BG', 'BAYER_BGGR': 'RG', 'BAYER_GBRG': 'GR', 'BAYER_GRBG': 'GB'}
_PLAIN = ('GRAY', 'RGB', 'BGR', 'RGBA', 'BGRA')
_YUV = {'UYVY': 'UYVY', 'YUYV': 'YUY2', 'NV12': 'NV12', 'NV21': 'NV21'}


def convert(image: np.ndarray, source: str, target: str) -> np.ndarray:
    """Return an image in another encoding; always a copy.

    Args:
        image: (H, W) or (H, W, C) pixels in the encoding source; planar formats (3H/2, W).
        source: Its encoding.
        target: The encoding wanted; '' or the same one copies.

    Raises:
        CvBridgeError: An encoding is unknown or the conversion makes no sense.
    """
    if target in ('', source):
        return image.copy()
    from_format = encodings.colour_format(source)
    to_format = encodings.colour_format(target)
    from_channels = encodings.depth_and_channels(source)[1]
    to_channels = encodings.depth_and_channels(target)[1]
    if from_format is None or to_format is None:
        _check_without_colour(source, target, from_channels == to_channels)
        return change_depth(image, source, target)
    if from_format == to_format:
        return change_depth(image, source, target)
    image = _change_colour(np.ascontiguousarray(image), from_format, to_format, source, target)
    return change_depth(image, source, target)


def _check_without_colour(source: str, target: str, same_channels: bool) -> None:
    """Refuse to make colours out of numbers; the other way round the channels must match."""
    from_format, to_format = encodings.colour_format(source), encodings.colour_format(target)
    if from_format is None and to_format is not None:
        raise CvBridgeError(
            f'[{source}] is not a color format. but [{target}] is. '
            'The conversion does not make sense'
        )
    if not same_channels:
        kind = (
            'is a color format but [{}] is not so they must have the same OpenCV type'
            if from_format is not None
            else 'and [{}] do not have the same number of channels'
        )
        raise CvBridgeError(f'[{source}] ' + kind.format(target))


def change_depth(image: np.ndarray, source: str, target: str) -> np.ndarray:
    """Return the image with the element type of target.

    8 and 16 bit scale into each other, 255 to 65535; everything else keeps its values, rounded
    and limited to what the type can hold, with NaN as 0.
    """
    dtype = np.dtype(encodings.DEPTHS[encodings.depth_and_channels(target)[0]])
    if image.dtype == dtype:
        return image.copy()
    scale = {(8, 16): 65535.0 / 255.0, (16, 8): 255.0 / 65535.0}.get(
        (encodings.bits(source), encodings.bits(target)), 1.0
    )
    values = image.astype(np.float64) * scale
    if dtype.kind == 'f':
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(np.nan_to_num(values, nan=0.0)), limits.min, limits.max).astype(dtype)


def _change_colour(
    image: np.ndarray, from_format: str, to_format: str, source: str, target: str
) -> np.ndarray:
    if to_format in _PLAIN:
        if from_format == 'NV24':
            return _from_nv24(image, to_format)
        name = _code_name(from_format, to_format)
        if from_format in _BAYER and to_format in ('RGBA', 'BGRA'):
            name = None
    elif to_format in ('UYVY', 'YUYV') and from_format in _PLAIN and from_format != 'GRAY':
        name = f'COLOR_{from_format}2YUV_{_YUV[to_format]}'
    else:
        name = None
    code = getattr(cv2, name, None) if name else None
    if code is None:
        raise CvBridgeError(f'Unsupported conversion from [{source}] to [{target}]')
    try:
        return cv2.cvtColor(image, code)
    except cv2.error as error:
        raise CvBridgeError(f'Conversion from [{source}] to [{target}]: {error}') from error


def _code_name(from_format: str, to_format: str) -> str:
    if from_format in _BAYER:
        return f'COLOR_Bayer{_BAYER[from_format]}2{to_format}'
    if from_format in ('NV12', 'NV21') and to_format == 'GRAY':
        return 'COLOR_YUV2GRAY_420'
    if from_format in _YUV:
        return f'COLOR_YUV2{to_format}_{_YUV[from_format]}'
    return f'COLOR_{from_format}2{to_format}'


def _from_nv24(image: np.ndarray, to_format: str) -> np.ndarray:
    """Convert full-resolution luma and chroma planes, (3H, W).

    OpenCV knows only the half-resolution form: doubling the luma makes the one of the other.
    """
    height = image.shape[0] // 3
    luma = image[:height]
    if to_format == 'GRAY':
        return luma.copy()
    doubled = luma.repeat(2, axis=0).repeat(2, axis=1)
    chroma = image[height:].reshape(height, -1)
    stacked = np.concatenate([doubled, chroma])
    code = getattr(cv2, f'COLOR_YUV2{to_format}_NV12')
    return np.ascontiguousarray(cv2.cvtColor(stacked, code)[::2, ::2])
