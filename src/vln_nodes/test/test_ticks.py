# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The order of work in lock-step, whatever the order of arrival."""

from __future__ import annotations

import random

import pytest

from vln_nodes.frames import FrameBuffer
from vln_nodes.ticks import Arrival, TickQueue

TICK, IMAGE = 50, 100


def test_nothing_is_due_before_the_first_image() -> None:
    queue = TickQueue(IMAGE)
    queue.add_sample(1000, 'a')
    assert queue.take_due() is None
    queue.add_depth(1000, 'A')
    assert queue.take_due() == (1000, 'a', 'A')
    assert queue.take_due() is None


@pytest.mark.parametrize('seed', range(20))
def test_any_order_of_arrival_within_a_tick_gives_the_same_work(seed: int) -> None:
    """Ticks come one after the other; within a tick, and over repeats, anything goes."""
    rng = random.Random(seed)
    queue, done = TickQueue(IMAGE), []
    for stamp in range(1000, 2000, TICK):
        arrivals = ['sample', 'sample'] + ['depth', 'depth'] * ((stamp - 1000) % IMAGE == 0)
        rng.shuffle(arrivals)
        for kind in arrivals:
            if kind == 'depth':
                queue.add_depth(stamp, -stamp)
            elif queue.arrival(stamp) is Arrival.NEW:
                queue.add_sample(stamp, stamp)
            while (due := queue.take_due()) is not None:
                done.append(due)
    expected = range(1000, 2000, TICK)
    assert done == [(s, s, -s if (s - 1000) % IMAGE == 0 else None) for s in expected]


def test_repeated_and_restarted_ticks_are_told_apart() -> None:
    queue = TickQueue(IMAGE)
    assert queue.arrival(1000) is Arrival.NEW
    queue.add_sample(1000, 'a')
    assert queue.arrival(1000) is Arrival.REPEATED
    queue.add_depth(1000, 'A')
    queue.take_due()
    assert queue.arrival(1000) is Arrival.REPEATED
    assert queue.arrival(1050) is Arrival.NEW
    assert queue.arrival(950) is Arrival.RESTARTED


def test_frames_match_by_stamp() -> None:
    buffer = FrameBuffer(('color', 'depth'), slop=10)
    buffer.add('color', 100, 'c1')
    assert buffer.newest(0) is None
    buffer.add('depth', 105, 'd1')
    assert buffer.newest(0) == {'color': 'c1', 'depth': 'd1', 'stamp': 100}
    buffer.add('color', 200, 'c2')
    assert buffer.newest(0)['stamp'] == 100  # the newer one is not complete
    assert buffer.newest(150) is None
    assert buffer.missing(150) == ['depth']
    buffer.add('depth', 211, 'd2')
    assert buffer.newest(150) is None  # beyond the slop
    buffer.add('depth', 190, 'd3')
    assert buffer.newest(150) == {'color': 'c2', 'depth': 'd3', 'stamp': 200}


def test_frames_are_bounded() -> None:
    buffer = FrameBuffer(('color',), slop=0, capacity=3)
    for stamp in range(10):
        buffer.add('color', stamp, stamp)
    assert buffer.newest(0)['stamp'] == 9
    assert len(buffer._streams['color']) == 3
