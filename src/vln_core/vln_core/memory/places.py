# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Place nodes: incremental single-link clustering of anchors, and their edges (SPEC 3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from vln_core.context import FailureNote, PlaceEdge, PlaceState
from vln_core.memory.spatial_hash import SpatialHash
from vln_core.memory.state_list import StateList

NEVER = -(10**9)
_SPARSE = 0.25  # metres; of the anchors in a cell of this size the first stands for all
LineFree = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]]


@dataclass
class PlaceNode:
    """Live state of one place; see :class:`vln_core.context.PlaceState`."""

    id: int
    anchors: list[int] = field(default_factory=list)
    name: str = ''
    room_type: str = ''
    description: str = ''
    visit_count: int = 0
    first_step: int = NEVER
    last_step: int = NEVER
    failures: list[FailureNote] = field(default_factory=list)
    objects: set[int] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)  # category -> words, not grounded
    attributes: dict[str, int] = field(default_factory=dict)


class PlaceStore:
    """All places and the navigational graph over them."""

    def __init__(self, cluster_distance: float) -> None:
        self._distance = cluster_distance
        self.nodes: dict[int, PlaceNode] = {}
        self.graph = nx.Graph()
        self.next_id = 0
        self.num_anchors = 0
        self.anchors: NDArray[np.float64] = np.zeros((64, 3))
        self.anchor_place: NDArray[np.int64] = np.zeros(64, np.int64)
        self._poses: list[tuple[float, float, float]] = []  # the anchors, as snapshots hold them
        self._hash = SpatialHash(max(2.0 * cluster_distance, 0.5))
        self._sparse = SpatialHash(max(2.0 * cluster_distance, 0.5))
        self._firsts: dict[tuple[int, int], int] = {}
        self.dirty: set[int] = set()
        self.stale: set[int] = set()
        self.dirty_anchors: set[int] = set()
        self.dirty_edges: set[tuple[int, int]] = set()
        self._listed = StateList[PlaceState](self._state)
        self.counts: dict[int, dict[str, int]] = {}  # categories of objects, where unchanged
        self.agreement: Callable[[int], float] = lambda place: 0.0
        self._edges: tuple[PlaceEdge, ...] | None = ()

    def touch(self, place_id: int) -> None:
        """Mark a place as changed, for snapshots, retrieval and the journal."""
        self.dirty.add(place_id)
        self.touch_around(place_id)

    def touch_around(self, place_id: int) -> None:
        """Mark that a place has other objects or neighbours, which the journal has elsewhere."""
        self.stale.add(place_id)
        self.counts.pop(place_id, None)
        self._listed.touch(place_id)

    def near(self, x: float, y: float, radius: float) -> NDArray[np.int64]:
        """Return numbers of anchors within a radius (m), rising."""
        return self._within(self._hash, x, y, radius)

    def near_sparse(self, x: float, y: float, radius: float) -> NDArray[np.int64]:
        """Return as :meth:`near`, but of anchors closer than 0.25 m to each other only the first.

        What this costs is bounded by the area, however often the robot came by.
        """
        return self._within(self._sparse, x, y, radius)

    def _within(self, filed: SpatialHash, x: float, y: float, radius: float) -> NDArray[np.int64]:
        ids = np.array(filed.near(x, y, radius), np.int64)
        if not len(ids):
            return ids
        spots = self.anchors[ids]
        return np.sort(ids[np.hypot(spots[:, 0] - x, spots[:, 1] - y) <= radius])

    def _file(self, anchor: int, x: float, y: float) -> None:
        self._hash.add(anchor, x, y)
        cell = (math.floor(x / _SPARSE), math.floor(y / _SPARSE))
        first = self._firsts.get(cell)
        # The smallest number, so that a store read from disk has the same ones.
        if first is not None and first > anchor:
            self._sparse.remove(first, *self._poses[first][:2])
        if first is None or first > anchor:
            self._firsts[cell] = anchor
            self._sparse.add(anchor, x, y)

    def add_anchor(
        self, pose: tuple[float, float, float], line_free: LineFree
    ) -> tuple[int, list[int], int]:
        """Cluster a new anchor.

        Args:
            pose: (x, y, yaw), metres and rad.
            line_free: (start (2,), ends (N, 2)) -> (N,) bool, false where a wall is between.

        Returns:
            Number of the anchor, places that were merged away, and the place it belongs to now.
        """
        anchor = self._append(pose)
        joined = self._joined(pose, line_free)
        if not joined:
            joined = [self.next_id]
            self.nodes[self.next_id] = PlaceNode(self.next_id)
            self.graph.add_node(self.next_id)
            self.next_id += 1
        place = joined[0]
        for other in joined[1:]:
            self._merge(place, other)
        self.nodes[place].anchors.append(anchor)
        self.anchor_place[anchor] = place
        self._file(anchor, pose[0], pose[1])
        self.dirty_anchors.add(anchor)
        self.touch(place)
        return anchor, joined[1:], place

    def _joined(self, pose: tuple[float, float, float], line_free: LineFree) -> list[int]:
        """Return the places with an anchor near and in free line of a pose, rising."""
        close = self.near(pose[0], pose[1], self._distance + 1e-9)
        if not len(close):
            return []
        spots = self.anchors[close, :2]
        order = np.argsort(np.hypot(*(spots - pose[:2]).T), kind='stable')
        close, spots = close[order], spots[order]
        owners = self.anchor_place[close]
        # One free line is enough to join a place: mostly the one to its nearest anchor.
        nearest = {p: int(np.argmax(owners == p)) for p in np.unique(owners).tolist()}
        start = np.asarray(pose[:2])
        is_free = line_free(start, spots[[*nearest.values()]]).tolist()
        joined = {owner for owner, free in zip(nearest, is_free, strict=True) if free}
        for place in sorted(nearest.keys() - joined):
            rest = np.flatnonzero(owners == place)[1:]
            if len(rest) and line_free(start, spots[rest]).any():
                joined.add(place)
        return sorted(joined)

    def _append(self, pose: tuple[float, float, float]) -> int:
        anchor = self.num_anchors
        if anchor == len(self.anchors):
            self.anchors = np.concatenate([self.anchors, np.zeros_like(self.anchors)])
            self.anchor_place = np.concatenate(
                [self.anchor_place, np.zeros_like(self.anchor_place)]
            )
        self.anchors[anchor] = pose
        self._poses.append((float(pose[0]), float(pose[1]), float(pose[2])))
        self.num_anchors += 1
        return anchor

    def restore(self, node: PlaceNode, poses: dict[int, tuple[float, float, float]]) -> None:
        """Put a node with the poses of its anchors into the store, as when it was saved."""
        self.nodes[node.id] = node
        self.graph.add_node(node.id)
        self.next_id = max(self.next_id, node.id + 1)
        for anchor, pose in poses.items():
            while self.num_anchors <= anchor:
                self._append((np.nan, np.nan, np.nan))
            self.anchors[anchor] = self._poses[anchor] = pose
            self.anchor_place[anchor] = node.id
            self._file(anchor, pose[0], pose[1])
            self.dirty_anchors.add(anchor)
        self.touch(node.id)

    def _merge(self, keep: int, gone: int) -> None:
        a, b = self.nodes[keep], self.nodes.pop(gone)
        for anchor in b.anchors:
            self.anchor_place[anchor] = keep
        self.dirty_anchors.update(b.anchors)
        a.anchors = sorted([*a.anchors, *b.anchors])
        a.name, a.room_type = a.name or b.name, a.room_type or b.room_type
        a.description = '; '.join(dict.fromkeys(t for t in (a.description, b.description) if t))
        a.visit_count += b.visit_count
        steps = [s for s in (a.first_step, b.first_step) if s != NEVER]
        a.first_step = min(steps) if steps else NEVER
        a.last_step = max(a.last_step, b.last_step)
        a.failures = sorted({*a.failures, *b.failures}, key=lambda n: (n.step, n.reason))
        a.objects |= b.objects
        for category, words in b.notes.items():
            a.notes[category] = list(dict.fromkeys([*a.notes.get(category, []), *words]))
        for name, count in b.attributes.items():
            a.attributes[name] = a.attributes.get(name, 0) + count
        for other, data in list(self.graph[gone].items()):
            self.dirty_edges.add((min(gone, other), max(gone, other)))
            if other != keep:
                self.connect(keep, other, data['length'], data['traversals'])
        for other in list(self.graph[gone]):
            self.touch_around(other)
        self.graph.remove_node(gone)
        self._edges = None
        self.touch(gone)
        self.touch(keep)

    def connect(self, a: int, b: int, length: float, traversals: int) -> None:
        """Join two places, or strengthen their edge; ``traversals`` 0 means seen as open."""
        if a == b:
            return
        data = self.graph.get_edge_data(a, b)
        if data is None:
            self.graph.add_edge(a, b, length=length, traversals=traversals)
        else:
            data['length'] = min(data['length'], length)
            data['traversals'] += traversals
        self._edges = None
        self.dirty_edges.add((min(a, b), max(a, b)))
        self.touch_around(a)
        self.touch_around(b)

    def neighbours(self, place_id: int) -> list[int]:
        """Return ids of connected places, rising."""
        return sorted(self.graph[place_id])

    def transform(self, moved: dict[int, tuple[float, float, float]]) -> None:
        """Give anchors new poses; membership does not change."""
        for anchor, pose in moved.items():
            self.anchors[anchor] = self._poses[anchor] = pose
            self.touch(int(self.anchor_place[anchor]))
        self.dirty_anchors.update(moved)
        self._hash.clear()
        self._sparse.clear()
        self._firsts.clear()
        for anchor, (x, y, _) in enumerate(self._poses):
            self._file(anchor, x, y)

    def _state(self, place_id: int) -> PlaceState | None:
        node = self.nodes.get(place_id)
        if node is None:
            return None
        return PlaceState(
            node.id,
            tuple(map(self._poses.__getitem__, node.anchors)),
            node.name,
            node.room_type,
            node.description,
            node.visit_count,
            max(-1, node.first_step),
            max(-1, node.last_step),
            tuple(node.failures),
            tuple(sorted(node.objects)),
            tuple(self.neighbours(place_id)),
            self.agreement(place_id),
        )

    def snapshot(self) -> tuple[PlaceState, ...]:
        """Return all places by rising id; unchanged ones are the same instances as before."""
        return self._listed.snapshot()

    def edges(self) -> tuple[PlaceEdge, ...]:
        """Return all edges in order of their places."""
        if self._edges is None:
            self._edges = tuple(
                PlaceEdge(min(a, b), max(a, b), float(d['length']), int(d['traversals']))
                for a, b, d in sorted(
                    self.graph.edges(data=True), key=lambda e: (min(e[:2]), max(e[:2]))
                )
            )
        return self._edges
