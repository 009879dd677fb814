# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Subgoal-conditioned retrieval R(G, q), HAM-VLN eq. (5) and SPEC 3.4, and its serialisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from vln_core.geometry.transforms import wrap_angle
from vln_core.memory.config import MemoryConfig
from vln_core.memory.encoders import SentenceEncoder
from vln_core.memory.places import NEVER
from vln_core.memory.world_graph import WorldGraphStore

_MAX_OBJECTS = 12
_MAX_DESCRIPTION = 200


@dataclass(frozen=True)
class Scored:
    """A place with its score and the three terms of eq. (5)."""

    place: int
    score: float
    relevance: float
    recency: float
    salience: float


class Retriever:
    """Keeps one row per place, renewed only where the place changed."""

    def __init__(self, config: MemoryConfig, encoder: SentenceEncoder) -> None:
        self._config, self._encoder = config, encoder
        self._rows: dict[int, int] = {}
        self._ids: NDArray[np.int64] = np.zeros(16, np.int64)
        self._vectors = np.zeros((16, encoder.dimension), np.float32)
        self._last: NDArray[np.int64] = np.zeros(16, np.int64)
        self._salience: NDArray[np.float64] = np.zeros(16)
        self._decay: NDArray[np.float64] = np.zeros(0)
        self._landmarks: frozenset[str] = frozenset()

    def clear(self, landmarks: frozenset[str]) -> None:
        """Forget all rows; the instruction's landmarks are part of salience."""
        self._rows.clear()
        self._landmarks = landmarks

    def refresh(self, graph: WorldGraphStore, changed: set[int]) -> None:
        """Renew the rows of changed places."""
        alive = sorted(p for p in changed if p in graph.places.nodes)
        for place in sorted(changed - graph.places.nodes.keys()):
            self._drop(place)
        if not alive:
            return
        use_words = self._config.use_semantic and self._config.alpha > 0
        vectors = self._encoder.encode([summary(graph, p) for p in alive]) if use_words else None
        for k, place in enumerate(alive):
            row = self._row(place)
            if vectors is not None:
                self._vectors[row] = vectors[k]
            self._last[row] = graph.places.nodes[place].last_step
            richness = min(
                1.0, len(graph.categories(place)) / max(1, self._config.salient_categories)
            )
            self._salience[row] = 0.5 * graph.agreement(place, self._landmarks) + 0.5 * richness

    def _row(self, place: int) -> int:
        row = self._rows.get(place)
        if row is None:
            row = len(self._rows)
            if row == len(self._ids):
                self._ids = np.concatenate([self._ids, np.zeros_like(self._ids)])
                self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
                self._last = np.concatenate([self._last, np.zeros_like(self._last)])
                self._salience = np.concatenate([self._salience, np.zeros_like(self._salience)])
            self._rows[place] = row
            self._ids[row] = place
        return row

    def _drop(self, place: int) -> None:
        row = self._rows.pop(place, None)
        last = len(self._rows)
        if row is None or row == last:
            return
        for array in (self._ids, self._vectors, self._last, self._salience):
            array[row] = array[last]
        self._rows[int(self._ids[row])] = row

    def scores(self, query: str, step: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return (P,) place ids and (P, 4) score, relevance, recency and salience (eq. 5)."""
        config, count = self._config, len(self._rows)
        score, relevance, recency, salience = table = np.zeros((4, count))
        if config.use_semantic and config.alpha > 0 and query:
            vector = self._encoder.encode([query])[0]
            relevance[:] = self._vectors[:count] @ vector
        was_visited = self._last[:count] != NEVER
        age = np.where(was_visited, np.maximum(step - self._last[:count], 0), 0)
        recency[:] = self._powers(int(age.max(initial=0)))[age] * was_visited
        salience[:] = self._salience[:count]
        alpha = config.alpha if config.use_semantic else 0.0
        beta = config.beta if config.use_episodic else 0.0
        score[:] = alpha * relevance + beta * recency + config.gamma * salience
        return self._ids[:count].copy(), table.T

    def _powers(self, oldest: int) -> NDArray[np.float64]:
        """Return rho to the power of 0, 1, .. at least ``oldest``; a power each is kept."""
        if oldest >= len(self._decay):
            self._decay = self._config.rho ** np.arange(2.0 * oldest + 16.0)
        return self._decay

    def retrieve(
        self, graph: WorldGraphStore, query: str, step: int, current: int
    ) -> list[Scored]:
        """Return the slice: K_s seeds, one hop, the current place and its neighbours, cut to K_p.

        Seeds and the current place survive the cut first. Best score first, ties by smaller id.
        """
        config = self._config
        ids, table = self.scores(query, step)
        score = table[:, 0]
        if not len(ids):
            return []
        top = min(len(ids), config.num_seeds)
        # Narrow down before sorting: ties at the border are kept so that the order is exact.
        border = np.partition(score, len(ids) - top)[len(ids) - top]
        pool = np.flatnonzero(score >= border)
        pool = pool[np.lexsort((ids[pool], -score[pool]))][:top]
        seeds = [int(ids[k]) for k in pool]
        chosen = list(seeds)
        if current in self._rows and current not in chosen:
            chosen.append(current)
        hops = {n for p in chosen for n in graph.places.neighbours(p)} - set(chosen)
        rest = sorted(hops & self._rows.keys(), key=lambda p: (-score[self._rows[p]], p))
        chosen = (chosen + rest)[: config.max_places]
        result = [Scored(p, *table[self._rows[p]].tolist()) for p in chosen]
        return sorted(result, key=lambda s: (-s.score, s.place))


def summary(graph: WorldGraphStore, place_id: int) -> str:
    """Return the text of a place that is embedded: words and objects, nothing of its history."""
    node = graph.places.nodes[place_id]
    parts = [node.name, node.room_type, node.description[:_MAX_DESCRIPTION]]
    categories = graph.categories(place_id)
    if categories:
        parts.append('with ' + ', '.join(categories))
    if node.notes:
        parts.append(', '.join(sorted(node.notes)))
    return '; '.join(p for p in parts if p) or 'unnamed place'


def direction_words(bearing: float) -> str:
    """Return words for a bearing relative to the heading, rad, left positive."""
    names = (
        'ahead',
        'ahead-left',
        'left',
        'behind-left',
        'behind',
        'behind-right',
        'right',
        'ahead-right',
    )
    return names[int(round(wrap_angle(bearing) / (math.pi / 4.0))) % 8]


def serialise(
    graph: WorldGraphStore,
    retrieved: list[Scored],
    pose: tuple[float, float, float],
    current: int,
    config: MemoryConfig,
) -> str:
    """Return the retrieved slice as text in a deterministic order."""
    blocks = [_block(graph, scored.place, pose, current, config) for scored in retrieved]
    return '\n'.join(blocks)


def _relative(pose: tuple[float, float, float], x: float, y: float) -> tuple[float, float]:
    dx, dy = x - pose[0], y - pose[1]
    return math.hypot(dx, dy), wrap_angle(math.atan2(dy, dx) - pose[2])


def _where(pose: tuple[float, float, float], x: float, y: float) -> str:
    distance, bearing = _relative(pose, x, y)
    degrees = round(math.degrees(bearing))
    return f'{distance:.1f} m {direction_words(bearing)} ({degrees:+d} deg)'


def _block(
    graph: WorldGraphStore,
    place: int,
    pose: tuple[float, float, float],
    current: int,
    config: MemoryConfig,
) -> str:
    node = graph.places.nodes[place]
    anchors = graph.places.anchors[node.anchors]
    nearest = anchors[int(np.argmin(np.hypot(anchors[:, 0] - pose[0], anchors[:, 1] - pose[1])))]
    head = f'place {place}'
    if config.use_semantic and (node.name or node.room_type):
        head += f' "{node.name or node.room_type}"'
        head += f' [{node.room_type}]' if node.room_type and node.room_type != node.name else ''
    here = place == current
    head += ': here' if here else f': {_where(pose, float(nearest[0]), float(nearest[1]))}'
    if config.use_episodic and node.visit_count:
        head += f'; visited {node.visit_count}x'
        head += (
            f', last at w{node.last_step}' if node.last_step >= 0 else ', in an earlier episode'
        )
    lines = [head]
    if config.use_semantic:
        if node.description:
            lines.append(f'  {node.description[:_MAX_DESCRIPTION]}')
        objects = _objects_line(graph, place, pose)
        if objects:
            lines.append(f'  objects: {objects}')
        links = [
            f'place {n} ({graph.places.graph[place][n]["length"]:.1f} m, '
            f'{"walked" if graph.places.graph[place][n]["traversals"] else "seen open"})'
            for n in graph.places.neighbours(place)
        ]
        if links:
            lines.append(f'  leads to: {", ".join(links[:8])}')
    if config.use_reflection:
        for note in node.failures[-3:]:
            goal = f' while "{note.subgoal}"' if note.subgoal else ''
            lines.append(f'  abandoned at w{note.step}{goal}: {note.reason[:_MAX_DESCRIPTION]}')
    return '\n'.join(lines)


def _objects_line(graph: WorldGraphStore, place: int, pose: tuple[float, float, float]) -> str:
    store = graph.objects
    ids = [i for i in graph.places.nodes[place].objects if i in store.nodes]
    words = []
    for object_id in nsmallest(_MAX_OBJECTS, ids, lambda i: (-store.nodes[i].confidence, i)):
        node = store.nodes[object_id]
        x, y = store.positions[object_id, :2]
        detail = [w for w in node.descriptions[:1] if w != node.category]
        detail += [
            name for name, _ in sorted(node.attributes.items(), key=lambda a: (-a[1], a[0]))[:2]
        ]
        label = f'{node.category} ({", ".join(detail)})' if detail else node.category
        words.append(f'{label} {_where(pose, float(x), float(y))}')
    if len(ids) > _MAX_OBJECTS:
        words.append(f'{len(ids) - _MAX_OBJECTS} more')
    return '; '.join(words)
