# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from vln_core.control.body_band import BodyBandConfig, free_way, obstacles_in_band
from vln_core.control.footprint import Footprint
from vln_core.control.safety import SafetyConfig, SafetyGate, SafetyState
from vln_core.errors import ConfigError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera

NOTHING = np.empty((0, 2))
ROUND = Footprint(0.2)
PERIOD = 0.05


class Robot:
    """A gate with all inputs alive, each of which can be cut."""

    def __init__(self, **config: object) -> None:
        self.gate = SafetyGate(SafetyConfig(required_nodes=('controller', 'system2'), **config))
        self.now = 100.0
        self.cut: set[str] = set()
        self.obstacles = NOTHING
        self.command = (0.6, 0.0)
        self.is_hold = False

    def tick(self) -> object:
        self.now += PERIOD
        gate, now = self.gate, self.now
        stamp = round(now * 1e9)
        if 'depth' not in self.cut:
            gate.on_depth(stamp, now, self.obstacles)
        if 'odometry' not in self.cut:
            gate.on_odometry(stamp, now)
        if 'tf' not in self.cut:
            gate.on_tf(now)
        for node in ('controller', 'system2'):
            if node not in self.cut:
                gate.on_heartbeat(node, now)
        if 'command' not in self.cut:
            gate.on_command('controller', *self.command, self.is_hold, now)
        return gate.decide(now)

    def cruise(self) -> None:
        for _ in range(40):
            decision = self.tick()
        assert decision.v == pytest.approx(self.command[0])
        assert decision.state is SafetyState.OK and decision.source == 'controller'


def test_nothing_moves_before_every_input_is_there() -> None:
    for name in ('depth', 'odometry', 'tf', 'controller', 'system2'):
        robot = Robot()
        robot.cut = {name}
        decision = robot.tick()
        assert decision.state is SafetyState.STARTING and name in decision.message
        assert (decision.v, decision.w) == (0.0, 0.0)


@pytest.mark.parametrize(
    ('name', 'state', 'limit'),
    [
        ('depth', SafetyState.STALE_DEPTH, 0.25),
        ('odometry', SafetyState.STALE_ODOMETRY, 0.25),
        ('tf', SafetyState.STALE_TF, 0.25),
        ('command', SafetyState.STALE_COMMAND, 0.25),
        ('system2', SafetyState.NODE_LOST, 1.0),
    ],
)
def test_a_lost_input_is_zero_within_its_limit_and_stays_zero(
    name: str, state: SafetyState, limit: float
) -> None:
    robot = Robot()
    robot.cruise()
    last_good = robot.now
    robot.cut = {name}
    while (decision := robot.tick()).v != 0.0:
        assert robot.now - last_good <= limit + 1e-9
    assert robot.now - last_good <= limit + PERIOD + 1e-9
    assert decision.state is state and decision.publish
    for _ in range(20):
        assert robot.tick().v == 0.0
    robot.cut = set()
    assert robot.tick().state is SafetyState.OK


def test_emergency_stop_latches_and_beats_teleop() -> None:
    robot = Robot()
    robot.cruise()
    robot.gate.emergency_stop(True, 'button')
    robot.gate.on_command('teleop', 0.3, 0.0, False, robot.now)
    for _ in range(3):
        decision = robot.tick()
        assert (decision.v, decision.state) == (0.0, SafetyState.EMERGENCY_STOP)
        assert decision.message == 'button'
    robot.gate.emergency_stop(False)
    assert robot.tick().v > 0.0


def test_teleop_beats_the_controller_until_it_is_silent_or_holds() -> None:
    robot = Robot()
    robot.cruise()
    robot.gate.on_command('teleop', -0.1, 0.5, False, robot.now + PERIOD)
    assert robot.tick().source == 'teleop'
    for _ in range(6):
        decision = robot.tick()
    assert decision.source == 'controller'
    robot.gate.on_command('teleop', 0.0, 0.0, True, robot.now + PERIOD)
    assert robot.tick().source == 'controller'


def test_hold_publishes_one_zero_and_then_nothing() -> None:
    robot = Robot()
    robot.cruise()
    robot.is_hold = True
    first, second = robot.tick(), robot.tick()
    assert (first.v, first.publish) == (0.0, True)
    assert (second.v, second.publish) == (0.0, False)


def test_limits_of_speed_and_acceleration() -> None:
    robot = Robot()
    robot.command = (9.0, -9.0)
    last = (0.0, 0.0)
    for _ in range(60):
        decision = robot.tick()
        assert abs(decision.v) <= 0.6 and abs(decision.w) <= 1.2
        assert decision.v - last[0] <= 1.0 * PERIOD + 1e-9
        assert abs(decision.w - last[1]) <= 4.0 * PERIOD + 1e-9
        last = (decision.v, decision.w)
    assert last == pytest.approx((0.6, -1.2))
    robot.command = (-9.0, 0.0)
    for _ in range(60):
        decision = robot.tick()
    assert decision.v == pytest.approx(-0.2)


def test_commands_that_are_not_numbers_are_none() -> None:
    robot = Robot()
    robot.cruise()
    robot.cut = {'command'}
    for _ in range(7):
        robot.gate.on_command('controller', math.nan, 0.0, False, robot.now)
        decision = robot.tick()
    assert decision.state is SafetyState.STALE_COMMAND


