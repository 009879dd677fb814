# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The transform buffer without ROS communication: insert transforms, ask for them at a time.

Behaviour, exceptions and messages follow upstream's BufferCore, so that code written against it
cannot tell the difference; the messages are compared by the tests.
"""

import logging
import threading
from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time

from tf2_py.cache import Record, StaticCache, TimeCache, seconds_text
from tf2_py.exceptions import TransformException
from tf2_py.rotation import (
    apply_matrix,
    canonical,
    multiply_matrices,
    quaternion_from_matrix,
)
from tf2_py.tree import FrameTree, Pose
from tf2_py.validation import problems

logger = logging.getLogger('tf2')

DEFAULT_CACHE_NS = 10_000_000_000


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


class BufferCore(FrameTree):
    """Remembers, per frame, its parent and pose over the last seconds, and chains them."""

    def __init__(self, cache_time: Duration | None = None) -> None:
        """Start without frames; cache_time is how long transforms are kept (10 s)."""
        super().__init__()
        self._cache_ns = DEFAULT_CACHE_NS if cache_time is None else nanoseconds(cache_time)
        self._lock = threading.RLock()
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
        refused = problems(parent, child, translation, rotation, authority)
        for problem in refused:
            logger.error(problem)
        if refused:
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
            return self._listing()

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


def _message(pose: Pose, stamp_ns: int, frame_id: str, child_frame_id: str) -> TransformStamped:
    message = TransformStamped()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
    message.header.frame_id = frame_id
    message.child_frame_id = child_frame_id
    t, r = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = pose[1]
    r.x, r.y, r.z, r.w = quaternion_from_matrix(pose[0])
    return message
