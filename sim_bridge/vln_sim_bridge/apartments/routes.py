# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Shortest walks through an apartment, cut into legs: one for each room that is crossed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import skfmm
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse.csgraph import dijkstra

from vln_sim_bridge.apartments.apartment import Apartment
from vln_sim_bridge.apartments.layout import Doorway, Room
from vln_sim_bridge.apartments.placement import Item
from vln_sim_bridge.apartments.raster import CELL, walking_graph

BODY_RADIUS = 0.2  # of the robot alone: distances are measured without its margin
_INSIDE = 0.6  # a turn is judged from this far behind a doorway, metres


@dataclass(frozen=True, eq=False)
class Opening:
    """A way out of a zone: a doorway, or the mouth of a corridor's branch (door is None)."""

    x: float
    y: float
    door: Doorway | None

    @property
    def xy(self) -> NDArray[np.float64]:
        """Centre, metres."""
        return np.array([self.x, self.y])


@dataclass(eq=False)
class Zone:
    """One rectangle of a room; only corridors have two."""

    room: Room
    rect: tuple[float, float, float, float]
    is_branch: bool
    openings: list[Opening] = field(default_factory=list)

    @property
    def axis(self) -> int | None:
        """0 or 1 where the zone is long enough to have a direction, else None."""
        x0, y0, x1, y1 = self.rect
        if x1 - x0 > 1.6 * (y1 - y0):
            return 0
        return 1 if y1 - y0 > 1.6 * (x1 - x0) else None


@dataclass(eq=False)
class Leg:
    """The part of a walk inside one zone.

    Attributes:
        heading: Unit vector of the walk when the leg begins.
        origin: Where the eyes are when the turn of this leg is decided.
        target: What the leg leads to: the next opening, or the goal object.
        points: (N, 2) dense path, metres.
    """

    zone: Zone
    entry: Opening | None
    exit: Opening | None
    heading: NDArray[np.float64]
    origin: NDArray[np.float64]
    target: NDArray[np.float64]
    points: NDArray[np.float64]

    @property
    def bearing(self) -> float:
        """Angle from the heading to the target, rad, left positive."""
        to = self.target - self.origin
        return math.atan2(
            self.heading[0] * to[1] - self.heading[1] * to[0], float(self.heading @ to)
        )

    @property
    def turn(self) -> str | None:
        """'left', 'right', 'straight', 'around', or None where no word would be sure."""
        angle = math.degrees(self.bearing)
        if abs(angle) < 25:
            return 'straight'
        if abs(angle) > 150:
            return 'around'
        if 50 < abs(angle) < 130:
            return 'left' if angle > 0 else 'right'
        return None

    @property
    def length(self) -> float:
        """Length walked in the zone, metres."""
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())


