# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A store as text, JSON and GraphML, and two stores compared."""

from __future__ import annotations

from dataclasses import asdict
from io import BytesIO
from typing import Any

import networkx as nx
import numpy as np

from vln_core.memory.progress import describe
from vln_core.memory.state import MemoryState


def to_dict(store: MemoryState) -> dict[str, Any]:
    """Return everything known as plain values, ready for ``json.dumps``."""
    graph = store.snapshot()
    occupied, free = store.space.masks()
    return {
        'map_id': store.map_id,
        'instruction': store.instruction,
        'progress': [_plain(asdict(item)) for item in store.progress.items],
        'progress_history': [_plain(asdict(change)) for change in store.changes],
        'actions': [asdict(note) for note in store.history],
        'waypoints': [_plain(asdict(w)) for w in graph.waypoints],
        'places': [_plain(asdict(p)) for p in graph.places],
        'edges': [asdict(e) for e in graph.edges],
        'objects': [_plain(asdict(o)) for o in graph.objects],
        'viewpoints': [_plain(asdict(v)) for v in graph.viewpoints],
        'area': {
            'free_m2': round(float(free.sum()) * store.space.cell**2, 2),
            'occupied_m2': round(float(occupied.sum()) * store.space.cell**2, 2),
        },
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def to_graphml(store: MemoryState) -> str:
    """Return places, objects, their containment and the topology as GraphML."""
    graph = nx.Graph()
    snapshot = store.snapshot()
    for place in snapshot.places:
        x, y, _ = place.anchors[0]
        graph.add_node(
            f'place {place.id}',
            kind='place',
            name=place.name,
            room_type=place.room_type,
            x=x,
            y=y,
            visits=place.visit_count,
            failures='; '.join(n.reason for n in place.failures),
        )
    for item in snapshot.objects:
        name = f'object {item.id}'
        x, y, z = map(float, item.position)
        graph.add_node(
            name, kind='object', category=item.category, x=x, y=y, z=z, confidence=item.confidence
        )
        if item.place >= 0:
            containment = store.graph.objects.nodes[item.id].containment
            graph.add_edge(name, f'place {item.place}', kind='in', confidence=containment)
    for edge in snapshot.edges:
        graph.add_edge(
            f'place {edge.a}',
            f'place {edge.b}',
            kind='way',
            length=edge.length,
            traversals=edge.traversals,
        )
    buffer = BytesIO()
    nx.write_graphml(graph, buffer)
    return buffer.getvalue().decode('utf-8')


def to_text(store: MemoryState) -> str:
    """Return a summary for people."""
    graph = store.snapshot()
    lines = [f'map "{store.map_id or "odometry"}", instruction: {store.instruction or "none yet"}']
    lines.append(
        f'{len(graph.waypoints)} waypoints, {len(graph.places)} places, '
        f'{len(graph.objects)} objects, {len(store.history)} actions'
    )
    if store.progress.items:
        lines.append(describe(store.progress))
    for place in graph.places:
        words = ', '.join(f'{n} x{k}' for n, k in store.graph.categories(place.id).items())
        title = place.name or place.room_type or 'unnamed'
        lines.append(
            f'place {place.id} "{title}": visited {place.visit_count}x; {words or "no objects"}'
        )
        lines += [f'  abandoned at w{n.step}: {n.reason}' for n in place.failures]
    return '\n'.join(lines)


def compare(a: MemoryState, b: MemoryState) -> list[str]:
    """Return the differences of two stores, one a line; empty when they hold the same."""
    left, right = to_dict(a), to_dict(b)
    lines = [
        f'{name}: {left[name]!r} -> {right[name]!r}'
        for name in ('map_id', 'instruction', 'area')
        if left[name] != right[name]
    ]
    for name, key in (
        ('places', 'id'),
        ('objects', 'id'),
        ('waypoints', 'id'),
        ('progress', 'index'),
    ):
        rows_a = {row[key]: row for row in left[name]}
        rows_b = {row[key]: row for row in right[name]}
        for number in sorted(rows_a.keys() | rows_b.keys()):
            lines += _row_difference(f'{name} {number}', rows_a.get(number), rows_b.get(number))
    edges_a, edges_b = ({(e['a'], e['b']): e for e in side['edges']} for side in (left, right))
    for pair in sorted(edges_a.keys() | edges_b.keys()):
        lines += _row_difference(f'edge {pair[0]}-{pair[1]}', edges_a.get(pair), edges_b.get(pair))
    if left['actions'] != right['actions']:
        lines.append(f'actions: {len(left["actions"])} -> {len(right["actions"])}')
    return lines


def _row_difference(name: str, a: dict[str, Any] | None, b: dict[str, Any] | None) -> list[str]:
    if a is None or b is None:
        row = a if b is None else b
        assert row is not None
        title = row.get('category') or row.get('name') or row.get('text') or ''
        return [f'{"-" if b is None else "+"} {name} {title}'.rstrip()]
    return [f'~ {name} {key}: {a[key]!r} -> {b[key]!r}' for key in a if a[key] != b[key]]
