# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A depth image that shows nothing is no sample: the watchdog then stops the robot."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2: run ./vln test, or source the environment')

from sensor_msgs.msg import CameraInfo, Image

from vln_core.errors import PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import camera_mount_tform
from vln_nodes.depth_lens import DepthLens
from vln_nodes.safety_parameters import SafetyParameters
from vln_nodes.safety_sensors import SafetySensors

CAMERA = PinholeCamera.from_hfov(32, 24, 1.7)
MOUNT = camera_mount_tform(0.1, 0.0, 1.0)


def obstacles(depth):
    message = Image(height=24, width=32, encoding='32FC1', step=128)
    message.data = depth.astype(np.float32).tobytes()
    sensors = SimpleNamespace(_config=SafetyParameters(), _lens=DepthLens(rectify=True))
    return SafetySensors._obstacles(sensors, message, CameraInfo(), CAMERA, MOUNT)


@pytest.mark.parametrize('value', [np.nan, 0.0, -1.0])
def test_a_covered_camera_is_no_camera(value):
    with pytest.raises(PerceptionError, match='knows nothing'):
        obstacles(np.full((24, 32), value))


def test_far_and_near_are_knowledge():
    assert len(obstacles(np.full((24, 32), np.inf))) == 0
    assert len(obstacles(np.full((24, 32), 0.8))) > 0
