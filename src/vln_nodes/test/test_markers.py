# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of the memory: what people see in RViz."""

from __future__ import annotations

from vln_core.context import FailureNote, PlaceEdge, PlaceState, WorldGraph
from vln_nodes.markers import graph_markers


def _place(number: int, failures: tuple[FailureNote, ...] = ()) -> PlaceState:
    return PlaceState(
        number, ((2.0 * number, 0.0, 0.0),), '', '', '', 1, 0, 0, failures, (), (), 0.0
    )


def _graph() -> WorldGraph:
    failed = _place(1, (FailureNote('a dead end', 3, 'find the sofa'),))
    return WorldGraph((_place(0), failed), (), (), (), (PlaceEdge(0, 1, 2.0, 1),))


def test_the_retrieved_slice_and_failures_are_shown() -> None:
    array = graph_markers(_graph(), 'odom', 7, retrieved=(1, 0, 99))
    shown = {(m.ns, m.id): m for m in array.markers}
    assert shown['retrieved', 1].pose.position.x == 2.0
    assert shown['retrieved_ranks', 1].text == '1'
    assert shown['retrieved_ranks', 0].text == '2'
    assert ('retrieved', 99) not in shown  # a place merged since has no disc
    assert 'w3: a dead end' in shown['failures', 1].text
    assert ('failures', 0) not in shown
    assert len(shown['edges', 0].points) == 2


def test_without_a_slice_there_are_no_discs() -> None:
    assert not [m for m in graph_markers(_graph(), 'odom', 0).markers if 'retrieved' in m.ns]
