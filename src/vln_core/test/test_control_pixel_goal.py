# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace

import numpy as np
import pytest
from control_world import BoxWorld, wall_ring

from vln_core.control.pixel_goal import (
    PixelGoal,
    PixelGoalConfig,
    Refusal,
    corridor_block,
    pixel_goal,
)
from vln_core.errors import ConfigError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import View
from vln_core.outcome import MotionCode

CONFIG = PixelGoalConfig()


def view_of(world: BoxWorld) -> View:
    shape = (world.camera.height, world.camera.width, 3)
    return View(
        0, 0.0, np.zeros(shape, np.uint8), world.depth(), world.camera, world.odom_tform_camera, 1
    )


def pixel_at(view: View, point: tuple[float, float, float]) -> tuple[int, int]:
    local = transforms.inverse(view.odom_tform_camera) @ np.array([*point, 1.0])
    u = view.camera.fx * local[0] / local[2] + view.camera.cx
    v = view.camera.fy * local[1] / local[2] + view.camera.cy
    return round(u), round(v)


@pytest.mark.parametrize('pitch', [0.0, 0.3])
@pytest.mark.parametrize('roll', [-0.2, 0.2])
def test_bearing_and_distance_whatever_the_tilt(pitch: float, roll: float) -> None:
    mount = transforms.camera_mount_tform(0.1, -0.05, 0.9, pitch=pitch, roll=roll)
    camera = PinholeCamera.from_hfov(320, 240, math.radians(100))
    world = BoxWorld(
        [((2.0, 0.4, 0.0), (2.4, 0.8, 1.5))], (0.5, 0.2, 0.1), mount=mount, camera=camera
    )
    view = view_of(world)
    goal = pixel_goal(view, pixel_at(view, (2.0, 0.6, 0.8)), world.pose, CONFIG)
    assert isinstance(goal, PixelGoal)
    bearing = math.atan2(0.6 - 0.2, 2.0 - 0.5)
    assert goal.theta == pytest.approx(bearing - 0.1, abs=0.02)
    assert goal.rho == 1.0  # 1.552 - 0.35 rounded down to quarters
    assert goal.goal_xy[0] == pytest.approx(0.5 + math.cos(bearing), abs=0.02)
    assert goal.target_odom == pytest.approx((2.0, 0.6, 0.8), abs=0.03)


def test_the_stored_pose_counts_and_not_where_the_robot_is_now() -> None:
    world = BoxWorld([((2.0, -0.5, 0.0), (2.4, 0.5, 1.5))])
    view = view_of(world)
    pixel = pixel_at(view, (2.0, 0.0, 0.8))
    goal = pixel_goal(view, pixel, (2.0, -1.5, math.pi / 2), CONFIG)
    assert isinstance(goal, PixelGoal)
    assert abs(goal.theta) < 0.03
    assert goal.goal_xy == pytest.approx((2.0, -0.5), abs=0.05)


def test_steps_are_clipped_and_rounded_down() -> None:
    world = BoxWorld(wall_ring(-6.0, -6.0, 6.0, 6.0))
    view = view_of(world)
    goal = pixel_goal(view, pixel_at(view, (6.0, 0.0, 1.0)), world.pose, CONFIG)
    assert isinstance(goal, PixelGoal) and goal.rho == 2.5 and not goal.is_far


def test_a_far_pixel_is_a_direction() -> None:
    world = BoxWorld([])
    view = view_of(world)
    goal = pixel_goal(view, (70, 10), world.pose, CONFIG)
    assert isinstance(goal, PixelGoal)
    assert goal.is_far and goal.rho == 2.5 and goal.target_odom is None
    u = (70 - world.camera.cx) / world.camera.fx
    assert goal.theta == pytest.approx(-math.atan(u), abs=0.15)


