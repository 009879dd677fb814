# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The three proofs of a stop (SPEC 4.2): progress, geometry, semantics."""

from __future__ import annotations

import math

import numpy as np

from vln_core.context import ObjectState, PlanningContext, ProgressItem
from vln_core.system2.record import DecisionRecord, Stop
from vln_core.system2.situation import kindred
from vln_core.system2.walking import walking_distance
from vln_core.vocabulary import category_of


def check_stop(context: PlanningContext, record: DecisionRecord) -> list[str]:
    """Return the proofs that a stop lacks, as sentences; empty: the stop is verified.

    Args:
        context: With the progress record as it is after the record's own updates.
        record: Its action is a stop.
    """
    if not isinstance(record.action, Stop):
        return ['the action is not a stop']
    items = context.progress.items
    missing = _progress(items)
    goal = items[-1] if items else None
    if goal is None or not goal.landmarks:
        return missing
    return missing + _grounding(context, goal, record.action.object_id)


def _progress(items: tuple[ProgressItem, ...]) -> list[str]:
    open_items = [i for i in items[:-1] if i.status.is_open]
    if not open_items:
        return []
    told = ', '.join(f'{i.index} "{i.text}"' for i in open_items[:4])
    return [f'progress: open clauses {told}; mark them done, or skipped with a reason']


def _grounding(context: PlanningContext, goal: ProgressItem, object_id: int | None) -> list[str]:
    """Check geometry and semantics against the panorama and the graph."""
    name = goal.landmarks[0]
    names = kindred(category_of(name))
    if object_id is not None:
        thing = context.graph.object(object_id)
        if thing is None:
            return [f'geometry: object {object_id} is not in the graph']
        missing = []
        if not _is_named(thing, names, name):
            missing.append(
                f'semantics: object {object_id} is a {thing.category}, the instruction says {name}'
            )
        near = walking_distance(context, thing)
        if near > context.stop_radius:
            missing.append(f'geometry: the {thing.category} is {_far(context, near)}')
        return missing
    nearest = _nearest(context, names, name)
    if nearest is None:
        return [f'semantics: no {name} was seen; look for it, or give up with notes.failure']
    if nearest > context.stop_radius:
        return [f'geometry: the nearest {name} is {_far(context, nearest)}']
    return []


def _far(context: PlanningContext, distance: float) -> str:
    if not math.isfinite(distance):
        return 'not in sight and no way to it is known; go where it can be seen'
    return f'{distance:.1f} m away on foot, more than {context.stop_radius:g} m; go nearer'


def _is_named(thing: ObjectState, names: set[str], name: str) -> bool:
    return thing.category in names or any(name in words for words in thing.descriptions)


def _nearest(context: PlanningContext, names: set[str], name: str) -> float | None:
    xy = np.array(context.pose[:2], dtype=float)
    gaps = [
        walking_distance(context, o) for o in context.graph.objects if _is_named(o, names, name)
    ]
    for detection in context.panorama.detections:
        if detection.position_odom is None or detection.category not in names:
            continue
        position = (context.global_tform_odom @ np.append(detection.position_odom, 1.0))[:2]
        half = np.zeros(2) if detection.extent is None else detection.extent[:2] / 2.0
        gaps.append(float(np.hypot(*np.maximum(np.abs(position - xy) - half, 0.0))))
    return min(gaps, default=None)
