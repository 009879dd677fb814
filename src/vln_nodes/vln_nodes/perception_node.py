# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Takes the views of a look-around, detects, and publishes the panorama."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image
from visualization_msgs.msg import MarkerArray

from vln_core.errors import GeometryError, PerceptionError
from vln_core.observation import Panorama, Segment, View
from vln_core.perception.grounding import GroundingConfig
from vln_core.perception.panorama import PanoramaBuilder
from vln_core.perception.simulated import SimulatedDetector, SimulatedDetectorConfig
from vln_interfaces.msg import LabelTable
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_interfaces.srv import Capture
from vln_nodes import conversions, markers, parameters, qos, runtime
from vln_nodes.awaiting import Changed, TfPoses
from vln_nodes.base import StackNode
from vln_nodes.frames import FrameBuffer
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class PerceptionParameters:
    """Parameters of the perception node."""

    detector: str = parameter('simulated', "Back end of the detector: 'simulated'.")
    lockstep: bool = parameter(False, 'Strict lock-step with the simulator: reliable sensors.')
    odom_frame: str = parameter('odom', 'Odometry frame.')
    base_frame: str = parameter('base_link', 'Body frame of the robot.')
    image_timeout: float = parameter(3.0, 'Longest wait for an image, s.', minimum=0.05)
    tf_timeout: float = parameter(1.0, 'Longest wait for TF at the image stamp, s.', minimum=0.0)
    sync_slop: float = parameter(
        0.03, 'Largest difference of stamps of colour and depth, s.', minimum=0.0
    )
    grounding: GroundingConfig = field(default_factory=GroundingConfig)
    simulated: SimulatedDetectorConfig = field(default_factory=SimulatedDetectorConfig)


