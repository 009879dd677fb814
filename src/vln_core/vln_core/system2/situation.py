# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the rules planner reads out of a planning context: rooms, doorways, beliefs, objects."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ObjectState, PlanningContext, ViewpointState
from vln_core.observation import Detection
from vln_core.system2.doorways import DOORWAY, Doorway, doorways_crossed, merge_doorways
from vln_core.system2.floor_plan import Scan
from vln_core.system2.rooms import RoomMap
from vln_core.vocabulary import typical_rooms

_MIN_CONFIDENCE = 0.15
_RANK_WEIGHT = (1.0, 0.5, 0.35, 0.25)
# Found in rooms of every type: they hint at one, they do not make it.
_ANYWHERE = frozenset(
    (
        'plant', 'lamp', 'rug', 'painting', 'vase', 'trash can', 'curtain', 'mirror', 'clock',
        'cabinet',
    )
)  # fmt: skip
_HINT = 0.35
# Weight of what was not seen of a room; chance that a room is of one type if nothing was seen.
_UNSEEN = 0.3
_PRIOR_CHANCE = 0.3
_PRIOR_WEIGHT = 2.0
# Weight of a thing that stands in rooms of one type alone.
_SURE = 3.0


def wrap(angle: float) -> float:
    """Return an angle in (-pi, pi], rad."""
    return math.atan2(math.sin(angle), math.cos(angle))


def surface_distance(xy: NDArray[np.float64], thing: ObjectState) -> float:
    """Return the ground distance of a point (2,) to an object's axis-aligned box, metres."""
    half = np.maximum(np.asarray(thing.extent, dtype=float)[:2], 0.0) / 2.0
    gap = np.maximum(np.abs(xy - np.asarray(thing.position, dtype=float)[:2]) - half, 0.0)
    return float(np.hypot(*gap))


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
        self.doorways = merge_doorways(self.things, self._at, self.xy)
        self._map = RoomMap(context, self.waypoints, self.things, self.doorways, scans or {})
        # With their refined centres two may turn out to be one.
        self.doorways = [
            d
            for k, d in enumerate(self.doorways)
            if all(np.hypot(*(d.centre - e.centre)) > 0.5 for e in self.doorways[:k])
        ]
        self._contents: dict[Hashable, list[ObjectState]] = defaultdict(list)
        for thing in self.things:
            if thing.category != DOORWAY:
                self._contents[self.room_of_object(thing)].append(thing)

    # ------------------------------------------------------------------- rooms

    def crossed(
        self, a: NDArray[np.float64], b: NDArray[np.float64], slack: float = 0.0
    ) -> list[Doorway]:
        """Return the doorways that a way from ``a`` to ``b`` leads through, nearest first."""
        return doorways_crossed(self.doorways, a, b, slack)

    def room_of_waypoint(self, waypoint: int) -> Hashable:
        """Return the room in which a waypoint lies."""
        return self._map.room_of_waypoint(waypoint)

    def room_of_object(self, thing: ObjectState) -> Hashable:
        """Return the room in which an object was seen."""
        return self._map.room_of_object(thing)

    def room_of_viewpoint(self, view: ViewpointState) -> Hashable:
        """Return the room in which a viewpoint lies."""
        return self._map.room_of_viewpoint(view)

    def room_beyond(self, door: Doorway, room: Hashable) -> Hashable | None:
        """Return the room on the other side of a doorway of ``room``; None if it is not one."""
        return self._map.room_beyond(door, room)

    def room_inside(self, door: Doorway, xy: NDArray[np.float64]) -> Hashable:
        """Return the room on that side of a doorway on which a point (2,) lies."""
        return self._map.room_inside(door, xy)

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
        hints: dict[str, float] = {}
        for category, confidence in categories.items():
            rooms = typical_rooms(category)
            for rank, name in enumerate(rooms[: len(_RANK_WEIGHT)]):
                weight = _RANK_WEIGHT[rank] / (1.0 if len(rooms) == 1 else 1.3)
                weight *= max(confidence, 0.3)
                if category in _ANYWHERE:
                    hints[name] = max(hints.get(name, 0.0), _HINT * weight)
                else:
                    scores[name] += weight
        for name, weight in hints.items():  # ever so much decoration stays one hint
            scores[name] += weight
        doors = len(self.doorways_of(room))
        if doors >= 3:
            scores['corridor'] += 0.5 * (doors - 2)
        if not scores:
            return {}
        total = sum(scores.values()) + _UNSEEN
        order = sorted(scores.items(), key=lambda kv: (-kv[1], kv[0]))
        return {name: value / total for name, value in order}

    def likely(self, room: Hashable) -> str:
        """Return the most likely type of a room, or ''."""
        return next(iter(self.belief(room)), '')

    def weight_of(self, room: Hashable, wanted: Iterable[str]) -> float:
        """Return how strongly a room is believed to be one of the wanted types, 0..1."""
        belief = self.belief(room)
        names = _with_alike(wanted)
        return sum(value for name, value in belief.items() if name in names)

    def chance_of(self, room: Hashable, wanted: Iterable[str]) -> float:
        """Return how likely a room is one of the wanted types, 0..1, with what is not known yet.

        Little seen of a room says little; from a corridor one gets to rooms of any type.
        """
        names = _with_alike(wanted)
        total = agreeing = 0.0
        for thing in self.contents(room):
            rooms = typical_rooms(thing.category)[: len(_RANK_WEIGHT)]
            ranks = _RANK_WEIGHT[: len(rooms)]
            suits = sum(w for w, name in zip(ranks, rooms, strict=True) if name in names)
            weight = _SURE if len(rooms) == 1 else 1.0 if rooms else 0.0
            weight = max(float(thing.confidence), 0.3) * (
                0.2 if thing.category in _ANYWHERE else weight
            )
            total += weight
            agreeing += weight * suits / max(sum(ranks), 1e-6)
        if 'corridor' in names:  # rooms with several doors lead on
            doors = max(len(self.doorways_of(room)) - 1, 0)
            total, agreeing = total + doors, agreeing + 0.8 * doors
        chance = (agreeing + _PRIOR_CHANCE * _PRIOR_WEIGHT) / (total + _PRIOR_WEIGHT)
        leads_on = self.is_hub(room) and 'corridor' not in names
        return max(chance, 0.8 * _PRIOR_CHANCE) if leads_on else chance

    def is_hub(self, room: Hashable) -> bool:
        """Tell whether one gets to several rooms from a room."""
        return self.likely(room) == 'corridor' or len(self.doorways_of(room)) >= 3

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
    {'office', 'library'},
)
_KINDRED = (
    {'cabinet', 'kitchen cabinet', 'wardrobe'},
    {'table', 'dining table', 'coffee table'},
    {'chair', 'office chair', 'armchair'},
)


def _with_alike(wanted: Iterable[str]) -> set[str]:
    names = set(wanted)
    for group in _ALIKE:
        if names & group:
            names |= group
    return names


def kindred(category: str) -> set[str]:
    """Return the category with those that people name by the same word ('table' covers all)."""
    names = {category}
    for group in _KINDRED:
        if category in ('cabinet', 'table', 'chair') and category in group:
            names |= group
    return names
