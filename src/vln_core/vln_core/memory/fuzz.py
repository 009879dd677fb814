# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Random malformed updates, for tests and the benchmark: the memory must refuse every one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from vln_core.context import ActionNote
from vln_core.memory.store import MemoryStore
from vln_core.observation import Panorama
from vln_core.system2.record import (
    Backtrack,
    DecisionRecord,
    Go,
    Goto,
    ObjectNote,
    ProgressUpdate,
    Stop,
    WorldNotes,
)

Update = Callable[[], Any]


def malformed_updates(
    store: MemoryStore, rng: np.random.Generator, count: int
) -> Iterator[tuple[str, Update]]:
    """Yield (kind of fault, call that must be refused); the store needs an observed waypoint."""
    if store.panorama is None:
        raise ValueError('observe a panorama with a detection first')
    makers = _panorama_faults(store, rng) + _record_faults(store, rng) + _other_faults(store, rng)
    for _ in range(count):
        name, maker = makers[int(rng.integers(len(makers)))]
        yield name, maker()


def _bad_number(rng: np.random.Generator) -> float:
    return float(rng.choice([math.nan, math.inf, -math.inf, 1e9, -1e12]))


def _bad_text(rng: np.random.Generator) -> str:
    kind = int(rng.integers(3))
    if kind == 0:
        return 'x' * int(rng.integers(4001, 50_000))
    character = chr(
        int(rng.choice([*range(9), *range(11, 32), 127, 0x85, 0xD800, 0xDFFF, 0xE000]))
    )
    return f'door {character} left' if kind == 1 else character * int(rng.integers(1, 5))


def _panorama_faults(
    store: MemoryStore, rng: np.random.Generator
) -> list[tuple[str, Callable[[], Update]]]:
    look = store.panorama
    assert look is not None
    fresh = replace(look, id=look.id + 1000)

    def observe(**changes: Any) -> Update:
        return lambda: store.observe(replace(fresh, **changes))

    def pose() -> Update:
        tform = fresh.odom_tform_base.copy()
        tform[int(rng.integers(3)), int(rng.integers(4))] = _bad_number(rng)
        return observe(odom_tform_base=tform)

    def camera() -> Update:
        views = list(fresh.views)
        k = int(rng.integers(len(views)))
        tform = views[k].odom_tform_camera.copy()
        tform[int(rng.integers(3)), int(rng.integers(4))] = _bad_number(rng)
        views[k] = replace(views[k], odom_tform_camera=tform)
        return observe(views=tuple(views))

    def picture() -> Update:
        views = list(fresh.views)
        k = int(rng.integers(len(views)))
        name = str(rng.choice(['rgb', 'depth']))
        views[k] = replace(views[k], **{name: getattr(views[k], name)[:-1]})
        return observe(views=tuple(views))

    def views() -> Update:
        return observe(views=() if rng.integers(2) else (*fresh.views, fresh.views[0]))

    def identity() -> Update:
        return observe(id=-int(rng.integers(1, 9)))

    def detection() -> Update:
        return observe(detections=(_bad_detection(fresh, rng),))

    def crowd() -> Update:
        return observe(detections=fresh.detections[:1] * 2001)

    makers = [('pose', pose), ('camera pose', camera), ('picture', picture), ('views', views)]
    makers.append(('panorama id', identity))
    if fresh.detections:
        makers += [('detection', detection), ('too many detections', crowd)]
    return makers


def _bad_detection(look: Panorama, rng: np.random.Generator) -> Any:
    good = look.detections[int(rng.integers(len(look.detections)))]
    bad_position = rng.normal(size=3)
    bad_position[int(rng.integers(3))] = _bad_number(rng)
    changes: list[dict[str, Any]] = [
        {'position_odom': bad_position},
        {'position_odom': np.zeros(2)},
        {'extent': -np.ones(3), 'position_odom': np.zeros(3)},
        {'covariance': -np.eye(3), 'position_odom': np.zeros(3)},
        {'score': float(rng.choice([-0.5, 1.5, math.nan]))},
        {'view': int(rng.integers(64, 255))},
        {'label': _bad_text(rng)},
        {'category': _bad_text(rng)},
        {'label': ''},
        {'bearing': math.nan},
        {'box_xyxy': (0.0, math.nan, 1.0, 2.0)},
    ]
    return replace(good, **changes[int(rng.integers(len(changes)))])


def _record_faults(
    store: MemoryStore, rng: np.random.Generator
) -> list[tuple[str, Callable[[], Update]]]:
    go = Go(view=0, target='door')

    def commit(action: Any = go, **notes: Any) -> Update:
        # model_construct passes by the schema, as a faulty client of the service could.
        record = DecisionRecord.model_construct(
            version=1,
            analysis='',
            action=action,
            notes=WorldNotes.model_construct(**{**dict(WorldNotes()), **notes}),
            rationale='',
        )
        return lambda: store.commit(record)

    def progress() -> Update:
        index = int(rng.choice([-1, 10, 999, 2**40]))
        update = ProgressUpdate.model_construct(index=index, status='done', reason='')
        return commit(progress=(update,))

    def skip() -> Update:
        return commit(progress=(ProgressUpdate(index=0, status='skipped'),))

    def status() -> Update:
        name = str(rng.choice(['finished', '', 'pending']))
        return commit(progress=(ProgressUpdate.model_construct(index=0, status=name, reason=''),))

    def text() -> Update:
        name = str(rng.choice(['place_name', 'room_type', 'place_description', 'failure']))
        return commit(**{name: _bad_text(rng)})

    def object_note() -> Update:
        note = ObjectNote.model_construct(
            category='sofa', description=_bad_text(rng), attributes=()
        )
        return commit(objects=(note,))

    def reference() -> Update:
        number = int(rng.integers(10_000, 10**6))
        actions = [Goto(viewpoint=f'f{number}'), Backtrack(waypoint=number)]
        actions += [Stop(object_id=number), Go.model_construct(type='go', view=77, target='door')]
        return commit(actions[int(rng.integers(len(actions)))])

    return [
        ('progress index', progress),
        ('skip without a reason', skip),
        ('progress status', status),
        ('text of a note', text),
        ('object note', object_note),
        ('unknown reference', reference),
    ]


def _other_faults(
    store: MemoryStore, rng: np.random.Generator
) -> list[tuple[str, Callable[[], Update]]]:
    def conclude() -> Update:
        good = ActionNote(0, 'go', 'because', 'reached', 0)
        changes: list[dict[str, Any]] = [
            {'step': int(rng.choice([-1, 5000]))},
            {'code': -int(rng.integers(1, 99))},
            {'action': _bad_text(rng)},
            {'rationale': _bad_text(rng)},
            {'outcome': _bad_text(rng)},
        ]
        note = replace(good, **changes[int(rng.integers(len(changes)))])
        return lambda: store.conclude(note)

    def backtrack() -> Update:
        waypoint = int(rng.choice([-1, len(store.waypoints) - 1, 10**6]))
        return lambda: store.backtrack(waypoint, 'reason')

    def correction() -> Update:
        tform = np.eye(4)
        tform[int(rng.integers(3)), int(rng.integers(3))] = _bad_number(rng)
        return lambda: store.set_global_tform_odom(tform)

    def begin() -> Update:
        text = _bad_text(rng)
        return lambda: store.begin(text, store.progress.items)

    def caption() -> Update:
        text = _bad_text(rng)
        return lambda: store.caption('w0', text)

    return [
        ('action note', conclude),
        ('backtrack', backtrack),
        ('correction', correction),
        ('instruction', begin),
        ('caption', caption),
    ]
