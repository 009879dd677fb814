# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The tools that a model may call (AgenticNav): query_depth, recall, move_to, stop."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from vln_core.context import PlanningContext
from vln_core.errors import RecordError, UnknownReference
from vln_core.system2.loose_json import find_objects
from vln_core.system2.messages import Picture, ToolCall, ToolSpec
from vln_core.system2.parsing import make_action
from vln_core.system2.record import MoveTo, Stop

MAX_POINTS = 16
_VIEW = {'type': 'integer', 'minimum': 0, 'description': 'index of a view around the robot'}
_FRACTION = {'type': 'number', 'minimum': 0, 'maximum': 1}

QUERY_DEPTH = ToolSpec(
    'query_depth',
    'Metres at pixels of a view; points are [u, v] fractions of width and height.',
    {
        'type': 'object',
        'properties': {
            'view': _VIEW,
            'points': {
                'type': 'array', 'minItems': 1, 'maxItems': MAX_POINTS,
                'items': {'type': 'array', 'items': _FRACTION, 'minItems': 2, 'maxItems': 2},
            },
        },
        'required': ['view', 'points'],
    },
)  # fmt: skip
RECALL = ToolSpec(
    'recall',
    'The picture that view k of a past decision waypoint showed.',
    {
        'type': 'object',
        'properties': {'waypoint': {'type': 'integer', 'minimum': 0}, 'view': _VIEW},
        'required': ['waypoint', 'view'],
    },
)
MOVE_TO = ToolSpec(
    'move_to',
    'Go towards what the pixel (u, v) of a view shows; ends the step.',
    {
        'type': 'object',
        'properties': {'view': _VIEW, 'u': _FRACTION, 'v': _FRACTION},
        'required': ['view', 'u', 'v'],
    },
)
STOP = ToolSpec(
    'stop', 'End the episode here.', {'type': 'object', 'properties': {}, 'required': []}
)
LOOKING = (QUERY_DEPTH, RECALL)
ALL = (QUERY_DEPTH, RECALL, MOVE_TO, STOP)


@dataclass(frozen=True, eq=False)
class ToolAnswer:
    """Result of a tool: words, maybe a picture, or the action that ends the step."""

    text: str
    picture: Picture | None = None
    action: MoveTo | Stop | None = None


class ToolBox:
    """Runs tools on one planning context; every fault becomes an answer in words."""

    def __init__(self, context: PlanningContext, allowed: tuple[ToolSpec, ...]) -> None:
        """Bind the tools to a context."""
        self._context = context
        self._names = [tool.name for tool in allowed]

    def run(self, call: ToolCall) -> ToolAnswer:
        """Run one call."""
        if call.name not in self._names:
            return ToolAnswer(
                f'error: there is no tool "{call.name[:40]}"; use {", ".join(self._names)}'
            )
        try:
            arguments = _arguments(call.arguments)
            if call.name == 'query_depth':
                return self._query_depth(arguments)
            if call.name == 'recall':
                return self._recall(arguments)
            action = make_action(call.name, _renamed(arguments))
        except (RecordError, UnknownReference) as error:
            return ToolAnswer(f'error: {error}')
        assert isinstance(action, (MoveTo, Stop))
        return ToolAnswer('', action=action)

    def _query_depth(self, arguments: dict[str, Any]) -> ToolAnswer:
        view = self._view(arguments)
        points = arguments.get('points')
        if points is None and 'u' in arguments and 'v' in arguments:
            points = [[arguments['u'], arguments['v']]]
        if isinstance(points, list) and points and not isinstance(points[0], (list, dict, tuple)):
            points = [points]
        if not isinstance(points, list) or not 1 <= len(points) <= MAX_POINTS:
            raise RecordError(f'query_depth takes 1 to {MAX_POINTS} points [[u, v], ...]')
        told = [self._depth_at(view, point) for point in points]
        return ToolAnswer('; '.join(told))

    def _depth_at(self, view: Any, point: Any) -> str:
        try:
            pair = (point['u'], point['v']) if isinstance(point, dict) else tuple(point)
            u, v = float(pair[0]), float(pair[1])
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise RecordError(f'point {str(point)[:40]} is no pair [u, v]') from error
        if not (0.0 <= u <= 1.0 and 0.0 <= v <= 1.0):
            raise RecordError(f'point [{u:g}, {v:g}] lies outside [0, 1]')
        height, width = view.depth.shape
        column, row = min(int(u * width), width - 1), min(int(v * height), height - 1)
        depth = float(view.depth[row, column])
        if depth == np.inf:
            value = 'far'
        elif not np.isfinite(depth) or depth <= 0.0:
            value = 'invalid'
        else:
            value = f'{depth:.2f} m'
        return f'[{u:g}, {v:g}]: {value}'

    def _recall(self, arguments: dict[str, Any]) -> ToolAnswer:
        if self._context.recall is None:
            raise RecordError('recall is not available here')
        action = {k: arguments.get(k) for k in ('waypoint', 'view')}
        if not all(isinstance(v, int) for v in action.values()):
            raise RecordError('recall takes "waypoint" and "view" as whole numbers')
        rgb = self._context.recall(int(arguments['waypoint']), int(arguments['view']))
        caption = f'waypoint {arguments["waypoint"]}, view {arguments["view"]}'
        return ToolAnswer(f'the picture of {caption} follows', Picture(caption, rgb))

    def _view(self, arguments: dict[str, Any]) -> Any:
        index = arguments.get('view', arguments.get('k'))
        for view in self._context.panorama.views:
            if view.index == index:
                return view
        last = len(self._context.panorama.views) - 1
        raise RecordError(f'view {index} does not exist; there are views 0 to {last}')


def _arguments(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        found = find_objects(text)
        if not found or found[-1].is_cut:
            raise RecordError(f'the arguments are no JSON object: {text[:60]}') from None
        value = found[-1].value
    if not isinstance(value, dict):
        raise RecordError('the arguments must be one JSON object')
    return _renamed(value)


def _renamed(arguments: dict[str, Any]) -> dict[str, Any]:
    """Accept the names of the paper: k for the view, p for the waypoint."""
    names = {'k': 'view', 'p': 'waypoint', 'view_index': 'view'}
    return {names.get(k, k): v for k, v in arguments.items()}


def tool_calls_in(text: str) -> tuple[ToolCall, ...]:
    """Return the tool calls that a model without native tool calling wrote as JSON."""
    calls: list[ToolCall] = []
    for found in find_objects(text):
        value = found.value
        name = value.get('tool') or value.get('tool_name')
        if not isinstance(name, str) or found.is_cut:
            continue
        raw = value.get('arguments', value.get('parameters'))
        if raw is None:
            raw = {k: v for k, v in value.items() if k not in ('tool', 'tool_name')}
        text_arguments = raw if isinstance(raw, str) else json.dumps(raw)
        calls.append(ToolCall(f'json_{len(calls)}', name, text_arguments))
    return tuple(calls)
