# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The generator of apartments: repeatable, connected, furnished, and told truthfully."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import trimesh

from vln_core.vocabulary import OBJECTS, ROOMS, canonical_object, canonical_room
from vln_sim_bridge.apartments import furniture, generate, phrases
from vln_sim_bridge.apartments.apartment import BODY, Apartment, build
from vln_sim_bridge.apartments.generator import scene_record
from vln_sim_bridge.apartments.instructions import make_episodes
from vln_sim_bridge.apartments.layout import DOOR_HEIGHT, HEIGHT
from vln_sim_bridge.apartments.narrator import Narrator
from vln_sim_bridge.apartments.placement import REACH, WALKWAY
from vln_sim_bridge.apartments.programs import ESSENTIAL
from vln_sim_bridge.apartments.raster import CELL, footprint_distance
from vln_sim_bridge.apartments.shape import bounds_of
from vln_sim_bridge.scene import load_scene

SEEDS = range(10)


@pytest.fixture(scope='module')
def apartments() -> dict[int, Apartment]:
    return {seed: build(seed) for seed in SEEDS}


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    return generate(4, tmp_path_factory.mktemp('scenes') / 'four')


def _digest(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob('*'))
        if path.is_file()
    }


def test_equal_seeds_give_equal_bytes_in_another_process(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / 'again'
    command = [sys.executable, '-m', 'vln_sim_bridge.apartments', '--seed', '4', '--out', other]
    subprocess.run([str(c) for c in command], check=True, timeout=300)
    assert _digest(folder) == _digest(other)


def test_other_seeds_give_other_plans(apartments) -> None:
    plans = {str([(r.type, r.rects) for r in a.plan.rooms]) for a in apartments.values()}
    assert len(plans) == len(apartments)
    assert len({a.plan.kind for a in apartments.values()}) >= 3


@pytest.mark.parametrize('seed', SEEDS)
def test_rooms_objects_and_kinds(apartments, seed: int) -> None:
    apartment = apartments[seed]
    assert 4 <= len(apartment.plan.rooms) <= 8
    kinds = Counter(i.category for i in apartment.items if i.category not in ('doorway', 'window'))
    assert kinds.total() >= 25
    assert len(kinds) >= 15
    assert set(kinds) <= set(OBJECTS)
    assert {room.type for room in apartment.plan.rooms} <= set(ROOMS)


@pytest.mark.parametrize('seed', SEEDS)
def test_rooms_have_what_makes_them(apartments, seed: int) -> None:
    for room in apartments[seed].plan.rooms:
        kinds = {i.category for i in apartments[seed].items if i.room == room.id}
        assert set(ESSENTIAL.get(room.type, ())) <= kinds


def test_kinds_and_look_alikes_over_all_seeds(apartments) -> None:
    kinds = {item.category for a in apartments.values() for item in a.items}
    assert len(kinds) >= 25
    twins = [a for a in apartments.values()
             if max(Counter(r.type for r in a.plan.rooms).values()) > 1]  # fmt: skip
    assert len(twins) >= 4


@pytest.mark.parametrize('seed', SEEDS)
def test_every_room_and_every_floor_object_is_in_reach(apartments, seed: int) -> None:
    apartment = apartments[seed]
    raster, free = apartment.raster, apartment.free
    assert (raster.clearance()[free] > BODY).all()
    reached = {apartment.plan.room_at(*raster.point(r, c)).id for r, c in np.argwhere(free)[::5]}
    assert reached == {room.id for room in apartment.plan.rooms}
    for item in apartment.items:
        if item.on_floor and item.category != 'doorway':
            assert footprint_distance(raster, *item.bounds[:, :2])[free].min() <= REACH


@pytest.mark.parametrize('seed', SEEDS)
def test_doorways_stay_free(apartments, seed: int) -> None:
    apartment = apartments[seed]
    for door in apartment.plan.doorways:
        assert 0.9 <= door.width <= 1.2
        step = np.array([0.0, 1.0]) if door.along_x else np.array([1.0, 0.0])
        for along in np.arange(-0.5, 0.51, CELL):
            cell = apartment.raster.cell(*(np.array([door.x, door.y]) + along * step))
            assert apartment.free[cell], (
                f'doorway {door.id} is blocked {along:.2f} m from its middle'
            )


@pytest.mark.parametrize('seed', SEEDS)
def test_pieces_stand_in_their_rooms_and_do_not_overlap(apartments, seed: int) -> None:
    apartment = apartments[seed]
    solid = [
        i for i in apartment.items if i.category not in ('doorway', 'rug', 'window', 'curtain')
    ]
    for index, a in enumerate(solid):
        x0, y0, x1, y1 = apartment.plan.bounds
        assert (a.bounds[0, :2] > (x0, y0)).all()
        assert (a.bounds[1, :2] < (x1, y1)).all()
        assert a.bounds[0, 2] >= 0.0
        assert a.bounds[1, 2] <= HEIGHT
        assert apartment.plan.rooms[a.room].contains(*a.bounds.mean(0)[:2])
        for b in solid[index + 1 :]:
            apart = (a.bounds[0] >= b.bounds[1] - 1e-6) | (b.bounds[0] >= a.bounds[1] - 1e-6)
            assert apart.any(), f'{a.category} and {b.category} overlap'


def test_walkways_between_the_doorways_of_a_room_are_wide(apartments) -> None:
    from scipy import ndimage

    for apartment in apartments.values():
        wide = apartment.raster.clearance() > WALKWAY / 2 - 2 * CELL
        labels, _ = ndimage.label(wide)
        seen = set()
        for door in apartment.plan.doorways:
            seen.add(int(labels[apartment.raster.cell(door.x, door.y)]))
        assert len(seen) == 1
        assert 0 not in seen


@pytest.mark.parametrize('category', sorted(furniture.MAKERS))
def test_furniture_keeps_to_its_frame(category: str) -> None:
    for seed in range(3):
        low, high = bounds_of(furniture.MAKERS[category](np.random.default_rng(seed)))
        assert abs(low[0] + high[0]) < 0.2
        assert low[1] >= -0.051
        assert low[2] >= -0.05
        assert (high - low > 0.004).all()


def test_files_of_a_scene(folder: Path) -> None:
    scene = load_scene(folder)
    assert scene.seed == 4
    stage = trimesh.load(scene.stage, force='mesh')
    low, high = stage.bounds
    assert low[1] == pytest.approx(0.0, abs=1e-6)
    assert high[1] == pytest.approx(HEIGHT, abs=1e-6)
    upward = stage.triangles[stage.face_normals[:, 1] > 0.5]
    assert np.abs(upward[:, :, 1]).max() < 1e-6, 'an upward face above the floor becomes navmesh'
    for item in scene.objects:
        mesh = trimesh.load(item.glb, force='mesh')
        box = np.array([item.minimum, item.maximum])
        y_up = np.array([[box[0][0], box[0][2], -box[1][1]], [box[1][0], box[1][2], -box[0][1]]])
        assert np.abs(mesh.bounds - y_up).max() < 1e-3
        assert mesh.visual.uv is not None


def test_door_frames_leave_the_clear_width(folder: Path) -> None:
    scene = load_scene(folder)
    frames = [o for o in scene.objects if o.category == 'doorway']
    assert len(frames) == len(scene.doorways)
    for frame, door in zip(frames, scene.doorways, strict=True):
        mesh = trimesh.load(frame.glb, force='mesh')
        across = 0 if abs(np.sin(door.yaw)) > 0.5 else 2
        centre = (door.position[0], 0.0, -door.position[1])[across]
        below = mesh.triangles[(mesh.triangles[:, :, 1] < DOOR_HEIGHT - 0.01).any(1)]
        assert np.abs(below[:, :, across] - centre).min() == pytest.approx(
            door.width / 2, abs=1e-4
        )


def test_the_start_is_free_and_inside_a_room(folder: Path) -> None:
    apartment = build(4)
    make_episodes(apartment)
    assert scene_record(apartment)['start'] == pytest.approx(load_scene(folder).start)
    x, y, _ = apartment.start
    assert apartment.free[apartment.raster.cell(x, y)]
    assert apartment.plan.room_at(x, y) is not None


def test_spoken_names_mean_what_they_name() -> None:
    for category, words in phrases.OBJECT_WORDS.items():
        assert {canonical_object(word) for word in words} == {category}
    for kind, words in phrases.ROOM_WORDS.items():
        assert {canonical_room(word) for word in words} == {kind}


def test_there_are_many_patterns() -> None:
    patterns = {p for value in vars(phrases).values() if isinstance(value, tuple) for p in value}
    assert len(patterns) >= 60


def test_turn_words_follow_the_geometry(apartments) -> None:
    narrator = Narrator(apartments[1], np.random.default_rng(0))
    goal = narrator.goals()[0]
    spot = narrator.spot(goal)
    room = next(r for r in apartments[1].plan.rooms if r.id != goal.room)
    start = narrator.walker.spot_in(room, np.random.default_rng(1))
    points = narrator.walker.walk(start, spot)
    ahead = points[12] - points[0]
    along = float(np.arctan2(ahead[1], ahead[0]))
    target = goal.bounds.mean(0)[:2]
    first = narrator.walker.legs(points, along, target)[0]
    aim = float(np.arctan2(*(first.target - first.origin)[::-1]))
    for offset, word in ((-90, 'left'), (90, 'right'), (180, 'around'), (0, 'straight')):
        leg = narrator.walker.legs(points, aim + np.radians(offset), target)[0]
        assert leg.turn == word
