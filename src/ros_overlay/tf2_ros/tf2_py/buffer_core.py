# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The transform buffer without ROS communication: insert transforms, ask for them at a time.

Behaviour, exceptions and messages follow upstream's BufferCore, so that code written against it
cannot tell the difference; the messages are compared by the tests.
"""

import logging
import math
import threading
from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time

from tf2_py.cache import Record, StaticCache, TimeCache, seconds_text
from tf2_py.exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TransformException,
)
from tf2_py.rotation import (
    IDENTITY,
    ORIGIN,
    Matrix,
    Vector,
    apply_matrix,
    canonical,
    matrix_from_quaternion,
    multiply_matrices,
    quaternion_from_matrix,
)
from tf2_py.walk import PoseChain, source_in_target

logger = logging.getLogger('tf2')

DEFAULT_CACHE_NS = 10_000_000_000
MAX_DEPTH = 1000
QUATERNION_TOLERANCE = 10e-3
NO_PARENT = 0

Pose = tuple[Matrix, Vector]


def nanoseconds(value: Any) -> int:
    """Return the nanoseconds of a time or duration: rclpy object or message.

    Raises:
        TypeError: It is neither.
    """
    if hasattr(value, 'sec') and hasattr(value, 'nanosec'):
        return value.sec * 1_000_000_000 + value.nanosec
    if hasattr(value, 'nanoseconds'):
        return value.nanoseconds
    raise TypeError('time must have sec and nanosec, or nanoseconds.')


class BufferCore:
    """Remembers, per frame, its parent and pose over the last seconds, and chains them."""

    def __init__(self, cache_time: Duration | None = None) -> None:
        """Start without frames; cache_time is how long transforms are kept (10 s)."""
        self._cache_ns = DEFAULT_CACHE_NS if cache_time is None else nanoseconds(cache_time)
        self._lock = threading.RLock()
        self._names = ['NO_PARENT']
        self._ids = {'NO_PARENT': NO_PARENT}
        self._caches: list[TimeCache | StaticCache | None] = [None]
        self._authorities: dict[int, str] = {}

    # -- inserting -----------------------------------------------------------------------------

    def set_transform(self, transform: TransformStamped, authority: str) -> None:
        """Insert a transform of a moving frame; an invalid one is logged and ignored."""
        self._insert(transform, authority, is_static=False)

    def set_transform_static(self, transform: TransformStamped, authority: str) -> None:
        """Insert a transform that holds at any time; an invalid one is logged and ignored."""
        self._insert(transform, authority, is_static=True)

    def clear(self) -> None:
        """Forget the transforms of moving frames; names and static transforms stay."""
        with self._lock:
            for cache in self._caches:
                if cache is not None:
                    cache.clear()

    def _insert(self, message: TransformStamped, authority: str, is_static: bool) -> None:
        stamp_ns = nanoseconds(message.header.stamp)
        parent = message.header.frame_id.removeprefix('/')
        child = message.child_frame_id.removeprefix('/')
        t, r = message.transform.translation, message.transform.rotation
        translation = (float(t.x), float(t.y), float(t.z))
        # Like upstream, which goes through a matrix here: an unnormalised quaternion is
        # normalised and only the zero quaternion (NaN) is refused.
        rotation = canonical((float(r.x), float(r.y), float(r.z), float(r.w)))
        problems = self._problems(parent, child, translation, rotation, authority)
        for problem in problems:
            logger.error(problem)
        if problems:
            return
        with self._lock:
            child_id = self._id_of(child)
            cache = self._caches[child_id]
            if cache is None or cache.is_static != is_static:
                cache = StaticCache() if is_static else TimeCache(self._cache_ns)
                self._caches[child_id] = cache
            record = Record(stamp_ns, rotation, translation, self._id_of(parent), child_id)
            if cache.insert(record):
                self._authorities[child_id] = authority
                return
        logger.warning(
            'TF_OLD_DATA ignoring data from the past for frame %s at time %s according to '
            'authority %s\nPossible reasons are listed at '
            'http://wiki.ros.org/tf/Errors%%20explained',
            child,
            seconds_text(stamp_ns),
            authority,
        )

    @staticmethod
    def _problems(
        parent: str, child: str, translation: Vector, rotation: tuple, authority: str
    ) -> list[str]:
        """Say what is wrong with a transform, in upstream's words; empty when nothing is."""
        problems = []
        if child == parent:
            problems.append(
                f'TF_SELF_TRANSFORM: Ignoring transform from authority "{authority}" with '
                f'frame_id and  child_frame_id "{child}" because they are the same'
            )
        if not child:
            problems.append(
                f'TF_NO_CHILD_FRAME_ID: Ignoring transform from authority "{authority}" because '
                'child_frame_id not set '
            )
        if not parent:
            problems.append(
                f'TF_NO_FRAME_ID: Ignoring transform with child_frame_id "{child}"  from '
                f'authority "{authority}" because frame_id not set'
            )
        values = ' '.join(f'{v:f}' for v in translation), ' '.join(f'{v:f}' for v in rotation)
        if any(math.isnan(v) for v in (*translation, *rotation)):
            problems.append(
                f'TF_NAN_INPUT: Ignoring transform for child_frame_id "{child}" from authority '
                f'"{authority}" because of a nan value in the transform '
                f'({values[0]}) ({values[1]})'
            )
        if not abs(sum(v * v for v in rotation) - 1.0) < QUATERNION_TOLERANCE:
            problems.append(
                f'TF_DENORMALIZED_QUATERNION: Ignoring transform for child_frame_id "{child}" '
                f'from authority "{authority}" because of an invalid quaternion in the transform '
                f'({values[1]})'
            )
        return problems

    def _id_of(self, name: str) -> int:
        """Return the number of a frame, giving it one on first sight."""
        if name not in self._ids:
            self._ids[name] = len(self._names)
            self._names.append(name)
            self._caches.append(None)
        return self._ids[name]

    # -- asking --------------------------------------------------------------------------------

    def lookup_transform_core(
        self, target_frame: str, source_frame: str, time: Time
    ) -> TransformStamped:
        """Return the pose of source_frame in target_frame; time 0 is the latest common time.

        Raises:
            LookupException: A frame is unknown, or the tree has a loop.
            ConnectivityException: The frames are in separate trees.
            ExtrapolationException: The buffer does not reach to that time.
            InvalidArgumentException: A name is empty or begins with a slash.
        """
        with self._lock:
            pose, stamp_ns = self._lookup(target_frame, source_frame, nanoseconds(time))
        return _message(pose, stamp_ns, target_frame, source_frame)

    def lookup_transform_full_core(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
    ) -> TransformStamped:
        """Return source_frame at source_time in target_frame at target_time.

        fixed_frame is the one that is taken as not moving between the two times.

        Raises:
            TransformException: As lookup_transform_core.
        """
        with self._lock:
            for argument, name in (
                ('target_frame', target_frame),
                ('source_frame', source_frame),
                ('fixed_frame', fixed_frame),
            ):
                self._validated(f'lookupTransform argument {argument}', name)
            first, _ = self._lookup(fixed_frame, source_frame, nanoseconds(source_time))
            second, stamp_ns = self._lookup(target_frame, fixed_frame, nanoseconds(target_time))
        x, y, z = apply_matrix(second[0], first[1])
        dx, dy, dz = second[1]
        pose = (multiply_matrices(second[0], first[0]), (x + dx, y + dy, z + dz))
        return _message(pose, stamp_ns, target_frame, source_frame)

    def can_transform_core(
        self, target_frame: str, source_frame: str, time: Time
    ) -> tuple[bool, str]:
        """Say whether lookup_transform_core would succeed, and if not why."""
        if target_frame == source_frame:
            return True, ''
        with self._lock:
            names = (('target_frame', target_frame), ('source_frame', source_frame))
            problem = self._name_problem(names)
            if problem:
                return False, problem
            return self._can(self._ids[target_frame], self._ids[source_frame], nanoseconds(time))

    def can_transform_full_core(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
    ) -> tuple[bool, str]:
        """Say whether lookup_transform_full_core would succeed, and if not why."""
        with self._lock:
            problem = self._name_problem(
                (
                    ('target_frame', target_frame),
                    ('source_frame', source_frame),
                    ('fixed_frame', fixed_frame),
                )
            )
            if problem:
                return False, problem
            target, source, fixed = (
                self._ids[name] for name in (target_frame, source_frame, fixed_frame)
            )
            possible, error = self._can(target, fixed, nanoseconds(target_time))
            if possible:
                possible, error = self._can(fixed, source, nanoseconds(source_time))
            return possible, error

    def get_latest_common_time(self, target_frame: str, source_frame: str) -> Time:
        """Return the newest time at which the pose between two frames is known.

        Raises:
            TransformException: There is none.
        """
        with self._lock:
            target = self._validated('get_latest_common_time', target_frame)
            source = self._validated('get_latest_common_time', source_frame)
            try:
                return Time(nanoseconds=self._latest_common_ns(target, source))
            except TransformException as error:
                raise TransformException(str(error)) from error

    def all_frames_as_string(self) -> str:
        """List the frames with their current parents, one a line."""
        with self._lock:
            lines = []
            for name, cache in zip(self._names, self._caches, strict=True):
                if cache is not None:
                    record, _ = cache.record_at(0)
                    parent = self._names[record.parent if record else NO_PARENT]
                    lines.append(f'Frame {name} exists with parent {parent}.\n')
            return ''.join(lines)

    def all_frames_as_yaml(self) -> str:
        """Describe the frames, their parents, senders, rates and stamps as YAML."""
        with self._lock:
            if len(self._names) == 1:
                return '[]'
            lines = []
            for number, cache in enumerate(self._caches):
                record = cache.record_at(0)[0] if cache is not None else None
                if cache is None or record is None:
                    continue
                span_ns = cache.latest_ns - cache.oldest_ns
                rate = len(cache) * 1e9 / max(span_ns, 100_000)
                sender = self._authorities.get(number, 'no recorded authority')
                lines.append(
                    f"{self._names[number]}: \n  parent: '{self._names[record.parent]}'\n"
                    f"  broadcaster: '{sender}'\n  rate: {rate:.3f}\n"
                    f'  most_recent_transform: {seconds_text(cache.latest_ns)}\n'
                    f'  oldest_transform: {seconds_text(cache.oldest_ns)}\n'
                    f'  buffer_length: {span_ns * 1e-9:.3f}\n'
                )
            return ''.join(lines)

    def _frameExists(self, frame_id: str) -> bool:  # noqa: N802 (upstream's name)
        return frame_id in self._ids

    def _getFrameStrings(self) -> list[str]:  # noqa: N802 (upstream's name)
        with self._lock:
            return self._names[1:]

    # -- the walk through the tree ----------------------------------------------------------------

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
                'The tf tree is invalid because it contains a loop.\n'
                f'{self.all_frames_as_string()}\n'
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

    def _ancestors(self, frame: int) -> Any:
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


def _oldest(stamps: list[int]) -> int:
    """Return the smallest stamp that is not 0 (0 is a static transform), or 0."""
    return min((stamp for stamp in stamps if stamp != 0), default=0)


def _name_rules(name: str) -> tuple[tuple[str, bool], ...]:
    return (
        ('cannot be empty', not name),
        ("cannot start with a '/'", name.startswith('/')),
    )


def _message(pose: Pose, stamp_ns: int, frame_id: str, child_frame_id: str) -> TransformStamped:
    message = TransformStamped()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
    message.header.frame_id = frame_id
    message.child_frame_id = child_frame_id
    t, r = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = pose[1]
    r.x, r.y, r.z, r.w = quaternion_from_matrix(pose[0])
    return message
