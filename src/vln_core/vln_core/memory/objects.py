# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Object nodes of the world graph: association, fusion, absence and ghosts (SPEC 3.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from vln_core.context import ObjectState
from vln_core.memory.absence import HOLLOW, looked_at
from vln_core.memory.config import MemoryConfig
from vln_core.memory.spatial_hash import SpatialHash
from vln_core.memory.state_list import StateList
from vln_core.observation import View
from vln_core.vocabulary import category_of

# Fused positions never become surer than this: surfaces seen differ from side to side.
_FLOOR: NDArray[np.float64] = np.eye(3) * 0.03**2


@dataclass(frozen=True, eq=False)
class Sighting:
    """A detection in the global frame: position and extent in metres, covariance in m^2."""

    view: int
    category: str
    label: str
    score: float
    position: NDArray[np.float64]
    covariance: NDArray[np.float64]
    extent: NDArray[np.float64]
    pixel_area: float


@dataclass
class ObjectNode:
    """Live state of one object; see :class:`vln_core.context.ObjectState`."""

    id: int
    category: str
    confidence: float
    best_view: tuple[int, int]
    best_quality: float
    sightings: int = 1
    last_step: int = 0
    place: int = -1
    containment: float = 0.0
    descriptions: list[str] = field(default_factory=list)
    attributes: dict[str, int] = field(default_factory=dict)


