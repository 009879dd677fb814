# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the rules planner reads out of a planning context: rooms, doorways, beliefs, sight lines.

Rooms are not given; they follow from what was seen from where. A sight line or a step that crosses
no doorway joins its two ends into one room, one that crosses a doorway joins them to its two
sides.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ObjectState, PlanningContext, ViewpointState
from vln_core.observation import Detection
from vln_core.system2.floor_plan import FloorPlan, Scan
from vln_core.vocabulary import typical_rooms

DOORWAY = 'doorway'
_MIN_CONFIDENCE = 0.15
_MERGE_DOORWAYS = 0.8
_HALF_WIDTH = 0.85
_SILL = 0.35
_RANK_WEIGHT = (1.0, 0.5, 0.35, 0.25)


def wrap(angle: float) -> float:
    """Return an angle in (-pi, pi], rad."""
    return math.atan2(math.sin(angle), math.cos(angle))


def surface_distance(xy: NDArray[np.float64], thing: ObjectState) -> float:
    """Return the ground distance of a point (2,) to an object's axis-aligned box, metres."""
    half = np.maximum(np.asarray(thing.extent, dtype=float)[:2], 0.0) / 2.0
    gap = np.maximum(np.abs(xy - np.asarray(thing.position, dtype=float)[:2]) - half, 0.0)
    return float(np.hypot(*gap))


class Doorway:
    """A doorway with its centre, normal and the side on which a point lies."""

    def __init__(self, state: ObjectState) -> None:
        self.state = state
        self.id = state.id
        self.centre = np.asarray(state.position, dtype=float)[:2]
        extent = np.asarray(state.extent, dtype=float)
        self.normal: NDArray[np.float64] | None = None
        long_side, short_side = max(extent[0], extent[1]), min(extent[0], extent[1])
        if long_side >= 0.45 and long_side >= 1.6 * short_side:
            self.normal = np.array([0.0, 1.0]) if extent[0] > extent[1] else np.array([1.0, 0.0])

    def orient(self, viewer: NDArray[np.float64]) -> None:
        """Guess the normal along the line of sight where the extent does not tell it."""
        if self.normal is None:
            gap = self.centre - viewer
            axis = int(np.argmax(np.abs(gap)))
            self.normal = np.eye(2)[axis]

    def side(self, xy: NDArray[np.float64]) -> int:
        """Return +1 or -1: the side of the wall on which a point lies."""
        assert self.normal is not None
        return 1 if float(self.normal @ (xy - self.centre)) >= 0.0 else -1

    def holds(self, xy: NDArray[np.float64]) -> bool:
        """Tell whether a point lies in the opening itself, neither inside nor outside."""
        assert self.normal is not None
        gap = xy - self.centre
        along = np.array([-self.normal[1], self.normal[0]])
        return abs(float(self.normal @ gap)) < _SILL and abs(float(along @ gap)) < _HALF_WIDTH

    def is_crossed(self, a: NDArray[np.float64], b: NDArray[np.float64], slack: float) -> bool:
        """Tell whether going from ``a`` to ``b`` leads through; ``slack``: the detour, metres."""
        assert self.normal is not None
        da = float(self.normal @ (a - self.centre))
        db = float(self.normal @ (b - self.centre))
        if da * db >= 0.0 or min(abs(da), abs(db)) < 0.05:
            return False
        along = np.array([-self.normal[1], self.normal[0]])
        hit = a + (b - a) * (da / (da - db))
        if abs(float(along @ (hit - self.centre))) <= _HALF_WIDTH:
            return True
        detour = np.hypot(*(a - self.centre)) + np.hypot(*(b - self.centre)) - np.hypot(*(b - a))
        return slack > 0.0 and float(detour) <= slack


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


