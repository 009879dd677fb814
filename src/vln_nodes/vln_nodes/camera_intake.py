# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The topics of a camera, raw or compressed, brought together and converted for the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from vln_core.errors import ConfigError, GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.perception import intake
from vln_nodes import conversions, qos
from vln_nodes.awaiting import Changed
from vln_nodes.frames import FrameBuffer
from vln_nodes.parameters import parameter

_COLOR = {'raw': ('', Image), 'compressed': ('/compressed', CompressedImage)}
_DEPTH = {'raw': ('', Image), 'compressedDepth': ('/compressedDepth', CompressedImage)}


@dataclass(frozen=True)
class IntakeParameters:
    """How pictures come, and what is refused."""

    color_transport: str = parameter('raw', "Colour comes 'raw' or 'compressed' (JPEG, PNG).")
    depth_transport: str = parameter('raw', "Depth comes 'raw' or as 'compressedDepth' (PNG).")
    rectify: bool = parameter(
        True, 'Remove the lens distortion; false where the topics are rectified already.'
    )
    max_age: float = parameter(
        2.0, 'Oldest picture on arrival, s; not in lock-step.', minimum=0.05
    )
    max_retakes: int = parameter(
        2, 'Further pictures of a view that is blurred; not in lock-step.', minimum=0
    )
    blur_ratio: float = parameter(
        0.3,
        'A view less sharp than this fraction of the last one taken is blurred.',
        minimum=0.0,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        if self.color_transport not in _COLOR or self.depth_transport not in _DEPTH:
            raise ConfigError(
                f"intake: transports '{self.color_transport}', '{self.depth_transport}': choose "
                f'from {", ".join(_COLOR)} and {", ".join(_DEPTH)}'
            )


_ONLY_SIMULATED = " The detector 'simulated' works in simulation only; on a robot choose another."


class CameraIntake:
    """Subscribes to the camera and keeps its last frames; callbacks of one executor only."""

    def __init__(
        self,
        node: Node,
        changed: Changed,
        config: IntakeParameters,
        *,
        slop: int,
        is_lockstep: bool,
        is_simulated: bool,
    ) -> None:
        """Subscribe.

        Args:
            node: Whose topics they are.
            changed: Told of every arrival.
            config: Transports and limits.
            slop: Largest difference of stamps of one frame, ns.
            is_lockstep: Sensors are reliable and time may stand still.
            is_simulated: The semantic image belongs to a frame too.
        """
        self._node, self._changed, self._config = node, changed, config
        self._is_lockstep = is_lockstep
        self.info: CameraInfo | None = None
        self.depth_info: CameraInfo | None = None
        self.problem = ''
        self._rectifier: tuple[Any, intake.Rectifier] | None = None
        profile = qos.sensor(is_lockstep=is_lockstep)
        color_suffix, color_type = _COLOR[config.color_transport]
        depth_suffix, depth_type = _DEPTH[config.depth_transport]
        topics: dict[str, tuple[str, Any]] = {
            'color': (f'camera/color/image_raw{color_suffix}', color_type),
            'depth': (f'camera/depth/image_raw{depth_suffix}', depth_type),
        }
        if is_simulated:
            topics['semantic'] = ('sim/semantic', Image)
        self.frames = FrameBuffer(list(topics), slop)
        for stream, (topic, kind) in topics.items():
            node.create_subscription(
                kind, topic, lambda image, name=stream: self._on_image(name, image), profile
            )
        for name, stream in (('info', 'color'), ('depth_info', 'depth')):
            node.create_subscription(
                CameraInfo,
                f'camera/{stream}/camera_info',
                lambda info, name=name: self._on_info(name, info),
                profile,
            )

    def _on_image(self, stream: str, image: Any) -> None:
        stamp = conversions.stamp_ns(image.header.stamp)
        if not self._is_lockstep:
            now = self._node.get_clock().now().nanoseconds
            self.problem = intake.stamp_problem(stamp, now, self._config.max_age)
        self.frames.add(stream, stamp, image)
        self._changed.notify()

    def _on_info(self, name: str, info: CameraInfo) -> None:
        setattr(self, name, info)
        self._changed.notify()

    async def frame(
        self, not_before: int, timeout: float, newer_than: int = 0
    ) -> dict[str, Any] | None:
        """Return the newest complete frame from ``not_before`` on (ns), or None in time."""
        oldest = max(not_before, newer_than + 1 if newer_than else 0)
        await self._changed.wait_for(
            lambda: self.info is not None and self.frames.newest(oldest) is not None, timeout
        )
        return self.frames.newest(oldest)

    def why_none(self, not_before: int, timeout: float) -> str:
        """Return for people why there is no frame."""
        if self.problem:
            return self.problem
        try:
            if self.info is not None:
                self.camera()
        except GeometryError as error:
            return str(error)
        missing: Sequence[str] = self.frames.missing(not_before)
        if not missing and self.info is None:
            return 'no camera/color/camera_info was received: the camera has no intrinsics'
        names = ', '.join(missing) or 'images with equal stamps'
        return (
            f'no {names} from {not_before * 1e-9:.3f} s on within {timeout:g} s; is the camera '
            'running, with matching stamps and QoS?'
            + (_ONLY_SIMULATED if 'semantic' in missing else '')
        )

    def camera(self) -> PinholeCamera:
        """Return the intrinsics of the pictures as they are handed on.

        Raises:
            GeometryError: There are none, or they are unusable.
        """
        if self.info is None:
            raise GeometryError(
                'no camera/color/camera_info was received: the camera has no intrinsics'
            )
        return conversions.camera_of_info(self.info)

    def needs_registration(self, frame: dict[str, Any]) -> bool:
        """Tell whether depth was taken by another camera than colour."""
        color, depth = frame['color'].header.frame_id, frame['depth'].header.frame_id
        return bool(depth) and color != depth

    def convert(
        self, frame: dict[str, Any], color_tform_depth: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return colour (H, W, 3) and depth (H, W) metres of one rectified camera.

        Args:
            frame: As :meth:`frame` gave it.
            color_tform_depth: (4, 4) pose of the depth camera in the colour camera where they
                differ; depth is moved over with it.

        Raises:
            PerceptionError: Pictures that cannot be read or an impossible unit.
            GeometryError: Sizes that do not fit each other or the intrinsics.
        """
        camera = self.camera()
        color, depth_message = frame['color'], frame['depth']
        rgb = _read(color, conversions.rgb_of_image, conversions.rgb_of_compressed)
        depth = _read(depth_message, conversions.depth_of_image, conversions.depth_of_transport)
        encoding = getattr(depth_message, 'encoding', '') or depth_message.format.split(';')[0]
        problem = intake.depth_unit_problem(depth, encoding)
        if problem:
            raise PerceptionError(problem)
        lens = self._lens()
        if color_tform_depth is not None and self.depth_info is not None:
            depth_camera = conversions.camera_of_info(self.depth_info)
            _fits(depth, depth_camera, 'camera/depth/camera_info')
            target = camera if lens is None else lens[0].raw
            depth = intake.register_depth(depth, depth_camera, target, color_tform_depth)
        size = (rgb.shape[1], rgb.shape[0])
        problem = intake.size_problem(size, (depth.shape[1], depth.shape[0]), '', '')
        if problem:
            raise GeometryError(problem)
        _fits(rgb, camera, 'camera/color/camera_info')
        if lens is not None:
            rgb, depth = lens[1].color(rgb), lens[1].depth(depth)
        return rgb, depth

    def _lens(self) -> tuple[intake.Distortion, intake.Rectifier] | None:
        """Return lens and rectifier; None where there is nothing to straighten."""
        info = self.info
        if not self._config.rectify or info is None or not any(info.d):
            return None
        distortion = conversions.distortion_of_info(info)
        key = (distortion, self.camera())
        if self._rectifier is None or self._rectifier[0] != key:
            self._rectifier = (key, intake.Rectifier(*key))
        return distortion, self._rectifier[1]


def _read(
    message: Any, raw: Callable[[Any], Any], compressed: Callable[[Any], Any]
) -> NDArray[Any]:
    return compressed(message) if isinstance(message, CompressedImage) else raw(message)


def _fits(picture: NDArray[Any], camera: PinholeCamera, topic: str) -> None:
    if picture.shape[:2] != (camera.height, camera.width):
        raise GeometryError(
            f'{topic} is for {camera.width} x {camera.height} px, the picture has '
            f'{picture.shape[1]} x {picture.shape[0]} px: calibrate this mode of the camera, or '
            'correct binning and region of interest in its CameraInfo'
        )
