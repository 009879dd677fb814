# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Scripted worlds for the benchmark of the memory: a large graph, an episode, an endless walk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.context import ActionNote, ClauseKind, PlanningContext, ProgressItem
from vln_core.errors import MemoryStoreError
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import camera_mount_tform, planar_tform, wrap_angle
from vln_core.memory.config import MemoryConfig
from vln_core.memory.objects import ObjectNode
from vln_core.memory.places import PlaceNode
from vln_core.memory.store import MemoryStore
from vln_core.memory.tokens import image_tokens, text_tokens
from vln_core.observation import Detection, Panorama, View
from vln_core.system2.record import DecisionRecord, Go, WorldNotes

INSTRUCTION = 'leave the bedroom, walk past the sofa and stop at the refrigerator'
CATEGORIES = (
    'bed chair sofa lamp plant desk television bookshelf refrigerator sink stove toilet mirror '
    'rug table wardrobe bench painting clock vase'
).split()
_CAMERA = PinholeCamera.from_hfov(320, 240, math.radians(100))
_TINY = PinholeCamera.from_hfov(8, 6, math.radians(100))
_MOUNT = camera_mount_tform(0.1, 0.0, 1.0, pitch=0.15)
_SPACING = 2.0
_ROOM = 5.0


def items() -> tuple[ProgressItem, ...]:
    """Return the progress items of the instruction."""
    return (
        ProgressItem(0, 'leave the bedroom', ClauseKind.EXIT, rooms=('bedroom',)),
        ProgressItem(1, 'walk past the sofa', ClauseKind.PASS, landmarks=('sofa',)),
        ProgressItem(2, 'stop at the refrigerator', ClauseKind.STOP, landmarks=('refrigerator',)),
    )


def finish(store: MemoryStore, step: int) -> None:
    """Commit a decision and conclude it."""
    for write in decision_of(store, step):
        write()