class Walker:
    """Finds ways over the free cells of an apartment and says what lies along them."""

    def __init__(self, apartment: Apartment) -> None:
        """Prepare the cost of every cell: walls are kept at a distance where there is room."""
        self.apartment = apartment
        self.plan = apartment.plan
        self.raster = apartment.raster
        self.clearance = self.raster.clearance()
        factor = 1.0 + 2.5 * np.maximum(0.0, 0.6 - self.clearance)
        self._graph = walking_graph(np.where(apartment.free, factor, np.inf))
        labels, _ = ndimage.label(self.clearance > BODY_RADIUS)
        self._roomy = labels == labels[apartment.free][0]
        self._fields: dict[tuple[int, int], NDArray] = {}
        self._parents: dict[int, NDArray] = {}
        self.zones = self._make_zones()
        self.zone_of = np.full(self.raster.blocked.shape, -1)
        rows, columns = self.raster.blocked.shape
        x = self.raster.origin[0] + (np.arange(columns) + 0.5) * CELL
        y = self.raster.origin[1] + (np.arange(rows) + 0.5) * CELL
        for index, zone in enumerate(self.zones):
            x0, y0, x1, y1 = zone.rect
            self.zone_of[np.ix_((y >= y0) & (y < y1), (x >= x0) & (x < x1))] = index
        self._free_rc = np.argwhere(apartment.free)
        self._free_xy = self.raster.origin + (self._free_rc[:, ::-1] + 0.5) * CELL
        self._free_zone = self.zone_of[apartment.free]
        self._tall = [
            i
            for i in apartment.items
            if i.category != 'doorway' and i.bounds[1][2] > 1.05 and i.bounds[0][2] < 0.9
        ]
        self._walls = self._wall_mask()

    def _make_zones(self) -> list[Zone]:
        zones = [
            Zone(room, rect, k > 0)
            for room in self.plan.rooms
            for k, rect in enumerate(room.rects)
        ]
        for zone in zones:
            x0, y0, x1, y1 = zone.rect
            for door in self.plan.doorways:
                on_edge = x0 - 0.01 <= door.x <= x1 + 0.01 and y0 - 0.01 <= door.y <= y1 + 0.01
                if on_edge and zone.room.id in door.rooms:
                    zone.openings.append(Opening(door.x, door.y, door))
            if len(zone.room.rects) > 1:
                bx0, by0, bx1, _ = zone.room.rects[1]
                zone.openings.append(Opening((bx0 + bx1) / 2, by0, None))
        return zones

    def _wall_mask(self) -> NDArray[np.bool_]:
        """Everything that hides what is behind it from a camera one metre above the floor."""
        bare = np.ones_like(self.raster.blocked)
        scratch = self.raster.copy()
        scratch.blocked = bare
        for room in self.plan.rooms:
            for x0, y0, x1, y1 in room.rects:
                scratch.fill(x0 + 0.06, y0 + 0.06, x1 - 0.06, y1 - 0.06, False)
            if len(room.rects) > 1:
                bx0, by0, bx1, _ = room.rects[1]
                scratch.fill(bx0 + 0.06, by0 - 0.06, bx1 - 0.06, by0 + 0.06, False)
        for door in self.plan.doorways:
            ax, ay = (door.width / 2, 0.12) if door.along_x else (0.12, door.width / 2)
            scratch.fill(door.x - ax, door.y - ay, door.x + ax, door.y + ay, False)
        return scratch.blocked

    def is_visible(self, point: NDArray[np.float64], item: Item) -> bool:
        """Tell whether no wall and no tall piece is between a point and a piece."""
        lo, hi = item.bounds[:, :2]
        end = (lo + hi) / 2 + np.array(item.front) * (0.0 if item.on_floor else 0.15)
        count = max(2, int(np.linalg.norm(end - point) / 0.04))
        line = point + (end - point) * np.linspace(0, 1, count)[:, None]
        line = line[~((line >= lo - 0.02) & (line <= hi + 0.02)).all(1)]
        if not len(line):
            return True
        cells = np.floor((line - self.raster.origin) / CELL).astype(int)
        rows = np.clip(cells[:, 1], 0, self._walls.shape[0] - 1)
        columns = np.clip(cells[:, 0], 0, self._walls.shape[1] - 1)
        if self._walls[rows, columns].any():
            return False
        return not any(
            ((line > other.bounds[0][:2]) & (line < other.bounds[1][:2])).all(1).any()
            for other in self._tall
            if other is not item
        )

    def walk(self, start: tuple[float, float], goal: tuple[float, float]) -> NDArray[np.float64]:
        """Return (N, 2) centres of the cells of the best way, metres."""
        columns = self.raster.blocked.shape[1]
        row, column = self.raster.cell(*goal)
        end = row * columns + column
        if end not in self._parents:
            self._parents[end] = dijkstra(self._graph, indices=end, return_predecessors=True)[1]
        parent = self._parents[end]
        row, column = self.raster.cell(*start)
        index = row * columns + column
        cells = [index]
        while parent[index] >= 0:
            index = int(parent[index])
            cells.append(index)
        rows_columns = np.stack(np.divmod(np.array(cells), columns), 1)
        return self.raster.origin + (rows_columns[:, ::-1] + 0.5) * CELL

    def geodesic(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Return the length of the shortest walk of the bare body, metres; inf without one."""
        end = self.raster.cell(*goal)
        if end not in self._fields:
            rows, columns = self.raster.blocked.shape
            gap = np.hypot(*(np.ogrid[:rows, :columns][k] - end[k] for k in (0, 1))) * CELL
            ring = 1.5 * CELL  # fast marching needs a front that is wider than one cell
            field = np.ma.MaskedArray(gap - ring, mask=~self._roomy)
            walked = np.ma.filled(skfmm.distance(field, dx=CELL), np.inf) + ring
            self._fields[end] = np.where(gap <= ring, gap, walked)
        return float(self._fields[end][self.raster.cell(*start)])

    def stand_near(self, item: Item) -> tuple[float, float] | None:
        """Return a free place in the room of a piece and in reach of it, best before its front."""
        lo, hi = item.bounds[:, :2]
        distance = np.hypot(*np.maximum(np.maximum(lo - self._free_xy, self._free_xy - hi), 0.0).T)
        own = [k for k, z in enumerate(self.zones) if z.room.id == item.room]
        near = np.nonzero((distance < 1.2) & np.isin(self._free_zone, own))[0]
        if not len(near):
            return None
        offset = self._free_xy[near] - item.bounds.mean(0)[:2]
        side = offset @ np.array(item.front) / np.maximum(np.linalg.norm(offset, axis=1), 1e-6)
        order = np.argsort(np.abs(distance[near] - 0.65) - 0.35 * side, kind='stable')
        for k in order[:60:4]:
            point = self._free_xy[near[k]]
            if self.is_visible(point, item):
                return float(point[0]), float(point[1])
        return None

    def spot_in(self, room: Room, rng: np.random.Generator) -> tuple[float, float] | None:
        """Return a roomy free place in a room."""
        inside = np.nonzero(
            np.isin(
                self._free_zone,
                [k for k, z in enumerate(self.zones) if z.room is room and not z.is_branch],
            )
        )[0]
        if not len(inside):
            return None
        room_y = self.clearance[tuple(self._free_rc[inside].T)]
        good = inside[room_y >= min(0.6, 0.9 * float(room_y.max()))]
        x, y = self._free_xy[good[int(rng.integers(len(good)))]]
        return float(x), float(y)

    def legs(
        self, points: NDArray[np.float64], yaw: float, target: NDArray[np.float64]
    ) -> list[Leg] | None:
        """Cut a walk where it goes from zone to zone; None where it does not use an opening."""
        cells = np.floor((points - self.raster.origin) / CELL + 1e-9).astype(int)
        zone_ids = self.zone_of[cells[:, 1], cells[:, 0]]
        cuts = np.nonzero(np.diff(zone_ids))[0] + 1
        bounds = [0, *cuts.tolist(), len(points)]
        legs: list[Leg] = []
        entry: Opening | None = None
        heading = np.array([math.cos(yaw), math.sin(yaw)])
        origin = points[0]
        for a, b in zip(bounds, bounds[1:], strict=False):
            zone = self.zones[zone_ids[a]]
            out = None
            if b < len(points):
                out = min(zone.openings, key=lambda o: float(np.hypot(*(o.xy - points[b]))))
                if np.hypot(*(out.xy - points[b])) > 1.0:
                    return None
            leg_target = target if out is None else out.xy
            legs.append(Leg(zone, entry, out, heading, origin, leg_target, points[a:b]))
            if out is not None:
                horizontal = out.door is not None and not out.door.along_x
                sign = points[min(b + 3, len(points) - 1)] - points[max(b - 4, 0)]
                heading = (
                    np.array([math.copysign(1, sign[0]), 0.0])
                    if horizontal
                    else np.array([0.0, math.copysign(1, sign[1])])
                )
                origin = out.xy + heading * _INSIDE
                entry = out
        return legs