class PerceptionNode(StackNode):
    """Serves ``perception/capture``; publishes ``panorama`` and pictures of the detections."""

    def __init__(self) -> None:
        super().__init__('perception')
        self._config = parameters.load(self, PerceptionParameters())
        self._worker = runtime.Worker(self, 'detector')
        self._changed = Changed(self)
        self._poses = TfPoses(self, self._changed)
        is_simulated = self._config.detector == 'simulated'
        streams = ('color', 'depth', 'semantic') if is_simulated else ('color', 'depth')
        self._frames = FrameBuffer(streams, int(self._config.sync_slop * 1e9))
        self._info: CameraInfo | None = None
        self._detector: SimulatedDetector | None = None
        self._semantic: tuple[int, NDArray[np.uint16]] | None = None
        self._builder = PanoramaBuilder(self, self._config.grounding)
        self._base_tform: NDArray[np.float64] | None = None
        self._camera_frame = ''
        self._subscribe(is_simulated)
        self._panoramas = self.create_publisher(PanoramaMsg, 'panorama', qos.PANORAMA)
        self._markers = self.create_publisher(MarkerArray, 'detections/markers', qos.LATCHED)
        self._pictures = self.create_publisher(Image, 'detections/image', qos.VISUAL)
        self._service = self.create_service(
            Capture, 'perception/capture', self._on_capture, callback_group=self._changed.group
        )

    def _subscribe(self, is_simulated: bool) -> None:
        profile = qos.sensor(is_lockstep=self._config.lockstep)
        topics = {'color': 'camera/color/image_raw', 'depth': 'camera/depth/image_raw'}
        if is_simulated:
            topics['semantic'] = 'sim/semantic'
            self.create_subscription(LabelTable, 'sim/labels', self._on_labels, qos.LATCHED)
        for stream, topic in topics.items():
            self.create_subscription(
                Image, topic, lambda image, name=stream: self._on_image(name, image), profile
            )
        self.create_subscription(
            CameraInfo, 'camera/color/camera_info', self._on_info, profile
        )  # fmt: skip

    def _on_image(self, stream: str, image: Image) -> None:
        self._frames.add(stream, conversions.stamp_ns(image.header.stamp), image)
        self._changed.notify()

    def _on_info(self, info: CameraInfo) -> None:
        self._info = info
        self._changed.notify()

    def _on_labels(self, table: LabelTable) -> None:
        categories = {label.id: label.category for label in table.labels}
        self._detector = SimulatedDetector(categories, self._semantic_of, self._config.simulated)

    def _semantic_of(self, view: View) -> NDArray[np.uint16]:
        if self._semantic is None or self._semantic[0] != view.stamp:
            raise PerceptionError(f'no semantic image of the view of {view.stamp * 1e-9:.3f} s')
        return self._semantic[1]

    def detect(self, view: View, words: list[str]) -> list[Segment]:
        """Detect with the back end that fits the present scene (Detector protocol)."""
        if self._detector is None:
            raise PerceptionError('the simulator has not published sim/labels')
        return self._detector.detect(view, words)

    async def _on_capture(
        self, request: Capture.Request, response: Capture.Response
    ) -> Capture.Response:
        try:
            await self._capture(request, response)
        except _Refused as refusal:
            response.error_code, response.error_msg = refusal.code, str(refusal)
            self.get_logger().warning(str(refusal), throttle_duration_sec=2.0)
        self.report(
            error=response.error_msg, panorama=response.panorama_id, view=request.index
        )  # fmt: skip
        return response

    async def _capture(self, request: Capture.Request, response: Capture.Response) -> None:
        frame = await self._frame(conversions.stamp_ns(request.not_before))
        info = self._checked_info(frame)
        config, stamp = self._config, frame['stamp']
        tf_timeout = config.tf_timeout * (5.0 if config.lockstep else 1.0)
        try:
            camera = conversions.camera_of_info(info)
            self._camera_frame = frame['color'].header.frame_id
            camera_tform = await self._poses.pose(
                config.odom_frame, self._camera_frame, stamp, tf_timeout
            )
            if request.index == 0:
                self._builder.begin()
                self._base_tform = await self._poses.pose(
                    config.odom_frame, config.base_frame, stamp, tf_timeout
                )
        except GeometryError as error:
            raise _Refused(Capture.Response.BAD_CAMERA, str(error)) from error
        except PerceptionError as error:
            raise _Refused(Capture.Response.NO_TF, str(error)) from error
        if request.index != self._builder.num_views_taken:
            raise _Refused(
                Capture.Response.WRONG_ORDER,
                f'view {request.index} was asked for, view {self._builder.num_views_taken} is due',
            )
        response.hfov = camera.hfov

        def work() -> Panorama | None:
            view = View(
                index=request.index,
                yaw=request.yaw,
                rgb=conversions.rgb_of_image(frame['color']),
                depth=conversions.depth_of_image(frame['depth']),
                camera=camera,
                odom_tform_camera=camera_tform,
                stamp=stamp,
            )
            if 'semantic' in frame:
                self._semantic = (stamp, conversions.semantic_of_image(frame['semantic']))
            self._builder.add(view, list(request.landmarks))
            return self._builder.finish(self._base_tform) if self._is_last(request) else None

        try:
            panorama = await self._worker.submit(work)
            if panorama is not None:
                await self._publish(panorama)
                response.panorama_id = panorama.id
        except (PerceptionError, GeometryError) as error:
            raise _Refused(Capture.Response.DETECTOR_FAILED, str(error)) from error

    @staticmethod
    def _is_last(request: Capture.Request) -> bool:
        return request.num_views > 0 and request.index == request.num_views - 1

    async def _frame(self, not_before: int) -> dict[str, Any]:
        # In lock-step a loaded machine is slow, not broken: the run must not depend on it.
        timeout = self._config.image_timeout * (5.0 if self._config.lockstep else 1.0)
        await self._changed.wait_for(
            lambda: self._info is not None and self._frames.newest(not_before) is not None, timeout
        )
        frame = self._frames.newest(not_before)
        if frame is None:
            missing = ', '.join(self._frames.missing(not_before)) or 'images with equal stamps'
            raise _Refused(
                Capture.Response.NO_IMAGE,
                f'no {missing} from {not_before * 1e-9:.3f} s on within {timeout:g} s; is the '
                'camera running, with matching stamps and QoS?',
            )
        return frame

    def _checked_info(self, frame: dict[str, Any]) -> CameraInfo:
        color, depth, info = frame['color'], frame['depth'], self._info
        if info is None:
            raise _Refused(
                Capture.Response.BAD_CAMERA,
                'no camera/color/camera_info was received: the camera has no intrinsics',
            )
        if (depth.width, depth.height) != (color.width, color.height):
            raise _Refused(
                Capture.Response.BAD_CAMERA,
                f'depth of {depth.width} x {depth.height} px is not registered to colour of '
                f'{color.width} x {color.height} px; switch on depth registration in the driver',
            )
        return info

    async def _publish(self, panorama: Panorama) -> None:
        config = self._config
        message = await self._worker.submit(
            conversions.panorama_msg, panorama, config.odom_frame, self._camera_frame
        )
        self._panoramas.publish(message)
        self._markers.publish(markers.detection_markers(panorama, config.odom_frame))
        if self._pictures.get_subscription_count():
            picture = await self._worker.submit(markers.detection_picture, panorama)
            self._pictures.publish(
                conversions.image_of_rgb(picture, panorama.stamp, self._camera_frame)
            )

    def close(self) -> None:
        """End the worker."""
        self._changed.close()
        self._worker.close()


class _Refused(Exception):
    """Carries an error code of the service."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def main() -> None:
    """Run the node."""
    runtime.main(PerceptionNode)


if __name__ == '__main__':
    main()
