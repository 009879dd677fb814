# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The coloured points of a panorama, one a voxel, to look at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vln_core.geometry import transforms
from vln_core.geometry.camera import back_project_image
from vln_core.observation import Panorama
from vln_core.perception.grounding import GroundingConfig


def panorama_cloud(
    panorama: Panorama, voxel: float, config: GroundingConfig, stride: int = 2
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return points in the odometry frame (N, 3) metres and their colours (N, 3), red first.

    Args:
        panorama: All views are used.
        voxel: Edge of a voxel, metres; its points become their mean.
        config: Depth limits.
        stride: Every how many pixels a point is taken.
    """
    parts, shades = [], []
    for view in panorama.views:
        points = back_project_image(view.depth, view.camera, stride).reshape(-1, 3)
        colors = view.rgb[::stride, ::stride].reshape(-1, 3)
        with np.errstate(invalid='ignore'):
            good = (points[:, 2] >= config.min_depth) & (points[:, 2] <= config.max_depth)
        parts.append(transforms.apply(view.odom_tform_camera, points[good]))
        shades.append(colors[good])
    points_odom, colors = np.concatenate(parts), np.concatenate(shades)
    if not len(points_odom):
        return np.zeros((0, 3), np.float32), np.zeros((0, 3), np.uint8)
    import open3d  # takes a second, and only who looks at clouds needs it

    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points_odom))
    cloud.colors = open3d.utility.Vector3dVector(colors / 255.0)
    thin = cloud.voxel_down_sample(voxel)
    shades_thin = np.rint(255.0 * np.asarray(thin.colors)).astype(np.uint8)
    return np.asarray(thin.points).astype(np.float32), shades_thin
