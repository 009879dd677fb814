# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The bare building as a mesh: floors, ceilings, walls with openings, and the door frames."""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments.layout import DOOR_HEIGHT, HEIGHT, JAMB, WALL, Doorway, Plan, Room
from vln_sim_bridge.apartments.materials import Material
from vln_sim_bridge.apartments.shape import Part, box

_WOODS = ((172, 124, 76), (148, 100, 60), (192, 150, 104), (120, 84, 56))
_TILES = ((206, 206, 200), (160, 176, 184), (190, 178, 160), (140, 150, 150))
_PAINTS = ((226, 218, 196), (196, 212, 220), (214, 222, 198), (232, 208, 190), (218, 212, 226))
_WET = {'bathroom', 'kitchen', 'laundry room', 'storage room', 'garage'}
_FRAMES = ((110, 62, 30), (60, 74, 96), (134, 44, 38), (52, 86, 62))


def _pick(rng: np.random.Generator, palette: tuple) -> tuple[int, int, int]:
    return palette[int(rng.integers(len(palette)))]


def room_materials(rng: np.random.Generator, plan: Plan) -> dict[int, tuple[Material, Material]]:
    """Return (floor, wall) materials per room id."""
    result = {}
    for room in plan.rooms:
        if room.type in _WET:
            floor = Material('tiles', _pick(rng, _TILES), 0.8)
        else:
            floor = Material('wood', _pick(rng, _WOODS), 0.9)
        if room.type == 'bathroom':
            wall = Material('tiles', _pick(rng, _PAINTS), 0.6)
        elif room.type in ('living room', 'gym') and rng.random() < 0.35:
            wall = Material('brick', (176, 96, 78), 0.9)
        else:
            wall = Material('plaster', _pick(rng, _PAINTS), 2.0)
        result[room.id] = (floor, wall)
    return result


def _wall_segments(plan: Plan) -> list[tuple[bool, float, float, float, int | None, int | None]]:
    """Cut every room edge where the room on its other side changes.

    Returns:
        (along_x, offset, low, high, room on the low side, room on the high side); None = outside.
    """
    rects = [(room, r) for room in plan.rooms for r in room.rects]
    cuts = {True: sorted({v for _, r in rects for v in (r[0], r[2])}),
            False: sorted({v for _, r in rects for v in (r[1], r[3])})}  # fmt: skip
    segments = {}
    for _, (x0, y0, x1, y1) in rects:
        for along_x, offset, low, high in (
            (True, y0, x0, x1), (True, y1, x0, x1), (False, x0, y0, y1), (False, x1, y0, y1),
        ):  # fmt: skip
            stops = [c for c in cuts[along_x] if low <= c <= high]
            for a, b in zip(stops, stops[1:], strict=False):
                mid = (a + b) / 2
                sides = [plan.room_at(*((mid, offset + e) if along_x else (offset + e, mid)))
                         for e in (-0.01, 0.01)]  # fmt: skip
                ids = [None if s is None else s.id for s in sides]
                if ids[0] != ids[1]:
                    segments[along_x, round(offset, 4), round(a, 4), round(b, 4)] = (*ids,)
    return [(*key, *ids) for key, ids in sorted(segments.items())]


def _merge(segments: list) -> list:
    merged: list = []
    for s in segments:
        last = merged[-1] if merged else None
        if last and last[:2] == s[:2] and last[3] == s[2] and last[4:] == s[4:]:
            merged[-1] = (*last[:3], s[3], *s[4:])
        else:
            merged.append(s)
    return merged


def _slab(along_x: bool, offset: float, low: float, high: float, z0: float, z1: float,
          sides: tuple[Material, Material]) -> list[Part]:  # fmt: skip
    half = WALL / 2
    lo = (low, offset - half, z0) if along_x else (offset - half, low, z0)
    hi = (high, offset + half, z1) if along_x else (offset + half, high, z1)
    a, b = ('-y', '+y') if along_x else ('-x', '+x')
    skip = {'+z'} if z0 > 0 else {'+z', '-z'}
    every = {'-x', '+x', '-y', '+y', '-z', '+z'}
    return [box(lo, hi, sides[0], tuple(sorted(skip | {b}))),
            box(lo, hi, sides[1], tuple(sorted(every - {b})))]  # fmt: skip