@pytest.mark.parametrize('jump', [-0.5, 5.0])
def test_a_jump_of_the_clock_stops(jump: float) -> None:
    robot = Robot()
    robot.cruise()
    robot.gate.on_odometry(round((robot.now + jump) * 1e9), robot.now)
    decision = robot.gate.decide(robot.now + 0.01)
    assert (decision.v, decision.state) == (0.0, SafetyState.CLOCK_JUMP)


def drive_at(speed: float, distance: float) -> float:
    """Drive at a wall ``distance`` m before the robot's centre; return the gap that is left."""
    robot = Robot()
    robot.command = (speed, 0.0)
    x = 0.0
    for k in range(int(3.0 / speed / PERIOD)):
        if k % 2 == 0:  # images at 10 Hz
            robot.obstacles = np.array([[distance - x, y] for y in np.linspace(-0.3, 0.3, 31)])
        x += robot.tick().v * PERIOD
    return distance - x - 0.20


@pytest.mark.parametrize('speed', [0.1, 0.3, 0.6])
def test_the_gate_alone_stops_before_a_wall(speed: float) -> None:
    gap = drive_at(speed, 2.0)
    assert 0.0 < gap < 0.12


def test_a_thing_beside_the_way_does_not_stop_and_turning_away_is_allowed() -> None:
    robot = Robot()
    robot.obstacles = np.array([[0.5, 0.25], [0.4, -0.3]])
    robot.cruise()
    robot.obstacles = np.array([[0.21, 0.0]])
    robot.command = (0.0, 1.0)
    for _ in range(10):
        decision = robot.tick()
    assert decision.w == pytest.approx(1.0)
    robot.command = (-0.1, 0.0)
    for _ in range(10):
        decision = robot.tick()
    assert decision.v == pytest.approx(-0.1)


def test_way_along_an_arc_against_closed_form() -> None:
    # Centre of the circle at (0, 0.5); the point on it at 90 degrees is touched radius before.
    point = np.array([[0.5, 0.5]])
    expected = 0.5 * (math.pi / 2 - 2.0 * math.asin(0.2 / 2.0 / 0.5))
    assert free_way(point, 0.5, 1.0, ROUND, 3.0) == pytest.approx(expected, abs=0.025)
    assert free_way(point, 0.5, -1.0, ROUND, 1.0) == math.inf
    assert free_way(np.array([[1.0, 0.0]]), 0.5, 0.0, ROUND, 3.0) == pytest.approx(0.8, abs=0.025)


def test_things_in_the_band_of_one_image() -> None:
    camera = PinholeCamera.from_hfov(160, 120, math.radians(100))
    mount = transforms.camera_mount_tform(0.0, 0.0, 1.0, pitch=0.3)
    rows, columns = np.mgrid[0:120, 0:160]
    rays = np.stack([(columns - camera.cx) / camera.fx, (rows - camera.cy) / camera.fy,
                     np.ones((120, 160))], axis=-1) @ mount[:3, :3].T  # fmt: skip
    with np.errstate(divide='ignore'):
        floor = np.where(rays[..., 2] < 0.0, -1.0 / rays[..., 2], np.inf)
        wall = np.where(rays[..., 0] > 0.0, 1.5 / rays[..., 0], np.inf)
    empty = obstacles_in_band(floor.astype(np.float32), camera, mount, BodyBandConfig())
    assert len(empty) == 0
    depth = np.minimum(floor, wall).astype(np.float32)
    seen = obstacles_in_band(depth, camera, mount, BodyBandConfig())
    assert len(seen) > 50
    assert np.abs(seen[:, 0] - 1.5).max() < 0.01
    depth[:] = -np.inf
    assert len(obstacles_in_band(depth, camera, mount, BodyBandConfig(self_radius=0.0))) > 0


def test_settings_are_checked() -> None:
    for wrong in (
        {'input_timeout': 0.0},
        {'max_speed': math.nan},
        {'emergency_deceleration': 0.1},
    ):
        with pytest.raises(ConfigError):
            SafetyConfig(**wrong)


def test_a_sample_repeated_or_with_a_wrong_stamp_is_none() -> None:
    robot = Robot()
    robot.cruise()
    robot.cut = {'odometry'}
    last = round(robot.now * 1e9)
    for _ in range(8):
        robot.gate.on_odometry(last, robot.now)  # a driver that hangs
        decision = robot.tick()
    assert decision.state is SafetyState.STALE_ODOMETRY
    for delay in (3.0, -3.0, math.nan):  # clocks that disagree
        robot.gate.on_odometry(round(robot.now * 1e9) + 1, robot.now, delay=delay)
        decision = robot.tick()
        assert decision.state is SafetyState.STALE_ODOMETRY
        assert 'behind the clock' in decision.message


def test_the_next_expiry_is_the_instant_of_the_zero() -> None:
    robot = Robot()
    robot.cruise()
    expiry = robot.gate.next_expiry(robot.now)
    assert robot.now < expiry <= robot.now + 0.25
    assert robot.gate.decide(expiry - 1e-6).state is SafetyState.OK
    assert robot.gate.decide(expiry + 1e-6).state is not SafetyState.OK
    assert robot.gate.next_expiry(robot.now + 100.0) == math.inf