@pytest.mark.parametrize(
    ('pixel', 'depth', 'code'),
    [
        ((96, 10), 2.0, MotionCode.OUT_OF_PICTURE),
        ((-1, 10), 2.0, MotionCode.OUT_OF_PICTURE),
        ((math.nan, 10), 2.0, MotionCode.OUT_OF_PICTURE),
        ((50, 40), math.nan, MotionCode.INVALID_DEPTH),
        ((50, 40), 0.0, MotionCode.INVALID_DEPTH),
        ((50, 40), -math.inf, MotionCode.INVALID_DEPTH),
        ((50, 40), 0.1, MotionCode.INVALID_DEPTH),
        ((50, 40), 0.5, MotionCode.TOO_SHORT),
    ],
)
def test_refusals(pixel: tuple[float, float], depth: float, code: MotionCode) -> None:
    view = view_of(BoxWorld([]))
    view = replace(view, depth=np.full((72, 96), depth, np.float32))
    refusal = pixel_goal(view, pixel, (0.0, 0.0, 0.0), CONFIG)
    assert isinstance(refusal, Refusal)
    assert refusal.code is code
    assert refusal.message


def test_a_small_gap_is_refused_and_a_real_opening_is_not() -> None:
    depth = np.full((72, 96), 2.0, np.float32)
    depth[35:38, 47:50] = 8.0
    view = replace(view_of(BoxWorld([])), depth=depth)
    refusal = pixel_goal(view, (48, 36), (0.0, 0.0, 0.0), CONFIG)
    assert isinstance(refusal, Refusal) and refusal.code is MotionCode.SEE_THROUGH
    depth[5:60, 40:56] = 8.0
    assert isinstance(pixel_goal(view, (48, 36), (0.0, 0.0, 0.0), CONFIG), PixelGoal)


def wide_view(points_base: list[tuple[float, float, float]], yaw: float) -> View:
    """A camera at the robot's centre that looks along ``yaw`` and sees only these points."""
    camera = PinholeCamera.from_hfov(201, 201, math.radians(120))
    tform = transforms.planar_tform(0.0, 0.0, yaw) @ transforms.camera_mount_tform(0.0, 0.0, 0.5)
    depth = np.full((201, 201), np.nan, np.float32)
    for point in points_base:
        local = transforms.inverse(tform) @ np.array([*point, 1.0])
        u = round(camera.fx * local[0] / local[2] + camera.cx)
        v = round(camera.fy * local[1] / local[2] + camera.cy)
        depth[v, u] = local[2]
    return View(0, yaw, np.zeros((201, 201, 3), np.uint8), depth, camera, tform, 1)


@pytest.mark.parametrize('theta', [0.0, math.pi / 2, -math.pi / 2])
@pytest.mark.parametrize(
    ('ahead', 'left', 'blocks'),
    [(0.8, 0.0, True), (0.8, 0.22, True), (0.8, -0.22, True), (0.8, 0.30, False),
     (0.8, -0.30, False), (1.15, 0.0, True), (1.25, 0.0, False)],
)  # fmt: skip
def test_corridor_ahead_left_and_right(
    theta: float, ahead: float, left: float, blocks: bool
) -> None:
    x = ahead * math.cos(theta) - left * math.sin(theta)
    y = ahead * math.sin(theta) + left * math.cos(theta)
    view = wide_view([(x, y, 0.5)], theta)
    found = corridor_block(
        view.depth, view.camera, view.odom_tform_camera, (0.0, 0.0, 0.0), theta, 1.0, CONFIG
    )
    assert (found is not None) == blocks
    if found is not None:
        assert found == pytest.approx((ahead, left), abs=0.02)


@pytest.mark.parametrize(('z', 'blocks'), [(0.03, False), (0.1, True), (1.15, True), (1.3, False)])
def test_corridor_band(z: float, blocks: bool) -> None:
    view = wide_view([(1.0, 0.0, z)], 0.0)
    found = corridor_block(
        view.depth, view.camera, view.odom_tform_camera, (0.0, 0.0, 0.0), 0.0, 1.0, CONFIG
    )
    assert (found is not None) == blocks


def test_own_body_does_not_block_the_corridor() -> None:
    view = wide_view([(0.4, 0.0, 0.5)], 0.0)
    mask = np.isfinite(view.depth)
    args = (view.depth, view.camera, view.odom_tform_camera, (0.0, 0.0, 0.0), 0.0, 1.0, CONFIG)
    assert corridor_block(*args) is not None
    assert corridor_block(*args, body_mask=mask) is None


def test_settings_are_checked() -> None:
    for wrong in ({'step': 0.0}, {'longest': 0.1}, {'stop_margin': math.nan}, {'min_depth': 50.0}):
        with pytest.raises(ConfigError):
            PixelGoalConfig(**wrong)
