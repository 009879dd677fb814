# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Memory topological map (MC-GPT III-C, SPEC 3.7): a second reading of the same memory.

Viewpoints, visited and not, are nodes of one graph that is the global action space; objects,
placed by depth, are clustered as hints at room types. As text:
:func:`vln_core.system2.prompting.topology_text`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import cdist

from vln_core.context import ObjectState, ViewpointState, WorldGraph
from vln_core.errors import UnknownReference

_MIN_CLUSTERS, _MAX_CLUSTERS = 2, 12
_SEED = 0


@dataclass(frozen=True)
class ObjectCluster:
    """Objects near each other.

    Attributes:
        id: From 0, in order of the smallest object id in it.
        objects: Ids of those that depth placed, rising.
        categories: (category, count), most frequent first.
        x: Centre, metres.
        y: Centre, metres.
    """

    id: int
    objects: tuple[int, ...]
    categories: tuple[tuple[str, int], ...]
    x: float
    y: float


@dataclass(frozen=True)
class _Thing:
    """What is clustered; without a number where depth did not place it."""

    id: int | None
    category: str
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class TopologicalMap:
    """Viewpoints with their connections, and object clusters.

    Attributes:
        viewpoints: The global action space.
        edges: (viewpoint, viewpoint, length in metres), each once.
        clusters: Hints at room types.
    """

    viewpoints: tuple[ViewpointState, ...]
    edges: tuple[tuple[str, str, float], ...]
    clusters: tuple[ObjectCluster, ...]

    def shortest_path(self, start: str, goal: str) -> list[str]:
        """Return the viewpoints from start to goal, both included (F_S).

        Raises:
            UnknownReference: One of them does not exist, or there is no way.
        """
        graph = nx.Graph()
        graph.add_nodes_from(v.id for v in self.viewpoints)
        graph.add_weighted_edges_from(self.edges)
        for name in (start, goal):
            if name not in graph:
                known = ', '.join(v.id for v in self.viewpoints[:12])
                raise UnknownReference(f'viewpoint "{name}" does not exist; there are: {known}')
        try:
            return list(nx.shortest_path(graph, start, goal, weight='weight'))
        except nx.NetworkXNoPath as error:
            raise UnknownReference(f'no known way from {start} to {goal}') from error


def build_topology(
    graph: WorldGraph,
    edges: Sequence[tuple[str, str, float]],
    unplaced: Mapping[str, tuple[float, float]] | None = None,
) -> TopologicalMap:
    """Return the topological map of a snapshot.

    Args:
        graph: Snapshot; its viewpoints are the nodes.
        edges: (viewpoint, viewpoint, length); of parallel ones the shortest is kept, those with
            an unknown end are left out.
        unplaced: Category to (x, y), metres, of objects that depth could not place.
    """
    names = {v.id for v in graph.viewpoints}
    shortest: dict[tuple[str, str], float] = {}
    for a, b, length in edges:
        if a in names and b in names and a != b:
            key = (min(a, b), max(a, b))
            shortest[key] = min(length, shortest.get(key, math.inf))
    rows = tuple((a, b, length) for (a, b), length in sorted(shortest.items()))
    return TopologicalMap(graph.viewpoints, rows, cluster_objects(graph.objects, unplaced or {}))


def cluster_objects(
    objects: Sequence[ObjectState], unplaced: Mapping[str, tuple[float, float]] | None = None
) -> tuple[ObjectCluster, ...]:
    """Cluster objects by position with K-means, k in 2..12 by the best silhouette.

    Fewer than three objects make one cluster. The seed is fixed, so equal objects give equal
    clusters.
    """
    things = [
        _Thing(o.id, o.category, float(o.position[0]), float(o.position[1]))
        for o in sorted(objects, key=lambda o: o.id)
    ]
    things += [_Thing(None, name, *spot) for name, spot in sorted((unplaced or {}).items())]
    if not things:
        return ()
    labels = _best_labels(np.array([(t.x, t.y) for t in things]))
    order = list(dict.fromkeys(labels.tolist()))
    return tuple(
        _cluster(number, [t for t, k in zip(things, labels, strict=True) if k == label])
        for number, label in enumerate(order)
    )


def _best_labels(points: NDArray[np.float64]) -> NDArray[np.int64]:
    distinct = len(np.unique(np.round(points, 6), axis=0))
    best, best_score = np.zeros(len(points), np.int64), -2.0
    apart = cdist(points, points)
    for k in range(_MIN_CLUSTERS, min(_MAX_CLUSTERS, distinct - 1) + 1):
        labels = _k_means(points, k)
        score = _silhouette(apart, labels)
        if score > best_score + 1e-9:
            best, best_score = labels, score
    return best


def _k_means(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the labels; SciPy's K-means is quick enough to run at each decision."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # an empty cluster only means fewer of them
        rng = np.random.RandomState(_SEED)
        _, labels = kmeans2(points, k, iter=10, minit='++', seed=rng)
    return labels.astype(np.int64)


def _silhouette(apart: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the mean silhouette from a distance matrix; -1 where all is one cluster."""
    names, which = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        return -1.0
    member = (which[:, None] == np.arange(len(names))).astype(float)
    counts = member.sum(axis=0)
    sums = apart @ member
    rows = np.arange(len(labels))
    own_count = counts[which]
    own = sums[rows, which] / np.maximum(own_count - 1.0, 1.0)
    means = sums / counts
    means[rows, which] = np.inf
    other = means.min(axis=1)
    value = (other - own) / np.maximum(np.maximum(own, other), 1e-12)
    return float(np.where(own_count > 1.0, value, 0.0).mean())


def _cluster(number: int, members: Sequence[_Thing]) -> ObjectCluster:
    counts: dict[str, int] = {}
    for member in members:
        counts[member.category] = counts.get(member.category, 0) + 1
    centre = np.mean([(m.x, m.y) for m in members], axis=0)
    return ObjectCluster(
        number,
        tuple(m.id for m in members if m.id is not None),
        tuple(sorted(counts.items(), key=lambda c: (-c[1], c[0]))),
        float(centre[0]),
        float(centre[1]),
    )


def viewpoint_objects(
    sightings: Sequence[tuple[str, tuple[float, float]]],
) -> dict[str, tuple[float, float]]:
    """Place objects that depth could not place: alone at their viewpoint, else at the centre.

    Args:
        sightings: (object, (x, y) of a viewpoint from which it was seen), metres.

    Returns:
        Position of each object: geometric centre of the viewpoints that saw it (MC-GPT III-C).
    """
    seen: dict[str, list[tuple[float, float]]] = {}
    for name, spot in sightings:
        seen.setdefault(name, []).append(spot)
    return {
        name: (float(np.mean([s[0] for s in spots])), float(np.mean([s[1] for s in spots])))
        for name, spots in seen.items()
    }
