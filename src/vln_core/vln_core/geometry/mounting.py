# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Cameras that are mounted turned: pictures brought upright, and what of the circle they see."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import wrap_angle

# Optical frame after one quarter turn of the picture counter-clockwise: x was y, y was -x.
_OPTICAL_TFORM_TURNED = np.array(
    [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)


def quarter_turns(base_tform_camera: NDArray[np.float64]) -> int:
    """Return how many quarter turns counter-clockwise (``np.rot90``) bring the picture upright.

    Args:
        base_tform_camera: (4, 4) pose of the optical frame on the robot.

    Returns:
        0..3; 0 for a camera that looks straight up or down, where no turn is upright.
    """
    up_right, up_down = base_tform_camera[2, 0], base_tform_camera[2, 1]
    if math.hypot(up_right, up_down) < 0.3:
        return 0
    return round(math.atan2(up_right, -up_down) / (math.pi / 2.0)) % 4


def turned_camera(camera: PinholeCamera, turns: int) -> PinholeCamera:
    """Return the intrinsics of the picture after ``np.rot90(picture, turns)``."""
    for _ in range(turns % 4):
        camera = PinholeCamera(
            camera.height, camera.width, camera.fy, camera.fx, camera.cy,
            camera.width - 1.0 - camera.cx,
        )  # fmt: skip
    return camera


def turned_pose(a_tform_camera: NDArray[np.float64], turns: int) -> NDArray[np.float64]:
    """Return the pose (4, 4) of the optical frame of the turned picture."""
    for _ in range(turns % 4):
        a_tform_camera = a_tform_camera @ _OPTICAL_TFORM_TURNED
    return a_tform_camera


def heading_of(base_tform_camera: NDArray[np.float64]) -> float:
    """Return where the camera looks relative to the robot, rad about +z; 0 is straight ahead."""
    return math.atan2(base_tform_camera[1, 2], base_tform_camera[0, 2])


def unseen_sectors(views: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the gaps of the circle that no view covers.

    Args:
        views: Heading and horizontal field of view of each, rad.

    Returns:
        Middle and width of each gap of more than one degree, rad, in order of the middle; the
        whole circle for no views.
    """
    if not views:
        return [(0.0, 2.0 * math.pi)]
    edges = sorted((wrap_angle(yaw - 0.5 * hfov), hfov) for yaw, hfov in views)
    gaps = []
    # What lies before the first edge is found at the end of the turn; the last may reach over it.
    ends = [start + hfov for start, hfov in edges]
    reach = max(edges[0][0], max(ends) - 2.0 * math.pi)
    for start, hfov in [*edges, (edges[0][0] + 2.0 * math.pi, 0.0)]:
        if start - reach > math.radians(1.0):
            gaps.append((wrap_angle(0.5 * (start + reach)), start - reach))
        reach = max(reach, start + hfov)
    return sorted(gaps)
