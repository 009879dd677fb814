# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Between the live memory and the rows of its journal."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from vln_core.context import (
    ActionNote,
    ClauseKind,
    Evidence,
    FailureNote,
    ItemStatus,
    ProgressItem,
    ProgressRecord,
)
from vln_core.errors import MemoryStoreError
from vln_core.memory.journal import Journal, Row, decode, encode
from vln_core.memory.objects import ObjectNode
from vln_core.memory.places import PlaceNode
from vln_core.memory.progress import Change
from vln_core.memory.state import MemoryState
from vln_core.memory.waypoints import Waypoint
from vln_core.memory.window import Transition

_TILE = 64
_OFFSET = 1 << 20  # tiles are numbered around the frame's origin


def changed_rows(store: MemoryState) -> Iterator[Row]:
    """Yield the rows of everything that changed since the last write."""
    places, objects = store.graph.places, store.graph.objects
    for place in sorted(places.dirty):
        node = places.nodes.get(place)
        yield 'place', place, None if node is None else encode(_place(node))
    for anchor in sorted(places.dirty_anchors):
        pose, place = places.anchors[anchor].tolist(), int(places.anchor_place[anchor])
        yield 'anchor', anchor, encode([*pose, place])
    for a, b in sorted(places.dirty_edges):
        edge = places.graph.get_edge_data(a, b)
        yield (
            'edge',
            (a << 32) | b,
            None if edge is None else encode([edge['length'], edge['traversals']]),
        )
    for object_id in sorted(objects.dirty):
        yield 'object', object_id, _object(store, object_id)
    for number in sorted(store.frontiers.dirty | store.frontiers.current.keys()):
        yield 'frontier', number, encode(store.frontiers.row(number))
    for number in sorted(store.unsaved_waypoints):
        yield 'waypoint', number, encode(_waypoint(store.waypoints[number]))
    for number in range(store.saved_actions, len(store.history)):
        yield 'action', number, encode(_fields(store.history[number]))
    for number in range(store.saved_changes, len(store.changes)):
        yield 'change', number, encode(_fields(store.changes[number]))
    for name in sorted(store.unsaved_captions):
        number = (int(name[1:]) << 1) | (name[0] == 'f')
        yield 'caption', number, encode(store.captions[name])
    yield from _tiles(store)
    yield 'episode', 0, encode(_episode(store))


def _fields(node: object) -> dict[str, Any]:
    # Not asdict: its deep copies cost more than all the rest of a write.
    return dict(node.__dict__)


def _place(node: PlaceNode) -> dict[str, Any]:
    data = _fields(node)
    del data['objects'], data['anchors']  # each of them says where it is
    data['failures'] = [_fields(note) for note in node.failures]
    return data


def _object(store: MemoryState, object_id: int) -> bytes | None:
    objects = store.graph.objects
    node = objects.nodes.get(object_id)
    if node is None:
        return None
    data = _fields(node)
    distance = float(objects.place_distances[object_id])
    data['place_distance'] = distance if math.isfinite(distance) else None
    data['position'] = objects.positions[object_id].tolist()
    data['extent'] = objects.extents[object_id].tolist()
    data['covariance'] = objects.covariances[object_id].tolist()
    data['apart'] = sorted(objects.apart.get(object_id, ()))
    return encode(data)


def _waypoint(waypoint: Waypoint) -> dict[str, Any]:
    data = {
        k: getattr(waypoint, k)
        for k in ('id', 'pose', 'anchor', 'num_views', 'panorama', 'parent', 'unplaced')
    }
    data['odom_tform_base'] = waypoint.odom_tform_base.tolist()
    return data


