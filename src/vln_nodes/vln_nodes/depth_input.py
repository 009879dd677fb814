# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Depth images with everything that belongs to them: intrinsics, and poses at their stamp."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_nodes import conversions, qos
from vln_nodes.awaiting import Changed, TfPoses
from vln_nodes.base import StackNode, steady_now
from vln_nodes.depth_lens import DepthLens

# In lock-step simulated time waits for this node: a slow machine is no reason to lose an image.
_LOCKSTEP_TIMEOUT = 5.0


@dataclass(frozen=True, eq=False)
class DepthSample:
    """One depth image.

    Attributes:
        stamp: Of the exposure, nanoseconds.
        arrived: Steady time of arrival, seconds; work on a sample must not make it younger.
        depth: (H, W) metres without lens distortion, see ``depth_of_image``.
        camera: Intrinsics of ``depth``.
        poses: (4, 4) pose of the optical frame at the stamp, in each frame asked for.
    """

    stamp: int
    arrived: float
    depth: NDArray[np.float32]
    camera: PinholeCamera
    poses: tuple[NDArray[np.float64], ...]


class DepthInput:
    """Subscribes to depth and CameraInfo; what lacks something is reported, not handed on."""

    def __init__(
        self,
        node: StackNode,
        changed: Changed,
        frames: tuple[str, ...],
        on_sample: Callable[[DepthSample], Awaitable[None]],
        *,
        is_lockstep: bool,
        tf_timeout: float,
        rectify: bool = True,
    ) -> None:
        """Subscribe.

        Args:
            node: The node.
            changed: Its wait.
            frames: Frames in which the camera's pose is wanted.
            on_sample: Called for every complete image.
            is_lockstep: Whether time waits for this node.
            tf_timeout: Longest wait for TF otherwise, seconds.
            rectify: Whether a lens that CameraInfo names is still in the images.
        """
        self._node = node
        self._changed = changed
        self._frames = frames
        self._on_sample = on_sample
        self._timeout = _LOCKSTEP_TIMEOUT if is_lockstep else tf_timeout
        self._poses = TfPoses(node, changed)
        self._info: CameraInfo | None = None
        self._lens = DepthLens(rectify=rectify)
        profile = qos.sensor(is_lockstep=is_lockstep)
        node.create_subscription(
            Image, 'camera/depth/image_raw', self._on_depth, profile, callback_group=changed.group
        )
        node.create_subscription(CameraInfo, 'camera/depth/camera_info', self._on_info, profile)

    def _on_info(self, info: CameraInfo) -> None:
        self._info = info
        self._changed.notify()

    async def _on_depth(self, message: Image) -> None:
        arrived = steady_now()
        stamp = conversions.stamp_ns(message.header.stamp)
        try:
            if not await self._changed.wait_for(lambda: self._info is not None, 1.0):
                raise PerceptionError('no camera/depth/camera_info: the camera has no intrinsics')
            camera = conversions.camera_of_info(self._info)
            poses = []
            for frame in self._frames:
                poses.append(
                    await self._poses.pose(frame, message.header.frame_id, stamp, self._timeout)
                )
            depth = self._lens.depth(message, self._info)
            await self._on_sample(DepthSample(stamp, arrived, depth, camera, tuple(poses)))
        except (PerceptionError, GeometryError) as error:
            # No sample: the watchdogs of depth and TF stop the robot.
            self._node.report(error=str(error))
            self._node.get_logger().warning(str(error), throttle_duration_sec=2.0)
