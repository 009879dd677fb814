# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Transitions of the progress record."""

import pytest
from memory_scenes import ITEMS

from vln_core.context import ClauseKind, ItemStatus, ProgressItem, ProgressRecord
from vln_core.errors import UpdateRefused
from vln_core.memory.progress import apply_updates, check_items, describe
from vln_core.system2.record import ProgressUpdate

RECORD = ProgressRecord(ITEMS)


def update(index, status, reason=''):
    return ProgressUpdate(index=index, status=status, reason=reason)


def test_items_close_in_order_and_the_history_says_why():
    record, changes = apply_updates(
        RECORD, [update(0, 'done', 'through the door'), update(1, 'active')], step=3
    )
    assert [i.status for i in record.items] == [
        ItemStatus.DONE,
        ItemStatus.ACTIVE,
        ItemStatus.PENDING,
    ]
    assert record.current is record.items[1]
    assert record.items[0].evidence.waypoint == 3
    assert [(c.index, c.before, c.after) for c in changes] == [
        (0, ItemStatus.PENDING, ItemStatus.DONE),
        (1, ItemStatus.PENDING, ItemStatus.ACTIVE),
    ]
    assert '[x] 0 exit: leave the bedroom (done at w3: through the door)' in describe(record)


@pytest.mark.parametrize(
    ('updates', 'words'),
    [
        ([update(7, 'done')], 'does not exist'),
        ([update(0, 'skipped')], 'without a reason'),
        ([update(0, 'failed', '  ')], 'without a reason'),
        ([update(1, 'done')], 'open before it'),
        ([update(2, 'done', 'I am there')], 'cannot be done while open'),
        ([update(0, 'done'), update(5, 'done')], 'does not exist'),
    ],
)
def test_illegal_updates_are_refused(updates, words):
    with pytest.raises(UpdateRefused, match=words):
        apply_updates(RECORD, updates, 0)


def test_the_stop_never_opens_again_but_other_items_may_with_a_reason():
    closed, _ = apply_updates(
        RECORD, [update(0, 'done'), update(1, 'skipped', 'no sofa'), update(2, 'done')], 1
    )
    with pytest.raises(UpdateRefused, match='cannot be reopened'):
        apply_updates(closed, [update(2, 'active', 'changed my mind')], 2)
    with pytest.raises(UpdateRefused, match='needs a reason'):
        apply_updates(closed, [update(1, 'active')], 2)
    again, _ = apply_updates(closed, [update(1, 'active', 'there is one after all')], 2)
    assert again.items[1].status is ItemStatus.ACTIVE


def test_the_same_update_twice_changes_nothing():
    once, _ = apply_updates(RECORD, [update(0, 'done')], 1)
    twice, changes = apply_updates(once, [update(0, 'done')], 2)
    assert twice == once
    assert changes == []


def test_records_that_cannot_be_followed_are_refused():
    with pytest.raises(UpdateRefused, match='nothing to do'):
        check_items([])
    with pytest.raises(UpdateRefused, match='carries index 1'):
        check_items([ProgressItem(1, 'go', ClauseKind.GO)])
    with pytest.raises(UpdateRefused, match='is the stop but 1 items follow'):
        check_items(
            [ProgressItem(0, 'stop', ClauseKind.STOP), ProgressItem(1, 'go', ClauseKind.GO)]
        )
