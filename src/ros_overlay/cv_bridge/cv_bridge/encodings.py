# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The encodings of sensor_msgs/Image: element type, channels, and what the colours mean."""

from __future__ import annotations

import re

import numpy as np

from cv_bridge.errors import CvBridgeError

DEPTHS: dict[str, type[np.generic]] = {
    '8U': np.uint8,
    '8S': np.int8,
    '16U': np.uint16,
    '16S': np.int16,
    '32S': np.int32,
    '32F': np.float32,
    '64F': np.float64,
}
DEPTH_NAMES = {np.dtype(kind).name: name for name, kind in DEPTHS.items()}
_GENERIC = re.compile(r'(8U|8S|16U|16S|32S|32F|64F)C(\d*)')

# Encoding: (depth, channels, colour format).
_NAMED = {
    'mono8': ('8U', 1, 'GRAY'),
    'mono16': ('16U', 1, 'GRAY'),
    'rgb8': ('8U', 3, 'RGB'),
    'bgr8': ('8U', 3, 'BGR'),
    'rgba8': ('8U', 4, 'RGBA'),
    'bgra8': ('8U', 4, 'BGRA'),
    'rgb16': ('16U', 3, 'RGB'),
    'bgr16': ('16U', 3, 'BGR'),
    'rgba16': ('16U', 4, 'RGBA'),
    'bgra16': ('16U', 4, 'BGRA'),
    'uyvy': ('8U', 2, 'UYVY'),
    'yuv422': ('8U', 2, 'UYVY'),
    'yuyv': ('8U', 2, 'YUYV'),
    'yuv422_yuy2': ('8U', 2, 'YUYV'),
    'nv12': ('8U', 1, 'NV12'),
    'nv21': ('8U', 1, 'NV21'),
    'nv24': ('8U', 1, 'NV24'),
}
for _pattern in ('rggb', 'bggr', 'gbrg', 'grbg'):
    for _bits in ('8', '16'):
        _NAMED[f'bayer_{_pattern}{_bits}'] = (_bits + 'U', 1, f'BAYER_{_pattern.upper()}')

# How many rows of bytes a planar image has for each row of pixels.
PLANAR_HEIGHT = {'nv12': (3, 2), 'nv21': (3, 2), 'nv24': (3, 1)}


def depth_and_channels(encoding: str) -> tuple[str, int]:
    """Return OpenCV's name of the element type ('8U') and the number of channels.

    Raises:
        CvBridgeError: The encoding is unknown.
    """
    if encoding in _NAMED:
        return _NAMED[encoding][:2]
    match = _GENERIC.fullmatch(encoding)
    if not match:
        raise CvBridgeError(f'Unrecognized image encoding [{encoding}]')
    return match.group(1), int(match.group(2) or 1)


def colour_format(encoding: str) -> str | None:
    """Return what the channels mean, None for encodings that do not say."""
    return _NAMED[encoding][2] if encoding in _NAMED else None


def bits(encoding: str) -> int:
    """Return the bits of one element."""
    return int(depth_and_channels(encoding)[0][:-1])