class ObjectStore:
    """All objects; geometry in arrays, words in nodes, look-ups by a spatial hash."""

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self.nodes: dict[int, ObjectNode] = {}
        self.next_id = 0
        self.positions: NDArray[np.float64] = np.zeros((64, 3))
        self.extents: NDArray[np.float64] = np.zeros((64, 3))
        self.covariances: NDArray[np.float64] = np.zeros((64, 3, 3))
        # Distance to the anchor whose place holds it; inf: none, or none in sight.
        self.place_distances: NDArray[np.float64] = np.full(64, np.inf)
        self._hollow: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._hash = SpatialHash(2.0)
        self._alike_hash: dict[str, SpatialHash] = {}  # one per category
        self.apart: dict[int, set[int]] = {}
        self.merged: list[tuple[int, int]] = []  # (object gone, its place), for the containment
        self.dirty: set[int] = set()
        self._listed = StateList[ObjectState](self._state)

    def _reserve(self, count: int) -> None:
        while count > len(self.positions):
            grow = len(self.positions)
            self.positions = np.concatenate([self.positions, np.zeros((grow, 3))])
            self.extents = np.concatenate([self.extents, np.zeros((grow, 3))])
            self.covariances = np.concatenate([self.covariances, np.zeros((grow, 3, 3))])
            self.place_distances = np.concatenate([self.place_distances, np.full(grow, np.inf)])
            self._hollow = np.concatenate([self._hollow, np.zeros(grow, np.bool_)])

    def touch(self, object_id: int) -> None:
        """Mark an object as changed, for snapshots and the journal."""
        self.dirty.add(object_id)
        self._listed.touch(object_id)

    def near(self, x: float, y: float, radius: float) -> NDArray[np.int64]:
        """Return ids of objects within a radius (m) on the ground, rising."""
        ids = np.array(self._hash.near(x, y, radius), np.int64)
        if not len(ids):
            return ids
        spots = self.positions[ids]
        return np.sort(ids[np.hypot(spots[:, 0] - x, spots[:, 1] - y) <= radius])

    def restore(
        self,
        node: ObjectNode,
        position: NDArray[np.float64],
        extent: NDArray[np.float64],
        covariance: NDArray[np.float64],
        place_distance: float = math.inf,
    ) -> None:
        """Put a node with its geometry into the store, as when it was saved."""
        self._reserve(node.id + 1)
        self.nodes[node.id] = node
        self.next_id = max(self.next_id, node.id + 1)
        self.positions[node.id] = position
        self.extents[node.id] = extent
        self.covariances[node.id] = covariance
        self.place_distances[node.id] = place_distance
        self._hollow[node.id] = node.category in HOLLOW
        x, y = float(position[0]), float(position[1])
        self._hash.add(node.id, x, y)
        self._alike_hash.setdefault(node.category, SpatialHash(2.0)).add(node.id, x, y)
        self.touch(node.id)

    def _refile(self, object_id: int, old: tuple[float, float]) -> None:
        """File an object where it is now, after its position has changed."""
        x, y = self.positions[object_id, :2].tolist()
        self._hash.move(object_id, old, (x, y))
        self._alike_hash[self.nodes[object_id].category].move(object_id, old, (x, y))

    def observe(self, sightings: Sequence[Sighting], step: int) -> list[int]:
        """Fuse the sightings of one panorama; return the object of each, in their order.

        Two sightings of one view never become the same object; those of overlapping views may.
        """
        result = [-1] * len(sightings)
        groups: dict[tuple[int, str], list[int]] = {}
        for k, sighting in enumerate(sightings):
            groups.setdefault((sighting.view, sighting.category), []).append(k)
        for _, members in sorted(groups.items()):
            for k, object_id in self._assign([sightings[m] for m in members]).items():
                self._fuse(object_id, sightings[members[k]], step)
                result[members[k]] = object_id
            for m in members:
                if result[m] < 0:
                    result[m] = self._create(sightings[m], step)
            self._keep_apart([result[m] for m in members])
        self._merge_twins(sorted(set(result)), result)
        return result

    def _gate(self, object_id: int, sighting: Sighting) -> float:
        config = self._config
        if sighting.category == 'doorway':
            return config.doorway_distance
        sizes = (*self.extents[object_id, :2].tolist(), *sighting.extent[:2].tolist())
        gate = max(config.association_floor, config.association_size * max(sizes))
        return min(gate, config.association_cap)

    def _alike(self, x: float, y: float, radius: float, category: str) -> list[int]:
        """Return the objects of a category in the cells that a disc touches, rising."""
        found = self._alike_hash.get(category)
        return [] if found is None else sorted(found.near(x, y, radius))

    def _assign(self, sightings: list[Sighting]) -> dict[int, int]:
        reach = max(self._config.association_cap, self._config.doorway_distance)
        columns = sorted(
            {
                i
                for s in sightings
                for i in self._alike(float(s.position[0]), float(s.position[1]), reach, s.category)
            }
        )
        if not columns:
            return {}
        # Candidates are few, so plain numbers are quicker than arrays.
        forbidden = 1e6
        cost = [[forbidden] * len(columns) for _ in sightings]
        spots = [self.positions[i, :2].tolist() for i in columns]
        for costs, sighting in zip(cost, sightings, strict=True):
            # On the ground: heights of visible centres depend on what hides the lower part.
            here = sighting.position[:2].tolist()
            for k, spot in enumerate(spots):
                gap = math.dist(spot, here)
                if gap <= reach and gap <= (gate := self._gate(columns[k], sighting)):
                    costs[k] = gap / gate
        if len(sightings) == 1:
            best = min(cost[0])
            return {0: columns[cost[0].index(best)]} if best < forbidden else {}
        rows, cols = linear_sum_assignment(cost)
        return {
            int(r): columns[int(c)]
            for r, c in zip(rows, cols, strict=True)
            if cost[r][c] < forbidden
        }

    def _create(self, sighting: Sighting, step: int) -> int:
        node = ObjectNode(
            self.next_id,
            sighting.category,
            self._config.confidence_gain * sighting.score,
            (step, sighting.view),
            self._quality(sighting),
            last_step=step,
            descriptions=[sighting.label] if sighting.label != sighting.category else [],
        )
        covariance = sighting.covariance + _FLOOR
        self.restore(node, sighting.position, sighting.extent, covariance)
        return node.id

    @staticmethod
    def _quality(sighting: Sighting) -> float:
        return sighting.score * sighting.pixel_area**0.5

    def _fuse(self, object_id: int, sighting: Sighting, step: int) -> None:
        node = self.nodes[object_id]
        old = (float(self.positions[object_id, 0]), float(self.positions[object_id, 1]))
        # Inverse-variance fusion (in the form with one inverse), floored so that a moved object
        # can still be followed.
        known = self.covariances[object_id]
        gain = known @ np.linalg.inv(known + sighting.covariance + _FLOOR)
        self.positions[object_id] += gain @ (sighting.position - self.positions[object_id])
        fused = known - gain @ known
        fused = 0.5 * (fused + fused.T)
        self.covariances[object_id] = fused if fused.trace() > _FLOOR.trace() else _FLOOR
        extent = self.extents[object_id]
        # Partial views are smaller than the object; masks that bleed are bigger.
        rate = np.where(sighting.extent > extent, 0.5, 0.1)
        self.extents[object_id] = extent + rate * (sighting.extent - extent)
        node.confidence += (1.0 - node.confidence) * self._config.confidence_gain * sighting.score
        node.sightings += 1
        node.last_step = step
        if self._quality(sighting) > node.best_quality:
            node.best_view, node.best_quality = (step, sighting.view), self._quality(sighting)
        if sighting.label != node.category and sighting.label not in node.descriptions:
            node.descriptions = [*node.descriptions, sighting.label][:8]
        self._refile(object_id, old)
        self.touch(object_id)

    def set_apart(self, a: int, b: int) -> None:
        """Remember that two objects were seen side by side, so they are not one."""
        self.apart.setdefault(a, set()).add(b)
        self.apart.setdefault(b, set()).add(a)
        self.dirty |= {a, b}

    def _keep_apart(self, ids: list[int]) -> None:
        for i, a in enumerate(ids):
            for b in ids[i + 1 :]:
                if np.hypot(*(self.positions[a, :2] - self.positions[b, :2])) < 3.0:
                    self.set_apart(a, b)

    def _merge_twins(self, ids: list[int], result: list[int]) -> None:
        for object_id in ids:
            if object_id not in self.nodes:
                continue
            x, y = map(float, self.positions[object_id, :2])
            category = self.nodes[object_id].category
            radius = 0.5 * self._config.association_floor
            for other in self._alike(x, y, radius, category):
                pair = (min(object_id, other), max(object_id, other))
                if other == object_id or other in self.apart.get(object_id, ()):
                    continue
                if math.hypot(*(self.positions[other, :2] - (x, y))) > radius:
                    continue
                self._merge(*pair)
                result[:] = [pair[0] if r == pair[1] else r for r in result]
                if object_id == pair[1]:
                    break

    def _merge(self, keep: int, gone: int) -> None:
        a, b = self.nodes[keep], self.nodes[gone]
        old = (float(self.positions[keep, 0]), float(self.positions[keep, 1]))
        share = b.sightings / (a.sightings + b.sightings)
        self.positions[keep] += share * (self.positions[gone] - self.positions[keep])
        self.extents[keep] = np.maximum(self.extents[keep], self.extents[gone])
        a.confidence = max(a.confidence, b.confidence)
        a.sightings += b.sightings
        a.last_step = max(a.last_step, b.last_step)
        a.descriptions = list(dict.fromkeys([*a.descriptions, *b.descriptions]))[:8]
        for name, count in b.attributes.items():
            a.attributes[name] = a.attributes.get(name, 0) + count
        if b.best_quality > a.best_quality:
            a.best_view, a.best_quality = b.best_view, b.best_quality
        self._refile(keep, old)
        for other in self.apart.get(gone, set()) - {keep}:
            self.set_apart(keep, other)
        self.merged.append((gone, b.place))
        self.remove(gone)
        self.touch(keep)

    def remove(self, object_id: int) -> None:
        """Delete an object."""
        x, y = map(float, self.positions[object_id, :2])
        self._hash.remove(object_id, x, y)
        self._alike_hash[self.nodes[object_id].category].remove(object_id, x, y)
        del self.nodes[object_id]
        for other in self.apart.pop(object_id, ()):
            self.apart[other].discard(object_id)
        self.touch(object_id)

    def judge_absence(
        self,
        views: Sequence[View],
        global_tform_odom: NDArray[np.float64],
        base_xy: tuple[float, float],
        seen: set[int],
        bearing_only: set[tuple[int, str]],
    ) -> list[int]:
        """Lower the confidence of objects looked at and absent; remove and return the ghosts.

        Args:
            views: Of the panorama.
            global_tform_odom: (4, 4).
            base_xy: Robot, metres, global frame.
            seen: Objects sighted in this panorama.
            bearing_only: (view, category) of detections without depth, which excuse an absence.
        """
        config = self._config
        nearby = self.near(*base_xy, config.absence_range)
        nearby = nearby[~self._hollow[nearby]]
        ids = np.array([i for i in nearby.tolist() if i not in seen], np.int64)
        if not len(ids):
            return []
        positions, halves = self.positions[ids], 0.5 * self.extents[ids].max(axis=1)
        worst = np.ones(len(ids))
        excused = np.zeros(len(ids), np.bool_)
        for view, k, is_through in looked_at(positions, halves, views, global_tform_odom):
            node = self.nodes[int(ids[k])]
            excused[k] |= (views[view].index, node.category) in bearing_only
            # Few sightings are cheap to doubt: most ghosts are false labels seen once.
            missed = config.missed_factor ** (1 if node.sightings >= 3 else 2)
            worst[k] = min(worst[k], config.see_through_factor if is_through else missed)
        ghosts = []
        for k in np.flatnonzero((worst < 1.0) & ~excused).tolist():
            node = self.nodes[int(ids[k])]
            node.confidence *= float(worst[k])
            self.touch(node.id)
            if node.confidence < config.prune_confidence:
                ghosts.append(node.id)
        return ghosts

    def describe(self, object_id: int, words: str, attributes: Sequence[str]) -> None:
        """Add open-vocabulary words and count soft attributes."""
        node = self.nodes[object_id]
        if words and words not in node.descriptions:
            node.descriptions = [*node.descriptions, words][:8]
        for attribute in attributes:
            node.attributes[attribute] = node.attributes.get(attribute, 0) + 1
        self.touch(object_id)

    def _state(self, object_id: int) -> ObjectState | None:
        node = self.nodes.get(object_id)
        if node is None:
            return None
        return ObjectState(
            node.id,
            node.category,
            self.positions[object_id].copy(),
            self.extents[object_id].copy(),
            float(node.confidence),
            node.sightings,
            node.best_view,
            node.place,
            tuple(node.descriptions),
            dict(node.attributes),
            node.last_step,
        )

    def snapshot(self) -> tuple[ObjectState, ...]:
        """Return all objects by rising id; unchanged ones are the same instances as before."""
        return self._listed.snapshot()

    def find(self, category: str, among: Sequence[int]) -> list[int]:
        """Return those of the given ids that have the category of the words, surest first."""
        wanted = category_of(category)
        found = [i for i in among if i in self.nodes and self.nodes[i].category == wanted]
        return sorted(found, key=lambda i: (-self.nodes[i].confidence, i))

    def transform(self, new_tform_old: NDArray[np.float64]) -> None:
        """Move every object by a rigid (4, 4) correction of the global frame."""
        rotation = new_tform_old[:3, :3]
        for object_id in sorted(self.nodes):
            old = (float(self.positions[object_id, 0]), float(self.positions[object_id, 1]))
            self.positions[object_id] = rotation @ self.positions[object_id] + new_tform_old[:3, 3]
            self.covariances[object_id] = rotation @ self.covariances[object_id] @ rotation.T
            self._refile(object_id, old)
            self.touch(object_id)