def decision_of(store: MemoryStore, step: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return the two writes after a look: to commit a decision, and to conclude it."""
    room = CATEGORIES[step % 7]
    notes = WorldNotes(
        place_name=f'spot by the {room}', place_description=f'a corner with a {room}'
    )
    record = DecisionRecord(
        action=Go(view=0, target='door'), notes=notes, rationale='the way leads on'
    )
    note = ActionNote(step, 'go(view 0, "door")', 'the way leads on', 'reached', 0)
    return lambda: store.commit(record), lambda: store.conclude(note)


def growing_store(path: Path, seed: int) -> MemoryStore:
    """Return the store of the endless walk, where it was left if there is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    store = MemoryStore(encoder='words', path=path)
    if not store.waypoints:
        store.begin(INSTRUCTION, items())
        shape = (round(10.0 / store.space.cell),) * 2
        first = (-shape[0] // 2,) * 2
        store.space.restore(np.full(shape, -2, np.int8), np.ones(shape, np.bool_), first)
    else:
        store.observe(wandering_look(len(store.waypoints) - 1, seed))  # known again: no step
    return store


def large_store(
    places: int, path: Path | None, seed: int, objects_per_place: int = 10
) -> MemoryStore:
    """Return a store with that many places on a square grid and their objects, saved."""
    rng = np.random.default_rng(seed)
    store = MemoryStore(MemoryConfig(), path, encoder='words')
    store.begin(INSTRUCTION, items())
    side = math.ceil(math.sqrt(places))
    for k in range(places):
        x, y = _SPACING * (k % side), _SPACING * (k // side)
        node = PlaceNode(k, [k], f'spot {k}', visit_count=1, first_step=0, last_step=0)
        store.graph.places.restore(node, {k: (x, y, 0.0)})
        if k % side:
            store.graph.places.connect(k - 1, k, _SPACING, 1)
        if k >= side:
            store.graph.places.connect(k - side, k, _SPACING, 0)
        for _ in range(objects_per_place):
            _add_object(store, k, np.array([*(rng.normal((x, y), 0.7)), 0.4]), rng)
    # Floor seen everywhere, so that lines of sight are looked up as in a building.
    edge = round((_SPACING * side + 8.0) / store.space.cell)
    first = round(-4.0 / store.space.cell)
    store.space.restore(
        np.full((edge, edge), -2, np.int8), np.ones((edge, edge), np.bool_), (first, first)
    )
    store._save('build', f'{places} places')
    return store


def _add_object(
    store: MemoryStore, place: int, position: NDArray[np.float64], rng: np.random.Generator
) -> None:
    objects = store.graph.objects
    category = CATEGORIES[int(rng.integers(len(CATEGORIES)))]
    node = ObjectNode(objects.next_id, category, 0.8, (0, 0), 1.0, place=place, containment=0.9)
    objects.restore(node, position, np.full(3, 0.5), np.eye(3) * 0.01, 0.7)
    store.graph.places.nodes[place].objects.add(node.id)


def random_look(
    store: MemoryStore, rng: np.random.Generator, number: int
) -> tuple[Panorama, tuple[float, float, float]]:
    """Return a panorama with ten detections somewhere in the large graph, and its pose."""
    x, y = store.graph.places.anchors[int(rng.integers(len(store.graph.places.nodes))), :2]
    pose = (float(x + rng.normal(0, 0.2)), float(y + rng.normal(0, 0.2)), 0.0)
    found = [
        _detection(
            CATEGORIES[int(rng.integers(len(CATEGORIES)))], rng.normal(pose[:2], 1.2), k % 4, pose
        )
        for k in range(10)
    ]
    return _look(number, pose, found, num_views=4, camera=_CAMERA), pose


def update_graph(
    store: MemoryStore, look: Panorama, pose: tuple[float, float, float], step: int
) -> None:
    """Cluster the waypoint, associate and fuse its detections, contain, judge absence, save."""
    store.graph.visit(pose, step, store.space)
    store.graph.see(look.detections, look.views, np.eye(4), pose[:2], step, store.space)
    store._save('observe', str(look.id))


def _detection(
    category: str,
    spot: Sequence[float] | NDArray[np.float64],
    view: int,
    pose: tuple[float, float, float],
) -> Detection:
    bearing = math.atan2(spot[1] - pose[1], spot[0] - pose[0])
    return Detection(
        view,
        category,
        category,
        0.9,
        (20.0, 20.0, 90.0, 120.0),
        (55, 70),
        bearing,
        np.array([spot[0], spot[1], 0.4]),
        np.eye(3) * 0.01,
        np.array([0.5, 0.5, 0.8]),
    )


def _look(
    number: int,
    pose: tuple[float, float, float],
    found: Sequence[Detection],
    num_views: int = 1,
    camera: PinholeCamera = _TINY,
) -> Panorama:
    """Return a panorama whose depth is unknown, so that only the graph has work."""
    tform = planar_tform(*pose)
    rgb = np.zeros((camera.height, camera.width, 3), np.uint8)
    depth = np.full((camera.height, camera.width), np.nan, np.float32)
    views = tuple(
        View(
            k,
            2 * math.pi * k / num_views,
            rgb,
            depth,
            camera,
            planar_tform(pose[0], pose[1], pose[2] + 2 * math.pi * k / num_views) @ _MOUNT,
            number,
        )
        for k in range(num_views)
    )
    return Panorama(number, number, tform, views, tuple(found))


def wandering_look(step: int, seed: int) -> Panorama:
    """Return the look of an endless walk to and fro in a hall, all of which is seen soon.

    From then on nothing new is discovered, so that what grows can only grow with the steps.
    """
    pose = (4.0 * math.cos(2.4 * step + seed), 4.0 * math.sin(1.7 * step + seed), step / 10.0)
    cell = (math.floor(pose[0] / 2.0), math.floor(pose[1] / 2.0))
    found = [
        _detection(
            CATEGORIES[(7 * cell[0] + 3 * cell[1] + k) % 20],
            (2.0 * cell[0] + k / 3, 2.0 * cell[1]),
            0,
            pose,
        )
        for k in range(5)
    ]
    return _look(step, pose, found)


def _building() -> NDArray[np.float64]:
    """Return boxes of a row of rooms, 5 m wide, with doors in the middle of their walls."""
    boxes: list[tuple[tuple[float, float, float], tuple[float, float, float]]] = [
        ((-1, -1, -0.2), (26, 6, 0.0)),
        ((0, -0.1, 0), (25, 0, 2.5)),
        ((0, 5, 0), (25, 5.1, 2.5)),
    ]
    for k in range(6):
        x = _ROOM * k
        is_end = k in (0, 5)
        boxes += [((x - 0.05, 0, 0), (x + 0.05, 5 if is_end else 2.0, 2.5))]
        boxes += [] if is_end else [((x - 0.05, 3.0, 0), (x + 0.05, 5, 2.5))]
    boxes += [((_ROOM * k + 1, 0.2, 0), (_ROOM * k + 2.5, 1.0, 0.6)) for k in range(5)]
    return np.array(boxes, float)


def episode(steps: int, seed: int) -> Iterator[Panorama]:
    """Yield the looks of a walk through five rooms and back, with depth and noisy detections."""
    rng = np.random.default_rng(seed)
    boxes = _building()
    things = [
        (CATEGORIES[(4 * room + k) % 20], (_ROOM * room + 0.6 + 0.55 * k, 0.9 + 0.4 * (k % 8)))
        for room in range(5)
        for k in range(8)
    ]
    for step in range(steps):
        x = 1.0 + 23.0 * (1.0 - abs(1.0 - 2.0 * step / steps))
        pose = (x, 2.5, 0.0 if step < steps / 2 else math.pi)
        views = tuple(_rendered(k, pose, boxes, step) for k in range(4))
        yield Panorama(step, step, planar_tform(*pose), views, _seen(things, pose, rng))


def _seen(
    things: Sequence[tuple[str, tuple[float, float]]],
    pose: tuple[float, float, float],
    rng: np.random.Generator,
) -> tuple[Detection, ...]:
    found = []
    for category, (x, y) in things:
        if math.floor(x / _ROOM) != math.floor(pose[0] / _ROOM) or rng.random() < 0.1:
            continue
        bearing = wrap_angle(math.atan2(y - pose[1], x - pose[0]) - pose[2])
        view = int(round(bearing / (math.pi / 2))) % 4
        found.append(_detection(category, rng.normal((x, y), 0.04), view, pose))
    return tuple(sorted(found, key=lambda d: d.view))


def _rendered(
    k: int, pose: tuple[float, float, float], boxes: NDArray[np.float64], stamp: int
) -> View:
    yaw = 2 * math.pi * k / 4
    tform = planar_tform(pose[0], pose[1], pose[2] + yaw) @ _MOUNT
    # Every second pixel is traced; the picture has the size that tokens are counted for.
    u, v = np.meshgrid(np.arange(0, 320, 2), np.arange(0, 240, 2))
    rays = np.stack(
        [(u - _CAMERA.cx) / _CAMERA.fx, (v - _CAMERA.cy) / _CAMERA.fy, np.ones(u.shape)], -1
    )
    rays = rays.reshape(-1, 3) @ tform[:3, :3].T
    best = np.full(len(rays), np.inf)
    with np.errstate(divide='ignore', invalid='ignore'):
        for low, high in boxes:
            a, b = (low - tform[:3, 3]) / rays, (high - tform[:3, 3]) / rays
            near, far = np.nanmax(np.minimum(a, b), axis=1), np.nanmin(np.maximum(a, b), axis=1)
            hit = (near <= far) & (near > 1e-6)
            best[hit] = np.minimum(best[hit], near[hit])
    best[best > 10.0] = np.inf
    depth = np.kron(best.reshape(u.shape), np.ones((2, 2))).astype(np.float32)
    shade = np.clip(255 - 25 * np.where(np.isfinite(depth), depth, 10.0), 0, 255).astype(np.uint8)
    rgb = np.repeat(shade[..., None], 3, axis=2)
    return View(k, yaw, rgb, depth, _CAMERA, tform, stamp)


def context_tokens(context: PlanningContext) -> int:
    """Return the tokens of M_t (eq. 2): texts and frames, by the stated formulas."""
    frames = sum(image_tokens(*f.shape[:2]) for f in context.window_frames)
    return text_tokens(context.memory_text) + text_tokens(context.window_text) + frames


def observe_window_only(store: MemoryStore, look: Panorama) -> None:
    """Fuse a look for a raw history: it has no world graph, so nothing but the window counts."""
    blind = _look(look.id, (float(look.odom_tform_base[0, 3]), 2.5, 0.0), ())
    store.observe(blind)
    store.window.transitions[-1].frames = tuple(v.rgb for v in look.views)
    counts: dict[str, int] = {}
    for detection in look.detections:
        counts[detection.category] = counts.get(detection.category, 0) + 1
    store.window.transitions[-1].seen = counts


def window_tokens(store: MemoryStore) -> int:
    """Return the tokens of a raw history: its frames and words, and the progress record."""
    from vln_core.memory.progress import describe

    frames = sum(image_tokens(*f.shape[:2]) for f in store.window.frames())
    return frames + text_tokens(store.window.text()) + text_tokens(describe(store.progress))


def write_forever(path: Path, acknowledge: Callable[[], object]) -> None:
    """Write steps until killed, calling ``acknowledge`` after each accepted write."""
    store = MemoryStore(path=path, encoder='words')
    store.begin(INSTRUCTION, items())
    acknowledge()
    for step in range(100_000):
        store.observe(wandering_look(step, 0))
        acknowledge()
        finish_one = (
            lambda: store.commit(DecisionRecord(action=Go(view=0, target='door'))),
            lambda k=step: store.conclude(ActionNote(k, 'go', 'because', 'reached', 0)),
        )
        for write in finish_one:
            write()
            acknowledge()


def holds(path: Path, acknowledged: int) -> bool:
    """Return whether a store opens and holds at least that many writes, the first being begin."""
    try:
        store = MemoryStore(path=path, encoder='words')
    except MemoryStoreError:
        return False
    try:
        full, rest = divmod(acknowledged - 1, 3)
        written = store.journal is not None and len(store.journal.history()) >= acknowledged
        steps = len(store.waypoints) >= full + int(rest > 0)
        return written and steps and len(store.history) >= full and bool(store.instruction)
    finally:
        store.close()


def plot(points: Sequence[tuple[float, float]], title: str, path: Path) -> None:
    """Draw a curve into a PNG: plain axes from zero with their largest values."""
    image = np.full((320, 520, 3), 255, np.uint8)
    xs, ys = np.array(points, float).T
    top, right = max(ys.max() * 1.15, 1e-9), max(xs.max(), 1e-9)
    spots = np.stack([60 + 430 * xs / right, 270 - 220 * ys / top], axis=1).astype(np.int32)
    cv2.rectangle(image, (60, 50), (490, 270), (90, 90, 90), 1)
    cv2.polylines(image, [spots], False, (200, 90, 20), 2, cv2.LINE_AA)
    for spot in spots if len(spots) < 40 else []:
        cv2.circle(image, tuple(map(int, spot)), 4, (200, 90, 20), -1, cv2.LINE_AA)
    for text, at in (
        (title, (60, 30)),
        (f'{top:.3g}', (5, 60)),
        ('0', (40, 275)),
        (f'{right:.0f}', (450, 295)),
        (f'last {ys[-1]:.3g}', (360, 45)),
    ):
        cv2.putText(image, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (20, 20, 20), 1, cv2.LINE_AA)
    cv2.imwrite(str(path), image)
