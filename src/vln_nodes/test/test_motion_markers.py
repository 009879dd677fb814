# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Refused goals as markers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from visualization_msgs.msg import Marker

from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Panorama, View
from vln_core.outcome import MotionCode, MotionOutcome
from vln_nodes.motion_markers import RefusalMarkers

CAMERA = PinholeCamera.from_hfov(32, 24, math.radians(90))


def panorama(number: int) -> Panorama:
    depth = np.full((24, 32), 2.0, np.float32)
    depth[0, 0] = np.nan
    mount = transforms.camera_mount_tform(0.0, 0.0, 1.0)
    view = View(0, 0.0, np.zeros((24, 32, 3), np.uint8), depth, CAMERA, mount, 5)
    return Panorama(number, 5, np.eye(4), (view,))


def test_each_reason_has_a_namespace_and_stands_at_what_was_pointed_at() -> None:
    markers = RefusalMarkers('odom')
    centre = (CAMERA.cx, CAMERA.cy)
    blocked = MotionOutcome(MotionCode.CORRIDOR_BLOCKED, 'a chair')
    blind = MotionOutcome(MotionCode.INVALID_DEPTH, 'no depth')
    markers.add(panorama(1), 0, centre, blocked)
    array = markers.add(panorama(1), 0, (0.0, 0.0), blind)
    assert array.markers[0].action == Marker.DELETEALL
    shown = {(marker.ns, marker.type): marker for marker in array.markers[1:]}
    assert {name for name, _ in shown} == {'CORRIDOR_BLOCKED', 'INVALID_DEPTH'}
    ball = shown['CORRIDOR_BLOCKED', Marker.SPHERE]
    assert ball.header.frame_id == 'odom' and ball.header.stamp.nanosec == 5
    place = ball.pose.position
    assert (place.x, place.y, place.z) == pytest.approx((2.0, 0.0, 1.0), abs=1e-6)
    assert 'a chair' in shown['CORRIDOR_BLOCKED', Marker.TEXT_VIEW_FACING].text
    colors = [(m.color.r, m.color.g, m.color.b) for (_, kind), m in shown.items() if kind == 2]
    assert len(set(colors)) == 2


def test_a_pixel_outside_is_marked_at_the_robot_and_the_next_panorama_begins_anew() -> None:
    markers = RefusalMarkers('odom')
    outcome = MotionOutcome(MotionCode.OUT_OF_PICTURE, 'outside')
    markers.add(panorama(1), 0, (99.0, 0.0), outcome)
    array = markers.add(panorama(2), 7, (1.0, 1.0), outcome)
    assert len(array.markers) == 3
    assert array.markers[1].pose.position.x == 0.0
