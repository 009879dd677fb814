# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The topics of a camera, raw or compressed, brought together and converted for the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from vln_core.errors import ConfigError, GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.perception import camera_checks, intake
from vln_nodes import conversions, qos
from vln_nodes.awaiting import Changed
from vln_nodes.base import steady_now
from vln_nodes.frames import FrameBuffer
from vln_nodes.parameters import parameter
from vln_nodes.silence import silence_of

_COLOR = {'raw': ('', Image), 'compressed': ('/compressed', CompressedImage)}
_DEPTH = {'raw': ('', Image), 'compressedDepth': ('/compressedDepth', CompressedImage)}
# A camera that says nothing for this long is told of.
_SILENT = 3.0


@dataclass(frozen=True)
class IntakeParameters:
    """How pictures come, and what is refused."""

    color_transport: str = parameter('raw', "Colour comes 'raw' or 'compressed' (JPEG, PNG).")
    depth_transport: str = parameter('raw', "Depth comes 'raw' or as 'compressedDepth' (PNG).")
    rectify: bool = parameter(
        True, 'Remove the lens distortion; false where the topics are rectified already.'
    )
    swap_red_blue: bool = parameter(
        False, 'Swap red and blue: for a driver that names its channels in the wrong order.'
    )
    max_age: float = parameter(
        2.0, 'Oldest picture on arrival, s; not in lock-step.', minimum=0.05
    )
    settle_time: float = parameter(
        0.15,
        'From the end of a motion until a picture counts as taken at rest, s; not in lock-step.',
        minimum=0.0,
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
    """Subscribes to a camera and keeps its last frames; callbacks of one executor only."""

    def __init__(
        self,
        node: Node,
        changed: Changed,
        config: IntakeParameters,
        *,
        name: str = 'camera',
        slop: int,
        is_lockstep: bool,
        is_simulated: bool,
    ) -> None:
        """Subscribe.

        Args:
            node: Whose topics they are.
            changed: Told of every arrival.
            config: Transports and limits.
            name: Namespace of the camera's topics.
            slop: Largest difference of stamps of one frame, ns.
            is_lockstep: Sensors are reliable and time may stand still.
            is_simulated: The semantic image belongs to a frame too.
        """
        self._node, self._changed, self._config = node, changed, config
        self._is_lockstep = is_lockstep
        self.name = name
        self.info: CameraInfo | None = None
        self.depth_info: CameraInfo | None = None
        self.problem = ''
        self.on_color: Callable[[int, Any], None] | None = None
        """Told stamp (ns) and message of every colour picture that arrives."""
        self._rectifier: tuple[Any, intake.Rectifier] | None = None
        self._profile = qos.sensor(is_lockstep=is_lockstep)
        color_suffix, color_type = _COLOR[config.color_transport]
        depth_suffix, depth_type = _DEPTH[config.depth_transport]
        self._topics: dict[str, tuple[str, Any]] = {
            'color': (f'{name}/color/image_raw{color_suffix}', color_type),
            'depth': (f'{name}/depth/image_raw{depth_suffix}', depth_type),
        }
        if is_simulated:
            self._topics['semantic'] = ('sim/semantic', Image)
        self.frames = FrameBuffer(list(self._topics), slop)
        self._heard = dict.fromkeys(self._topics, steady_now())
        for stream, (topic, kind) in self._topics.items():
            node.create_subscription(
                kind, topic, lambda image, name=stream: self._on_image(name, image), self._profile
            )
        for info_name, stream in (('info', 'color'), ('depth_info', 'depth')):
            node.create_subscription(
                CameraInfo,
                f'{name}/{stream}/camera_info',
                lambda info, name=info_name: self._on_info(name, info),
                self._profile,
            )

    def _on_image(self, stream: str, image: Any) -> None:
        stamp = conversions.stamp_ns(image.header.stamp)
        if not self._is_lockstep:
            now = self._node.get_clock().now().nanoseconds
            self.problem = camera_checks.stamp_problem(stamp, now, self._config.max_age)
        self._heard[stream] = steady_now()
        self.frames.add(stream, stamp, image)
        if stream == 'color' and self.on_color is not None:
            self.on_color(stamp, image)
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
        missing = self.frames.missing(not_before)
        for stream in missing:
            if self.frames.missing(0).count(stream):
                hint = _ONLY_SIMULATED if stream == 'semantic' else ''
                return self._silence(stream) + hint
        if not missing and self.info is None:
            return self._no_info()
        names = ' and '.join(self._topics[stream][0] for stream in missing)
        if not names:
            return (
                f'colour and depth of {self.name} have no stamps in common within sync_slop: '
                'synchronise the streams in the driver (enable_sync), or raise sync_slop'
            )
        return (
            f'no {names} from {not_before * 1e-9:.3f} s on within {timeout:g} s: the camera went '
            'silent, or its stamps lag behind the odometry'
        )

    def watch(self) -> str:
        """Return what is wrong with the camera at this moment, for people; '' if it is well."""
        if self.problem:
            return self.problem
        if not self._is_lockstep:  # where time stands still, silence is no fault
            now = steady_now()
            for stream, heard in self._heard.items():
                if now - heard > _SILENT:
                    return self._silence(stream)
            if self.info is None:
                return self._no_info()
        frame = self.frames.newest(0)
        try:
            if self.info is not None:
                self.camera()
        except GeometryError as error:
            return str(error)
        if frame is not None and self.needs_registration(frame) and self.depth_info is None:
            return self.registration_problem(frame)
        return ''

    def _silence(self, stream: str) -> str:
        topic, kind = self._topics[stream]
        return silence_of(self._node, topic, kind, self._profile)

    def _no_info(self) -> str:
        topic = f'{self.name}/color/camera_info'
        why = silence_of(self._node, topic, CameraInfo, self._profile)
        return f'the camera has no intrinsics: {why}'

    def camera(self) -> PinholeCamera:
        """Return the intrinsics of the pictures as they are handed on.

        Raises:
            GeometryError: There are none, or they are unusable.
        """
        if self.info is None:
            raise GeometryError(self._no_info())
        return conversions.camera_of_info(self.info)

    def needs_registration(self, frame: dict[str, Any]) -> bool:
        """Tell whether depth was taken by another camera than colour."""
        color, depth = frame['color'].header.frame_id, frame['depth'].header.frame_id
        return bool(depth) and color != depth

    def registration_problem(self, frame: dict[str, Any]) -> str:
        """Return for people why depth does not belong to colour and cannot be moved there."""
        color, depth = frame['color'].header.frame_id, frame['depth'].header.frame_id
        problem = camera_checks.size_problem((0, 0), (0, 0), color, depth)
        if self.depth_info is None:
            return f'{problem}; or publish {self.name}/depth/camera_info'
        return problem

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
        rgb, depth_message = self.color_of(frame['color']), frame['depth']
        depth = _read(depth_message, conversions.depth_of_image, conversions.depth_of_transport)
        encoding = getattr(depth_message, 'encoding', '') or depth_message.format.split(';')[0]
        problem = camera_checks.depth_unit_problem(depth, encoding)
        if problem:
            raise PerceptionError(problem)
        lens = self._lens()
        if color_tform_depth is not None and self.depth_info is not None:
            depth_camera = conversions.camera_of_info(self.depth_info)
            _fits(depth, depth_camera, f'{self.name}/depth/camera_info')
            target = camera if lens is None else lens[0].raw
            depth = intake.register_depth(depth, depth_camera, target, color_tform_depth)
        size = (rgb.shape[1], rgb.shape[0])
        problem = camera_checks.size_problem(size, (depth.shape[1], depth.shape[0]), '', '')
        if problem:
            raise GeometryError(problem)
        _fits(rgb, camera, f'{self.name}/color/camera_info')
        if lens is not None:
            rgb, depth = lens[1].color(rgb), lens[1].depth(depth)
        return rgb, depth

    def color_of(self, message: Any) -> NDArray[np.uint8]:
        """Return a colour picture as (H, W, 3), red first, as the lens shows it.

        Raises:
            PerceptionError: It cannot be read.
        """
        rgb = _read(message, conversions.rgb_of_image, conversions.rgb_of_compressed)
        return np.ascontiguousarray(rgb[..., ::-1]) if self._config.swap_red_blue else rgb

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
