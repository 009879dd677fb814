# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from control_world import BoxWorld, Driver, wall_ring

from vln_core.control import replanning
from vln_core.control.follower import FollowerConfig, RateLimiter
from vln_core.control.motion import MotionConfig
from vln_core.outcome import MotionCode

ROOM = wall_ring(-3.0, -2.0, 3.0, 2.0)


def to_point(driver: Driver, point: tuple[float, float, float], mode: str = 'plan'):
    panorama = driver.panorama()
    view = panorama.views[0]
    pixel = driver.pixel_of(view, point)
    return driver.run(
        lambda: driver.controller.start_pixel(panorama, 0, pixel, driver.world.pose, mode)
    )


@pytest.mark.parametrize('mode', ['plan', 'corridor'])
def test_drives_to_a_pixel_and_stands_there(mode: str) -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.3)))
    outcome = to_point(driver, (0.5, 0.6, 0.0), mode)
    assert outcome.reached, outcome.message
    assert math.dist(driver.world.pose[:2], outcome.goal_xy) < 0.10
    assert outcome.travelled == pytest.approx(math.dist((-2.0, 0.0), outcome.goal_xy), abs=0.15)
    command = driver.controller.update(driver.stamp + 1, driver.world.pose, (0.0, 0.0))
    assert (command.v, command.w, command.is_hold) == (0.0, 0.0, True)
    assert driver.world.num_contacts == 0


def test_limits_hold_on_the_way() -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 2.0)))
    to_point(driver, (-2.6, 1.2, 0.0))
    commands = [command for _, command in driver.log]
    v = np.array([command.v for command in commands])
    w = np.array([command.w for command in commands])
    assert v.max() <= 0.6 + 1e-9 and np.abs(w).max() <= 1.2 + 1e-9
    assert np.diff(v).max() <= 0.8 * 0.05 + 1e-9
    assert np.diff(v).min() >= -1.5 * 0.05 - 1e-9


def test_goes_around_in_plan_mode_and_is_refused_in_corridor_mode() -> None:
    boxes = [*ROOM, ((-0.6, -0.35, 0.0), (-0.4, 0.35, 0.25))]
    driver = Driver(BoxWorld(boxes, (-2.0, 0.0, 0.0)))
    refused = to_point(driver, (0.9, 0.05, 0.95), 'corridor')
    assert refused.code is MotionCode.CORRIDOR_BLOCKED, refused.message
    outcome = to_point(driver, (0.9, 0.05, 0.0))
    assert outcome.reached, outcome.message
    assert outcome.goal_xy[0] > -0.1
    assert driver.world.num_contacts == 0


def test_a_door_is_passed_without_touching() -> None:
    boxes = [
        *ROOM,
        ((-0.05, -2.0, 0.0), (0.05, -0.45, 2.5)),
        ((-0.05, 0.45, 0.0), (0.05, 2.0, 2.5)),
    ]
    driver = Driver(BoxWorld(boxes, (-1.3, 0.5, -0.3)))
    outcome = to_point(driver, (1.2, -0.2, 0.0))
    assert outcome.reached, outcome.message
    assert driver.world.pose[0] > 0.4
    assert driver.world.num_contacts == 0
    seconds = len(driver.log) * 0.05
    assert seconds < 10.0


@pytest.mark.parametrize('angle', [math.pi / 2, -3.0, 2.0 * math.pi, 0.1])
def test_spin(angle: float) -> None:
    driver = Driver(BoxWorld(ROOM, (0.3, 0.2, 1.0)))
    outcome = driver.run(lambda: driver.controller.start_spin(angle))
    assert outcome.reached
    turned = sum(command.w * 0.05 for _, command in driver.log)
    assert turned == pytest.approx(angle, abs=0.03)
    assert driver.world.pose[:2] == (0.3, 0.2)


def test_route_longer_than_the_window() -> None:
    boxes = wall_ring(-1.0, -0.8, 17.0, 0.8) + [
        ((k, -0.8, 0), (k + 0.3, -0.3, 1.0)) for k in (4, 9)
    ]
    driver = Driver(BoxWorld(boxes, (0.0, 0.0, 2.5)))
    route = [(0.0, 0.0), (8.0, 0.2), (15.5, 0.0)]
    outcome = driver.run(lambda: driver.controller.start_route(route, driver.world.pose))
    assert outcome.reached, outcome.message
    assert math.dist(driver.world.pose[:2], (15.5, 0.0)) < 0.15
    assert driver.world.num_contacts == 0


def test_an_obstacle_that_steps_into_the_way_is_not_touched() -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.0)))

    def appear(driver: Driver) -> None:
        if driver.world.pose[0] > -1.0 and len(driver.world.boxes) == 4:
            x = driver.world.pose[0] + 0.75
            driver.world.boxes.append((np.array([x, -2.0, 0.0]), np.array([x + 0.2, 2.0, 1.6])))

    driver.on_tick = appear
    outcome = to_point(driver, (0.8, 0.0, 0.0))
    assert outcome.code is MotionCode.BLOCKED
    assert driver.world.num_contacts == 0


def test_replans_five_times_a_second_and_at_once_when_the_way_is_blocked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.0)))
    replan, ticks, appeared = replanning.replan, [], []

    def noted(*arguments: object) -> object:
        ticks.append(driver.tick)
        return replan(*arguments)

    def appear(driver: Driver) -> None:
        # Just after a replan; the next picture comes one tick later.
        if driver.world.pose[0] > -1.2 and not appeared and driver.tick % 4 == 1:
            appeared.append(driver.tick)
            x = driver.world.pose[0] + 1.2
            driver.world.boxes.append((np.array([x, -0.2, 0.0]), np.array([x + 0.1, 0.2, 1.0])))

    monkeypatch.setattr(replanning, 'replan', noted)
    driver.on_tick = appear
    to_point(driver, (0.8, 0.0, 0.0))
    before = [tick for tick in ticks if tick < appeared[0]]
    assert set(np.diff(before)) == {4}, 'every fourth of 20 Hz is 5 Hz'
    after = next(tick for tick in ticks if tick > appeared[0])
    assert after == appeared[0] + 1, 'with the picture that shows it'
    assert driver.world.num_contacts == 0


