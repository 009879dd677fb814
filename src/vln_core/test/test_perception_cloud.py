# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The cloud of a panorama: coloured, in the odometry frame, one point a voxel."""

import numpy as np
import pytest

from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Panorama, View
from vln_core.perception.cloud import panorama_cloud
from vln_core.perception.grounding import GroundingConfig

pytest.importorskip('open3d', reason='open3d is not installed')


def test_a_wall_becomes_one_point_a_voxel():
    camera = PinholeCamera.from_hfov(80, 60, 1.2)
    depth = np.full((60, 80), 2.0, np.float32)
    depth[:5], depth[5:10] = np.nan, 9.0
    rgb = np.full((60, 80, 3), (200, 100, 50), np.uint8)
    pose = transforms.planar_tform(1.0, 0.0, 0.0) @ transforms.camera_mount_tform(0, 0, 1.0)
    view = View(0, 0.0, rgb, depth, camera, pose, 1)
    points, colors = panorama_cloud(Panorama(0, 1, np.eye(4), (view,)), 0.1, GroundingConfig(), 1)
    assert points.dtype == np.float32 and colors.dtype == np.uint8
    assert 100 < len(points) == len(colors) < 600
    np.testing.assert_allclose(points[:, 0], 3.0, atol=1e-5)
    np.testing.assert_array_equal(colors, np.tile([200, 100, 50], (len(colors), 1)))
    cells = np.floor((points - points.min(axis=0) + 0.05) / 0.1).astype(int)
    assert len(np.unique(cells, axis=0)) > 0.5 * len(cells)


def test_no_depth_is_an_empty_cloud():
    camera = PinholeCamera.from_hfov(8, 6, 1.2)
    dark = np.full((6, 8), np.nan, np.float32)
    view = View(0, 0.0, np.zeros((6, 8, 3), np.uint8), dark, camera, np.eye(4), 1)
    points, colors = panorama_cloud(Panorama(0, 1, np.eye(4), (view,)), 0.1, GroundingConfig())
    assert points.shape == colors.shape == (0, 3)
