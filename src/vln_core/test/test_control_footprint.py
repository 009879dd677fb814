# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A body that is not round: outline, gate, planner and guard against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from control_world import BoxWorld, Driver, wall_ring

from vln_core.control.body_band import free_turn, free_way
from vln_core.control.footprint import Footprint, outside
from vln_core.control.motion import MotionConfig
from vln_core.control.safety import SafetyConfig, SafetyGate, SafetyState
from vln_core.errors import ConfigError

# 0.6 m long and 0.3 m wide about base_link, like a small quadruped.
BOX = (0.3, 0.15, -0.3, 0.15, -0.3, -0.15, 0.3, -0.15)


def test_extents_of_a_box_and_of_a_circle() -> None:
    box, disc = Footprint(0.2, BOX), Footprint(0.2)
    assert box.inner == pytest.approx(0.15) and box.outer == pytest.approx(math.hypot(0.3, 0.15))
    assert (box.front, box.half_width) == (0.3, 0.15) and not box.is_round
    assert disc.is_round and disc.inner == disc.outer == disc.front == disc.half_width == 0.2
    assert outside(box.corners, 0.5, 0.0) == pytest.approx(0.2)
    assert outside(box.corners, 0.0, 0.0) == pytest.approx(-0.15)


@pytest.mark.parametrize(
    'polygon', [(0.1, 0.1, 0.2), (0.1, 0.0, 0.0, 0.1), (math.nan,) * 6, (1, 1, 2, 1, 2, 2, 1, 2)]
)
def test_what_is_no_outline_is_refused(polygon: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match='footprint'):
        MotionConfig(footprint=polygon)


def test_way_and_turn_before_a_touch_follow_closed_forms() -> None:
    box = Footprint(0.2, BOX)
    assert free_way(np.array([[1.0, 0.1]]), 0.5, 0.0, box, 3.0) == pytest.approx(0.7, abs=0.025)
    assert free_way(np.array([[1.0, 0.2]]), 0.5, 0.0, box, 3.0) == math.inf
    assert free_way(np.array([[-1.0, 0.1]]), -0.2, 0.0, box, 3.0) == pytest.approx(0.7, abs=0.025)
    # A point at 0.25 m to the left meets the long side where 0.25 sin(bearing) = 0.15.
    beside = np.array([[0.0, 0.25]])
    touch = math.pi / 2 - math.asin(0.15 / 0.25)
    assert free_turn(beside, 1.0, box, 3.0) == pytest.approx(touch, abs=0.025)
    assert free_turn(beside, 1.0, Footprint(0.2), 3.0) == math.inf


def gate_with(obstacles: list[tuple[float, float]], **config: object) -> SafetyGate:
    gate = SafetyGate(SafetyConfig(**config))
    gate.on_odometry(1, 0.0)
    gate.on_tf(0.0)
    gate.on_depth(1, 0.0, np.array(obstacles))
    return gate


def test_the_gate_stops_a_turn_that_would_hit_and_lets_the_box_between_posts() -> None:
    posts = [(0.36, 0.2), (0.36, -0.2)]
    for config, state in (
        ({'footprint': BOX}, SafetyState.OK),
        ({'radius': 0.335}, SafetyState.COLLISION_STOP),
    ):
        gate = gate_with(posts, **config)
        gate.on_command('controller', 0.3, 0.0, False, 0.0)
        for _ in range(20):
            decision = gate.decide(0.05, 0.05)
        assert decision.state is state
    gate = gate_with([(0.0, 0.152)], footprint=BOX)
    gate.on_command('controller', 0.0, 1.0, False, 0.0)
    for _ in range(20):
        decision = gate.decide(0.05, 0.05)
    assert decision.state is SafetyState.COLLISION_STOP
    assert abs(decision.w) < 0.45


def test_a_long_body_drives_through_a_gap_that_is_wide_enough_for_it() -> None:
    gap = [((0.0, 0.3, 0.0), (0.1, 2.0, 1.6)), ((0.0, -2.0, 0.0), (0.1, -0.3, 1.6))]
    world = BoxWorld([*wall_ring(-3.0, -2.0, 3.0, 2.0), *gap], (-1.5, 0.0, 0.0))
    world.radius = 0.15
    motion = MotionConfig(footprint=BOX, margin=0.03)
    driver = Driver(world, motion)
    panorama = driver.panorama()
    driver.controller.observe_panorama(panorama)
    outcome = driver.run(lambda: driver.controller.start_route([(1.2, 0.0)], world.pose))
    assert outcome.reached, outcome.message
    rim = motion.body.placed(np.array([pose for pose, _ in driver.log])).reshape(-1, 2)
    in_wall = (rim[:, 0] > 0.0) & (rim[:, 0] < 0.1) & (np.abs(rim[:, 1]) > 0.3)
    assert not in_wall.any()
    # The circle around it does not fit.
    world.pose = (-1.5, 0.0, 0.0)
    round_driver = Driver(world, MotionConfig(radius=0.335, margin=0.03))
    round_driver.controller.observe_panorama(panorama)
    refused = round_driver.controller.start_route([(1.2, 0.0)], world.pose)
    reached_far_side = refused is None and round_driver.controller.path_xy[-1, 0] > 0.3
    assert not reached_far_side


def test_a_turn_beside_a_wall_stops_before_the_corner_hits() -> None:
    walls = [((-2.0, 0.22, 0.0), (2.0, 0.3, 1.6))]
    world = BoxWorld([*wall_ring(-3.0, -3.0, 3.0, 3.0), *walls], (0.0, 0.0, 0.0))
    driver = Driver(world, MotionConfig(footprint=BOX))
    driver.controller.observe_panorama(driver.panorama())
    outcome = driver.run(lambda: driver.controller.start_spin(math.pi / 2))
    assert not outcome.reached
    corner = max(
        float(Footprint(0.2, BOX).placed(np.array([pose]))[0, :, 1].max())
        for pose, _ in driver.log
    )
    assert corner < 0.22
