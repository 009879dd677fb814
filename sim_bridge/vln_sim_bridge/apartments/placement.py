# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Place pieces in a room: they stand against walls and never close a walkway or a doorway."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage

from vln_sim_bridge.apartments import furniture
from vln_sim_bridge.apartments.layout import WALL, Doorway, Plan, Room
from vln_sim_bridge.apartments.raster import BODY_HEIGHT, CELL, Raster, footprint_distance
from vln_sim_bridge.apartments.shape import Part, bounds_of, placed

WALKWAY = 0.8  # free width that stays everywhere one must walk
REACH = 1.2  # the robot's centre comes this near to every piece
_DOOR_ZONE = 0.95  # depth that stays free before a doorway

_WALL_Z = {'mirror': 0.9, 'painting': 1.35, 'clock': 1.75, 'window': 0.95, 'air conditioner': 2.15}
_ON_TOP = {
    'microwave': ('kitchen counter',),
    'computer': ('desk',),
    'vase': ('coffee table', 'dining table', 'cabinet', 'table'),
}
_KITCHEN_RUN = ('stove', 'sink', 'kitchen counter')
_FREE_STANDING = {'coffee table', 'dining table'}


@dataclass(eq=False)
class Item:
    """One placed piece: parts in world coordinates."""

    category: str
    room: int
    parts: list[Part]
    yaw: float = 0.0
    on_floor: bool = True
    bounds: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.bounds = bounds_of(self.parts)

    @property
    def front(self) -> tuple[float, float]:
        """Unit vector out of the front of the piece."""
        return round(-float(np.sin(self.yaw)), 6), round(float(np.cos(self.yaw)), 6)


def mark(raster: Raster, parts: list[Part]) -> None:
    """Block the cells under every part that stands in the robot's way."""
    for part in parts:
        (x0, y0, z0), (x1, y1, z1) = part.bounds
        if z1 > BODY_HEIGHT[0] and z0 < BODY_HEIGHT[1]:
            raster.fill(x0, y0, x1, y1, True)


