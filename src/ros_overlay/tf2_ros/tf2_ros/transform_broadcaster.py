# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Publishing the poses of moving frames."""

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from tf2_msgs.msg import TFMessage


def as_list(transform: TransformStamped | Iterable[TransformStamped]) -> list[TransformStamped]:
    """Return one or several transforms as a list."""
    return list(transform) if hasattr(transform, '__iter__') else [transform]


class TransformBroadcaster:
    """Sends transforms on /tf."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        """Create the publisher; qos defaults to reliable, volatile, the last 100."""
        self.pub_tf = node.create_publisher(TFMessage, '/tf', qos or QoSProfile(depth=100))

    def sendTransform(  # noqa: N802 (upstream's name)
        self, transform: TransformStamped | Iterable[TransformStamped]
    ) -> None:
        """Publish one transform, or several in one message."""
        self.pub_tf.publish(TFMessage(transforms=as_list(transform)))
