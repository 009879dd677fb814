# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The disc-shaped body: collides, slides, counts; walking distances around walls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vln_core.errors import SceneError
from vln_sim_bridge.collision import CELL, ClearanceMap, DiscBody
from vln_sim_bridge.meshes import load_soup
from vln_sim_bridge.scene import load_scene

RADIUS = 0.2


@pytest.fixture(scope='module')
def floor(room_folder):
    return ClearanceMap.from_soup(load_soup(load_scene(room_folder)), 1.2)


@pytest.fixture
def body(floor):
    return DiscBody(floor, RADIUS)


@pytest.mark.parametrize(
    ('point', 'expected'),
    [
        ((-1.0, -1.5), 1.5),  # south wall; the rug is no obstacle
        ((0.0, -2.0), 0.95),  # inner wall
        ((-2.0, 0.4), 0.6),  # table
        ((1.0, 0.0), 0.5),  # middle of the door: the lintel is above the robot
        ((-3.0, 0.5), math.hypot(0.5, 0.5)),  # corner of the table
    ],
)
def test_clearance(floor, point, expected):
    assert floor.at(*point) == pytest.approx(expected, abs=CELL)


@pytest.mark.parametrize('point', [(-2.0, 1.5), (3.1, 2.6), (6.0, 0.0), (-4.3, 0.0)])
def test_solid_things_and_the_outside_are_occupied(floor, point):
    assert floor.at(*point) == 0.0


def test_low_robot_and_tall_robot(room_folder):
    soup = load_soup(load_scene(room_folder))
    assert ClearanceMap.from_soup(soup, 2.2).at(1.0, 0.0) < 0.1  # hits the lintel
    assert ClearanceMap.from_soup(soup, 1.9).at(1.0, 0.0) > 0.4


def test_place_inside_names_the_nearest_free_spot(body):
    with pytest.raises(SceneError, match=r'start inside a wall .*nearest free spot is \('):
        body.place(-2.0, 1.1, 0.0)
    body.place(-2.0, 0.0, 0.0)
    with pytest.raises(SceneError):
        body.place(0.9, 2.0, 0.0)
    assert (body.x, body.y) == (-2.0, 0.0)
    with pytest.raises(SceneError, match='finite'):
        body.place(math.nan, 0.0, 0.0)


def test_free_motion_is_an_exact_arc(body):
    body.place(-2.0, -1.0, 0.3)
    v, w, total = 0.4, 0.5, 2.0
    for _ in range(40):
        body.step(v, w, total / 40)
    radius = v / w
    x = -2.0 + radius * (math.sin(0.3 + w * total) - math.sin(0.3))
    y = -1.0 - radius * (math.cos(0.3 + w * total) - math.cos(0.3))
    assert (body.x, body.y, body.yaw) == pytest.approx((x, y, 0.3 + w * total), abs=1e-4)
    assert body.num_collisions == 0


def test_head_on_stops_at_the_wall_and_counts_once(body):
    body.place(-1.0, -2.0, 0.0)
    for _ in range(120):
        body.step(0.5, 0.0, 0.05)
    assert body.collided
    assert body.num_collisions == 1
    assert body.x == pytest.approx(0.95 - RADIUS, abs=1.5 * CELL)
    assert body.y == pytest.approx(-2.0, abs=0.02)
    body.step(0.0, 0.0, 0.05)
    assert not body.collided
    body.step(0.5, 0.0, 0.05)
    assert body.num_collisions == 1  # still the same contact
    for _ in range(10):
        body.step(-0.5, 0.0, 0.05)
    for _ in range(20):
        body.step(0.5, 0.0, 0.05)
    assert body.num_collisions == 2


@pytest.mark.parametrize('angle', [0.3, 0.8, -0.5])
def test_slides_along_the_wall(body, angle):
    body.place(0.3, -1.5, angle)
    for _ in range(60):
        body.step(0.3, 0.0, 0.05)
        assert body.floor.at(body.x, body.y) >= RADIUS
    travelled = body.y + 1.5
    expected = 0.3 * math.sin(angle) * 3.0
    assert travelled == pytest.approx(expected, abs=0.06)
    assert body.x == pytest.approx(0.95 - RADIUS, abs=1.5 * CELL)
    assert body.num_collisions == 1


def test_never_inside_whatever_it_does(body):
    random = np.random.default_rng(0)
    body.place(-2.0, 0.0, 0.0)
    for _ in range(1500):
        body.step(random.uniform(-0.6, 1.0), random.uniform(-1.5, 1.5), 0.05)
        assert body.floor.at(body.x, body.y) >= RADIUS - 1e-9
    assert body.num_collisions > 3


def test_equal_runs_are_equal_bits(floor):
    def run():
        body = DiscBody(floor, RADIUS)
        body.place(-2.0, 0.0, 0.5)
        for k in range(400):
            body.step(0.6, math.sin(k / 9.0), 0.05)
        return body.x, body.y, body.yaw, body.num_collisions

    assert run() == run()


def test_steps_refuse_nonsense(body):
    body.place(-2.0, 0.0, 0.0)
    with pytest.raises(ValueError, match='finite'):
        body.step(math.nan, 0.0, 0.05)


def test_geodesic_distance(body):
    straight = body.geodesic_distance((-3.0, -2.0), (0.0, -2.0))
    assert straight == pytest.approx(3.0, abs=0.06)
    # Through the door: tangents to the door's inflated corner at (0.95, -0.5).
    start, goal = (-2.0, -2.0), (3.0, -2.0)
    around = taut_length(start, goal, (0.95, -0.5), (1.05, -0.5), RADIUS)
    assert body.geodesic_distance(start, goal) == pytest.approx(around, rel=0.02)
    assert body.geodesic_distance(goal, start) == pytest.approx(around, rel=0.02)
    assert body.geodesic_distance((-2.0, 0.0), (-2.0, 0.0)) == 0.0
    assert body.geodesic_distance((-2.0, 0.0), (9.0, 0.0)) == math.inf


def test_geodesic_distance_to_a_point_in_furniture_counts_from_its_edge(body):
    assert body.geodesic_distance((-2.0, -1.0), (-2.0, 1.2)) == pytest.approx(2.2, abs=0.1)


def test_no_way_through_a_narrow_door(room_folder):
    soup = load_soup(load_scene(room_folder))
    wide = DiscBody(ClearanceMap.from_soup(soup, 1.2), 0.6)
    assert wide.geodesic_distance((-2.0, -1.0), (3.0, -1.0)) == math.inf


def taut_length(start, goal, corner_a, corner_b, radius):
    """Length of a taut string over two corners of a wall end, each with a disc of ``radius``."""

    def tangent(point, corner):
        gap = math.dist(point, corner)
        length = math.sqrt(gap**2 - radius**2)
        towards = math.atan2(point[1] - corner[1], abs(point[0] - corner[0]))
        angle = math.acos(radius / gap)
        return length, math.pi / 2 - (towards + angle)

    left, turn_left = tangent(start, corner_a)
    right, turn_right = tangent(goal, corner_b)
    return left + right + radius * (turn_left + turn_right) + abs(corner_b[0] - corner_a[0])
