# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Floor plans: which rooms there are, where they lie, and the doorways between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

WALL = 0.12  # thickness, metres
HEIGHT = 2.6
DOOR_HEIGHT = 2.05
JAMB = 0.04  # each jamb stands in the opening, beside the clear width

# type -> (narrowest, widest) extent along the row, metres
_WIDTHS = {
    'living room': (4.8, 6.0),
    'kitchen': (3.4, 4.4),
    'bedroom': (3.5, 4.4),
    'bathroom': (2.4, 2.9),
    'dining room': (3.4, 4.2),
    'office': (3.0, 3.8),
    'laundry room': (2.4, 2.9),
    'gym': (3.2, 4.0),
    'storage room': (2.4, 2.9),
}
_EXTRAS = ('bedroom', 'bathroom', 'office', 'dining room', 'laundry room', 'gym', 'storage room')
_LEAVES = {'bathroom', 'storage room', 'laundry room'}  # nobody walks through these
_MAX_COUNT = {'bedroom': 3, 'bathroom': 2}
# what some rooms are furnished as instead, drawn last: the plan around them stays the same
_VARIANTS = {'office': 'library', 'storage room': 'garage'}
_VARIANT_CHANCE = 0.45


@dataclass
class Room:
    """One room: the rectangles of its cell (between wall centres) and its free polygon."""

    id: int
    type: str
    rects: list[tuple[float, float, float, float]]  # x0, y0, x1, y1

    def inner_of(self, rect: int) -> tuple[float, float, float, float]:
        """Return one rectangle between its wall faces; a branch (rect 1) is open southwards."""
        x0, y0, x1, y1 = self.rects[rect]
        half = WALL / 2
        return x0 + half, y0 + (half if rect == 0 else -half), x1 - half, y1 - half

    @property
    def inner(self) -> tuple[float, float, float, float]:
        """Free rectangle between the wall faces of the first (main) rectangle."""
        return self.inner_of(0)

    @property
    def polygon(self) -> list[list[float]]:
        """Corners of the free area, counter-clockwise, metres."""
        x0, y0, x1, y1 = self.inner
        ring = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
        if len(self.rects) > 1:  # a branch that leaves the main rectangle northwards
            bx0, _, bx1, by1 = self.rects[1]
            half = WALL / 2
            branch = [
                [bx1 - half, y1],
                [bx1 - half, by1 - half],
                [bx0 + half, by1 - half],
                [bx0 + half, y1],
            ]
            ring = [*ring[:3], *branch, ring[3]]
            ring = [p for i, p in enumerate(ring) if p != ring[i - 1]]
        return [[round(x, 4), round(y, 4)] for x, y in ring]

    @property
    def area(self) -> float:
        """Area in square metres."""
        return sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.rects)

    def contains(self, x: float, y: float) -> bool:
        """Tell whether a point lies in the cell of the room."""
        return any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in self.rects)


@dataclass
class Doorway:
    """An opening: centre on the wall's centre line; yaw is the direction of walking through."""

    id: int
    x: float
    y: float
    width: float
    yaw: float
    rooms: tuple[int, int]

    @property
    def along_x(self) -> bool:
        """Whether the wall runs along x (one walks through along y)."""
        return abs(np.sin(self.yaw)) > 0.5


