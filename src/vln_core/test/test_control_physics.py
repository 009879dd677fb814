# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Braking, turning and clearance of three robots against what a sheet of paper says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from control_world import BoxWorld, Driver, wall_ring

from vln_core.control.follower import FollowerConfig, RateLimiter
from vln_core.control.motion import MotionConfig
from vln_core.control.safety import SafetyConfig, SafetyGate

DT = 0.05


def profile(
    radius: float,
    height: float,
    step: float,
    speed: float,
    turn_rate: float,
    acceleration: float,
    emergency: float,
) -> MotionConfig:
    follower = FollowerConfig(
        max_speed=speed, max_turn_rate=turn_rate, max_acceleration=acceleration
    )
    return MotionConfig(
        radius=radius,
        robot_height=height,
        step_height=step,
        emergency_deceleration=emergency,
        follower=follower,
    )


PROFILES = {
    'small round': profile(0.18, 0.5, 0.015, 0.45, 1.5, 0.6, 1.2),
    'mobile manipulator': profile(0.26, 1.45, 0.02, 0.3, 0.8, 0.4, 0.8),
    'quadruped': profile(0.40, 0.8, 0.15, 0.8, 1.2, 1.2, 2.5),
}
robots = pytest.mark.parametrize('motion', PROFILES.values(), ids=PROFILES.keys())


def driver_of(motion: MotionConfig, boxes: list[tuple]) -> Driver:
    world = BoxWorld([*wall_ring(-3.0, -3.0, 6.0, 3.0), *boxes])
    world.radius, world.height = motion.radius, motion.robot_height
    world.step_height = motion.step_height
    driver = Driver(world, motion)
    driver.controller.observe_panorama(driver.panorama())
    return driver


@robots
def test_braking_distance_is_speed_squared_over_twice_the_deceleration(
    motion: MotionConfig,
) -> None:
    """s = v^2 / 2a; in steps of dt each speed lasts a whole step: half a step less, v dt / 2."""
    limiter = RateLimiter(motion.follower.max_acceleration, motion.follower.max_jerk)
    v, a = motion.follower.max_speed, motion.emergency_deceleration
    limiter.reset(v)
    way, steps = 0.0, 0
    while limiter.value > 0.0:
        way += limiter.brake(a, DT) * DT
        steps += 1
    assert steps == math.ceil(v / a / DT - 1e-9)
    assert way == pytest.approx(v * v / (2.0 * a) - 0.5 * v * DT, abs=0.13 * a * DT * DT)


@robots
def test_time_to_full_speed_follows_acceleration_and_jerk(motion: MotionConfig) -> None:
    """With a jerk ramp at both ends: t = v / a + a / j."""
    follower = motion.follower
    limiter = RateLimiter(follower.max_acceleration, follower.max_jerk)
    steps = 0
    before = 0.0
    while limiter.value < follower.max_speed - 1e-3:
        value = limiter.step(follower.max_speed, DT)
        assert value - before <= follower.max_acceleration * DT + 1e-9
        before = value
        steps += 1
        assert steps < 400
    v, a, j = follower.max_speed, follower.max_acceleration, follower.max_jerk
    assert steps * DT == pytest.approx(v / a + a / j, abs=4 * DT)


@robots
def test_the_gate_lets_drive_as_fast_as_can_be_stopped(motion: MotionConfig) -> None:
    """way = v t + v^2 / 2a with the way that is free beyond body and stop distance."""
    config = SafetyConfig(
        radius=motion.radius,
        max_speed=3.0,
        max_acceleration=1.0,
        emergency_deceleration=motion.emergency_deceleration + 1.0,
    )
    for free in (0.1, 0.2, 0.4):
        gate = SafetyGate(config)
        thing = np.array([[motion.radius + config.stop_distance + free, 0.0]])
        now = 10.0
        for _ in range(100):  # the same picture again and again, while the gate speeds up
            now += DT
            stamp = round(now * 1e9)
            gate.on_depth(stamp, now, thing)
            gate.on_odometry(stamp, now)
            gate.on_tf(now)
            gate.on_command('controller', 3.0, 0.0, False, now)
            v = gate.decide(now, DT).v
        a, t = config.emergency_deceleration, config.latency
        assert v * t + v * v / (2.0 * a) == pytest.approx(free, abs=0.03)


@robots
def test_a_turn_takes_the_time_of_its_rate_and_ramps(motion: MotionConfig) -> None:
    """At least angle / rate + rate / acceleration, and hardly more; the place does not change."""
    driver = driver_of(motion, [])
    outcome = driver.run(lambda: driver.controller.start_spin(math.pi))
    assert outcome.reached
    x, y, yaw = driver.world.pose
    assert math.hypot(x, y) < 1e-6
    assert abs(abs(yaw) - math.pi) < 0.04
    follower = motion.follower
    least = math.pi / follower.max_turn_rate
    assert least <= driver.tick * DT <= least + 1.5
    rates = [abs(command.w) for _, command in driver.log]
    assert max(rates) == pytest.approx(follower.max_turn_rate, rel=0.02)


@robots
def test_clearance_past_a_pillar_is_kept(motion: MotionConfig) -> None:
    """The centre never comes nearer to a pillar than radius; the way is not longer than around."""
    pillar = ((1.4, -0.15, 0.0), (1.7, 0.15, 2.0))
    driver = driver_of(motion, [pillar])
    outcome = driver.run(lambda: driver.controller.start_route([(3.0, 0.0)], driver.world.pose))
    assert outcome.reached, outcome.message
    assert driver.world.num_contacts == 0
    nearest = min(driver.world.clearance(x, y) for (x, y, _), _ in driver.log)
    assert nearest >= motion.radius
    # Around a disc of radius r in the middle of a way of length L: two tangents and an arc.
    r = 0.15 * math.sqrt(2.0) + motion.radius + motion.margin
    half = 1.5
    tangent = math.sqrt(half**2 - r**2)
    shortest = 2.0 * (tangent + r * (math.pi / 2.0 - math.acos(r / half)))
    assert outcome.travelled <= 1.25 * shortest


@robots
def test_a_gap_is_passed_if_and_only_if_the_body_fits(motion: MotionConfig) -> None:
    """Grid cells of 5 cm blur a gap by up to a cell on each side, not more."""
    for extra, fits in ((-0.06, False), (0.35, True)):
        half = motion.radius + 0.5 * extra
        walls = [((1.4, -3.0, 0.0), (1.6, -half, 2.0)), ((1.4, half, 0.0), (1.6, 3.0, 2.0))]
        driver = driver_of(motion, walls)
        outcome = driver.run(lambda d=driver: d.controller.start_route([(3.0, 0.0)], d.world.pose))
        assert driver.world.num_contacts == 0
        assert outcome.reached is fits, (extra, outcome.message)
