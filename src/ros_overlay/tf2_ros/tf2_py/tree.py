# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The tree of frames: names, caches, and the ways between frames at a time."""

from __future__ import annotations

from collections.abc import Iterator

from tf2_py.cache import StaticCache, TimeCache
from tf2_py.exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TransformException,
)
from tf2_py.rotation import IDENTITY, ORIGIN, Matrix, Vector, matrix_from_quaternion
from tf2_py.walk import PoseChain, source_in_target

MAX_DEPTH = 1000
NO_PARENT = 0

Pose = tuple[Matrix, Vector]


class FrameTree:
    """Frames by number, with what is known about each over time."""

    def __init__(self) -> None:
        """Start without frames."""
        self._names = ['NO_PARENT']
        self._ids = {'NO_PARENT': NO_PARENT}
        self._caches: list[TimeCache | StaticCache | None] = [None]

    def _id_of(self, name: str) -> int:
        """Return the number of a frame, giving it one on first sight."""
        if name not in self._ids:
            self._ids[name] = len(self._names)
            self._names.append(name)
            self._caches.append(None)
        return self._ids[name]

    def _validated(self, argument: str, name: str) -> int:
        """Return the number of a known frame or raise what upstream raises."""
        for rule, broken in _name_rules(name):
            if broken:
                raise InvalidArgumentException(
                    f'Invalid argument "{name}" passed to {argument} - in tf2 frame_ids {rule}'
                )
        number = self._ids.get(name, NO_PARENT)
        if number == NO_PARENT:
            raise LookupException(f'"{name}" passed to {argument} does not exist. ')
        return number

    def _name_problem(self, names: tuple[tuple[str, str], ...]) -> str:
        """Say what is wrong with the first bad name, '' when nothing is."""
        for argument, name in names:
            start = f'Invalid frame ID "{name}" passed to canTransform argument {argument} - '
            for rule, broken in _name_rules(name):
                if broken:
                    return f'{start}in tf2 frame_ids {rule}'
            if self._ids.get(name, NO_PARENT) == NO_PARENT:
                return f'{start}frame does not exist'
        return ''

    def _lookup(self, target_frame: str, source_frame: str, time_ns: int) -> tuple[Pose, int]:
        """Return the pose of source in target as matrix and vector, and its stamp."""
        if target_frame == source_frame:
            cache = self._caches[self._ids.get(target_frame, NO_PARENT)]
            if time_ns == 0 and cache is not None:
                time_ns = cache.latest_ns
            return (matrix_from_quaternion(IDENTITY), ORIGIN), time_ns
        target = self._validated('lookupTransform argument target_frame', target_frame)
        source = self._validated('lookupTransform argument source_frame', source_frame)
        if time_ns == 0:
            time_ns = self._latest_common_ns(target, source)
        source_chain, target_chain = PoseChain(), PoseChain()
        ending = self._walk(target, source, time_ns, source_chain, target_chain)
        if ending == 'target above source':
            rotation, translation = source_chain.rotation, source_chain.translation
        elif ending == 'source above target':
            rotation, translation = target_chain.inverse()
        else:
            rotation, translation = source_in_target(source_chain, target_chain)
        return (matrix_from_quaternion(rotation), translation), time_ns

    def _can(self, target: int, source: int, time_ns: int) -> tuple[bool, str]:
        if target == source:
            return True, ''
        try:
            if time_ns == 0:
                time_ns = self._latest_common_ns(target, source)
            self._walk(target, source, time_ns, None, None)
        except TransformException as error:
            return False, str(error)
        return True, ''

    def _walk(
        self,
        target: int,
        source: int,
        time_ns: int,
        source_chain: PoseChain | None,
        target_chain: PoseChain | None,
    ) -> str:
        """Climb from both frames to a common ancestor, extending the chains on the way.

        Returns:
            Which of the two chains to use: 'target above source', 'source above target' or 'both'.

        Raises:
            TransformException: There is no way at that time.
        """
        way = (
            f', when looking up transform from frame [{self._names[source]}] to frame '
            f'[{self._names[target]}]'
        )
        frame = top = source
        source_error = None
        depth = 0
        while frame != NO_PARENT:
            top = frame
            cache = self._caches[frame]
            if cache is None:
                break
            parent, error = self._climb(cache, time_ns, source_chain, stop=frame == target)
            if parent == NO_PARENT:
                # The way may still exist: the target can be below this frame.
                source_error = error
                break
            if frame == target:
                return 'target above source'
            frame = parent
            depth = self._deeper(depth)
        frame = target
        depth = 0
        while frame != top:
            cache = self._caches[frame]
            if cache is None:
                break
            parent, error = self._climb(cache, time_ns, target_chain, stop=frame == source)
            if parent == NO_PARENT:
                raise ExtrapolationException(error + way)
            if frame == source:
                return 'source above target'
            frame = parent
            depth = self._deeper(depth)
        if frame != top:
            if source_error is not None:
                raise ExtrapolationException(source_error + way)
            raise self._not_connected(target, source)
        return 'both'

    @staticmethod
    def _climb(
        cache: TimeCache | StaticCache, time_ns: int, chain: PoseChain | None, stop: bool
    ) -> tuple[int, str]:
        """Return the parent at a time (or 0 and why not); extend the chain unless it ends here."""
        if chain is None:
            return cache.parent_at(time_ns)
        record, error = cache.record_at(time_ns)
        if record is None:
            return NO_PARENT, error
        if not stop:
            chain.climb(record)
        return record.parent, ''

    def _deeper(self, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise LookupException(
                f'The tf tree is invalid because it contains a loop.\n{self._listing()}\n'
            )
        return depth + 1

    def _not_connected(self, target: int, source: int) -> ConnectivityException:
        return ConnectivityException(
            f"Could not find a connection between '{self._names[target]}' and "
            f"'{self._names[source]}' because they are not part of the same tree."
            'Tf has two or more unconnected trees.'
        )

    def _latest_common_ns(self, target: int, source: int) -> int:
        """Return the newest time known to every frame on the way; 0 when all are static."""
        if source == target:
            cache = self._caches[source]
            return cache.latest_ns if cache is not None else 0
        way_up: list[tuple[int, int]] = []
        stamps: list[int] = []
        for stamp_ns, parent in self._ancestors(source):
            stamps.append(stamp_ns)
            way_up.append((stamp_ns, parent))
            if parent == target:
                return _oldest(stamps)
        parents_up = {parent for _, parent in way_up}
        stamps = []
        common = NO_PARENT
        for stamp_ns, parent in self._ancestors(target):
            stamps.append(stamp_ns)
            if parent in parents_up:
                common = parent
                break
            if parent == source:
                return _oldest(stamps)
        if common == NO_PARENT:
            raise self._not_connected(target, source)
        for stamp_ns, parent in way_up:
            stamps.append(stamp_ns)
            if parent == common:
                break
        return _oldest(stamps)

    def _ancestors(self, frame: int) -> Iterator[tuple[int, int]]:
        """Yield the newest stamp and the parent of a frame, of its parent, and so on."""
        depth = 0
        while frame != NO_PARENT:
            cache = self._caches[frame]
            if cache is None:
                return
            stamp_ns, parent = cache.latest_time_and_parent()
            if parent == NO_PARENT:
                return
            yield stamp_ns, parent
            frame = parent
            depth = self._deeper(depth)

    def _listing(self) -> str:
        """List the frames with their current parents, one a line."""
        lines = []
        for name, cache in zip(self._names, self._caches, strict=True):
            if cache is not None:
                record, _ = cache.record_at(0)
                parent = self._names[record.parent if record else NO_PARENT]
                lines.append(f'Frame {name} exists with parent {parent}.\n')
        return ''.join(lines)


def _oldest(stamps: list[int]) -> int:
    """Return the smallest stamp that is not 0 (0 is a static transform), or 0."""
    return min((stamp for stamp in stamps if stamp != 0), default=0)


def _name_rules(name: str) -> tuple[tuple[str, bool], ...]:
    return (
        ('cannot be empty', not name),
        ("cannot start with a '/'", name.startswith('/')),
    )
