# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from control_world import BoxWorld, wall_ring

from vln_core.control.traversability import (
    FREE,
    LETHAL,
    OCCUPIED,
    UNKNOWN,
    TraversabilityConfig,
    TraversabilityGrid,
)
from vln_core.errors import ConfigError, GeometryError, ImageSizeError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera

ROOM = wall_ring(-3.0, -2.0, 3.0, 2.0)


def seen(world: BoxWorld, grid: TraversabilityGrid | None = None, stamp: int = 1):
    grid = grid or TraversabilityGrid(TraversabilityConfig(initial_free_radius=0.3))
    x, y, _ = world.pose
    grid.integrate(
        world.depth(), world.camera, world.odom_tform_camera, stamp, base_xyz=(x, y, 0.0)
    )
    return grid


def test_room_ahead_is_free_walls_are_occupied_and_behind_is_unknown() -> None:
    grid = seen(BoxWorld(ROOM))
    assert grid.state_at(2.0, 0.0) == FREE
    assert grid.state_at(3.03, 0.0) == OCCUPIED
    assert grid.state_at(3.4, 0.0) == UNKNOWN  # behind the wall
    assert grid.state_at(-1.5, 0.0) == UNKNOWN  # behind the robot
    assert grid.state_at(0.0, 0.0) == FREE  # under the robot, by promise
    assert grid.state_at(0.5, 0.0) == UNKNOWN  # blind zone before the wheels


@pytest.mark.parametrize('pitch', [0.0, 0.2, 0.44])
@pytest.mark.parametrize('roll', [-0.15, 0.0, 0.15])
def test_camera_tilt_and_roll_do_not_move_walls(pitch: float, roll: float) -> None:
    mount = transforms.camera_mount_tform(0.1, 0.05, 0.9, pitch=pitch, roll=roll, yaw=0.1)
    grid = seen(BoxWorld(ROOM, mount=mount))
    rows, columns = np.nonzero(grid.state == OCCUPIED)
    points = grid.points_xy(np.stack([rows, columns], axis=1))
    assert len(points) > 40
    to_wall = np.minimum(np.abs(np.abs(points[:, 0]) - 3.0), np.abs(np.abs(points[:, 1]) - 2.0))
    assert to_wall.max() < 0.08
    assert grid.state_at(2.0, 0.3) == FREE


def test_only_things_in_the_body_band_are_obstacles() -> None:
    boxes = [
        *ROOM,
        ((1.5, 0.8, 0.0), (1.8, 1.1, 0.04)),  # a rug
        ((1.5, -0.1, 0.7), (1.9, 0.3, 0.74)),  # a table top
        ((1.5, -1.1, 1.5), (1.9, -0.8, 1.9)),  # a lamp above the robot
        ((2.2, 0.9, 0.0), (2.5, 1.2, 0.15)),  # a low box
    ]
    grid = seen(BoxWorld(boxes, camera=PinholeCamera.from_hfov(320, 240, math.radians(100))))
    assert grid.state_at(1.65, 0.95) == FREE
    assert grid.state_at(1.52, 0.1) == OCCUPIED
    # The rows of a picture hit a level top sparsely, but too densely for a body to fit between.
    low, high = grid.cells_rc(np.array([[1.5, -0.1], [1.9, 0.3]]))
    top = grid.distance_field()[low[0] : high[0], low[1] : high[1]]
    assert top.max() < 0.15
    assert grid.state_at(1.7, -0.95) == FREE
    assert grid.state_at(2.22, 1.05) == OCCUPIED


def test_dropoff_is_lethal_and_the_floor_before_it_free() -> None:
    world = BoxWorld(ROOM, holes=[(1.5, -0.5, 2.5, 0.5)])
    grid = TraversabilityGrid()
    for k in range(3):
        seen(world, grid, k)
    assert grid.state_at(1.7, 0.0) == LETHAL
    assert grid.state_at(1.3, 0.0) == FREE
    assert grid.state_at(2.0, 1.0) == FREE


def test_an_obstacle_that_left_is_cleared_and_its_floor_seen_again() -> None:
    person = ((1.5, -0.2, 0.0), (1.8, 0.2, 1.7))
    world = BoxWorld([*ROOM, person])
    grid = seen(world)
    assert grid.state_at(1.52, 0.0) == OCCUPIED
    world.boxes = world.boxes[:-1]
    for k in range(6):
        seen(world, grid, k + 2)
    assert grid.state_at(1.52, 0.0) == FREE


def test_a_table_top_is_not_cleared_by_rays_above_and_below_it() -> None:
    world = BoxWorld([*ROOM, ((1.5, -0.4, 0.70), (2.0, 0.4, 0.73))])
    grid = seen(world)
    for k in range(40):
        world.pose = (0.005 * k, 0.01 * k, 0.01 * k)
        seen(world, grid, k + 2)
        assert grid.state_at(1.53, 0.0) == OCCUPIED


def test_what_is_in_the_blind_zone_is_remembered() -> None:
    world = BoxWorld([*ROOM, ((1.6, -0.2, 0.0), (1.8, 0.2, 0.15))])
    grid = seen(world)
    for k in range(25):
        world.pose = (0.05 * k, 0.0, 0.0)
        seen(world, grid, k + 2)
    assert grid.state_at(1.62, 0.0) == OCCUPIED
    assert grid.state_at(1.4, 0.0) == FREE


