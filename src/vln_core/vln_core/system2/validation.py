# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a decision record against what is there, before anything moves."""

from __future__ import annotations

from vln_core.context import PlanningContext
from vln_core.errors import RecordError
from vln_core.system2.record import Backtrack, DecisionRecord, Go, Goto, MoveTo, Stop

_LISTED = 12


def _some(names: list[str]) -> str:
    if not names:
        return 'there is none'
    more = f' and {len(names) - _LISTED} more' if len(names) > _LISTED else ''
    return 'choose one of ' + ', '.join(names[:_LISTED]) + more


def validate(record: DecisionRecord, context: PlanningContext) -> None:
    """Check that everything a record names exists.

    Raises:
        RecordError: Names what is wrong and what could be said instead.
    """
    action = record.action
    if isinstance(action, (Go, MoveTo)):
        _check_view(action.view, context)
    elif isinstance(action, Goto):
        _check_viewpoint(action.viewpoint, context)
    elif isinstance(action, Backtrack):
        _check_waypoint(action.waypoint, context)
    elif isinstance(action, Stop) and action.object_id is not None:
        if context.graph.object(action.object_id) is None:
            ids = [f'{o.id} ({o.category})' for o in context.graph.objects]
            raise RecordError(
                f'stop names object {action.object_id}, which is unknown; {_some(ids)}'
            )
    _check_progress(record, context)


def _check_view(view: int, context: PlanningContext) -> None:
    indices = [v.index for v in context.panorama.views]
    if view not in indices:
        raise RecordError(
            f'view {view} does not exist; this panorama has views '
            f'{_some([str(i) for i in indices])}'
        )


def _check_viewpoint(name: str, context: PlanningContext) -> None:
    viewpoint = context.graph.viewpoint(name)
    if viewpoint is None:
        names = [v.id for v in context.graph.viewpoints]
        raise RecordError(f'viewpoint "{name}" does not exist; {_some(names)}')
    if viewpoint.path_length == float('inf'):
        reachable = [v.id for v in context.graph.viewpoints if v.path_length < float('inf')]
        raise RecordError(f'no way to viewpoint "{name}" is known; {_some(reachable)}')


def _check_waypoint(waypoint: int, context: PlanningContext) -> None:
    ids = [w.id for w in context.graph.waypoints]
    if waypoint not in ids:
        raise RecordError(f'waypoint {waypoint} does not exist; {_some([str(i) for i in ids])}')
    if ids and waypoint == max(ids):
        raise RecordError(
            f'the robot already stands at waypoint {waypoint}; choose an earlier one'
        )


def _check_progress(record: DecisionRecord, context: PlanningContext) -> None:
    count = len(context.progress.items)
    for update in record.notes.progress:
        if update.index >= count:
            raise RecordError(
                f'progress item {update.index} does not exist; '
                f'the record has items 0 to {count - 1}'
            )
        if update.status in ('skipped', 'failed') and not update.reason.strip():
            raise RecordError(
                f'progress item {update.index} is marked {update.status} without a reason; '
                'give one'
            )
