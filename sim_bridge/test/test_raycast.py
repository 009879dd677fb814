# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Images of the raycast simulator against closed forms of the tiny room."""

from __future__ import annotations

import math

import numpy as np
import pytest
from room_scene import OBJECTS, STAGE

from vln_core.geometry import transforms
from vln_core.geometry.camera import project
from vln_sim_bridge.raycast import RaycastSimulator
from vln_sim_bridge.simulator import CameraMount, SimulatorConfig

LEVEL = CameraMount(z=1.0, pitch=0.0)


def make(folder, **settings):
    settings.setdefault('mount', LEVEL)
    return RaycastSimulator(folder, SimulatorConfig(**settings))


def slab_depth(config, mount_tform, pose, max_depth):
    """Depth image of all boxes by the slab method, an algorithm of its own; also the owner."""
    camera = config.camera
    u, v = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
    rays = np.stack(
        [(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, np.ones_like(u, float)], -1
    )
    world_tform_camera = transforms.planar_tform(*pose) @ mount_tform
    directions = rays.reshape(-1, 3) @ world_tform_camera[:3, :3].T
    origin = world_tform_camera[:3, 3]
    best = np.full(len(directions), np.inf)
    owner = np.zeros(len(directions), np.uint32)
    boxes = [(0, low, high) for low, high, _ in STAGE.values()]
    boxes += [(number, low, high) for number, (_, _, low, high, _) in OBJECTS.items()]
    for number, low, high in boxes:
        with np.errstate(divide='ignore', invalid='ignore'):
            a = (np.array(low) - origin) / directions
            b = (np.array(high) - origin) / directions
        enter = np.nanmax(np.minimum(a, b), axis=1)
        leave = np.nanmin(np.maximum(a, b), axis=1)
        nearer = (enter <= leave) & (enter > 0) & (enter < best)
        best[nearer] = enter[nearer]
        owner[nearer] = number
    best[best > max_depth] = np.inf
    shape = (camera.height, camera.width)
    return best.reshape(shape), owner.reshape(shape)


@pytest.mark.parametrize(
    'pose', [(-2.0, 0.0, 0.0), (-3.0, -2.0, 0.9), (2.5, 0.5, 2.0), (0.0, 0.0, -1.3)]
)
@pytest.mark.parametrize('mount', [LEVEL, CameraMount(0.1, -0.05, 1.2, 0.05, 0.3, -0.2)])
def test_depth_and_ids_equal_the_slab_method(room_folder, pose, mount):
    simulator = make(room_folder, mount=mount)
    simulator.place(*pose)
    frame = simulator.render()
    tform = transforms.camera_mount_tform(
        mount.x, mount.y, mount.z, roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw
    )
    depth, owner = slab_depth(simulator.config, tform, pose, 10.0)
    # A ray that grazes an edge may go either way: a handful of pixels.
    same = np.isclose(frame.depth, depth, atol=1e-3) | (np.isinf(frame.depth) & np.isinf(depth))
    assert np.mean(same) > 0.998
    assert np.mean(frame.semantic == owner) > 0.998
    assert frame.rgb.dtype == np.uint8
    assert frame.depth.dtype == np.float32
    assert frame.semantic.dtype == np.uint32


def test_depth_is_along_the_axis_not_the_ray(room_folder):
    simulator = make(room_folder)
    simulator.place(-2.0, -1.5, 0.0)  # faces the flat inner wall at x = 0.95
    depth = simulator.render().depth
    middle = depth[100:140, 120:200]
    np.testing.assert_allclose(middle, 2.95, atol=1e-4)


def test_beyond_max_depth_and_sky_are_far(room_folder):
    simulator = make(room_folder, max_depth=2.0)
    frame = simulator.render()
    assert np.isinf(frame.depth[120, 160])
    assert np.all(np.isfinite(frame.depth) <= (frame.depth <= 2.0))
    assert np.isinf(frame.depth[0, 160])  # there is no ceiling


def test_known_point_projects_to_its_pixel(room_folder):
    mount = CameraMount(z=1.0, pitch=0.2)
    simulator = make(room_folder, mount=mount, width=640, height=480)
    pose = (-3.3, -0.2, 0.6)
    simulator.place(*pose)
    world_tform_camera = transforms.planar_tform(*pose) @ transforms.camera_mount_tform(
        0.0, 0.0, 1.0, pitch=0.2
    )
    corner = np.array([[-1.5, 1.0, 0.7]])  # of the table
    inward = np.array([[-1.55, 1.05, 0.7]])
    optical = transforms.apply(transforms.inverse(world_tform_camera), np.vstack([corner, inward]))
    (u, v), (ui, vi) = project(optical, simulator.config.camera)
    frame = simulator.render()
    assert frame.semantic[round(vi), round(ui)] == 1
    assert frame.depth[round(vi), round(ui)] == pytest.approx(optical[1, 2], abs=0.02)
    row = frame.semantic[round(v) + 2]
    assert abs(np.flatnonzero(row == 1).max() - u) < 2.0


def test_colours_are_those_of_the_textures(room_folder):
    simulator = make(room_folder)
    simulator.place(-3.3, -0.2, 0.6)
    frame = simulator.render()
    ratio = frame.rgb[frame.semantic == 1] / np.array(OBJECTS[1][4], float)
    assert np.all(ratio <= 1.01)
    assert np.all(ratio >= 0.5)
    # One shade for each face, the same for all channels up to rounding.
    assert np.ptp(ratio, axis=1).max() < 0.04


def test_labels(room_folder):
    simulator = make(room_folder)
    assert simulator.labels[0].category == 'building'
    assert simulator.labels[2].name == 'wardrobe_1'


def test_same_seed_same_bits_other_seed_other_noise(room_folder):
    def run(seed):
        simulator = make(room_folder, depth_noise=0.003, depth_dropout=0.02, seed=seed)
        frames = []
        for _ in range(3):
            simulator.step(0.3, 0.2, 0.05)
            frames.append(simulator.render().depth.tobytes())
        return frames

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_depth_noise_grows_with_the_square(room_folder):
    simulator = make(room_folder, depth_noise=0.002, depth_dropout=0.1)
    clean = make(room_folder)
    noisy, true = simulator.render().depth, clean.render().depth
    assert np.mean(np.isnan(noisy)) == pytest.approx(0.1, abs=0.01)
    for low, high in ((1.0, 1.5), (2.5, 3.0)):
        band = (true > low) & (true < high) & np.isfinite(noisy)
        error = noisy[band] - true[band]
        expected = 0.002 * float(np.sqrt(np.mean(true[band] ** 4)))
        assert np.std(error) == pytest.approx(expected, rel=0.1)


def test_edge_holes_lie_behind_nearer_edges(room_folder):
    simulator = make(room_folder, depth_edge_holes=True)
    clean = make(room_folder)
    holes = np.isnan(simulator.render().depth)
    true = clean.render().depth
    assert 10 < holes.sum() < 0.05 * holes.size
    rows, columns = np.nonzero(holes)
    inner = (columns > 0) & (columns < holes.shape[1] - 1)
    rows, columns = rows[inner], columns[inner]
    nearer = np.minimum(true[rows, columns - 1], true[rows, columns + 1])
    assert np.all(nearer < true[rows, columns])


def test_odometry_is_true_without_noise_and_drifts_with_it(room_folder):
    exact = make(room_folder)
    drifting = make(room_folder, odometry_noise=0.05, seed=3)
    start = drifting.odometry()
    assert start == pytest.approx((-2.0, 0.0, 0.0))
    for simulator in (exact, drifting):
        for _ in range(60):
            simulator.step(0.4, 0.3, 0.05)
    state = exact.state()
    assert exact.odometry() == (state.x, state.y, state.yaw)
    x, y, _ = drifting.odometry()
    gap = math.hypot(x - state.x, y - state.y)
    assert 0.005 < gap < 0.3
    drifting.place(-2.0, 0.0, 0.0)
    assert drifting.odometry() == start
