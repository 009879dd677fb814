# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Publishing the poses of frames that do not move."""

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from tf2_ros.transform_broadcaster import as_list


class StaticTransformBroadcaster:
    """Sends transforms on /tf_static, where late subscribers get the last message."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        """Create the publisher; qos defaults to reliable, transient local, the last one."""
        self.pub_tf = node.create_publisher(
            TFMessage,
            '/tf_static',
            qos
            or QoSProfile(
                depth=1,
                durability=DurabilityPolicy.TRANSIENT_LOCAL,
                history=HistoryPolicy.KEEP_LAST,
            ),
        )

    def sendTransform(  # noqa: N802 (upstream's name)
        self, transform: TransformStamped | Iterable[TransformStamped]
    ) -> None:
        """Publish one transform or several; a later call replaces what late subscribers get."""
        self.pub_tf.publish(TFMessage(transforms=as_list(transform)))
