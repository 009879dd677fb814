# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Rooms of the seen floor against two rectangular rooms with a doorway between them."""

import math

import numpy as np
import pytest

from vln_core.system2.floor_plan import FloorPlan, Scan

# Room A: x 0..4, room B: x 4.12..8, both y 0..3; the doorway at y 1.9..2.8 of the wall between.
WALLS = [
    ((0, 0), (8, 0)), ((8, 0), (8, 3)), ((8, 3), (0, 3)), ((0, 3), (0, 0)),
    ((4, 0), (4, 1.9)), ((4, 2.8), (4, 3)), ((4.12, 0), (4.12, 1.9)), ((4.12, 2.8), (4.12, 3)),
    ((4, 1.9), (4.12, 1.9)), ((4, 2.8), (4.12, 2.8)),
]  # fmt: skip


def scan(x, y, turn=0.0):
    """Cast rays against the walls, turned about the origin by ``turn``."""
    angles = (np.arange(240) + 0.5) / 240 * 2 * math.pi - math.pi
    outline = []
    for angle in angles:
        direction = np.array([math.cos(angle), math.sin(angle)])
        reach = 8.0
        for a, b in WALLS:
            a, b = np.array(a, float), np.array(b, float)
            matrix = np.stack([direction, a - b], axis=1)
            if abs(np.linalg.det(matrix)) < 1e-9:
                continue
            t, s = np.linalg.solve(matrix, a - np.array([x, y]))
            if t > 1e-6 and -1e-9 <= s <= 1 + 1e-9:
                reach = min(reach, t)
        outline.append(np.array([x, y]) + reach * direction)
    return Scan(turned((x, y), turn), turned(outline, turn), 0)


def turned(points, turn):
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    return np.asarray(points, float) @ rotation.T


@pytest.mark.parametrize('turn', [0.0, math.radians(30)])
@pytest.mark.parametrize('error', [(0.0, 0.0), (0.1, 0.5), (-0.2, -0.6)])
def test_rooms_are_cut_at_a_doorway_whose_position_is_off(turn, error):
    guess = turned((4.06 + error[0], 2.35 + error[1]), turn)
    plan = FloorPlan({0: scan(1.0, 1.0, turn), 1: scan(6.0, 1.5, turn)}, [guess])
    passage = plan.passages[0]
    assert passage is not None
    assert np.hypot(*(passage.centre - turned((4.06, 2.35), turn))) < 0.3
    a, b = plan.room_at(turned((1.0, 1.0), turn)), plan.room_at(turned((6.0, 1.0), turn))
    assert a and b and a != b


def test_a_room_only_looked_into_is_another_room():
    plan = FloorPlan({0: scan(2.0, 2.0)}, [np.array([4.06, 2.3])])
    here, beyond = plan.room_at(np.array([2.0, 2.0])), plan.room_at(np.array([5.0, 2.4]))
    assert here and beyond and here != beyond


def test_without_a_doorway_nothing_is_cut():
    plan = FloorPlan({0: scan(1.0, 1.0), 1: scan(6.0, 1.5)}, [])
    assert plan.room_at(np.array([1.0, 1.0])) == plan.room_at(np.array([6.0, 1.5])) > 0


def test_a_thing_on_the_wall_belongs_to_the_room_it_was_seen_from():
    plan = FloorPlan({0: scan(1.0, 1.0), 1: scan(6.0, 1.5)}, [np.array([4.06, 2.35])])
    on_wall = np.array([4.03, 1.0])
    assert plan.room_seen(on_wall, np.array([1.0, 1.0])) == plan.room_at(np.array([1.0, 1.0]))
    assert plan.room_seen(on_wall, np.array([6.0, 1.5])) == plan.room_at(np.array([6.0, 1.5]))


def test_what_was_not_seen_has_no_room():
    plan = FloorPlan({0: scan(1.0, 1.0)}, [])
    assert plan.room_at(np.array([50.0, 50.0])) == 0