def test_a_jammed_base_is_reported_as_stuck() -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.0)))

    def jam(driver: Driver) -> None:
        driver.is_jammed = driver.world.pose[0] > -1.5

    driver.on_tick = jam
    outcome = to_point(driver, (0.5, 0.0, 0.0))
    assert outcome.code is MotionCode.STUCK
    assert outcome.travelled == pytest.approx(0.5, abs=0.05)


def test_without_depth_it_stands_and_then_gives_up() -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.0)))

    def go_blind(driver: Driver) -> None:
        driver.is_blind = driver.world.pose[0] > -1.5

    driver.on_tick = go_blind
    outcome = to_point(driver, (0.5, 0.0, 0.0))
    assert outcome.code is MotionCode.STALE_INPUT
    assert driver.world.pose[0] < -1.0


def test_cancel_is_zero_at_once() -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.0)))
    panorama = driver.panorama()
    pixel = driver.pixel_of(panorama.views[0], (0.5, 0.0, 0.0))
    driver.look()
    assert driver.controller.start_pixel(panorama, 0, pixel, driver.world.pose) is None
    driver.controller.update(driver.stamp, driver.world.pose, (0.0, 0.0))
    outcome = driver.controller.cancel()
    assert outcome is not None and outcome.code is MotionCode.CANCELLED
    command = driver.controller.update(driver.stamp + 50_000_000, driver.world.pose, (0.3, 0.0))
    assert (command.v, command.w, command.is_hold, command.outcome) == (0.0, 0.0, True, None)
    assert driver.controller.cancel() is None


def test_two_runs_are_identical() -> None:
    logs = []
    for _ in range(2):
        driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.3), noise=0.003, dropout=0.05, seed=4))
        to_point(driver, (0.5, 0.6, 0.0))
        logs.append([(pose, command.v, command.w) for pose, command in driver.log])
    assert logs[0] == logs[1]


def test_the_end_is_told_on_an_image_tick_and_only_once() -> None:
    driver = Driver(BoxWorld(ROOM, (0.0, 0.0, 0.0)))
    outcome = driver.run(lambda: driver.controller.start_spin(0.5))
    assert outcome.reached and driver.tick % 2 == 0
    assert driver.controller.update(driver.stamp + 1, driver.world.pose, (0, 0)).outcome is None


def test_refusals_leave_no_goal() -> None:
    driver = Driver(BoxWorld(ROOM, (-2.0, 0.0, 0.0)))
    panorama = driver.panorama()
    for view, pixel, code in (
        (9, (10, 10), MotionCode.OUT_OF_PICTURE),
        (0, (500, 10), MotionCode.OUT_OF_PICTURE),
    ):
        outcome = driver.controller.start_pixel(panorama, view, pixel, driver.world.pose)
        assert outcome is not None and outcome.code is code and outcome.code.is_refusal
        assert not driver.controller.is_active


def test_rate_limiter_keeps_acceleration_and_jerk_and_does_not_overshoot() -> None:
    limiter = RateLimiter(0.8, 4.0)
    values = [0.0] + [limiter.step(0.6, 0.05) for _ in range(60)]
    acceleration = np.diff(values) / 0.05
    assert values[-1] == pytest.approx(0.6)
    assert max(values) <= 0.6 + 1e-9
    assert acceleration.max() <= 0.8 + 1e-9
    # Rising acceleration is jerk-limited; closed form: v = a^2 / j + a t.
    assert np.diff(acceleration).max() / 0.05 <= 4.0 + 1e-6
    reach = next(k for k, value in enumerate(values) if value > 0.59) * 0.05
    assert reach == pytest.approx(0.6 / 0.8 + 0.8 / 4.0, abs=0.25)


def test_settings_reach_every_part() -> None:
    config = MotionConfig(radius=0.3, robot_height=1.5, step_height=0.1, max_depth=6.0)
    assert config.planner.radius == config.pixel.radius == 0.3
    assert config.grid.robot_height == config.pixel.robot_height == 1.5
    assert config.grid.max_depth == config.pixel.max_depth == 6.0
    assert FollowerConfig().max_speed == 0.6


@pytest.mark.parametrize(('max_reverse', 'is_backwards'), [(0.0, False), (1.0, True)])
def test_a_short_route_back_is_driven_backwards_only_where_it_is_allowed(
    max_reverse: float, is_backwards: bool
) -> None:
    config = MotionConfig(max_reverse=max_reverse)
    driver = Driver(BoxWorld(ROOM, (0.0, 0.0, 0.0)), config)
    driver.controller.observe_panorama(driver.panorama())
    outcome = driver.run(lambda: driver.controller.start_route([(-0.8, 0.1)], driver.world.pose))
    assert outcome.reached, outcome.message
    assert math.dist(driver.world.pose[:2], (-0.8, 0.1)) < 0.1
    assert driver.world.num_contacts == 0
    slowest = min(command.v for _, command in driver.log)
    assert slowest >= -config.reverse_speed - 1e-9
    assert (slowest < 0.0) is is_backwards
    assert (abs(driver.world.pose[2]) < 0.6) is is_backwards