def _tiles(store: MemoryState) -> Iterator[Row]:
    space = store.space
    box = space.dirty_box
    if box is None:
        return
    first_row, first_column = space.first_cell
    for row in range(box[0] // _TILE, (box[2] - 1) // _TILE + 1):
        for column in range(box[1] // _TILE, (box[3] - 1) // _TILE + 1):
            top, left = row * _TILE - first_row, column * _TILE - first_column
            tile = np.zeros((2, _TILE, _TILE), np.int8)
            rows = slice(max(0, top), max(0, min(space.shape[0], top + _TILE)))
            columns = slice(max(0, left), max(0, min(space.shape[1], left + _TILE)))
            part = space.evidence[rows, columns]
            if part.size:
                at = (
                    slice(rows.start - top, rows.stop - top),
                    slice(columns.start - left, columns.stop - left),
                )
                tile[0][at], tile[1][at] = part, space.seen[rows, columns]
            number = ((row + _OFFSET) << 24) | (column + _OFFSET)
            yield 'tile', number, zlib.compress(tile.tobytes(), 1) if tile.any() else None


def _item_fields(item: ProgressItem) -> dict[str, Any]:
    data = _fields(item)
    data['evidence'] = None if item.evidence is None else _fields(item.evidence)
    return data


def _episode(store: MemoryState) -> dict[str, Any]:
    return {
        'instruction': store.instruction,
        'items': [_item_fields(item) for item in store.progress.items],
        'global_tform_odom': store.global_tform_odom.tolist(),
        'returning_to': store.returning_to,
        'next_place': store.graph.places.next_id,
        'next_object': store.graph.objects.next_id,
        'window': [
            {
                'step': t.step,
                'views': t.num_views,
                'seen': t.seen,
                'decisions': t.decisions,
                'outcomes': t.outcomes,
            }
            for t in store.window.transitions
        ],
    }


def load(store: MemoryState, journal: Journal) -> None:
    """Fill an empty memory from its journal.

    Raises:
        MemoryStoreError: A row cannot be read.
    """
    try:
        _load(store, journal)
    except (
        LookupError,
        ValueError,
        TypeError,
        ArithmeticError,
        AttributeError,
        zlib.error,
    ) as error:
        raise MemoryStoreError(
            f'memory store {journal.path} is damaged (a row cannot be read: {error!r}); '
            'move it away, it is not overwritten'
        ) from error


def _load(store: MemoryState, journal: Journal) -> None:
    data = journal.get('episode', 0)
    if data is None:
        return
    episode = decode(data)
    places, objects = store.graph.places, store.graph.objects
    poses: dict[int, dict[int, tuple[float, float, float]]] = {}
    for anchor, row in journal.rows('anchor'):
        x, y, yaw, place = decode(row)
        poses.setdefault(place, {})[anchor] = (x, y, yaw)
    for place, row in journal.rows('place'):
        value = decode(row)
        value['failures'] = [FailureNote(**n) for n in value['failures']]
        places.restore(PlaceNode(anchors=[*poses[place]], **value), poses[place])
    for number, row in journal.rows('edge'):
        length, traversals = decode(row)
        places.connect(number >> 32, number & 0xFFFFFFFF, length, traversals)
    for object_id, row in journal.rows('object'):
        value = decode(row)
        position, extent, covariance = (
            np.array(value.pop(k), float) for k in ('position', 'extent', 'covariance')
        )
        for other in value.pop('apart'):
            objects.apart.setdefault(object_id, set()).add(other)
        value['best_view'] = tuple(value['best_view'])
        distance = value.pop('place_distance')
        distance = math.inf if distance is None else float(distance)
        objects.restore(ObjectNode(**value), position, extent, covariance, distance)
        if value['place'] >= 0:
            places.nodes[value['place']].objects.add(object_id)
    places.next_id, objects.next_id = episode['next_place'], episode['next_object']
    for _, row in journal.rows('frontier'):
        store.frontiers.restore(decode(row))
    _load_tiles(store, journal)
    for _, row in journal.rows('waypoint'):
        value = decode(row)
        value['pose'], value['panorama'] = tuple(value['pose']), tuple(value['panorama'])
        value['odom_tform_base'] = np.array(value['odom_tform_base'], float)
        value['unplaced'] = tuple(value.get('unplaced', ()))
        store.waypoints.append(Waypoint(**value))
    store.history = [ActionNote(**decode(row)) for _, row in journal.rows('action')]
    store.changes = [_change(decode(row)) for _, row in journal.rows('change')]
    for number, row in journal.rows('caption'):
        store.captions[f'{"wf"[number & 1]}{number >> 1}'] = decode(row)
    store.resume(
        episode['instruction'],
        ProgressRecord(tuple(_item(v) for v in episode['items'])),
        np.array(episode['global_tform_odom'], float),
        episode['returning_to'],
    )
    for value in episode['window']:
        frames = store.cache.views(value['step'], value['views'])
        store.window.transitions.append(
            Transition(
                value['step'],
                frames,
                value['views'],
                value['seen'],
                value['decisions'],
                value['outcomes'],
            )
        )


def _load_tiles(store: MemoryState, journal: Journal) -> None:
    rows = journal.rows('tile')
    if not rows:
        return
    spots = [((n >> 24) - _OFFSET, (n & 0xFFFFFF) - _OFFSET) for n, _ in rows]
    top, left = (min(s[k] for s in spots) * _TILE for k in (0, 1))
    bottom, right = ((max(s[k] for s in spots) + 1) * _TILE for k in (0, 1))
    evidence = np.zeros((bottom - top, right - left), np.int8)
    seen = np.zeros_like(evidence)
    for (row, column), (_, data) in zip(spots, rows, strict=True):
        tile = np.frombuffer(zlib.decompress(data), np.int8).reshape(2, _TILE, _TILE)
        at = (
            slice(row * _TILE - top, row * _TILE - top + _TILE),
            slice(column * _TILE - left, column * _TILE - left + _TILE),
        )
        evidence[at], seen[at] = tile
    store.space.restore(evidence, seen > 0, (top, left))


def _item(value: dict[str, Any]) -> ProgressItem:
    value['kind'], value['status'] = ClauseKind(value['kind']), ItemStatus(value['status'])
    value['landmarks'], value['rooms'] = tuple(value['landmarks']), tuple(value['rooms'])
    value['evidence'] = Evidence(**value['evidence']) if value['evidence'] else None
    return ProgressItem(**value)


def _change(value: dict[str, Any]) -> Change:
    value['before'], value['after'] = ItemStatus(value['before']), ItemStatus(value['after'])
    return Change(**value)
