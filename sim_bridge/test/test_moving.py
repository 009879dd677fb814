# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Somebody walking through the scene: seen, in the way, and counted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vln_core.errors import ConfigError, SceneError
from vln_sim_bridge.moving import MovingObstacle
from vln_sim_bridge.raycast import RaycastSimulator
from vln_sim_bridge.simulator import CameraMount, SimulatorConfig

CONFIG = SimulatorConfig(mount=CameraMount(z=1.0, pitch=0.0))


@pytest.fixture
def simulator(room_folder):
    return RaycastSimulator(room_folder, CONFIG)


def test_walks_up_and_down():
    obstacle = MovingObstacle(((0.0, 0.0), (2.0, 0.0), (2.0, 1.0)), speed=0.5, radius=0.25)
    assert obstacle.length == 3.0
    assert obstacle.position(0.0) == (0.0, 0.0)
    assert obstacle.position(2.0) == pytest.approx((1.0, 0.0))
    assert obstacle.position(5.0) == pytest.approx((2.0, 0.5))
    assert obstacle.position(7.0) == pytest.approx((2.0, 0.5))
    assert obstacle.position(12.0) == pytest.approx((0.0, 0.0))


@pytest.mark.parametrize(
    'numbers', [[], [1, 0.2, 0, 0], [1, 0.2, 0, 0, 0, 0], [0, 0.2, 0, 0, 1, 0], [1, math.nan] * 3]
)
def test_nonsense_is_refused(numbers):
    with pytest.raises(ConfigError):
        MovingObstacle.from_numbers(numbers)


def test_is_seen_where_it_is(simulator):
    clean = simulator.render()
    number = simulator.add_moving_obstacle(MovingObstacle(((0, 0), (0, 2)), 0.5, 0.25))
    assert simulator.labels[number].category == 'person'
    frame = simulator.render()
    mask = frame.semantic == number
    columns = np.flatnonzero(mask[120])
    # The tangents from (-2, 0) to the circle of 0.25 m around (0, 0).
    focal = CONFIG.camera.fx
    width = 2.0 * focal * math.tan(math.asin(0.25 / 2.0))
    assert len(columns) == pytest.approx(width, abs=2)
    assert frame.depth[120, 160] == pytest.approx(1.75, abs=0.01)
    np.testing.assert_array_equal(frame.depth[~mask], clean.depth[~mask])
    for _ in range(20):
        simulator.step(0.0, 0.0, 0.05)
    moved = np.flatnonzero((simulator.render().semantic == number)[120])
    assert moved.mean() < columns.mean() - 20  # it went to the left
    simulator.place(-2.0, 0.0, 0.0)
    np.testing.assert_array_equal(simulator.render().semantic, frame.semantic)


def test_blocks_the_body_and_counts_once(simulator):
    simulator.add_moving_obstacle(MovingObstacle(((0, 0), (0, 1e-3)), 1e-6, 0.25))
    for _ in range(100):
        simulator.step(0.5, 0.0, 0.05)
        state = simulator.state()
        assert math.hypot(state.x, state.y) >= 0.45 - 0.02
    assert state.num_collisions == 1


def test_running_into_a_standing_robot_counts_and_the_robot_can_leave(simulator):
    simulator.add_moving_obstacle(MovingObstacle(((-2.0, 1.0 - 0.3), (-2.0, -2.0)), 0.5, 0.25))
    simulator.place(-2.0, 0.0, 0.0)
    for _ in range(20):
        state = simulator.step(0.0, 0.0, 0.05)
    assert state.collided
    assert state.num_collisions == 1
    assert (state.x, state.y) == (-2.0, 0.0)
    for _ in range(20):
        state = simulator.step(0.6, 0.0, 0.05)
    assert state.x > -1.5


def test_robot_cannot_be_placed_into_somebody(simulator):
    simulator.add_moving_obstacle(MovingObstacle(((0, 0), (0, 2)), 0.5, 0.25))
    with pytest.raises(SceneError):
        simulator.place(0.1, 0.0, 0.0)