def building_parts(plan: Plan, materials: dict[int, tuple[Material, Material]]) -> list[Part]:
    """Return floors (upward faces at z = 0), ceilings (downward faces) and walls."""
    outside = Material('plaster', (188, 184, 176), 2.0)
    ceiling = Material('bright', (236, 236, 230), 2.0)
    parts: list[Part] = []
    for room in plan.rooms:
        for x0, y0, x1, y1 in room.rects:
            parts.append(_flat(x0, y0, x1, y1, 0.0, materials[room.id][0], up=True))
            parts.append(_flat(x0, y0, x1, y1, HEIGHT, ceiling, up=False))
    for along_x, offset, low, high, a, b in _merge(_wall_segments(plan)):
        sides = tuple(outside if i is None else materials[i][1] for i in (a, b))
        # reach almost through the crossing wall; exactly through would flicker on its far face
        start, end = low - WALL / 2 + 1e-3, high + WALL / 2 - 1e-3
        for door in sorted(_doors_in(plan, along_x, offset, low, high), key=lambda d: (d.x, d.y)):
            centre = door.x if along_x else door.y
            half = door.width / 2 + JAMB
            parts += _slab(along_x, offset, start, centre - half, 0.0, HEIGHT, sides)
            parts += _slab(along_x, offset, centre - half, centre + half,
                           DOOR_HEIGHT + JAMB, HEIGHT, sides)  # fmt: skip
            start = centre + half
        parts += _slab(along_x, offset, start, end, 0.0, HEIGHT, sides)
    return parts


def _doors_in(plan: Plan, along_x: bool, offset: float, low: float, high: float) -> list[Doorway]:
    return [d for d in plan.doorways if d.along_x == along_x
            and abs((d.y if along_x else d.x) - offset) < 1e-3
            and low < (d.x if along_x else d.y) < high]  # fmt: skip


def _flat(x0, y0, x1, y1, z, material, *, up: bool) -> Part:
    corners = np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)])
    return Part((corners if up else corners[::-1],), material)


def frame_material(rng: np.random.Generator) -> Material:
    """Draw the colour of all door frames of an apartment, well apart from walls and floors."""
    return Material('stripes', _pick(rng, _FRAMES), 0.4)


def frame_parts(door: Doorway, material: Material) -> list[Part]:
    """Return two jambs and a lintel with architraves that stand out from both wall faces."""
    half, deep = door.width / 2, WALL / 2 + 0.02
    trim, face = 0.09, WALL / 2 + 0.001
    pieces = []
    for side in (-1, 1):
        a, b = sorted((side * half, side * (half + JAMB)))
        pieces.append(((a, -deep, 0.0), (b, deep, DOOR_HEIGHT + JAMB)))
        a, b = sorted((side * (half + JAMB), side * (half + trim)))
        for low, high in ((-deep, -face), (face, deep)):
            pieces.append(((a, low, 0.0), (b, high, DOOR_HEIGHT + trim)))
    pieces.append(((-half, -deep, DOOR_HEIGHT), (half, deep, DOOR_HEIGHT + JAMB)))
    for low, high in ((-deep, -face), (face, deep)):
        pieces.append(
            ((-half - JAMB, low, DOOR_HEIGHT + JAMB), (half + JAMB, high, DOOR_HEIGHT + trim))
        )
    parts = []
    for lo, hi in pieces:
        if not door.along_x:
            lo, hi = (lo[1], lo[0], lo[2]), (hi[1], hi[0], hi[2])
        offset = np.array([door.x, door.y, 0.0])
        parts.append(box(np.add(lo, offset), np.add(hi, offset), material))
    return parts


def room_name(room: Room) -> str:
    """Return a name for labels: type and id."""
    return f'{room.type.replace(" ", "_")}_{room.id}'
