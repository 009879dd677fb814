# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which pieces each type of room gets."""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments import furniture
from vln_sim_bridge.apartments.layout import Plan, Room
from vln_sim_bridge.apartments.placement import Item, RoomFurnisher
from vln_sim_bridge.apartments.shape import bounds_of, placed

# room type -> pieces in the order they are placed; '?' = only in some rooms
PROGRAMS: dict[str, tuple[str, ...]] = {
    'living room': (
        'sofa',
        'television',
        'coffee table',
        'bookshelf',
        'armchair',
        'rug',
        '?fireplace',
        '?piano',
        'plant',
        'lamp',
        '?cabinet',
        'vase',
        'painting',
        'window',
        '?clock',
        '?air conditioner',
    ),
    'kitchen': (
        'refrigerator',
        'stove',
        'sink',
        'kitchen counter',
        'microwave',
        'trash can',
        '?dining table',
        '?cabinet',
        'window',
        'clock',
    ),
    'bedroom': (
        'bed',
        'wardrobe',
        'nightstand',
        'dresser',
        'lamp',
        '?desk',
        '?plant',
        'rug',
        'window',
        'curtain',
        'mirror',
        '?painting',
        '?laundry basket',
    ),
    'bathroom': (
        'toilet',
        '=tub',
        'sink',
        'mirror',
        'laundry basket',
        '?washing machine',
        '?trash can',
    ),
    'dining room': (
        'dining table',
        'cabinet',
        'plant',
        'painting',
        'window',
        'vase',
        '?clock',
        '?lamp',
    ),
    'office': (
        'desk',
        'bookshelf',
        'computer',
        'lamp',
        'trash can',
        '?plant',
        'window',
        'painting',
        '?bookshelf',
    ),
    'library': (
        'bookshelf',
        'armchair',
        'bookshelf',
        'rug',
        'lamp',
        '?bookshelf',
        '?plant',
        'window',
        'painting',
        '?clock',
    ),
    'laundry room': ('washing machine', 'laundry basket', 'cabinet', '?box', '?sink', 'window'),
    'gym': (
        'treadmill',
        'dumbbell',
        'bench',
        'ball',
        'mirror',
        'plant',
        'window',
        '?air conditioner',
    ),
    'storage room': ('box', 'bicycle', 'bookshelf', '?box', '?trash can'),
    'garage': ('bicycle', 'box', 'box', 'cabinet', 'trash can', '?bicycle', '?box', '?bench'),
    'corridor': ('shoe rack', 'painting', 'coat rack', 'plant', 'painting', '?bench', '?clock'),
}
# without these nobody would recognise the room
ESSENTIAL: dict[str, tuple[str, ...]] = {
    'living room': ('sofa', 'television'),
    'kitchen': ('refrigerator', 'stove', 'sink'),
    'bedroom': ('bed', 'wardrobe'),
    'bathroom': ('toilet', 'sink'),
    'office': ('desk',),
    'dining room': ('dining table',),
    'library': ('bookshelf', 'armchair'),
    'laundry room': ('washing machine',),
    'garage': ('bicycle', 'box'),
    'gym': ('treadmill',),
}


def _chairs(furnisher: RoomFurnisher, host: str, category: str, count: int) -> None:
    """Put chairs around a table, facing it."""
    hosts = [i for i in furnisher.items if i.category == host]
    for table in hosts[:1]:
        shape = furniture.MAKERS[category](furnisher.rng)
        (x0, y0, _), (x1, y1, _) = table.bounds
        depth = bounds_of(shape)[1][1]
        cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
        if category == 'office chair':
            fx, fy = table.front
            half = (table.bounds[1] - table.bounds[0])[:2] / 2
            places = [
                (
                    cx + fx * (half[0] + depth + 0.05),
                    cy + fy * (half[1] + depth + 0.05),
                    table.yaw + np.pi,
                )
            ]
        else:
            long_x = x1 - x0 > y1 - y0
            places = []
            for s in (-0.38, 0.38):
                if long_x:
                    places += [
                        (cx + s, y0 - depth - 0.05, 0.0),
                        (cx + s, y1 + depth + 0.05, np.pi),
                    ]
                else:
                    places += [
                        (x0 - depth - 0.05, cy + s, -np.pi / 2),
                        (x1 + depth + 0.05, cy + s, np.pi / 2),
                    ]
        for x, y, yaw in places[:count]:
            parts = placed(shape, x, y, yaw)
            furnisher.accept(Item(category, furnisher.room.id, parts, yaw))


def furnish(rng: np.random.Generator, plan: Plan, room: Room) -> list[Item] | None:
    """Return the pieces of one room, or None where what makes it that room finds no place."""
    for _ in range(4):
        items = _furnish_once(rng, plan, room)
        if set(ESSENTIAL.get(room.type, ())) <= {item.category for item in items}:
            break
    else:
        return None
    if len(room.rects) > 1:  # something to see at the end of the branch
        branch = RoomFurnisher(rng, plan, room, 1)
        branch.add(str(rng.choice(['cabinet', 'bookshelf', 'bench', 'piano', 'dresser'])))
        items += branch.items
    return items


def _furnish_once(rng: np.random.Generator, plan: Plan, room: Room) -> list[Item]:
    furnisher = RoomFurnisher(rng, plan, room)
    tub = str(rng.choice(['bathtub', 'shower']))
    is_large = room.area > 24.0
    program = PROGRAMS[room.type]
    if (
        is_large
        and room.type == 'living room'
        and all(r.type != 'dining room' for r in plan.rooms)
    ):
        program = (*program[:3], 'dining table', *program[3:])
    for entry in program:
        if entry.startswith('?') and not is_large and rng.random() < 0.5:
            continue
        category = tub if entry == '=tub' else entry.lstrip('?')
        if furnisher.add(category):
            if category == 'dining table':
                _chairs(furnisher, category, 'chair', 4)
            if category == 'desk':
                _chairs(furnisher, category, 'office chair', 1)
    return furnisher.items
