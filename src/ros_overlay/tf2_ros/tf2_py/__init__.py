# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The tf2 core under the names of the upstream module: the buffer and its exceptions."""

from tf2_py.buffer_core import BufferCore
from tf2_py.exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)

__all__ = [
    'BufferCore',
    'ConnectivityException',
    'ExtrapolationException',
    'InvalidArgumentException',
    'LookupException',
    'TimeoutException',
    'TransformException',
]
