# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Depth, its pose and odometry for the safety gate; what lacks something is no sample."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import CameraInfo, Image

from vln_core.control.body_band import obstacles_in_band
from vln_core.errors import GeometryError, PerceptionError
from vln_nodes import conversions, qos, runtime
from vln_nodes.awaiting import Changed, TfPoses
from vln_nodes.base import steady_now
from vln_nodes.depth_lens import DepthLens
from vln_nodes.safety_lockstep import Lockstep
from vln_nodes.safety_parameters import SafetyParameters

# A picture with a greater share of unknown pixels shows no obstacle because it shows nothing.
_MAX_UNKNOWN = 0.99


class SafetySensors:
    """Subscribes to the sensors and hands good samples to the gate of the node."""

    def __init__(
        self,
        node: Any,
        config: SafetyParameters,
        lock: threading.RLock,
        lockstep: Lockstep | None,
    ) -> None:
        """Subscribe.

        Args:
            node: A :class:`vln_nodes.safety_node.SafetyNode`.
            config: Of the node.
            lock: Of the gate.
            lockstep: Takes the samples in lock-step instead of the gate.
        """
        self._node, self._config, self._lock, self._lockstep = node, config, lock, lockstep
        self._changed = Changed(node)
        self._poses = TfPoses(node, self._changed)
        self._worker = runtime.Worker(node, 'collision')
        self._info: CameraInfo | None = None
        self._lens = DepthLens(rectify=config.rectify)
        sensor, group = qos.sensor(is_lockstep=config.lockstep), self._changed.group
        node.create_subscription(Odometry, 'odom', self._on_odometry, sensor)
        node.create_subscription(
            Image, 'camera/depth/image_raw', self._on_depth, sensor, callback_group=group
        )
        node.create_subscription(CameraInfo, 'camera/depth/camera_info', self._on_info, sensor)

    def _on_info(self, info: CameraInfo) -> None:
        self._info = info
        self._changed.notify()

    def _on_odometry(self, message: Odometry) -> None:
        now, stamp = steady_now(), conversions.stamp_ns(message.header.stamp)
        place, twist = message.pose.pose.position, message.twist.twist
        is_finite = all(map(math.isfinite, (place.x, place.y, twist.linear.x, twist.angular.z)))
        if self._lockstep is not None:
            self._lockstep.on_odometry(stamp, is_finite=is_finite)
            return
        with self._lock:
            self._node.gate.on_odometry(stamp, now, is_finite=is_finite, delay=self._delay(stamp))

    async def _on_depth(self, message: Image) -> None:
        arrived = steady_now()  # work on a sample must not make it younger
        stamp = conversions.stamp_ns(message.header.stamp)
        config, frame, delay = self._config, message.header.frame_id, self._delay(stamp)
        try:
            if not await self._changed.wait_for(lambda: self._info is not None, 1.0):
                raise PerceptionError('no camera/depth/camera_info: the camera has no intrinsics')
            camera = conversions.camera_of_info(self._info)
            timeout = 5.0 if config.lockstep else config.gate.input_timeout
            await self._poses.pose(config.odom_frame, frame, stamp, timeout)
            mount = await self._poses.pose(config.base_frame, frame, stamp, timeout)
            seen = await self._worker.submit(self._obstacles, message, self._info, camera, mount)
        except (PerceptionError, GeometryError) as error:
            # No sample: the watchdog of depth or TF stops the robot.
            self._node.get_logger().warning(str(error), throttle_duration_sec=2.0)
            self._node.report(error=str(error))
            return
        if self._lockstep is not None:
            self._lockstep.on_depth(stamp, seen)
            return
        with self._lock:
            self._node.gate.on_tf(arrived)
            self._node.gate.on_depth(stamp, arrived, seen, delay=delay)

    def _delay(self, stamp: int) -> float:
        """Age of a stamp by the node's clock, s; negative: it lies in the future."""
        return (self._node.get_clock().now().nanoseconds - stamp) * 1e-9

    def _obstacles(
        self, message: Image, info: CameraInfo, camera: Any, mount: np.ndarray
    ) -> np.ndarray:
        depth = self._lens.depth(message, info)
        if np.count_nonzero(np.isnan(depth)) > _MAX_UNKNOWN * depth.size:
            raise PerceptionError('the depth image knows nothing: is the camera covered?')
        return obstacles_in_band(depth, camera, mount, self._config.band)

    def close(self) -> None:
        """End whoever waits."""
        self._changed.close()
        self._worker.close()
