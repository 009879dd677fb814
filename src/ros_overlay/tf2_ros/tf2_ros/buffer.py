# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The transform buffer with time-outs, awaitable lookups and the tf2_frames service."""

import threading
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.task import Future
from rclpy.time import Time
from tf2_msgs.srv import FrameGraph
from tf2_py import BufferCore

from tf2_ros.buffer_interface import BufferInterface

# A wait ends early when the clock falls this far behind the start: a bag that loops.
BACKWARD_JUMP = Duration(seconds=3)
POLL_PERIOD = 0.02


class Buffer(BufferCore, BufferInterface):
    """Keeps transforms for some seconds and answers lookups, waiting where asked to.

    Time-outs are in system time also under use_sim_time, as upstream. A wait blocks the calling
    thread: inside a callback of a single-threaded executor no transform arrives meanwhile, so
    await lookup_transform_async there.
    """

    def __init__(self, cache_time: Duration | None = None, node: Node | None = None) -> None:
        """Create the buffer.

        Args:
            cache_time: How long transforms are kept; 10 s by default.
            node: Offers the service tf2_frames on it, and clears the buffer when its clock jumps
                back by a second or more.
        """
        BufferCore.__init__(self, cache_time)
        BufferInterface.__init__(self)
        self._changed = threading.Condition()
        self._callbacks_lock = threading.RLock()
        self._new_data_callbacks: list[Callable[[], None]] = []
        if node is not None:
            self.srv = node.create_service(FrameGraph, 'tf2_frames', self._frames_service)
            self.clock = node.get_clock()
        else:
            self.clock = Clock()
        threshold = JumpThreshold(
            min_forward=None, min_backward=Duration(seconds=-1), on_clock_change=True
        )
        self.jump_handle = self.clock.create_jump_callback(
            threshold, post_callback=self.time_jump_callback
        )

    def _frames_service(
        self, _request: FrameGraph.Request, response: FrameGraph.Response
    ) -> FrameGraph.Response:
        response.frame_yaml = self.all_frames_as_yaml()
        return response

    def time_jump_callback(self, time_jump: TimeJump) -> None:
        """Forget everything that moved: after a jump back the stamps are from the future."""
        get_logger('tf2_buffer').warning('Detected jump back in time. Clearing tf buffer.')
        self.clear()

    def set_transform(self, transform: TransformStamped, authority: str) -> None:
        """Insert a transform of a moving frame and wake whoever waits for it."""
        super().set_transform(transform, authority)
        self._announce()

    def set_transform_static(self, transform: TransformStamped, authority: str) -> None:
        """Insert a transform that holds at any time and wake whoever waits for it."""
        super().set_transform_static(transform, authority)
        self._announce()

    def _announce(self) -> None:
        with self._changed:
            self._changed.notify_all()
        with self._callbacks_lock:
            callbacks = list(self._new_data_callbacks)
        for callback in callbacks:
            callback()

    def _wait_until(self, is_possible: Callable[[], bool], timeout: Duration) -> None:
        """Return when is_possible, after the time-out, or after a jump back of the clock."""
        if timeout == Duration():
            return
        clock = Clock()
        start = clock.now()
        with self._changed:
            while (
                clock.now() < start + timeout
                and not is_possible()
                and clock.now() + BACKWARD_JUMP >= start
            ):
                self._changed.wait(POLL_PERIOD)

    def lookup_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Time,
        timeout: Duration = Duration(),  # noqa: B008 (upstream's signature; never modified)
    ) -> TransformStamped:
        """Return the pose of source_frame in target_frame.

        Args:
            target_frame: The frame to express it in.
            source_frame: The frame whose pose is wanted.
            time: When; 0 is the latest common time.
            timeout: How long to wait for it, in system time.

        Raises:
            LookupException: A frame is unknown, or the tree has a loop.
            ConnectivityException: The frames are in separate trees.
            ExtrapolationException: The buffer does not reach to that time.
            InvalidArgumentException: A name is empty or begins with a slash.
        """
        self.can_transform(target_frame, source_frame, time, timeout)
        return self.lookup_transform_core(target_frame, source_frame, time)

    async def lookup_transform_async(
        self, target_frame: str, source_frame: str, time: Time
    ) -> TransformStamped:
        """Wait without blocking, then return the pose of source_frame in target_frame."""
        await self.wait_for_transform_async(target_frame, source_frame, time)
        return self.lookup_transform_core(target_frame, source_frame, time)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = Duration(),  # noqa: B008
    ) -> TransformStamped:
        """Return source_frame at source_time in target_frame at target_time.

        Args:
            target_frame: The frame to express it in.
            target_time: When that frame is meant.
            source_frame: The frame whose pose is wanted.
            source_time: When that frame is meant.
            fixed_frame: The frame taken as not moving between the two times.
            timeout: How long to wait for it, in system time.

        Raises:
            TransformException: As lookup_transform.
        """
        self.can_transform_full(
            target_frame, target_time, source_frame, source_time, fixed_frame, timeout
        )
        return self.lookup_transform_full_core(
            target_frame, target_time, source_frame, source_time, fixed_frame
        )

    async def lookup_transform_full_async(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
    ) -> TransformStamped:
        """Wait without blocking, then do lookup_transform_full."""
        arguments = (target_frame, target_time, source_frame, source_time, fixed_frame)
        await self.wait_for_transform_full_async(*arguments)
        return self.lookup_transform_full_core(*arguments)

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Time,
        timeout: Duration = Duration(),  # noqa: B008
        return_debug_tuple: bool = False,
    ) -> bool | tuple[bool, str]:
        """Say whether lookup_transform would succeed, waiting up to timeout for it.

        With return_debug_tuple the answer comes with the reason, '' when it is yes.
        """
        arguments = (target_frame, source_frame, time)
        self._wait_until(lambda: self.can_transform_core(*arguments)[0], timeout)
        result = self.can_transform_core(*arguments)
        return result if return_debug_tuple else result[0]

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = Duration(),  # noqa: B008
        return_debug_tuple: bool = False,
    ) -> bool | tuple[bool, str]:
        """Say whether lookup_transform_full would succeed, waiting up to timeout for it."""
        arguments = (target_frame, target_time, source_frame, source_time, fixed_frame)
        self._wait_until(lambda: self.can_transform_full_core(*arguments)[0], timeout)
        result = self.can_transform_full_core(*arguments)
        return result if return_debug_tuple else result[0]

    def wait_for_transform_async(self, target_frame: str, source_frame: str, time: Time) -> Future:
        """Return a future that gets the transform once it is available."""
        arguments = (target_frame, source_frame, time)
        return self._future(
            lambda: self.can_transform_core(*arguments)[0],
            lambda: self.lookup_transform_core(*arguments),
        )

    def wait_for_transform_full_async(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
    ) -> Future:
        """Return a future that gets the transform between two times once it is available."""
        arguments = (target_frame, target_time, source_frame, source_time, fixed_frame)
        return self._future(
            lambda: self.can_transform_full_core(*arguments)[0],
            lambda: self.lookup_transform_full_core(*arguments),
        )

    def _future(self, is_possible: Callable[[], bool], lookup: Callable[[], Any]) -> Future:
        future = Future()

        def try_now() -> None:
            try:
                if not future.done() and is_possible():
                    future.set_result(lookup())
            except Exception as error:  # handed to whoever awaits
                future.set_exception(error)

        def forget(_: Future) -> None:
            with self._callbacks_lock:
                if try_now in self._new_data_callbacks:
                    self._new_data_callbacks.remove(try_now)

        with self._callbacks_lock:
            # Registered before the first try, so that a transform in between is not missed.
            self._new_data_callbacks.append(try_now)
        future.add_done_callback(forget)
        try_now()
        return future