def test_an_obstacle_not_seen_for_long_becomes_unknown() -> None:
    world = BoxWorld([*ROOM, ((1.5, -0.2, 0.0), (1.8, 0.2, 1.0))])
    grid = seen(world, TraversabilityGrid(TraversabilityConfig(decay=5.0)))
    world.pose = (0.0, 0.0, math.pi)
    seen(world, grid, 3_000_000_000)
    assert grid.state_at(1.52, 0.0) == OCCUPIED
    seen(world, grid, 9_000_000_000)
    assert grid.state_at(1.52, 0.0) == UNKNOWN


def test_values_of_depth_far_unknown_and_too_near() -> None:
    world = BoxWorld(ROOM)
    grid = TraversabilityGrid(TraversabilityConfig(initial_free_radius=0.3))
    blind = np.full((world.camera.height, world.camera.width), np.nan, np.float32)
    base = (0.0, 0.0, 0.0)
    grid.integrate(blind, world.camera, world.odom_tform_camera, 1, base_xyz=base)
    grid.integrate(blind * 0.0, world.camera, world.odom_tform_camera, 2, base_xyz=base)
    zero = np.zeros_like(blind)
    grid.integrate(zero, world.camera, world.odom_tform_camera, 3, base_xyz=base)
    assert set(np.unique(grid.state)) == {UNKNOWN, FREE}
    assert np.count_nonzero(grid.state == FREE) < 150  # only the promised circle
    near = np.full_like(blind, -np.inf)
    grid.integrate(near, world.camera, world.odom_tform_camera, 4, base_xyz=base)
    assert grid.state_at(0.16, 0.0) == OCCUPIED
    # Far above the floor clears: a thing that is gone in front of a far background.
    grid = seen(BoxWorld([((1.5, -0.2, 0.0), (1.8, 0.2, 1.2))]))
    world = BoxWorld([])
    for k in range(6):
        seen(world, grid, 5 + k)
    assert grid.state_at(1.52, 0.0) == FREE


def test_noise_and_holes_leave_no_phantoms_and_no_gaps() -> None:
    world = BoxWorld(ROOM, noise=0.005, dropout=0.2, seed=3)
    grid = TraversabilityGrid()
    for k in range(10):
        seen(world, grid, k)
    xs, ys = grid.cell_centres()
    inner = (np.abs(xs[None, :] - 1.8) < 0.8) & (np.abs(ys[:, None]) < 0.7)
    assert np.count_nonzero(grid.state[inner] >= OCCUPIED) == 0
    assert np.mean(grid.free_mask()[inner]) > 0.99


def test_window_rolls_with_the_robot_and_keeps_what_stays_inside() -> None:
    world = BoxWorld(ROOM)
    grid = seen(world)
    before = grid.state_at(2.5, 0.5)
    grid.recentre(1.37, -0.6)
    assert grid.state_at(2.5, 0.5) == before == FREE
    assert grid.state_at(3.03, 0.0) == OCCUPIED
    assert grid.state_at(-4.5, 0.0) == UNKNOWN
    grid.recentre(50.0, 0.0)
    assert grid.state_at(2.5, 0.5) == UNKNOWN
    assert np.all(grid.state == UNKNOWN)


def test_own_body_is_no_obstacle() -> None:
    world = BoxWorld([*ROOM, ((0.9, -0.1, 0.3), (1.0, 0.1, 0.5))])
    mask = world.depth() < 1.2
    grid = TraversabilityGrid()
    grid.integrate(
        world.depth(), world.camera, world.odom_tform_camera, 1, base_xyz=(0.0, 0.0, 0.0),
        body_mask=mask,
    )  # fmt: skip
    assert grid.state_at(0.92, 0.0) != OCCUPIED
    assert seen(world).state_at(0.92, 0.0) == OCCUPIED


def test_occupancy_and_distances() -> None:
    grid = seen(BoxWorld(ROOM))
    occupancy = grid.as_occupancy()
    assert set(np.unique(occupancy)) == {-1, 0, 100}
    row, column = grid.cells_rc(np.array([[2.0, 0.0]]))[0]
    assert grid.distance_field()[row, column] == pytest.approx(1.0, abs=0.08)
    back = grid.points_xy(np.array([[row, column]]))[0]
    assert np.abs(back - [2.0, 0.0]).max() <= 0.025 + 1e-9


def test_unusable_input_is_refused() -> None:
    world = BoxWorld(ROOM)
    grid = TraversabilityGrid()
    with pytest.raises(ImageSizeError):
        grid.integrate(np.zeros((3, 4), np.float32), world.camera, np.eye(4), 1)
    for bad in (np.full((4, 4), np.nan), np.eye(3), np.diag([1.0, 1.0, 2.0, 1.0])):
        with pytest.raises(GeometryError):
            grid.integrate(world.depth(), world.camera, bad, 1)
    for wrong in ({'cell': -1.0}, {'size': 0.2}, {'min_depth': 20.0}, {'step_height': 3.0}):
        with pytest.raises(ConfigError):
            TraversabilityConfig(**wrong)
