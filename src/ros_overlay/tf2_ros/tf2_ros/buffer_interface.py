# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What buffers have in common: transforming stamped objects of registered types."""

from collections.abc import Callable
from typing import Any, ClassVar

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time


class TypeException(Exception):
    """No transformation is registered for a type."""

    def __init__(self, errstr: str) -> None:
        """Keep the message under upstream's attribute name."""
        super().__init__(errstr)
        self.errstr = errstr


class NotImplementedException(Exception):
    """A subclass of BufferInterface lacks the method that was called."""

    def __init__(self) -> None:
        """Keep the message under upstream's attribute name."""
        self.errstr = 'CanTransform or LookupTransform not implemented'
        super().__init__(self.errstr)


class TransformRegistration:
    """The table, shared by all instances, from a type to the function that transforms it."""

    _functions: ClassVar[dict[type, Callable[[Any, TransformStamped], Any]]] = {}

    def add(self, key: type, callback: Callable[[Any, TransformStamped], Any]) -> None:
        """Register the function for a type."""
        self._functions[key] = callback

    def get(self, key: type) -> Callable[[Any, TransformStamped], Any]:
        """Return the function for a type.

        Raises:
            TypeException: None is registered.
        """
        if key not in self._functions:
            raise TypeException(f'Type {key} is not loaded or supported')
        return self._functions[key]


class BufferInterface:
    """Base of buffers; subclasses provide the lookups."""

    def __init__(self) -> None:
        """Give access to the registered types."""
        self.registration = TransformRegistration()

    def transform(
        self, object_stamped: Any, target_frame: str, timeout: Duration | None = None
    ) -> Any:
        """Return a stamped object as seen from target_frame at the object's own stamp.

        Raises:
            TypeException: Its type is not registered.
            TransformException: As lookup_transform.
        """
        function = self.registration.get(type(object_stamped))
        header = object_stamped.header
        return function(
            object_stamped,
            self.lookup_transform(
                target_frame, header.frame_id, header.stamp, timeout or Duration()
            ),
        )

    def transform_full(
        self,
        object_stamped: Any,
        target_frame: str,
        target_time: Time,
        fixed_frame: str,
        timeout: Duration | None = None,
    ) -> Any:
        """Return a stamped object as seen from target_frame at target_time.

        Raises:
            TypeException: Its type is not registered.
            TransformException: As lookup_transform_full.
        """
        function = self.registration.get(type(object_stamped))
        header = object_stamped.header
        return function(
            object_stamped,
            self.lookup_transform_full(
                target_frame,
                target_time,
                header.frame_id,
                header.stamp,
                fixed_frame,
                timeout or Duration(),
            ),
        )

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Time, timeout: Duration | None = None
    ) -> TransformStamped:
        """Raise NotImplementedException; a subclass overrides it."""
        raise NotImplementedException

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration | None = None,
    ) -> TransformStamped:
        """Raise NotImplementedException; a subclass overrides it."""
        raise NotImplementedException

    def can_transform(
        self, target_frame: str, source_frame: str, time: Time, timeout: Duration | None = None
    ) -> bool:
        """Raise NotImplementedException; a subclass overrides it."""
        raise NotImplementedException

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration | None = None,
    ) -> bool:
        """Raise NotImplementedException; a subclass overrides it."""
        raise NotImplementedException