class RoomFurnisher:
    """Places pieces in one room, one after the other."""

    def __init__(self, rng: np.random.Generator, plan: Plan, room: Room, rect: int = 0) -> None:
        """Prepare one empty rectangle of a room and the zones before its doorways."""
        self.rng, self.plan, self.room = rng, plan, room
        self.items: list[Item] = []
        self.x0, self.y0, self.x1, self.y1 = room.inner_of(rect)
        self.raster = Raster((self.x0, self.y0), (self.x1, self.y1))
        self.raster.blocked[:] = False
        # full-height rectangles (lo, hi) where nothing may stand
        self.zones: list[tuple[np.ndarray, np.ndarray]] = []
        self.approaches: list[tuple[float, float]] = []
        for door in plan.doorways:
            if room.id in door.rooms and self._is_beside(door):
                self._keep_free(door)
        if len(room.rects) > 1:
            bx0, by0, bx1, _ = room.rects[1]
            self.zones.append((np.array([bx0, by0 - 1.0, 0.0]), np.array([bx1, by0 + 0.5, 3.0])))
            self.approaches.append(((bx0 + bx1) / 2, by0 + (0.5 if rect else -0.5)))

    def _is_beside(self, door: Doorway) -> bool:
        near = WALL / 2 + 0.01
        return (
            self.x0 - near <= door.x <= self.x1 + near
            and self.y0 - near <= door.y <= self.y1 + near
        )

    def _keep_free(self, door: Doorway) -> None:
        half = door.width / 2 + 0.12
        # a corridor is narrow: pieces opposite of a doorway leave enough
        deep = 0.6 if self.room.type == 'corridor' else _DOOR_ZONE
        ax, ay = (half, deep) if door.along_x else (deep, half)
        self.zones.append(
            (np.array([door.x - ax, door.y - ay, 0.0]), np.array([door.x + ax, door.y + ay, 3.0]))
        )
        dx, dy = (0.0, 0.5) if door.along_x else (0.5, 0.0)
        sign = 1 if self.room.contains(door.x + dx, door.y + dy) else -1
        self.approaches.append((door.x + sign * dx, door.y + sign * dy))

    def add(self, category: str, tries: int = 24) -> bool:
        """Place a piece if there is room for it."""
        maker = furniture.MAKERS[category]
        if category == 'sink' and self.room.type == 'kitchen':
            maker = furniture.kitchen_sink
        shape = maker(self.rng)
        if category in _ON_TOP:
            return self._add_on_top(category, shape)
        if category == 'rug':
            return self._add_rug(shape)
        if category == 'nightstand':
            return self._add_nightstand(shape)
        if category == 'curtain':
            return self._add_curtain(shape)
        for attempt in range(tries):
            if category in _FREE_STANDING:
                item = self._in_the_middle(category, shape)
            elif category == 'television' and attempt < tries // 2:
                item = self._opposite('sofa', category, shape)
            elif category in _KITCHEN_RUN and self.room.type == 'kitchen' and attempt < tries // 2:
                item = self._beside_run(category, shape)
            else:
                item = self._against_wall(category, shape)
            if item is not None and self.accept(item):
                return True
        return False

    def _against_wall(self, category: str, shape: list[Part]) -> Item | None:
        low, high = bounds_of(shape)
        wall = int(self.rng.integers(4))
        yaw = wall * np.pi / 2  # 0: back to the south wall, 1: east, 2: north, 3: west
        span = (self.x0, self.x1) if wall % 2 == 0 else (self.y0, self.y1)
        half = (high[0] - low[0]) / 2 + 0.02
        if span[1] - span[0] < 2 * half:
            return None
        along = float(self.rng.uniform(span[0] + half, span[1] - half))
        if category not in _WALL_Z and self.rng.random() < 0.5:
            # corners leave the most free floor
            along = (span[0] + half, span[1] - half)[int(self.rng.integers(2))]
        gap = 0.001 if category in _WALL_Z else 0.02
        x, y = {
            0: (along, self.y0 + gap),
            1: (self.x1 - gap, along),
            2: (along, self.y1 - gap),
            3: (self.x0 + gap, along),
        }[wall]
        if category == 'window' and not self._is_outside(x, y):
            return None
        parts = placed(shape, x, y, yaw, _WALL_Z.get(category, 0.0))
        return Item(category, self.room.id, parts, yaw, category not in _WALL_Z)

    def _opposite(self, host: str, category: str, shape: list[Part]) -> Item | None:
        """Stand at the wall that the host looks at."""
        other = next((i for i in self.items if i.category == host), None)
        if other is None:
            return None
        yaw = other.yaw + np.pi
        fx, fy = other.front
        x, y = other.bounds.mean(0)[:2] + self.rng.uniform(-0.8, 0.8) * np.array([fy, fx])
        if abs(fx) > 0.5:
            x = self.x1 - 0.02 if fx > 0 else self.x0 + 0.02
        else:
            y = self.y1 - 0.02 if fy > 0 else self.y0 + 0.02
        return Item(category, self.room.id, placed(shape, x, y, yaw), yaw)

    def _beside_run(self, category: str, shape: list[Part]) -> Item | None:
        """Continue the row of kitchen pieces along its wall."""
        run = [i for i in self.items if i.category in _KITCHEN_RUN or i.category == 'refrigerator']
        if not run:
            return None
        host = run[int(self.rng.integers(len(run)))]
        fx, fy = host.front
        half = (host.bounds[1] - host.bounds[0])[0 if abs(fy) > 0.5 else 1] / 2
        back = (
            host.bounds.mean(0)[:2]
            - np.array([fx, fy]) * (host.bounds[1] - host.bounds[0])[:2] / 2
        )
        side = float(self.rng.choice([-1.0, 1.0])) * (half + bounds_of(shape)[1][0] + 0.04)
        x, y = back + np.array([fy, -fx]) * side
        return Item(category, self.room.id, placed(shape, x, y, host.yaw), host.yaw)

    def _is_outside(self, x: float, y: float) -> bool:
        left, bottom, right, top = self.plan.bounds
        return min(x - left, right - x, y - bottom, top - y) < 0.15

    def _in_the_middle(self, category: str, shape: list[Part]) -> Item | None:
        yaw = float(self.rng.integers(2)) * np.pi / 2
        low, high = bounds_of(placed(shape, 0, 0, yaw))
        sofa = next((i for i in self.items if i.category == 'sofa'), None)
        if category == 'coffee table' and sofa is not None:
            yaw = sofa.yaw
            centre = sofa.bounds.mean(0)
            reach = (sofa.bounds[1] - sofa.bounds[0])[:2] / 2
            fx, fy = sofa.front
            gap = float(self.rng.choice([0.35, 0.4, 0.9]))
            x = centre[0] + fx * (reach[0] + gap)
            y = centre[1] + fy * (reach[1] + gap)
        else:
            room = np.array(
                [self.x0 - low[0], self.y0 - low[1], self.x1 - high[0], self.y1 - high[1]]
            )
            if room[2] - room[0] < 1.6 or room[3] - room[1] < 1.6:
                return None
            x = float(self.rng.uniform(room[0] + 0.8, room[2] - 0.8))
            y = float(self.rng.uniform(room[1] + 0.8, room[3] - 0.8))
        return Item(category, self.room.id, placed(shape, x, y, yaw), yaw)

    def _add_on_top(self, category: str, shape: list[Part]) -> bool:
        hosts = [i for i in self.items if i.category in _ON_TOP[category]]
        for host in hosts:
            top = float(host.bounds[1][2])
            centre = host.bounds.mean(0)
            depth = bounds_of(shape)[1][1]
            fx, fy = host.front
            x, y = centre[0] - fx * depth / 2, centre[1] - fy * depth / 2
            item = Item(
                category, self.room.id, placed(shape, x, y, host.yaw, top), host.yaw, False
            )
            if not any(_overlap(item, o) for o in self.items if o is not host):
                self.items.append(item)
                return True
        return False

    def _add_rug(self, shape: list[Part]) -> bool:
        host = next((i for i in self.items if i.category in ('coffee table', 'bed')), None)
        if host is None:
            return False
        centre = host.bounds.mean(0)
        fx, fy = host.front
        ahead = 1.2 if host.category == 'bed' else 0.0
        x, y = centre[0] + fx * (ahead - 0.6), centre[1] + fy * (ahead - 0.6)
        item = Item('rug', self.room.id, placed(shape, x, y, host.yaw), host.yaw, False)
        lo, hi = item.bounds
        if lo[0] < self.x0 or lo[1] < self.y0 or hi[0] > self.x1 or hi[1] > self.y1:
            return False
        self.items.append(item)
        return True

    def _add_nightstand(self, shape: list[Part]) -> bool:
        bed = next((i for i in self.items if i.category == 'bed'), None)
        if bed is None:
            return False
        half = bounds_of(shape)[1][0]
        width = (bed.bounds[1] - bed.bounds[0])[0 if abs(bed.front[1]) > 0.5 else 1] / 2
        fx, fy = bed.front
        back = (
            bed.bounds.mean(0)[:2] - np.array([fx, fy]) * (bed.bounds[1] - bed.bounds[0])[:2] / 2
        )
        sides = [
            s
            for s in (1, -1)
            if self.accept(
                Item(
                    'nightstand',
                    self.room.id,
                    placed(
                        shape, *(back + np.array([fy, -fx]) * s * (width + half + 0.04)), bed.yaw
                    ),
                    bed.yaw,
                )
            )
        ]
        return bool(sides)

    def _add_curtain(self, shape: list[Part]) -> bool:
        window = next((i for i in self.items if i.category == 'window'), None)
        if window is None:
            return False
        fx, fy = window.front
        x, y = window.bounds.mean(0)[:2] - np.array([fx, fy]) * 0.03
        item = Item('curtain', self.room.id, placed(shape, x, y, window.yaw), window.yaw, False)
        if any(_overlap(item, o) for o in self.items if o is not window) or self._in_zone(item):
            return False
        lo, hi = item.bounds
        if lo[0] < self.x0 or lo[1] < self.y0 or hi[0] > self.x1 or hi[1] > self.y1:
            return False
        self.items.append(item)
        return True

    def _in_zone(self, item: Item) -> bool:
        lo, hi = item.bounds
        return any((lo < z_hi).all() and (hi > z_lo).all() for z_lo, z_hi in self.zones)

    def accept(self, item: Item) -> bool:
        """Keep a piece if it stands free and closes no way; tells whether it was kept."""
        lo, hi = item.bounds
        if lo[0] < self.x0 or lo[1] < self.y0 or hi[0] > self.x1 or hi[1] > self.y1:
            return False
        if self._in_zone(item) or any(_overlap(item, other) for other in self.items):
            return False
        if item.on_floor:
            raster = self.raster.copy()
            raster.fill(lo[0], lo[1], hi[0], hi[1], True)
            if not self._walkable(raster, [*self.items, item]):
                return False
            self.raster = raster
        self.items.append(item)
        return True

    def _walkable(self, raster: Raster, items: list[Item]) -> bool:
        """All doorways stay connected by a walkway from which every piece is in reach."""
        clearance = raster.clearance()
        labels, _ = ndimage.label(clearance > WALKWAY / 2 - CELL)
        seeds = {int(labels[raster.cell(x, y)]) for x, y in self.approaches}
        if len(seeds) != 1 or 0 in seeds:
            return False
        main = labels == seeds.pop()
        return all(
            footprint_distance(raster, *i.bounds[:, :2])[main].min() < REACH - 0.3
            for i in items
            if i.on_floor
        )


def _overlap(a: Item, b: Item) -> bool:
    if 'rug' in (a.category, b.category):
        return False
    gap = 0.03
    return bool(
        (a.bounds[0] < b.bounds[1] + gap).all() and (b.bounds[0] < a.bounds[1] + gap).all()
    )
