# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Progress record L with checked transitions (SPEC 3.2); its history is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vln_core.context import ClauseKind, Evidence, ItemStatus, ProgressItem, ProgressRecord
from vln_core.errors import UpdateRefused
from vln_core.system2.record import ProgressUpdate


@dataclass(frozen=True)
class Change:
    """One accepted change of a status."""

    step: int
    index: int
    before: ItemStatus
    after: ItemStatus
    reason: str


def check_items(items: Sequence[ProgressItem]) -> None:
    """Raise UpdateRefused unless the items form a record that can be followed.

    Indices run from 0, and at most one item is the stop, which is the last.
    """
    if not items:
        raise UpdateRefused('the instruction gave no progress items; there is nothing to do')
    for position, item in enumerate(items):
        if item.index != position:
            raise UpdateRefused(
                f'item {position} carries index {item.index}; number them from 0 in order'
            )
        if item.kind is ClauseKind.STOP and position != len(items) - 1:
            raise UpdateRefused(
                f'item {position} is the stop but {len(items) - 1 - position} items follow it'
            )


def apply_updates(
    record: ProgressRecord, updates: Sequence[ProgressUpdate], step: int
) -> tuple[ProgressRecord, list[Change]]:
    """Return the record after all updates, and what changed.

    Later items may be done before earlier ones only with a reason; the stop only when nothing
    else is open; skipping, failing and reopening need a reason; the stop never opens again.

    Raises:
        UpdateRefused: One of them is illegal; the message says which and what would be legal.
    """
    items = list(record.items)
    changes: list[Change] = []
    # Earlier items first: one record may close item 1 and item 2 in any order of writing.
    for update in sorted(updates, key=lambda u: u.index):
        if not 0 <= update.index < len(items):
            raise UpdateRefused(
                f'progress item {update.index} does not exist; '
                f'the record has items 0..{len(items) - 1}'
            )
        item = items[update.index]
        after = ItemStatus(update.status)
        if after is item.status:
            continue
        _check(items, item, after, update.reason.strip())
        items[update.index] = replace(
            item, status=after, evidence=Evidence(step, update.reason.strip())
        )
        changes.append(Change(step, update.index, item.status, after, update.reason.strip()))
    return ProgressRecord(tuple(items)), changes


def _check(items: list[ProgressItem], item: ProgressItem, after: ItemStatus, reason: str) -> None:
    name = f'progress item {item.index} ("{item.text}")'
    if after in (ItemStatus.SKIPPED, ItemStatus.FAILED) and not reason:
        raise UpdateRefused(f'{name} cannot become {after.value} without a reason')
    if not item.status.is_open:
        if item.kind is ClauseKind.STOP:
            raise UpdateRefused(
                f'{name} is the stop and closed ({item.status.value}); it cannot be reopened'
            )
        if not reason:
            raise UpdateRefused(
                f'{name} is {item.status.value}; changing it to {after.value} needs a reason'
            )
    earlier = [i for i in items[: item.index] if i.status.is_open]
    if after is ItemStatus.DONE and earlier:
        open_text = ', '.join(f'{i.index} ("{i.text}")' for i in earlier[:5])
        if item.kind is ClauseKind.STOP:
            raise UpdateRefused(f'{name} is the stop; it cannot be done while open: {open_text}')
        if not reason:
            raise UpdateRefused(
                f'{name} cannot be done while open before it: {open_text}; close these in the '
                'same record (done, or skipped with a reason), or give a reason'
            )


def describe(record: ProgressRecord) -> str:
    """Return the record as lines for a prompt."""
    mark = {'pending': ' ', 'active': '>', 'done': 'x', 'skipped': '-', 'failed': '!'}
    lines = []
    for item in record.items:
        line = f'[{mark[item.status.value]}] {item.index} {item.kind.value}: {item.text}'
        if item.evidence is not None:
            line += f' ({item.status.value} at w{item.evidence.waypoint}'
            line += f': {item.evidence.reason})' if item.evidence.reason else ')'
        lines.append(line)
    return '\n'.join(lines)
