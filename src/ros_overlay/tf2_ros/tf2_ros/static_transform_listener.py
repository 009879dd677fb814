# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Filling a buffer from /tf_static alone."""

from rclpy.node import Node
from rclpy.qos import QoSProfile

from tf2_ros.buffer import Buffer
from tf2_ros.transform_listener import DEFAULT_STATIC_TF_TOPIC, TransformListener


class StaticTransformListener(TransformListener):
    """Puts the static transforms that are published into a buffer."""

    def __init__(
        self,
        buffer: Buffer,
        node: Node,
        *,
        spin_thread: bool = False,
        static_qos: QoSProfile | int | None = None,
        tf_static_topic: str = DEFAULT_STATIC_TF_TOPIC,
    ) -> None:
        """Subscribe; the arguments are those of TransformListener."""
        super().__init__(
            buffer,
            node,
            spin_thread=spin_thread,
            static_qos=static_qos,
            tf_static_topic=tf_static_topic,
            static_only=True,
        )
