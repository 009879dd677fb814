# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What perception publishes: the panorama for the stack; pictures, markers, points for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sensor_msgs.msg import CompressedImage, Image, PointCloud2
from visualization_msgs.msg import MarkerArray

from vln_core.errors import PerceptionError
from vln_core.observation import Panorama
from vln_core.perception.cloud import panorama_cloud
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_nodes import conversions, markers, qos, vision_messages
from vln_nodes.base import StackNode
from vln_nodes.camera_intake import CameraIntake
from vln_nodes.perception_parameters import PerceptionParameters
from vln_nodes.runtime import Worker


class PerceptionTopics:
    """Publishers of ``panorama``, ``detections/*``, ``panorama/points`` and ``way_frame``."""

    def __init__(self, node: StackNode, worker: Worker, config: PerceptionParameters) -> None:
        """Create the publishers; messages are made in ``worker``."""
        self._worker, self._config = worker, config
        self._panoramas = node.create_publisher(PanoramaMsg, 'panorama', qos.PANORAMA)
        self._markers = node.create_publisher(MarkerArray, 'detections/markers', qos.LATCHED)
        self._pictures = node.create_publisher(Image, 'detections/image', qos.VISUAL)
        self._clouds = node.create_publisher(PointCloud2, 'panorama/points', qos.VISUAL)
        self._way = node.create_publisher(CompressedImage, 'way_frame', qos.EVENTS)
        self._way_second = -1
        self._vision: Any | None = vision_messages.load()
        if self._vision is not None:
            make = node.create_publisher
            self._boxes_2d = make(self._vision.Detection2DArray, 'detections/boxes_2d', qos.EVENTS)
            self._boxes_3d = make(self._vision.Detection3DArray, 'detections/boxes', qos.VISUAL)

    def show_way(self, camera: CameraIntake) -> None:
        """Publish the first picture of a camera in every second, for the memory's window."""

        def on_color(stamp: int, message: Any) -> None:
            second = stamp // 10**9
            if second == self._way_second or not self._way.get_subscription_count():
                return
            self._way_second = second
            try:
                frame = conversions.jpeg_of_rgb(camera.color_of(message))
            except PerceptionError:
                return  # whoever asks for a view is told
            frame.header = message.header
            self._way.publish(frame)

        camera.on_color = on_color

    async def publish(self, panorama: Panorama, frame_of: Mapping[int, str]) -> None:
        """Publish a panorama; what only people look at is made where somebody subscribes.

        Args:
            panorama: The panorama.
            frame_of: Optical frame of each view by its index.
        """
        odom_frame, stamp = self._config.odom_frame, panorama.stamp
        first = frame_of[panorama.views[0].index]
        message = await self._worker.submit(
            conversions.panorama_msg, panorama, odom_frame, frame_of
        )
        self._panoramas.publish(message)
        self._markers.publish(markers.detection_markers(panorama, odom_frame))
        if self._vision is not None:
            for view in panorama.views:
                self._boxes_2d.publish(
                    vision_messages.boxes_2d(self._vision, panorama, view, frame_of[view.index])
                )
            self._boxes_3d.publish(vision_messages.boxes_3d(self._vision, panorama, odom_frame))
        if self._pictures.get_subscription_count():
            picture = await self._worker.submit(markers.detection_picture, panorama)
            self._pictures.publish(conversions.image_of_rgb(picture, stamp, first))
        if self._clouds.get_subscription_count():
            points, colors = await self._worker.submit(
                panorama_cloud, panorama, self._config.cloud_voxel, self._config.grounding
            )
            self._clouds.publish(conversions.cloud_msg(points, colors, stamp, odom_frame))
