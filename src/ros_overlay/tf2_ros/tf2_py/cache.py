# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What is known about one frame over time: its parent and its pose in it."""

from bisect import bisect_right
from typing import NamedTuple

from tf2_py.rotation import Quaternion, Vector, lerp, slerp


class Record(NamedTuple):
    """The pose of a child frame in its parent at one time."""

    stamp_ns: int
    rotation: Quaternion
    translation: Vector
    parent: int
    child: int


def seconds_text(stamp_ns: int) -> str:
    """Write a stamp as tf2's messages do: seconds with six decimals."""
    whole, rest = divmod(stamp_ns, 1_000_000_000)
    return f'{whole + 1e-9 * rest:.6f}'


class TimeCache:
    """The records of a moving frame, oldest first, over the last storage_ns nanoseconds."""

    is_static = False

    def __init__(self, storage_ns: int) -> None:
        """Start empty; storage_ns is how far back from the newest record the memory reaches."""
        self._storage_ns = storage_ns
        self._stamps: list[int] = []
        self._records: list[Record] = []

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._records)

    @property
    def latest_ns(self) -> int:
        """Stamp of the newest record, 0 when empty."""
        return self._stamps[-1] if self._stamps else 0

    @property
    def oldest_ns(self) -> int:
        """Stamp of the oldest record, 0 when empty."""
        return self._stamps[0] if self._stamps else 0

    def latest_time_and_parent(self) -> tuple[int, int]:
        """Return the newest stamp and the parent at that time; (0, 0) when empty."""
        if not self._records:
            return (0, 0)
        return (self._records[-1].stamp_ns, self._records[-1].parent)

    def clear(self) -> None:
        """Forget everything."""
        self._stamps.clear()
        self._records.clear()

    def insert(self, record: Record) -> bool:
        """Add a record; False when it is older than the memory reaches.

        Of several records with one stamp the last inserted wins; an exact repetition is dropped.
        """
        latest = self.latest_ns
        # Pruning comes before inserting, as in tf2: what falls out of the window because of this
        # record stays readable until the next one.
        keep_from = bisect_right(self._stamps, latest - self._storage_ns - 1)
        if keep_from:
            del self._stamps[:keep_from]
            del self._records[:keep_from]
        if self._records and record.stamp_ns < latest - self._storage_ns:
            return False
        index = bisect_right(self._stamps, record.stamp_ns)
        before = index - 1
        while before >= 0 and self._stamps[before] == record.stamp_ns:
            if self._records[before] == record:
                return True
            before -= 1
        self._stamps.insert(index, record.stamp_ns)
        self._records.insert(index, record)
        return True

    def _around(self, stamp_ns: int) -> tuple[Record | None, Record | None, str]:
        """Return the records at or around a time: (older, newer, error); 0 means the newest."""
        records = self._records
        if not records:
            return None, None, ''
        if stamp_ns == 0:
            return records[-1], None, ''
        if len(records) == 1:
            if records[0].stamp_ns == stamp_ns:
                return records[0], None, ''
            return (
                None,
                None,
                f'Lookup would require extrapolation at time {seconds_text(stamp_ns)}, but only '
                f'time {seconds_text(records[0].stamp_ns)} is in the buffer',
            )
        latest, oldest = records[-1], records[0]
        if stamp_ns == latest.stamp_ns:
            return latest, None, ''
        if stamp_ns == oldest.stamp_ns:
            return oldest, None, ''
        if stamp_ns > latest.stamp_ns:
            return (
                None,
                None,
                'Lookup would require extrapolation into the future.  Requested time '
                f'{seconds_text(stamp_ns)} but the latest data is at time '
                f'{seconds_text(latest.stamp_ns)}',
            )
        if stamp_ns < oldest.stamp_ns:
            return (
                None,
                None,
                'Lookup would require extrapolation into the past.  Requested time '
                f'{seconds_text(stamp_ns)} but the earliest data is at time '
                f'{seconds_text(oldest.stamp_ns)}',
            )
        index = bisect_right(self._stamps, stamp_ns)
        return records[index - 1], records[index], ''

    def parent_at(self, stamp_ns: int) -> tuple[int, str]:
        """Return the parent at a time and '', or 0 and what was wrong."""
        older, _, error = self._around(stamp_ns)
        return (older.parent if older else 0), error

    def record_at(self, stamp_ns: int) -> tuple[Record | None, str]:
        """Return the interpolated record at a time and '', or None and what was wrong.

        Between two records with different parents nothing is interpolated: the older one holds.
        """
        older, newer, error = self._around(stamp_ns)
        if older is None or newer is None or older.parent != newer.parent:
            return older, error
        ratio = (stamp_ns - older.stamp_ns) / (newer.stamp_ns - older.stamp_ns)
        return (
            older._replace(
                translation=lerp(older.translation, newer.translation, ratio),
                rotation=slerp(older.rotation, newer.rotation, ratio),
            ),
            '',
        )


class StaticCache:
    """The one record of a frame that never moves; it is valid at any time."""

    is_static = True
    latest_ns = 0
    oldest_ns = 0

    def __init__(self) -> None:
        """Start without a record; the buffer inserts one at once."""
        self._record: Record | None = None

    def __len__(self) -> int:
        """Return 1: a static frame always has its record."""
        return 1

    def latest_time_and_parent(self) -> tuple[int, int]:
        """Return time 0, which limits no common time, and the parent."""
        return (0, self._record.parent if self._record else 0)

    def clear(self) -> None:
        """Do nothing: static transforms survive a clear, as in tf2."""

    def insert(self, record: Record) -> bool:
        """Replace the record."""
        self._record = record
        return True

    def parent_at(self, stamp_ns: int) -> tuple[int, str]:
        """Return the parent, whatever the time."""
        return (self._record.parent if self._record else 0), ''

    def record_at(self, stamp_ns: int) -> tuple[Record | None, str]:
        """Return the record, whatever the time."""
        return self._record, ''
