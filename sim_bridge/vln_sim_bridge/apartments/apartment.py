# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A furnished plan: drawn from a seed and checked before anything is written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from vln_core.errors import SceneError
from vln_sim_bridge.apartments import building
from vln_sim_bridge.apartments.layout import WALL, Plan, make_plan
from vln_sim_bridge.apartments.placement import REACH, Item, mark
from vln_sim_bridge.apartments.programs import ESSENTIAL, furnish
from vln_sim_bridge.apartments.raster import Raster, footprint_distance
from vln_sim_bridge.apartments.shape import Part

BODY = 0.3  # radius of the robot and its margin, metres
_MIN_OBJECTS, _MIN_KINDS = 25, 15


@dataclass(eq=False)
class Apartment:
    """A furnished plan before it is written.

    Attributes:
        items: All pieces; item k has the object id k + 1. Door frames come first.
        raster: What stands in the way of the robot.
        free: (rows, columns) bool cells of the raster where the robot's centre can be.
    """

    seed: int
    plan: Plan
    stage: list[Part]
    items: list[Item]
    raster: Raster
    free: np.ndarray
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def names(self) -> list[str]:
        """Return the unique name of every item, such as ``bed_1``."""
        seen: Counter[str] = Counter()
        result = []
        for item in self.items:
            seen[item.category] += 1
            result.append(f'{item.category.replace(" ", "_")}_{seen[item.category]}')
        return result


def _rasterise(plan: Plan, items: list[Item]) -> Raster:
    x0, y0, x1, y1 = plan.bounds
    raster = Raster((x0 - 0.2, y0 - 0.2), (x1 + 0.2, y1 + 0.2))
    half = WALL / 2
    for room in plan.rooms:
        for ax0, ay0, ax1, ay1 in room.rects:
            raster.fill(ax0 + half, ay0 + half, ax1 - half, ay1 - half, False)
        if len(room.rects) > 1:
            bx0, by0, bx1, _ = room.rects[1]
            raster.fill(bx0 + half, by0 - half, bx1 - half, by0 + half, False)
    for door in plan.doorways:
        ax, ay = (door.width / 2, WALL) if door.along_x else (WALL, door.width / 2)
        raster.fill(door.x - ax, door.y - ay, door.x + ax, door.y + ay, False)
    for item in items:
        if item.category != 'doorway':
            mark(raster, item.parts)
    return raster


def _free_cells(raster: Raster) -> np.ndarray:
    """Return the largest connected set of cells where the body fits."""
    labels, count = ndimage.label(raster.clearance() > BODY)
    if count == 0:
        return labels > 0
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    return labels == sizes.argmax()


def _unreached(items: list[Item], raster: Raster, free: np.ndarray) -> list[Item]:
    return [
        item
        for item in items
        if item.category != 'doorway'
        and item.on_floor
        and footprint_distance(raster, *item.bounds[:, :2])[free].min() > REACH
    ]


def _all_rooms_reached(plan: Plan, raster: Raster, free: np.ndarray) -> bool:
    reached = set()
    for row, column in np.argwhere(free)[::7]:
        room = plan.room_at(*raster.point(row, column))
        reached.add(None if room is None else room.id)
    return {room.id for room in plan.rooms} <= reached


def build(seed: int) -> Apartment:
    """Draw and check an apartment; where a check fails, try again with the seed's next stream."""
    for attempt in range(50):
        rng = np.random.default_rng([seed, attempt])
        plan = make_plan(rng)
        frame = building.frame_material(rng)
        items = [Item('doorway', d.rooms[0], building.frame_parts(d, frame), d.yaw)
                 for d in plan.doorways]  # fmt: skip
        furnished = [furnish(rng, plan, room) for room in plan.rooms]
        if any(pieces is None for pieces in furnished):
            continue
        items += [item for pieces in furnished for item in pieces or ()]
        raster = _rasterise(plan, items)
        free = _free_cells(raster)
        lost = _unreached(items, raster, free)
        if any(i.category in ESSENTIAL.get(plan.rooms[i.room].type, ()) for i in lost):
            continue
        items = [item for item in items if item not in lost]
        kinds = Counter(i.category for i in items if i.category not in ('doorway', 'window'))
        if not _all_rooms_reached(plan, raster, free):
            continue
        if kinds.total() < _MIN_OBJECTS or len(kinds) < _MIN_KINDS:
            continue
        stage = building.building_parts(plan, building.room_materials(rng, plan))
        return Apartment(seed, plan, stage, items, raster, free)
    raise SceneError(f'no apartment could be built from seed {seed}; take another one')