class Situation:
    """Rooms and relations at one decision waypoint; built once per decision.

    Args:
        context: What the planner may read.
        scans: Of its waypoints; without them rooms follow from sight lines alone.
    """

    def __init__(self, context: PlanningContext, scans: Mapping[int, Scan] | None = None) -> None:
        self.context = context
        self.xy = np.array(context.pose[:2], dtype=float)
        self.yaw = float(context.pose[2])
        graph = context.graph
        self.waypoints = sorted(graph.waypoints, key=lambda w: w.id)
        self.track = [np.array([w.x, w.y]) for w in self.waypoints] or [self.xy]
        self.here = self.waypoints[-1].id if self.waypoints else 0
        self._at = {w.id: np.array([w.x, w.y]) for w in self.waypoints}
        self.things = [o for o in graph.objects if o.confidence >= _MIN_CONFIDENCE]
        self.doorways = self._merge_doorways()
        self._rooms = _Union()
        self.plan: FloorPlan | None = None
        known = {k: v for k, v in (scans or {}).items() if k in self._at}
        if self.here in known and 2 * len(known) >= len(self._at):
            self._lay_out(known)
        else:
            self._link()
        self._contents: dict[Hashable, list[ObjectState]] = defaultdict(list)
        for thing in self.things:
            if thing.category != DOORWAY:
                self._contents[self.room_of_object(thing)].append(thing)

    # ------------------------------------------------------------------ building

    def _merge_doorways(self) -> list[Doorway]:
        kept: list[Doorway] = []
        found = [o for o in self.things if o.category == DOORWAY]
        for state in sorted(found, key=lambda o: (-o.num_sightings, o.id)):
            door = Doorway(state)
            if all(np.hypot(*(door.centre - k.centre)) > _MERGE_DOORWAYS for k in kept):
                door.orient(self._at.get(state.best_view[0], self.xy))
                kept.append(door)
        return sorted(kept, key=lambda d: d.id)

    def crossed(
        self, a: NDArray[np.float64], b: NDArray[np.float64], slack: float = 0.0
    ) -> list[Doorway]:
        """Return the doorways that a way from ``a`` to ``b`` leads through, nearest first."""
        hits = [d for d in self.doorways if d.is_crossed(a, b, slack)]
        return sorted(hits, key=lambda d: float(np.hypot(*(d.centre - a))))

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
        self.plan = plan
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

    # ------------------------------------------------------------------- rooms

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

    def room_beyond(self, door: Doorway, room: Hashable) -> Hashable | None:
        """Return the room on the other side of a doorway of ``room``; None if it is not one."""
        for side in (1, -1):
            if self._rooms.find(('door', door.id, side)) == room:
                return self._rooms.find(('door', door.id, -side))
        return None

    @property
    def room(self) -> Hashable:
        """The room the robot is in."""
        return self.room_of_waypoint(self.here)

    def doorways_of(self, room: Hashable) -> list[Doorway]:
        """Return doorways that lead out of a room."""
        return [d for d in self.doorways if self.room_beyond(d, room) is not None]

    def is_visited(self, room: Hashable) -> bool:
        """Tell whether the robot has been in a room."""
        return any(self.room_of_waypoint(w.id) == room for w in self.waypoints)

    def contents(self, room: Hashable) -> list[ObjectState]:
        """Return the objects of a room other than doorways."""
        return self._contents.get(room, [])

    def belief(self, room: Hashable) -> dict[str, float]:
        """Return room types with weights that sum to 1, most likely first; empty if unknown."""
        scores: dict[str, float] = defaultdict(float)
        categories: dict[str, float] = {}
        for thing in self.contents(room):
            previous = categories.get(thing.category, 0.0)
            categories[thing.category] = max(previous, float(thing.confidence))
        for category, confidence in categories.items():
            rooms = typical_rooms(category)
            for rank, name in enumerate(rooms[: len(_RANK_WEIGHT)]):
                weight = _RANK_WEIGHT[rank] / (1.0 if len(rooms) == 1 else 1.3)
                scores[name] += weight * max(confidence, 0.3)
        doors = len(self.doorways_of(room))
        if doors >= 3:
            scores['corridor'] += 0.5 * (doors - 2)
        if not scores:
            return {}
        total = sum(scores.values()) + 0.3
        order = sorted(scores.items(), key=lambda kv: (-kv[1], kv[0]))
        return {name: value / total for name, value in order}

    def likely(self, room: Hashable) -> str:
        """Return the most likely type of a room, or ''."""
        return next(iter(self.belief(room)), '')

    def weight_of(self, room: Hashable, wanted: Iterable[str]) -> float:
        """Return how strongly a room is believed to be one of the wanted types, 0..1."""
        belief = self.belief(room)
        names = set(wanted)
        for group in _ALIKE:
            if names & group:
                names |= group
        return sum(value for name, value in belief.items() if name in names)

    # ------------------------------------------------------------------ objects

    def known(self, category: str) -> list[ObjectState]:
        """Return objects of a category or of a kindred one, nearest first."""
        names = kindred(category)
        found = [o for o in self.things if o.category in names]
        return sorted(found, key=lambda o: (surface_distance(self.xy, o), o.id))

    def seen_now(self, thing: ObjectState) -> Detection | None:
        """Return the detection of the current panorama that shows an object, or None."""
        best: tuple[float, Detection] | None = None
        names = kindred(thing.category)
        target = np.asarray(thing.position, dtype=float)
        bearing = math.atan2(target[1] - self.xy[1], target[0] - self.xy[0])
        tform = self.context.global_tform_odom
        reach = 0.8 + 0.5 * float(np.max(np.asarray(thing.extent)[:2]))
        turn = math.atan2(tform[1, 0], tform[0, 0])
        for detection in self.context.panorama.detections:
            if detection.category not in names:
                continue
            if detection.position_odom is not None:
                position = (tform @ np.append(detection.position_odom, 1.0))[:3]
                cost = float(np.hypot(*(position - target)[:2])) / reach
            else:
                cost = abs(wrap(detection.bearing + turn - bearing)) / 0.25
            if cost <= 1.0 and (best is None or cost - detection.score < best[0]):
                best = (cost - detection.score, detection)
        return best[1] if best else None

    def bearing_to(self, xy: NDArray[np.float64]) -> float:
        """Return the direction of a point from the robot relative to its heading, rad."""
        return wrap(math.atan2(xy[1] - self.xy[1], xy[0] - self.xy[0]) - self.yaw)


_ALIKE = (
    {'living room', 'lounge', 'family room', 'tv room'},
    {'bathroom', 'toilet room'},
    {'bedroom'},
    {'entryway', 'corridor'},
    {'garage', 'storage room'},
)
_KINDRED = (
    {'cabinet', 'kitchen cabinet', 'wardrobe'},
    {'table', 'dining table', 'coffee table'},
    {'chair', 'office chair', 'armchair'},
)


def kindred(category: str) -> set[str]:
    """Return the category with those that people name by the same word ('table' covers all)."""
    names = {category}
    for group in _KINDRED:
        if category in ('cabinet', 'table', 'chair') and category in group:
            names |= group
    return names
