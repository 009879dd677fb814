# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The lens of a depth camera: a plane stays a plane."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from cv_bridge import CvBridge
from sensor_msgs.msg import CameraInfo, Image

from vln_core.errors import GeometryError
from vln_nodes.depth_lens import DepthLens

WIDTH, HEIGHT, FOCAL = 160, 120, 100.0
MATRIX = np.array([[FOCAL, 0.0, 79.5], [0.0, FOCAL, 59.5], [0.0, 0.0, 1.0]])
LENS = np.array([-0.25, 0.06, 0.001, -0.002, 0.0])


def wall_at(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Depth of a wall that stands askew, metres, in the direction (x, y, 1)."""
    return 2.0 / (1.0 + 0.5 * x - 0.2 * y)


def camera_info(lens: np.ndarray, model: str = 'plumb_bob') -> CameraInfo:
    info = CameraInfo(width=WIDTH, height=HEIGHT, distortion_model=model, d=lens.tolist())
    info.k = MATRIX.ravel()
    info.p = np.hstack([MATRIX, np.zeros((3, 1))]).ravel()
    return info


def depth_image(depth: np.ndarray) -> Image:
    return CvBridge().cv2_to_imgmsg(depth, '32FC1')


def pixels() -> np.ndarray:
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    return np.stack([columns, rows], axis=-1).reshape(-1, 1, 2).astype(np.float64)


def seen_through(lens: np.ndarray) -> np.ndarray:
    rays = cv2.undistortPoints(pixels(), MATRIX, lens).reshape(HEIGHT, WIDTH, 2)
    return wall_at(rays[..., 0], rays[..., 1]).astype(np.float32)


def test_depth_becomes_that_of_the_pinhole_camera() -> None:
    image = depth_image(seen_through(LENS))
    depth = DepthLens(rectify=True).depth(image, camera_info(LENS))
    rays = pixels().reshape(HEIGHT, WIDTH, 2) - [79.5, 59.5]
    truth = wall_at(rays[..., 0] / FOCAL, rays[..., 1] / FOCAL)
    known = np.isfinite(depth)
    assert known.mean() > 0.8
    # Nearest pixels: at most half of one beside the ray.
    assert np.abs(depth - truth)[known].max() < 0.06
    raw = DepthLens(rectify=False).depth(image, camera_info(LENS))
    assert np.abs(raw - truth)[known].max() > 0.2


def test_without_a_lens_nothing_is_changed_and_unknown_lenses_are_told() -> None:
    depth = seen_through(LENS)
    image = depth_image(depth)
    lens = DepthLens(rectify=True)
    assert np.array_equal(lens.depth(image, camera_info(np.zeros(5))), depth)
    with pytest.raises(GeometryError, match='image_rect'):
        lens.depth(image, camera_info(LENS, 'my_lens'))
