# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which room is what in: rooms as the rules planner tells them apart.

Rooms are not given; they follow from what was seen from where. Where the scans of the waypoints
are known, rooms are the regions of the seen floor between doorways. Else a sight line or a step
that crosses no doorway joins its two ends into one room, one that crosses a doorway joins them to
its two sides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ObjectState, PlanningContext, ViewpointState, WaypointState
from vln_core.system2.doorways import DOORWAY, Doorway, doorways_crossed
from vln_core.system2.floor_plan import FloorPlan, Scan

_TOLD_LENGTH = re.compile(r'(\d+\.\d) m away')


def _told_length(rationale: str) -> float | None:
    """Return the length of the way that the planner noted when it chose to go there, metres."""
    match = _TOLD_LENGTH.search(rationale)
    return float(match.group(1)) if match else None


class _Union:
    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}

    def find(self, key: Hashable) -> Hashable:
        self._parent.setdefault(key, key)
        while self._parent[key] != key:
            self._parent[key] = self._parent[self._parent[key]]
            key = self._parent[key]
        return key

    def join(self, a: Hashable, b: Hashable) -> None:
        ra, rb = self.find(a), self.find(b)
        if ra != rb:
            self._parent[rb] = ra


class RoomMap:
    """Rooms of waypoints, objects and viewpoints; built once per decision.

    Args:
        context: What the planner may read.
        waypoints: Of its graph, by id.
        things: Objects that count.
        doorways: Each once; their centres and normals are refined where the floor shows them.
        scans: Of the waypoints; without them rooms follow from sight lines alone.
    """

    def __init__(
        self,
        context: PlanningContext,
        waypoints: Sequence[WaypointState],
        things: Sequence[ObjectState],
        doorways: Sequence[Doorway],
        scans: Mapping[int, Scan],
    ) -> None:
        self.context = context
        self.xy = np.array(context.pose[:2], dtype=float)
        self.waypoints, self.things, self.doorways = waypoints, things, doorways
        self.here = waypoints[-1].id if waypoints else 0
        self._at = {w.id: np.array([w.x, w.y]) for w in waypoints}
        self._rooms = _Union()
        known = {k: v for k, v in scans.items() if k in self._at}
        if self.here in known and 2 * len(known) >= len(self._at):
            self._lay_out(known)
        else:
            self._link()

    def crossed(
        self, a: NDArray[np.float64], b: NDArray[np.float64], slack: float = 0.0
    ) -> list[Doorway]:
        """Return the doorways that a way from ``a`` to ``b`` leads through, nearest first."""
        return doorways_crossed(self.doorways, a, b, slack)

    def _node(
        self, key: tuple[str, object], xy: NDArray[np.float64], other: NDArray[np.float64]
    ) -> Hashable:
        """Return the room node of one end of a line.

        One who stands in a doorway sees both rooms: the line belongs to the side it leads to.
        """
        if key[0] != 'o':
            for door in self.doorways:
                if door.holds(xy) and not door.holds(other):
                    return ('door', door.id, door.side(other))
        return key

    def _chain(
        self,
        start: tuple[str, object],
        a: NDArray[np.float64],
        end: tuple[str, object],
        b: NDArray[np.float64],
        slack: float,
    ) -> None:
        first, last = self._node(start, a, b), self._node(end, b, a)
        sills = {n[1] for n in (first, last) if isinstance(n, tuple) and n[0] == 'door'}
        node = first
        for door in self.crossed(a, b, slack):
            if door.id in sills:
                continue
            side = door.side(a)
            self._rooms.join(node, ('door', door.id, side))
            node = ('door', door.id, -side)
        self._rooms.join(node, last)

    def _lay_out(self, scans: Mapping[int, Scan]) -> None:
        """Take the rooms from the floor that was seen."""
        plan = FloorPlan(scans, [d.centre for d in self.doorways])
        for door, passage in zip(self.doorways, plan.passages, strict=True):
            if passage is not None:
                door.centre, door.normal = passage.centre, passage.normal
        for door in self.doorways:
            normal = door.normal if door.normal is not None else np.array([1.0, 0.0])
            for side in (1, -1):
                room = plan.room_at(door.centre + side * 0.4 * normal, 0.3)
                if room:
                    self._rooms.join(('room', room), ('door', door.id, side))
        for waypoint in self.waypoints:
            spot = self._at[waypoint.id]
            if any(d.holds(spot) for d in self.doorways):
                spot = spot + 0.5 * np.array([math.cos(waypoint.yaw), math.sin(waypoint.yaw)])
            room = plan.room_at(spot, 0.7)
            if room:
                self._rooms.join(('room', room), ('w', waypoint.id))
        for thing in self.things:
            viewer = self._at.get(thing.best_view[0], self.xy)
            room = plan.room_seen(np.asarray(thing.position, dtype=float)[:2], viewer)
            if room:
                self._rooms.join(('room', room), ('o', thing.id))
        for view in self.context.graph.viewpoints:
            if view.is_visited:
                continue
            spot = np.array([view.x, view.y])
            ahead = 0.4 * np.array([math.cos(view.heading_out), math.sin(view.heading_out)])
            for door in self.doorways:
                if door.holds(spot):  # an opening in a doorway leads to the far side
                    side = door.side(spot + ahead)
                    self._rooms.join(('door', door.id, side), ('v', view.id))
                    break
            else:
                room = plan.room_at(spot, 0.6)
                if room:
                    self._rooms.join(('room', room), ('v', view.id))

    def _link(self) -> None:
        self._link_moves()
        self._link_panorama()
        for door in self.doorways:
            origin = self._at.get(door.state.best_view[0])
            if origin is None:
                continue
            between = [d for d in self.crossed(origin, door.centre) if d.id != door.id]
            if not between:
                self._rooms.join(
                    ('w', door.state.best_view[0]), ('door', door.id, door.side(origin))
                )
        for thing in self.things:
            origin = self._at.get(thing.best_view[0])
            if thing.category != DOORWAY and origin is not None:
                target = np.asarray(thing.position, dtype=float)[:2]
                self._chain(('w', thing.best_view[0]), origin, ('o', thing.id), target, 0.0)
        for view in self.context.graph.viewpoints:
            if not view.is_visited and view.seen_from in self._at:
                self._chain(
                    ('w', view.seen_from), self._at[view.seen_from], ('v', view.id),
                    np.array([view.x, view.y]), 0.4,
                )  # fmt: skip

    def _link_moves(self) -> None:
        """Join the ends of moves that were straight; of others the way is not known."""
        ways = {n.step: _told_length(n.rationale) for n in self.context.history}
        for before, after in zip(self.waypoints[:-1], self.waypoints[1:], strict=True):
            a, b = self._at[before.id], self._at[after.id]
            straight = float(np.hypot(*(b - a)))
            way = ways.get(before.id)
            if way is not None and way > 1.25 * straight + 0.7:
                continue
            if straight > (3.2 if way is None else 6.0):
                continue
            self._chain(('w', before.id), a, ('w', after.id), b, 1.2)
        self._settle_sills()
        by_place: dict[int, int] = {}
        for waypoint in self.waypoints:
            first = by_place.setdefault(waypoint.place, waypoint.id)
            if first == waypoint.id:
                continue
            if not self.crossed(self._at[first], self._at[waypoint.id]):
                near = np.hypot(*(self._at[first] - self._at[waypoint.id])) < 1.5
                if near and waypoint.place >= 0:
                    self._rooms.join(('w', first), ('w', waypoint.id))

    def _settle_sills(self) -> None:
        """Count a waypoint in a doorway to the room that was walked into."""
        for before, after in zip(self.waypoints[:-1], self.waypoints[1:], strict=True):
            spot = self._at[after.id]
            for door in self.doorways:
                if door.holds(spot):
                    ahead = spot + np.array([math.cos(after.yaw), math.sin(after.yaw)])
                    side = -door.side(self._at[before.id])
                    if door.holds(self._at[before.id]):
                        side = door.side(ahead)
                    self._rooms.join(('w', after.id), ('door', door.id, side))

    def _link_panorama(self) -> None:
        """Join the robot with what it sees from here."""
        if not self.waypoints:
            return
        tform = self.context.global_tform_odom
        for detection in self.context.panorama.detections:
            if detection.position_odom is None:
                continue
            spot = (tform @ np.append(detection.position_odom, 1.0))[:2]
            near = [
                (float(np.hypot(*(np.asarray(o.position)[:2] - spot))), o.id, o)
                for o in self.things
                if o.category == detection.category
            ]
            gap, _, thing = min(near, default=(9.0, 0, None), key=lambda n: n[:2])
            if thing is None or gap > 0.7:
                continue
            if thing.category != DOORWAY:
                self._chain(('w', self.here), self.xy, ('o', thing.id), spot, 0.0)
                continue
            for door in self.doorways:
                if door.id == thing.id and not [
                    d for d in self.crossed(self.xy, door.centre) if d.id != door.id
                ]:
                    self._rooms.join(('w', self.here), ('door', door.id, door.side(self.xy)))

    def room_of_waypoint(self, waypoint: int) -> Hashable:
        """Return the room in which a waypoint lies."""
        return self._rooms.find(('w', waypoint))

    def room_of_object(self, thing: ObjectState) -> Hashable:
        """Return the room in which an object was seen."""
        return self._rooms.find(('o', thing.id))

    def room_of_viewpoint(self, view: ViewpointState) -> Hashable:
        """Return the room in which a viewpoint lies."""
        if view.is_visited and view.id[1:].isdigit():
            return self.room_of_waypoint(int(view.id[1:]))
        return self._rooms.find(('v', view.id))

    def room_inside(self, door: Doorway, xy: NDArray[np.float64]) -> Hashable:
        """Return the room on that side of a doorway on which a point (2,) lies."""
        return self._rooms.find(('door', door.id, door.side(xy)))

    def room_beyond(self, door: Doorway, room: Hashable) -> Hashable | None:
        """Return the room on the other side of a doorway of ``room``; None if it is not one."""
        for side in (1, -1):
            if self._rooms.find(('door', door.id, side)) == room:
                return self._rooms.find(('door', door.id, -side))
        return None
