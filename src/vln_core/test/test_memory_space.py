# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Space map, openings and ways."""

import math

import numpy as np
import pytest
from memory_scenes import BOXES, WALLS, panorama

from vln_core.geometry.transforms import planar_tform
from vln_core.memory.config import MemoryConfig
from vln_core.memory.frontiers import Frontier, FrontierTracker, find_frontiers
from vln_core.memory.routes import Reach
from vln_core.memory.space_map import SpaceMap

CONFIG = MemoryConfig()


def look(space, *poses, boxes=BOXES):
    for k, (x, y, yaw) in enumerate(poses):
        space.integrate(panorama(k, x, y, yaw, boxes=boxes).views, np.eye(4), (x, y, 0.0))
    return space


def state(space, x, y):
    cell = space.cells_of(np.array([[x, y]]))
    if not space.inside(cell)[0]:
        return 'unknown'
    occupied, free = space.masks()
    row, column = cell[0]
    return 'occupied' if occupied[row, column] else 'free' if free[row, column] else 'unknown'


def openings(space, pose, waypoints=None):
    reach = Reach(space, pose[:2], CONFIG.robot_radius)
    return find_frontiers(space, reach, np.array(waypoints or [pose[:2]]), CONFIG)


def test_walls_are_occupied_floor_is_free_and_the_next_room_is_unknown():
    space = look(SpaceMap(CONFIG), (2.0, 5.0, 0.3))
    assert state(space, 3.5, 5.0) == 'free'
    assert state(space, 2.0, 5.0) == 'free', 'the robot stands there'
    assert state(space, 0.0 - 0.05, 5.0) == 'occupied'
    assert state(space, 4.97, 6.0) == 'occupied'
    assert state(space, 7.0, 6.5) == 'unknown'
    assert state(space, 1.5, 1.75) == 'occupied', 'the bed'


def test_unknown_depth_proves_nothing():
    space = SpaceMap(CONFIG)
    look_at = panorama(0, 2.0, 5.0)
    for view in look_at.views:
        view.depth[:] = np.nan
    space.integrate(look_at.views, np.eye(4), (2.0, 5.0, 0.0))
    assert state(space, 3.5, 5.0) == 'unknown'
    assert state(space, 2.0, 5.0) == 'free'


@pytest.mark.parametrize(
    'pose', [(2.0, 5.0, 0.3), (1.5, 6.5, 0.0), (3.0, 6.5, 1.0), (4.2, 5.2, 2.0)]
)
def test_a_door_seen_from_an_angle_is_an_opening_and_the_way_leads_through_it(pose):
    space = look(SpaceMap(CONFIG), pose)
    reach = Reach(space, pose[:2], CONFIG.robot_radius)
    found = [f for f in openings(space, pose) if f.x > 4.9]
    assert found, 'no opening beyond the door'
    best = max(found, key=lambda f: f.unknown_area)
    assert best.unknown_area > 3.0
    way = reach.way_to(reach.nearest(np.array([best.x, best.y]), 0.3))
    crossing = way[np.argmin(np.abs(way[:, 0] - 5.0))]
    assert 2.9 < crossing[1] < 4.0
    assert np.hypot(*np.diff(way, axis=0).T).max() < 1.2
    assert best.path_length == pytest.approx(np.hypot(*np.diff(way, axis=0).T).sum(), abs=0.7)


def test_a_closed_room_seen_from_inside_has_no_openings():
    closed = np.array([*WALLS[:5], ((4.95, 0, 0), (5.05, 8, 2.5))], float)
    space = look(SpaceMap(CONFIG), (2.0, 5.0, 0.3), (2.5, 2.5, 1.0), boxes=closed)
    assert openings(space, (2.5, 2.5), [(2.0, 5.0), (2.5, 2.5)]) == []


def test_ways_keep_away_from_walls_and_off_obstacles():
    space = look(SpaceMap(CONFIG), (1.5, 6.5, 0.0), (4.4, 3.6, 0.0))
    reach = Reach(space, (1.5, 6.5), CONFIG.robot_radius)
    way = reach.way_to(reach.nearest(np.array([6.5, 3.4]), 0.3))
    for start, end in zip(way[:-1], way[1:], strict=True):
        for t in np.linspace(0, 1, 20):
            x, y = start + t * (end - start)
            for low, high in BOXES[1:7]:
                gap = np.hypot(max(low[0] - x, 0, x - high[0]), max(low[1] - y, 0, y - high[1]))
                assert gap > 0.15


def test_lines_are_blocked_by_walls_and_free_through_the_door():
    space = look(SpaceMap(CONFIG), (4.4, 3.45, 0.0), (6.0, 3.45, 0.0))
    start = np.array([4.0, 3.45])
    free = space.lines_free(start, np.array([[6.0, 3.45], [6.0, 6.0]]))
    assert free.tolist() == [True, False]


def test_boundary_near_a_waypoint_counts_as_approached():
    pose = (2.0, 5.0, 0.3)
    space = look(SpaceMap(CONFIG), pose)
    before = openings(space, pose)
    target = max(before, key=lambda f: f.unknown_area)
    after = openings(space, pose, [pose[:2], (target.x, target.y)])
    assert all(math.hypot(f.x - target.x, f.y - target.y) > 0.3 for f in after)


def test_openings_keep_their_numbers_and_go_after_failed_approaches():
    tracker = FrontierTracker(CONFIG)
    a, b = Frontier(1, 1, 1, 5, 0, 2), Frontier(4, 1, 1, 5, 0, 2)
    tracker.update([a, b])
    tracker.update([Frontier(4.3, 1.2, 1, 5, 0, 2), Frontier(9, 9, 1, 5, 0, 2)])
    assert sorted(tracker.current) == [1, 2]
    tracker.update([a])
    assert sorted(tracker.current) == [0], 'it comes back under its old number'
    tracker.failed(0)
    assert 0 in tracker.current
    tracker.failed(0)
    tracker.update([a])
    assert tracker.current == {}


def test_a_correction_moves_the_map():
    space = look(SpaceMap(CONFIG), (2.0, 5.0, 0.3))
    space.transform(planar_tform(3.0, -1.0, math.pi / 2))
    # (4.97, 6.0) turned by 90 degrees and shifted.
    assert state(space, 3.0 - 6.0, -1.0 + 4.97) == 'occupied'
    assert state(space, 3.0 - 5.0, -1.0 + 3.5) == 'free'


def test_occupancy_has_the_values_of_an_occupancy_grid():
    grid = look(SpaceMap(CONFIG), (2.0, 5.0, 0.3)).occupancy()
    assert set(np.unique(grid.data).tolist()) == {-1, 0, 100}
    assert grid.resolution == 0.1