@dataclass
class Plan:
    """A floor plan."""

    kind: str
    rooms: list[Room]
    doorways: list[Doorway] = field(default_factory=list)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Outer rectangle between wall centres."""
        rects = np.array([r for room in self.rooms for r in room.rects])
        return (*rects[:, :2].min(0), *rects[:, 2:].max(0))

    def room_at(self, x: float, y: float) -> Room | None:
        """Return the room whose cell holds a point."""
        return next((room for room in self.rooms if room.contains(x, y)), None)

    def shared_walls(self, a: Room, b: Room) -> list[tuple[bool, float, float, float]]:
        """Return (along_x, offset, low, high) of every wall segment between two rooms."""
        walls = []
        for ax0, ay0, ax1, ay1 in a.rects:
            for bx0, by0, bx1, by1 in b.rects:
                low, high = max(ax0, bx0), min(ax1, bx1)
                if high - low > 1e-6 and (abs(ay1 - by0) < 1e-6 or abs(by1 - ay0) < 1e-6):
                    walls.append((True, ay1 if abs(ay1 - by0) < 1e-6 else ay0, low, high))
                low, high = max(ay0, by0), min(ay1, by1)
                if high - low > 1e-6 and (abs(ax1 - bx0) < 1e-6 or abs(bx1 - ax0) < 1e-6):
                    walls.append((False, ax1 if abs(ax1 - bx0) < 1e-6 else ax0, low, high))
        return walls


def _room_types(rng: np.random.Generator, count: int) -> list[str]:
    types = ['living room', 'kitchen', 'bedroom', 'bathroom'][:count]
    while len(types) < count:
        # look-alike rooms are wanted: bedrooms and bathrooms twice as often as the others
        pick = str(rng.choice(_EXTRAS, p=[0.25, 0.2, 0.15, 0.12, 0.1, 0.09, 0.09]))
        if types.count(pick) < _MAX_COUNT.get(pick, 1):
            types.append(pick)
    return types


def _split_rows(rng: np.random.Generator, types: list[str]) -> tuple[list[str], list[str]]:
    """Share rooms between two rows of about equal length, in random order."""
    order = [types[i] for i in rng.permutation(len(types))]
    order.sort(key=lambda t: -_WIDTHS[t][0])
    rows: tuple[list[str], list[str]] = ([], [])
    for kind in order:
        length = [sum(_WIDTHS[t][0] for t in row) for row in rows]
        rows[int(length[1] < length[0])].append(kind)
    return tuple([row[i] for i in rng.permutation(len(row))] for row in rows)  # type: ignore


def _fill(
    rng: np.random.Generator, types: list[str], width: float, y0: float, y1: float
) -> list[tuple[str, tuple[float, float, float, float]]]:
    """Lay rooms side by side over the whole width, each about as wide as its type wants."""
    wanted = np.array([rng.uniform(*_WIDTHS[t]) if t in _WIDTHS else 1.7 for t in types])
    fixed = np.array([t not in _WIDTHS for t in types])
    stretch = (width - wanted[fixed].sum()) / wanted[~fixed].sum()
    wanted[~fixed] *= stretch
    edges = np.round(np.concatenate([[0.0], np.cumsum(wanted)]), 2)
    edges[-1] = width
    return [(t, (float(edges[i]), y0, float(edges[i + 1]), y1)) for i, t in enumerate(types)]


def _row_length(types: list[str]) -> float:
    return sum(sum(_WIDTHS[t]) / 2 if t in _WIDTHS else 1.7 for t in types)


def _make_rooms(rng: np.random.Generator, kind: str, count: int) -> list[Room]:
    has_corridor = kind in ('corridor', 'tee')
    types = _room_types(rng, count - int(has_corridor))
    middle = 'corridor' if has_corridor else ''
    if kind == 'hub':
        types.remove('living room')
        middle = 'living room'
    south, north = _split_rows(rng, types)
    if kind == 'tee':
        north.insert(int(rng.integers(1, len(north))) if len(north) > 1 else 1, 'branch')
    width = round(max(_row_length(south), _row_length(north), 5.0), 1)
    depth_s, depth_n = (round(float(v), 1) for v in rng.uniform(3.5, 4.3, 2))
    depth_m = {'corridor': float(rng.choice([1.7, 1.9])), 'living room': 4.4}.get(middle, 0.0)
    cells = _fill(rng, south, width, 0.0, depth_s)
    if middle:
        cells.append((middle, (0.0, depth_s, width, depth_s + depth_m)))
    top = round(depth_s + depth_m, 3)
    north_cells = _fill(rng, north, width, top, round(top + depth_n, 3))
    rooms = []
    for name, rect in cells + [c for c in north_cells if c[0] != 'branch']:
        rooms.append(Room(len(rooms), name, [rect]))
    for name, rect in north_cells:
        if name == 'branch':
            next(r for r in rooms if r.type == 'corridor').rects.append(rect)
    return rooms


def _add_doorway(rng: np.random.Generator, plan: Plan, a: Room, b: Room) -> bool:
    """Open a doorway in the longest wall that two rooms share; False where it does not fit."""
    walls = sorted(plan.shared_walls(a, b), key=lambda w: w[2] - w[3])
    width = round(float(rng.uniform(0.95, 1.15)), 2)
    for along_x, offset, low, high in walls:
        low, high = low + WALL / 2 + 0.2 + width / 2, high - WALL / 2 - 0.2 - width / 2
        options = [low, high, (low + high) / 2, float(rng.uniform(low, max(low, high)))]
        for pick in rng.permutation(len(options)):
            c = round(options[pick], 2)
            x, y = (c, offset) if along_x else (offset, c)
            # two doorways in one corner of a room would leave no wall between them
            near = [d for d in plan.doorways if np.hypot(d.x - x, d.y - y) < 1.6]
            if high >= low and not near:
                yaw = float(np.pi / 2) if along_x else 0.0
                plan.doorways.append(Doorway(len(plan.doorways), x, y, width, yaw, (a.id, b.id)))
                return True
    return False


def _connect(rng: np.random.Generator, plan: Plan) -> bool:
    """Open doorways until every room is reached; some rooms only through another one."""
    rooms = plan.rooms
    neighbours = {
        (a.id, b.id): plan.shared_walls(a, b) for a in rooms for b in rooms if a.id != b.id
    }
    reached = {next(r.id for r in rooms if r.type in ('corridor', 'living room'))}
    if any(r.type == 'corridor' for r in rooms):
        reached = {r.id for r in rooms if r.type == 'corridor'}
    bathrooms = [r for r in rooms if r.type == 'bathroom']
    ensuite = bathrooms[-1].id if len(bathrooms) > 1 and rng.random() < 0.7 else None
    while len(reached) < len(rooms):
        options = []
        for a in rooms:
            for b in rooms:
                if a.id not in reached or b.id in reached or not neighbours[a.id, b.id]:
                    continue
                if max(w[3] - w[2] for w in neighbours[a.id, b.id]) < 1.75:
                    continue
                cost = rng.random() + {'corridor': 0, 'living room': 1}.get(a.type, 3)
                cost += 20 if a.type in _LEAVES else 0
                if b.id == ensuite:
                    cost = 0.5 if a.type == 'bedroom' else 10 + cost
                elif b.type in _LEAVES:
                    cost += 4  # attach them last, so that they stay dead ends
                options.append((cost, a.id, b.id))
        for _, a_id, b_id in sorted(options):
            if _add_doorway(rng, plan, rooms[a_id], rooms[b_id]):
                reached.add(b_id)
                break
        else:
            return False
    loops = [
        (a, b)
        for a in rooms
        for b in rooms
        if a.id < b.id
        and neighbours[a.id, b.id]
        and {a.type, b.type} <= {'kitchen', 'dining room', 'living room'}
        and not any(set(d.rooms) == {a.id, b.id} for d in plan.doorways)
    ]
    if loops and rng.random() < 0.6:
        _add_doorway(rng, plan, *loops[int(rng.integers(len(loops)))])
    return True


def make_plan(rng: np.random.Generator) -> Plan:
    """Draw a plan of 4 to 8 rooms in which every room can be reached."""
    while True:
        kind = str(rng.choice(['corridor', 'tee', 'hub', 'suite']))
        low, high = {'corridor': (5, 8), 'tee': (6, 8), 'hub': (5, 7), 'suite': (4, 6)}[kind]
        plan = Plan(kind, _make_rooms(rng, kind, int(rng.integers(low, high + 1))))
        if _connect(rng, plan):
            _vary(rng.spawn(1)[0], plan)
            return plan


def _vary(rng: np.random.Generator, plan: Plan) -> None:
    for room in plan.rooms:
        if room.type in _VARIANTS and rng.random() < _VARIANT_CHANCE:
            room.type = _VARIANTS[room.type]
