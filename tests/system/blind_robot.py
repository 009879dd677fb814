# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that gives everything but calibrated intrinsics; run as a process."""

from __future__ import annotations

import numpy as np
import rclpy
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

from vln_nodes import conversions, qos

WIDTH, HEIGHT = 320, 240
CAMERA = 'camera_color_optical_frame'


class BlindRobot(Node):
    """Publishes what robot.launch.xml wants; ``k`` of CameraInfo stays zero."""

    def __init__(self) -> None:
        super().__init__('blind_robot')
        sensor = qos.sensor(is_lockstep=False)
        self._odometry = self.create_publisher(Odometry, 'odom', sensor)
        self._images = {
            name: (
                self.create_publisher(Image, f'camera/{name}/image_raw', sensor),
                self.create_publisher(CameraInfo, f'camera/{name}/camera_info', sensor),
            )
            for name in ('color', 'depth')
        }
        self._tf = TransformBroadcaster(self)
        self._tf_static = StaticTransformBroadcaster(self)
        self._tf_static.sendTransform(self._transform('base_link', CAMERA))
        self.create_timer(0.05, self._publish_odometry)
        self.create_timer(0.1, self._publish_images)

    def _transform(self, parent: str, child: str) -> TransformStamped:
        message = TransformStamped(child_frame_id=child)
        message.header.frame_id = parent
        message.header.stamp = self.get_clock().now().to_msg()
        message.transform.rotation.w = 1.0
        return message

    def _publish_odometry(self) -> None:
        message = Odometry(child_frame_id='base_link')
        message.header.frame_id = 'odom'
        message.header.stamp = self.get_clock().now().to_msg()
        message.pose.pose.orientation.w = 1.0
        self._odometry.publish(message)
        self._tf.sendTransform(self._transform('odom', 'base_link'))

    def _publish_images(self) -> None:
        stamp = self.get_clock().now()
        image = conversions.image_of_rgb(
            np.zeros((HEIGHT, WIDTH, 3), np.uint8), stamp.nanoseconds, CAMERA
        )
        depth = Image(header=image.header, height=HEIGHT, width=WIDTH, encoding='16UC1')
        depth.step = 2 * WIDTH
        depth.data = np.full(WIDTH * HEIGHT, 3000, '<u2').tobytes()
        info = CameraInfo(header=image.header, height=HEIGHT, width=WIDTH)
        for name, message in (('color', image), ('depth', depth)):
            self._images[name][0].publish(message)
            self._images[name][1].publish(info)


if __name__ == '__main__':
    rclpy.init()
    rclpy.spin(BlindRobot())
