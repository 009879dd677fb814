# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a lookup raises; every class is a TransformException."""


class TransformException(Exception):
    """Base of everything that tf2 raises."""


class ConnectivityException(TransformException):
    """The two frames are in trees that nothing connects."""


class LookupException(TransformException):
    """A frame is unknown, or the tree contains a loop."""


class ExtrapolationException(TransformException):
    """The time asked for lies outside what the buffer holds."""


class InvalidArgumentException(TransformException):
    """A frame name that tf2 does not allow: empty, or with a leading slash."""


class TimeoutException(TransformException):
    """A wait ended without the transform."""
