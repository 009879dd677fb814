# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Depth as a pinhole camera would see it, whatever the lens that CameraInfo names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image

from vln_core.perception.intake import Rectifier
from vln_nodes import conversions


class DepthLens:
    """Straightens depth images; the maps are made once for each CameraInfo."""

    def __init__(self, *, rectify: bool) -> None:
        """Prepare; without ``rectify`` images count as straight whatever CameraInfo says."""
        self._rectify = rectify
        self._made: tuple[Any, Rectifier] | None = None

    def depth(self, message: Image, info: CameraInfo) -> NDArray[np.float32]:
        """Return the depth of a message for the camera that ``camera_of_info`` gives.

        Args:
            message: 32FC1 or 16UC1.
            info: Of the depth camera.

        Returns:
            (H, W) metres; NaN unknown, +inf far, -inf too near, see ``depth_of_image``.

        Raises:
            PerceptionError: The image cannot be read.
            GeometryError: The lens has a model that is not known.
        """
        depth = conversions.depth_of_image(message)
        if not self._rectify or not any(info.d):
            return depth
        key = (conversions.distortion_of_info(info), conversions.camera_of_info(info))
        if self._made is None or self._made[0] != key:
            self._made = (key, Rectifier(*key))
        return self._made[1].depth(depth)
