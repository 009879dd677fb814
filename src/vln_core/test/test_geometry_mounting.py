# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Turned mounting: a pixel of the upright picture looks along the ray of the sensor's pixel."""

import math

import numpy as np
import pytest

from vln_core.geometry import mounting, transforms
from vln_core.geometry.camera import PinholeCamera, back_project, project

CAMERA = PinholeCamera(160, 120, 130.0, 125.0, 70.0, 66.0)


@pytest.mark.parametrize(('roll_deg', 'turns'), [(0, 0), (8, 0), (90, 1), (180, 2), (-90, 3)])
def test_pictures_are_turned_upright(roll_deg, turns):
    mount = transforms.camera_mount_tform(
        0.1, 0.0, 1.0, roll=math.radians(roll_deg), pitch=0.3, yaw=0.4
    )
    found = mounting.quarter_turns(mount)
    assert found in (turns, (4 - turns) % 4)
    upright = mounting.turned_pose(mount, found)
    up = upright[:3, :3].T @ (0.0, 0.0, 1.0)
    assert up[1] < -0.9
    np.testing.assert_allclose(upright[:3, :3] @ upright[:3, :3].T, np.eye(3), atol=1e-12)


def test_a_camera_that_looks_down_is_not_turned():
    for yaw in (0.0, 1.0, 3.0):
        down = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=math.pi / 2, yaw=yaw)
        assert mounting.quarter_turns(down) == 0


@pytest.mark.parametrize('turns', range(4))
def test_points_stay_where_they_are(turns):
    depth = np.random.default_rng(turns).uniform(1.0, 4.0, (120, 160)).astype(np.float32)
    mount = transforms.camera_mount_tform(0.1, 0.2, 1.0, roll=0.2, pitch=0.3, yaw=0.4)
    pixels = np.array([[0.0, 0.0], [159.0, 0.0], [31.0, 77.0]])
    points = transforms.apply(mount, back_project(pixels, depth, CAMERA))
    camera = mounting.turned_camera(CAMERA, turns)
    turned = np.rot90(depth, turns)
    assert (camera.height, camera.width) == turned.shape
    seen = transforms.inverse(mounting.turned_pose(mount, turns))
    uv = project(transforms.apply(seen, points), camera)
    np.testing.assert_allclose(uv, np.rint(uv), atol=1e-6)
    columns, rows = np.rint(uv).astype(int).T
    expected = [depth[int(v), int(u)] for u, v in pixels]
    np.testing.assert_array_equal(turned[rows, columns], expected)


@pytest.mark.parametrize(
    ('views_deg', 'gaps_deg'),
    [
        ([], [(0, 360)]),
        ([(0, 100)], [(-180, 260)]),
        ([(0, 100), (180, 100)], [(-90, 80), (90, 80)]),
        ([(90 * k, 100) for k in range(4)], []),
        ([(90 * k, 90) for k in range(4)], []),
        ([(170, 100), (0, 100)], [(-95, 90), (85, 70)]),
        ([(0, 200), (10, 20), (180, 150)], [(-102.5, 5), (102.5, 5)]),
    ],
)
def test_what_of_the_circle_is_not_seen(views_deg, gaps_deg):
    gaps = mounting.unseen_sectors([tuple(np.radians(view)) for view in views_deg])
    assert len(gaps) == len(gaps_deg)
    for gap, expected in zip(gaps, gaps_deg):
        assert np.degrees(gap) % 360 == pytest.approx(np.array(expected) % 360, abs=1e-6) or (
            np.degrees(gap)[1] == pytest.approx(expected[1])
        )
