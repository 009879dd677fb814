# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""World graph G: places and objects together, their containment and topology (SPEC 3.1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vln_core.context import FailureNote
from vln_core.errors import UpdateRefused
from vln_core.memory.config import MemoryConfig
from vln_core.memory.objects import ObjectStore, Sighting
from vln_core.memory.places import NEVER, PlaceStore
from vln_core.memory.space_map import SpaceMap
from vln_core.observation import Detection, View
from vln_core.system2.record import WorldNotes
from vln_core.vocabulary import canonical_room, category_of

_FALLBACK: NDArray[np.float64] = np.eye(3) * 0.2**2  # of a detection without covariance, m^2
_NUM_CHOICES = 6  # nearest anchors tried for an object


class WorldGraphStore:
    """Live world graph; what leaves it are the frozen states of :mod:`vln_core.context`."""

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self.places = PlaceStore(config.cluster_distance)
        self.objects = ObjectStore(config)

    def visit(
        self, pose: tuple[float, float, float], step: int, space: SpaceMap
    ) -> tuple[int, int, list[int]]:
        """Add a waypoint's anchor; return the anchor, its place and the places merged into it."""
        anchor, gone, place = self.places.add_anchor(pose, space.lines_free)
        node = self.places.nodes[place]
        for object_id in sorted(node.objects) if gone else ():
            self.objects.nodes[object_id].place = place
            self.objects.touch(object_id)
        if node.last_step != step:
            node.visit_count += 1
        node.first_step = step if node.first_step == NEVER else node.first_step
        node.last_step = step
        self._see_open(anchor, place, space)
        return anchor, place, gone

    def _see_open(self, anchor: int, place: int, space: SpaceMap) -> None:
        pose = self.places.anchors[anchor]
        near = self.places.near_sparse(pose[0], pose[1], self._config.seen_open_distance)
        known = {place, *self.places.graph[place]}
        owners = self.places.anchor_place[near].tolist()
        near = near[[owner not in known for owner in owners]]
        if not len(near):
            return
        is_open = space.lines_free(pose[:2], self.places.anchors[near, :2])
        for other in near[is_open]:
            length = float(np.hypot(*(self.places.anchors[other, :2] - pose[:2])))
            other_place = int(self.places.anchor_place[other])
            if not self.places.graph.has_edge(place, other_place):
                self.places.connect(place, other_place, length, 0)

    def sightings(
        self, detections: Sequence[Detection], global_tform_odom: NDArray[np.float64]
    ) -> list[Sighting]:
        """Turn detections with a position into sightings of the global frame."""
        placed = [d for d in detections if d.position_odom is not None]
        if not placed:
            return []
        rotation = global_tform_odom[:3, :3]
        positions = np.array([d.position_odom for d in placed], float) @ rotation.T
        positions += global_tform_odom[:3, 3]
        covariances = np.array(
            [_FALLBACK if d.covariance is None else d.covariance for d in placed], float
        )
        covariances = rotation @ covariances @ rotation.T
        nothing = np.zeros(3)
        extents = np.array([nothing if d.extent is None else d.extent for d in placed], float)
        extents = extents @ np.abs(rotation).T
        result = []
        for k, detection in enumerate(placed):
            left, top, right, bottom = detection.box_xyxy
            result.append(
                Sighting(
                    detection.view,
                    category_of(detection.category),
                    detection.label,
                    float(detection.score),
                    positions[k],
                    covariances[k],
                    extents[k],
                    max(0.0, right - left) * max(0.0, bottom - top),
                )
            )
        return result

    def see(
        self,
        detections: Sequence[Detection],
        views: Sequence[View],
        global_tform_odom: NDArray[np.float64],
        base_xy: tuple[float, float],
        step: int,
        space: SpaceMap,
    ) -> list[int]:
        """Fuse the detections of a panorama; return the object of each grounded detection."""
        owners = self.objects.observe(self.sightings(detections, global_tform_odom), step)
        bearing_only = {
            (d.view, category_of(d.category)) for d in detections if d.position_odom is None
        }
        ghosts = self.objects.judge_absence(
            views, global_tform_odom, base_xy, set(owners), bearing_only
        )
        for object_id in ghosts:
            self.forget(object_id)
        self._contain(sorted(set(owners)), base_xy, space)
        return owners

    def forget(self, object_id: int) -> None:
        """Remove an object and its containment."""
        place = self.objects.nodes[object_id].place
        self.objects.remove(object_id)
        if place in self.places.nodes:
            self.places.nodes[place].objects.discard(object_id)
            self.places.touch_around(place)

    def _contain(self, seen: list[int], base_xy: tuple[float, float], space: SpaceMap) -> None:
        """Put objects into the place with the nearest anchor that has a free line to them."""
        around = self.objects.near(*base_xy, self._config.containment_distance)
        spots = self.objects.positions[around]
        gaps = np.hypot(spots[:, 0] - base_xy[0], spots[:, 1] - base_xy[1])
        # Of the others only those can change that the new anchor is nearer to than their own.
        closer = around[gaps < self.objects.place_distances[around] - 1e-6].tolist()
        changed = sorted(({*closer, *seen}) & self.objects.nodes.keys())
        for gone, place in self.objects.merged:
            if place in self.places.nodes:
                self.places.nodes[place].objects.discard(gone)
                self.places.touch_around(place)
        self.objects.merged.clear()
        self._place_objects(changed, base_xy, space)

    def _place_objects(
        self, changed: list[int], base_xy: tuple[float, float], space: SpaceMap
    ) -> None:
        """Choose the place of each object; all lines to anchors are tested in one go."""
        if not changed:
            return
        ids = np.array(changed, np.int64)
        rows, anchors, gaps = self._anchors_around(ids, base_xy)
        if not len(rows):
            return
        skips = 0.5 * self.objects.extents[ids, :2].max(axis=1) + 0.3
        starts, ends = self.places.anchors[anchors, :2], self.objects.positions[ids[rows], :2]
        # The nearest anchor in sight, else the nearest: rows come by object, nearest first. Most
        # see their nearest one, so the lines to the others are tested for the rest alone.
        is_first = np.append(True, rows[1:] != rows[:-1])
        is_open = np.zeros(len(rows), np.bool_)
        is_open[is_first] = space.lines_free(
            starts[is_first], ends[is_first], skips[rows[is_first]]
        )
        is_hidden = np.ones(len(changed), np.bool_)
        is_hidden[rows[is_open]] = False
        more = is_hidden[rows] & ~is_first
        is_open[more] = space.lines_free(starts[more], ends[more], skips[rows[more]])
        firsts = np.flatnonzero(is_first)
        if not is_open[firsts].all():
            order = np.lexsort((np.arange(len(rows)), ~is_open, rows))
            firsts = order[firsts]  # still where each object begins
        for k in firsts.tolist():
            self._put(changed[rows[k]], int(anchors[k]), float(gaps[k]), bool(is_open[k]))

    def _anchors_around(
        self, ids: NDArray[np.int64], base_xy: tuple[float, float]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return row of an object, anchor and distance, by object and nearest first."""
        limit = self._config.containment_distance
        spots = self.objects.positions[ids]
        away = float(np.hypot(spots[:, 0] - base_xy[0], spots[:, 1] - base_xy[1]).max())
        near, gaps = self._gaps(spots, base_xy, limit + away)
        is_near = (gaps <= limit).any(axis=1)
        if not is_near.all():
            # Objects seen from afar have no anchor around: with little confidence they go to one
            # within 2.5 times the distance.
            near, gaps = self._gaps(spots, base_xy, 2.5 * limit + away)
        reach = np.where(is_near, limit, 2.5 * limit)
        gaps[gaps > reach[:, None]] = np.inf
        order = gaps.argsort(axis=1, kind='stable')[:, :_NUM_CHOICES]
        rows, columns = np.nonzero(np.isfinite(np.take_along_axis(gaps, order, axis=1)))
        chosen = order[rows, columns]
        return rows, near[chosen], gaps[rows, chosen]

    def _gaps(
        self, spots: NDArray[np.float64], base_xy: tuple[float, float], radius: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return (A,) anchors around the robot and (N, A) distances of spots to them."""
        near = self.places.near_sparse(*base_xy, radius)
        anchors = self.places.anchors[near]
        gaps = np.hypot(spots[:, :1] - anchors[:, 0], spots[:, 1:2] - anchors[:, 1])
        return near, gaps

    def _put(self, object_id: int, anchor: int, gap: float, is_in_sight: bool) -> None:
        node = self.objects.nodes[object_id]
        place = int(self.places.anchor_place[anchor])
        containment = math.exp(-((gap / 3.0) ** 2)) * (1.0 if is_in_sight else 0.3)
        if node.place == place and abs(node.containment - containment) < 1e-12:
            return
        if node.place != place:
            old = self.places.nodes.get(node.place)
            if old is not None:
                old.objects.discard(object_id)
                self.places.touch_around(old.id)
            self.places.nodes[place].objects.add(object_id)
        self.places.touch_around(place)
        node.place, node.containment = place, containment
        # A place behind a wall is a makeshift: any anchor with a free line is better.
        self.objects.place_distances[object_id] = gap if is_in_sight else math.inf
        self.objects.touch(object_id)

    def place_of_anchor(self, anchor: int) -> int:
        """Return the place that an anchor belongs to now."""
        return int(self.places.anchor_place[anchor])

    def note_failure(self, place_id: int, note: FailureNote) -> None:
        """Attach a failure note; advisory, never part of a score."""
        node = self.places.nodes.get(place_id)
        if node is None:
            raise UpdateRefused(f'place {place_id} does not exist')
        if note not in node.failures:
            node.failures.append(note)
            self.places.touch(place_id)

    def annotate(self, place_id: int, notes: WorldNotes, step: int, subgoal: str) -> None:
        """Write what the agent noted about a place and its objects (w_t of eq. 4)."""
        node = self.places.nodes[place_id]
        node.name = notes.place_name.strip() or node.name
        room = notes.room_type.strip()
        node.room_type = (canonical_room(room) or room.lower()) if room else node.room_type
        node.description = notes.place_description.strip() or node.description
        for note in notes.objects:
            category, words = category_of(note.category), note.description.strip()
            found = self.objects.find(category, sorted(node.objects))
            if found:
                self.objects.describe(found[0], words, note.attributes)
                continue
            # Not grounded: soft attributes stay with the place and category (HAM-VLN 3.2).
            known = node.notes.setdefault(category, [])
            if words and words not in known:
                known.append(words)
                del known[8:]
            for attribute in note.attributes:
                key = f'{category}: {attribute}'
                node.attributes[key] = node.attributes.get(key, 0) + 1
        if notes.failure.strip():
            self.note_failure(place_id, FailureNote(notes.failure.strip(), step, subgoal))
        self.places.touch(place_id)

    def age(self, steps: int) -> None:
        """Make everything ``steps`` waypoints older for a new episode; doubtful objects go."""
        for place in sorted(self.places.nodes):
            node = self.places.nodes[place]
            if node.last_step != NEVER:
                node.first_step, node.last_step = node.first_step - steps, node.last_step - steps
            node.failures = [replace(n, step=n.step - steps) for n in node.failures]
            self.places.touch(place)
        for object_id in sorted(self.objects.nodes):
            item = self.objects.nodes[object_id]
            item.confidence *= self._config.ageing
            item.last_step -= steps
            # Its picture left the cache with the old episode; the next sighting brings another.
            item.best_view, item.best_quality = (-1, -1), 0.0
            self.objects.touch(object_id)
            if item.confidence < self._config.prune_confidence:
                self.forget(object_id)

    def categories(self, place_id: int) -> dict[str, int]:
        """Return object categories of a place with their counts, sorted by name."""
        counts = self.places.counts.get(place_id)
        if counts is None:
            nodes, inside = self.objects.nodes, self.places.nodes[place_id].objects
            names = Counter(nodes[i].category for i in inside if i in nodes)
            counts = self.places.counts[place_id] = dict(sorted(names.items()))
        return counts

    def agreement(self, place_id: int, landmarks: frozenset[str]) -> float:
        """Return the fraction of the instruction's landmarks found at a place, 0..1."""
        if not landmarks:
            return 0.0
        found = self.categories(place_id).keys()
        return sum(1 for name in landmarks if name in found) / len(landmarks)
