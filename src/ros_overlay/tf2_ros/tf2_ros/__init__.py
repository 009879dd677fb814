# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Transforms over ROS 2: buffer, listeners and broadcasters, under the upstream names."""

from tf2_py import (
    BufferCore,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)

from tf2_ros.buffer import Buffer
from tf2_ros.buffer_interface import (
    BufferInterface,
    NotImplementedException,
    TransformRegistration,
    TypeException,
)
from tf2_ros.static_transform_broadcaster import StaticTransformBroadcaster
from tf2_ros.static_transform_listener import StaticTransformListener
from tf2_ros.transform_broadcaster import TransformBroadcaster
from tf2_ros.transform_listener import TransformListener

__all__ = [
    'Buffer',
    'BufferCore',
    'BufferInterface',
    'ConnectivityException',
    'ExtrapolationException',
    'InvalidArgumentException',
    'LookupException',
    'NotImplementedException',
    'StaticTransformBroadcaster',
    'StaticTransformListener',
    'TimeoutException',
    'TransformBroadcaster',
    'TransformException',
    'TransformListener',
    'TransformRegistration',
    'TypeException',
]
