# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Filling a buffer from /tf and /tf_static."""

from threading import Thread

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from tf2_ros.buffer import Buffer

DEFAULT_TF_TOPIC = '/tf'
DEFAULT_STATIC_TF_TOPIC = '/tf_static'
AUTHORITY = 'default_authority'


def _qos(durability: DurabilityPolicy) -> QoSProfile:
    return QoSProfile(depth=100, durability=durability, history=HistoryPolicy.KEEP_LAST)


class TransformListener:
    """Puts every transform that is published into a buffer."""

    def __init__(
        self,
        buffer: Buffer,
        node: Node | None,
        *,
        spin_thread: bool = False,
        qos: QoSProfile | int | None = None,
        static_qos: QoSProfile | int | None = None,
        tf_topic: str = DEFAULT_TF_TOPIC,
        tf_static_topic: str = DEFAULT_STATIC_TF_TOPIC,
        static_only: bool = False,
    ) -> None:
        """Subscribe.

        Args:
            buffer: Where the transforms go.
            node: Whose subscriptions these are; None creates a node.
            spin_thread: Spin that node in a thread of its own.
            qos: Of /tf; reliable, volatile, the last 100 by default.
            static_qos: Of /tf_static; reliable, transient local, the last 100 by default.
            tf_topic: Another name for /tf.
            tf_static_topic: Another name for /tf_static.
            static_only: Do not listen to /tf.
        """
        self.buffer = buffer
        if node is None:
            node = Node(
                f'transform_listener_impl_{id(self):010x}',
                enable_rosout=False,
                start_parameter_services=False,
                parameter_overrides=[Parameter('use_sim_time', value=False)],
            )
        self.node = node
        # In the default, mutually exclusive group nothing would arrive while a callback waits.
        self.group = ReentrantCallbackGroup()
        if not static_only:
            self.tf_sub = node.create_subscription(
                TFMessage,
                tf_topic,
                self.callback,
                qos or _qos(DurabilityPolicy.VOLATILE),
                callback_group=self.group,
            )
        self.tf_static_sub = node.create_subscription(
            TFMessage,
            tf_static_topic,
            self.static_callback,
            static_qos or _qos(DurabilityPolicy.TRANSIENT_LOCAL),
            callback_group=self.group,
        )
        if spin_thread:
            self.executor = SingleThreadedExecutor()
            self.executor.add_node(node)
            # Not a daemon: rclpy.shutdown() ends it, and the interpreter waits for that.
            self.dedicated_listener_thread = Thread(target=_spin, args=(self.executor, node))
            self.dedicated_listener_thread.start()

    def __del__(self) -> None:
        """Stop the thread and the subscriptions."""
        if hasattr(self, 'dedicated_listener_thread'):
            self.executor.shutdown()
            self.dedicated_listener_thread.join()
        self.unregister()

    def unregister(self) -> None:
        """End the subscriptions."""
        for name in ('tf_sub', 'tf_static_sub'):
            if hasattr(self, name):
                self.node.destroy_subscription(getattr(self, name))

    def callback(self, data: TFMessage) -> None:
        """Take in moving frames."""
        for transform in data.transforms:
            self.buffer.set_transform(transform, AUTHORITY)

    def static_callback(self, data: TFMessage) -> None:
        """Take in frames that do not move."""
        for transform in data.transforms:
            self.buffer.set_transform_static(transform, AUTHORITY)


def _spin(executor: SingleThreadedExecutor, node: Node) -> None:
    """Spin until shutdown. Outside the class: a bound method would keep the listener alive."""
    try:
        executor.spin()
    except ExternalShutdownException:
        pass
    executor.remove_node(node)
