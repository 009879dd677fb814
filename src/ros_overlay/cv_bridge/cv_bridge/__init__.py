# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between image messages and OpenCV images, under the upstream names."""

from cv_bridge.core import CvBridge
from cv_bridge.errors import CvBridgeError

__all__ = ['CvBridge', 'CvBridgeError']
