# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The form of a reply as JSON schema, for endpoints that constrain what a model may write.

It offers only what there is at this step: views, viewpoints, waypoints, objects and items by their
names. A model under a grammar can then write no record that names something else.
"""

from __future__ import annotations

import math
from typing import Any

from vln_core.context import PlanningContext

_Schema = dict[str, Any]
# Grammars of local servers grow with the number of choices.
_MOST = 64


def record_schema(context: PlanningContext, max_text: int = 600) -> _Schema:
    """Return the schema of a decision record for one planning context.

    Args:
        context: What there is.
        max_text: Characters of the longest free text, the analysis.
    """
    graph = context.graph
    views = [view.index for view in context.panorama.views][:_MOST]
    actions = [
        _action('go', view={'enum': views}, target=_text(1, 80)),
        _action('move_to', view={'enum': views}, u=_FRACTION, v=_FRACTION),
        _stop(context),
    ]
    reachable = _viewpoints(context)
    if reachable:
        actions.insert(1, _action('goto', viewpoint={'enum': reachable}))
    earlier = [w.id for w in graph.waypoints][:-1][-_MOST:]
    if earlier:
        actions.insert(-1, _action('backtrack', waypoint={'enum': earlier}))
    return _object(
        analysis=_text(0, max_text), action={'anyOf': actions}, notes=_notes(context, max_text),
        rationale=_text(1, max_text // 2),
    )  # fmt: skip


def mcgpt_schema(context: PlanningContext, max_text: int = 600) -> _Schema:
    """Return the schema of an answer of mode mcgpt; arguments as :func:`record_schema`."""
    return _object(
        thought=_text(1, max_text), viewpoint={'enum': [*_viewpoints(context), 'STOP']},
        object_id=_one_of_objects(context),
    )  # fmt: skip


def _viewpoints(context: PlanningContext) -> list[str]:
    near = sorted(context.graph.viewpoints, key=lambda v: (v.is_visited, v.path_length, v.id))
    return [v.id for v in near if math.isfinite(v.path_length)][:_MOST]


def _one_of_objects(context: PlanningContext) -> _Schema:
    return {'enum': [None, *[o.id for o in context.graph.objects][-_MOST:]]}


def _notes(context: PlanningContext, max_text: int) -> _Schema:
    update = _object(
        index={'enum': [item.index for item in context.progress.items][:_MOST] or [0]},
        status={'enum': ['active', 'done', 'skipped', 'failed']},
        # A reason of blanks is none.
        reason={'type': 'string', 'pattern': '^[A-Za-z][A-Za-z0-9 ,.-]{2,80}$'},
    )
    return _object(
        room_type=_text(0, 40), place_description=_text(0, max_text // 3),
        failure=_text(0, max_text // 4),
        progress={'type': 'array', 'items': update, 'maxItems': 4},
    )  # fmt: skip


def _stop(context: PlanningContext) -> _Schema:
    return _action('stop', object_id=_one_of_objects(context))


def _action(name: str, **members: _Schema) -> _Schema:
    return _object(type={'const': name}, **members)


def _object(**members: _Schema) -> _Schema:
    return {
        'type': 'object', 'properties': members, 'required': list(members),
        'additionalProperties': False,
    }  # fmt: skip


def _text(shortest: int, longest: int) -> _Schema:
    return {'type': 'string', 'minLength': shortest, 'maxLength': longest}


_FRACTION: _Schema = {'type': 'number', 'minimum': 0, 'maximum': 1}
