# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What conversions raise."""


class CvBridgeError(TypeError):
    """An encoding is unknown, a conversion impossible, or a message inconsistent."""
