# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What memory and planner exchange must survive the way there and back."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from vln_core import context as core
from vln_core.navigator import DecisionTrace
from vln_core.observation import Panorama
from vln_core.outcome import Grounding, GroundingCode, MotionCode
from vln_core.system2.record import DecisionRecord, Go, WorldNotes
from vln_interfaces.srv import GetContext
from vln_nodes import memory_conversions as conv


def _same(a: object, b: object) -> bool:
    """Compare dataclasses with arrays inside."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            _same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a)
        )
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    return a == b


def _items() -> tuple[core.ProgressItem, ...]:
    return (
        core.ProgressItem(
            0, 'leave the bedroom', core.ClauseKind.EXIT, rooms=('bedroom',),
            status=core.ItemStatus.DONE, evidence=core.Evidence(2, 'in the corridor'),
        ),
        core.ProgressItem(
            1, 'pass the second chair on the left', core.ClauseKind.PASS, ('chair',), (), 'left',
            2, 'left', 1.5, core.ItemStatus.ACTIVE,
        ),
        core.ProgressItem(2, 'stop', core.ClauseKind.STOP, ordinal=-1),
    )  # fmt: skip


def _graph() -> core.WorldGraph:
    place = core.PlaceState(
        3, ((1.0, 2.0, 0.5),), 'study', 'office', 'a desk', 2, 1, 4,
        (core.FailureNote('dead end', 3, 'find the door'),), (7,), (4,), 0.5,
    )  # fmt: skip
    item = core.ObjectState(
        7, 'desk', np.array([1.0, 2.5, 0.4]), np.array([1.2, 0.6, 0.7]), 0.875, 3, (2, 1), 3,
        ('wooden desk',), {'brown': 2, 'big': 1}, 4,
    )  # fmt: skip
    opening = core.ViewpointState(
        'f1', 3.0, 1.0, False, 2, math.inf, -0.25, 0.9, 2.5, 1.5, 'an opening'
    )
    return core.WorldGraph(
        (place,),
        (item,),
        (core.WaypointState(0, 1.0, 2.0, 0.5, 3, 4),),
        (opening,),
        (core.PlaceEdge(3, 4, 2.25, 1),),
    )


def test_progress_round_trip() -> None:
    record = core.ProgressRecord(_items())
    assert conv.progress_of(conv.progress_msg(record, 'words')) == record


def test_graph_round_trip() -> None:
    graph = _graph()
    assert _same(conv.graph_of(conv.graph_msg(graph, 4)), graph)


def test_context_round_trip() -> None:
    panorama = Panorama(5, 0, np.eye(4), ())
    note = core.ActionNote(1, 'go(view 2, "sofa")', 'it is on the way', 'reached', 0)
    context = core.PlanningContext(
        instruction='words',
        step=4,
        pose=(1.0, -2.0, 0.75),
        panorama=panorama,
        progress=core.ProgressRecord(_items()),
        graph=_graph(),
        retrieved=(3, 4),
        memory_text='places',
        window_text='window',
        map_image=np.full((64, 64, 3), (250, 10, 90), np.uint8),
        history=(note,),
        refusals=('go: refused',),
    )
    response = conv.fill_context(context, GetContext.Response(), with_map_image=True)
    assert response.panorama_id == 5
    back = conv.context_of(response, panorama, ['go: refused'])
    assert _same(back, context)
    response = conv.fill_context(context, GetContext.Response(), with_map_image=False)
    assert conv.context_of(response, panorama, ()).map_image is None


def test_record_round_trip() -> None:
    record = DecisionRecord(
        action=Go(view=2, target='sofa'), notes=WorldNotes(place_name='hall'), rationale='why'
    )
    assert conv.record_of(conv.record_json(record)) == record


def test_decision_message_tells_everything() -> None:
    context = core.PlanningContext(
        'words', 4, (0.0, 0.0, 0.0), Panorama(5, 17, np.eye(4), ()), core.ProgressRecord(),
        core.WorldGraph(),
    )  # fmt: skip
    record = DecisionRecord(action=Go(view=2, target='sofa'), rationale='why')
    grounding = Grounding(GroundingCode.FOUND, '', (1.0, 2.0, 3.5, 4.0), (2, 3), 0.5)
    trace = DecisionTrace(
        4, context.panorama, context, record, grounding, (2, 3), int(MotionCode.NO_PATH),
        'no path', ('goto(f1): refused',), 0.25,
    )  # fmt: skip
    message = conv.decision_msg(trace, episode_id='e1', planner='rules')
    assert (message.episode_id, message.step, message.panorama_id) == ('e1', 4, 5)
    assert (message.action, message.action_text) == ('go', 'go(view 2, "sofa")')
    assert (message.view, message.u_px, message.v_px) == (2, 2, 3)
    assert list(message.box_xyxy_px) == [1.0, 2.0, 3.5, 4.0]
    assert (message.outcome_code, message.outcome) == (105, 'no path')
    assert list(message.refusals) == ['goto(f1): refused']
    assert conv.record_of(message.record_json) == record


def test_decision_message_without_record() -> None:
    context = core.PlanningContext(
        'words', 0, (0.0, 0.0, 0.0), Panorama(5, 17, np.eye(4), ()), core.ProgressRecord(),
        core.WorldGraph(),
    )  # fmt: skip
    trace = DecisionTrace(0, context.panorama, context, None, None, None, 406, 'failed', (), 0.0)
    message = conv.decision_msg(trace, episode_id='e', planner='rules')
    assert (message.view, message.u_px, message.action, message.record_json) == (-1, -1, '', '')
