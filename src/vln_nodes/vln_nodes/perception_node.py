# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Takes the views of a look-around, detects, and publishes the panorama.

A request whose ``index`` equals its ``num_views`` takes no further view: it publishes those taken
so far as an incomplete panorama.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import Image, PointCloud2
from visualization_msgs.msg import MarkerArray

from vln_core.errors import ConfigError, GeometryError, PerceptionError
from vln_core.observation import Panorama, Segment, View
from vln_core.perception import intake
from vln_core.perception.captioner import make_captioner
from vln_core.perception.cloud import panorama_cloud
from vln_core.perception.factory import DETECTORS, make_detector
from vln_core.perception.grounding import GroundingConfig
from vln_core.perception.models import ModelConfig
from vln_core.perception.panorama import PanoramaBuilder
from vln_core.perception.simulated import SimulatedDetector, SimulatedDetectorConfig
from vln_interfaces.msg import LabelTable
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_interfaces.srv import Capture
from vln_nodes import conversions, markers, parameters, qos, runtime
from vln_nodes.awaiting import Changed, TfPoses
from vln_nodes.base import StackNode
from vln_nodes.camera_intake import CameraIntake, IntakeParameters
from vln_nodes.parameters import parameter

_CODES = Capture.Response


@dataclass(frozen=True)
class PerceptionParameters:
    """Parameters of the perception node."""

    detector: str = parameter('simulated', f'Back end of the detector: {", ".join(DETECTORS)}.')
    lockstep: bool = parameter(False, 'Strict lock-step with the simulator: reliable sensors.')
    odom_frame: str = parameter('odom', 'Odometry frame.')
    base_frame: str = parameter('base_link', 'Body frame of the robot.')
    image_timeout: float = parameter(3.0, 'Longest wait for an image, s.', minimum=0.05)
    tf_timeout: float = parameter(1.0, 'Longest wait for TF at the image stamp, s.', minimum=0.0)
    sync_slop: float = parameter(
        0.03, 'Largest difference of stamps of colour and depth, s.', minimum=0.0
    )
    cloud_voxel: float = parameter(
        0.05, 'Edge of a voxel of the published cloud, m.', minimum=0.005
    )
    intake: IntakeParameters = field(default_factory=IntakeParameters)
    models: ModelConfig = field(default_factory=ModelConfig)
    grounding: GroundingConfig = field(default_factory=GroundingConfig)
    simulated: SimulatedDetectorConfig = field(default_factory=SimulatedDetectorConfig)

    def __post_init__(self) -> None:
        if self.detector not in DETECTORS:
            known = ', '.join(DETECTORS)
            raise ConfigError(f"no detector '{self.detector}': choose one of {known}")


class PerceptionNode(StackNode):
    """Serves ``perception/capture``; publishes ``panorama`` and pictures of the detections."""

    def __init__(self) -> None:
        super().__init__('perception')
        self._config = config = parameters.load(self, PerceptionParameters())
        is_simulated = config.detector == 'simulated'
        # Absent weights end the node here, with one line, before anybody relies on it.
        self._detector = None if is_simulated else make_detector(config.detector, config.models)
        captioner = make_captioner(config.models)
        self._worker = runtime.Worker(self, 'detector')
        self._changed = Changed(self)
        self._poses = TfPoses(self, self._changed)
        self._intake = CameraIntake(
            self,
            self._changed,
            config.intake,
            slop=int(config.sync_slop * 1e9),
            is_lockstep=config.lockstep,
            is_simulated=is_simulated,
        )
        if is_simulated:
            self.create_subscription(LabelTable, 'sim/labels', self._on_labels, qos.LATCHED)
        self._semantic: tuple[int, NDArray[np.uint16]] | None = None
        self._builder = PanoramaBuilder(self, config.grounding, captioner)
        self._base_tform: NDArray[np.float64] | None = None
        self._camera_frame = ''
        self._sharpness = 0.0
        self._num_views = 0
        self._refusal = ''
        self._panoramas = self.create_publisher(PanoramaMsg, 'panorama', qos.PANORAMA)
        self._markers = self.create_publisher(MarkerArray, 'detections/markers', qos.LATCHED)
        self._pictures = self.create_publisher(Image, 'detections/image', qos.VISUAL)
        self._clouds = self.create_publisher(PointCloud2, 'panorama/points', qos.VISUAL)
        self._service = self.create_service(
            Capture, 'perception/capture', self._on_capture, callback_group=self._changed.group
        )

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
            if request.index > 0 and request.index == request.num_views:
                response.panorama_id = await self._finish_early(request)
            else:
                await self._capture(request, response)
        except _Refused as refusal:
            response.error_code, response.error_msg = refusal.code, str(refusal)
            self._refusal = str(refusal)
            self.get_logger().warning(str(refusal), throttle_duration_sec=2.0)
        self.report(
            error=response.error_msg, panorama=response.panorama_id, view=request.index
        )  # fmt: skip
        return response

    async def _finish_early(self, request: Capture.Request) -> int:
        taken = self._builder.num_views_taken
        if request.index != taken or self._base_tform is None:
            raise _Refused(_CODES.WRONG_ORDER, f'{taken} views were taken, not {request.index}')
        reason = self._refusal or 'the robot could not turn further'
        note = f'only {taken} of {self._num_views or "all"} views: {reason}'
        self.get_logger().warning(note)
        panorama = self._builder.finish(self._base_tform, is_complete=False, note=note)
        await self._publish(panorama)
        return panorama.id

    async def _capture(self, request: Capture.Request, response: Capture.Response) -> None:
        frame = await self._frame(conversions.stamp_ns(request.not_before))
        camera, camera_tform = await self._locate(frame, is_first=request.index == 0)
        response.hfov = camera.hfov
        due = self._builder.num_views_taken
        if request.index != due:
            message = f'view {request.index} was asked for, view {due} is due'
            raise _Refused(_CODES.WRONG_ORDER, message)
        self._num_views, self._refusal = request.num_views, ''
        depth_tform = await self._depth_tform(frame)
        try:
            rgb, depth = await self._worker.submit(self._intake.convert, frame, depth_tform)
            for _ in range(0 if self._config.lockstep else self._config.intake.max_retakes):
                # Blurred by what still shakes: the next picture, with the pose of its own stamp.
                sharpness = intake.sharpness(rgb)
                if sharpness >= self._config.intake.blur_ratio * self._sharpness:
                    break
                again = await self._intake.frame(0, 0.5, newer_than=frame['stamp'])
                if again is None:
                    break
                frame = again
                camera, camera_tform = await self._locate(frame, is_first=False)
                rgb, depth = await self._worker.submit(self._intake.convert, frame, depth_tform)
            self._sharpness = intake.sharpness(rgb)
        except (PerceptionError, GeometryError) as error:
            raise _Refused(_CODES.BAD_CAMERA, str(error)) from error
        view = View(
            index=request.index,
            yaw=request.yaw,
            rgb=rgb,
            depth=depth,
            camera=camera,
            odom_tform_camera=camera_tform,
            stamp=frame['stamp'],
        )
        try:
            panorama = await self._worker.submit(self._add, view, frame, request)
            if panorama is not None:
                await self._publish(panorama)
                response.panorama_id = panorama.id
        except (PerceptionError, GeometryError) as error:
            raise _Refused(_CODES.DETECTOR_FAILED, str(error)) from error

    def _add(self, view: View, frame: dict[str, Any], request: Capture.Request) -> Panorama | None:
        if 'semantic' in frame:
            semantic = conversions.semantic_of_image(frame['semantic'])
            self._semantic = (view.stamp, semantic)
        self._builder.add(view, list(request.landmarks))
        is_last = request.num_views > 0 and request.index == request.num_views - 1
        return self._builder.finish(self._base_tform) if is_last else None

    async def _locate(self, frame: dict[str, Any], *, is_first: bool) -> tuple[Any, Any]:
        """Return intrinsics and pose of the camera; with the first view check its mount."""
        config, stamp = self._config, frame['stamp']
        timeout = config.tf_timeout * (5.0 if config.lockstep else 1.0)
        try:
            camera = self._intake.camera()
            name = self._camera_frame = frame['color'].header.frame_id
            camera_tform = await self._poses.pose(config.odom_frame, name, stamp, timeout)
            if is_first:
                self._builder.begin()
                self._base_tform = await self._poses.pose(
                    config.odom_frame, config.base_frame, stamp, timeout
                )
                base_tform_camera = np.linalg.inv(self._base_tform) @ camera_tform
                problem = intake.mount_problem(base_tform_camera, name)
                if problem:
                    raise GeometryError(problem)
                warning = intake.floor_problem(base_tform_camera, camera)
                if warning:
                    self.get_logger().warning(warning, throttle_duration_sec=30.0)
        except GeometryError as error:
            raise _Refused(_CODES.BAD_CAMERA, str(error)) from error
        except PerceptionError as error:
            raise _Refused(_CODES.NO_TF, str(error)) from error
        return camera, camera_tform

    async def _depth_tform(self, frame: dict[str, Any]) -> NDArray[np.float64] | None:
        """Return the depth camera's pose in the colour camera; None where they are one."""
        if not self._intake.needs_registration(frame):
            return None
        color, depth = frame['color'].header.frame_id, frame['depth'].header.frame_id
        problem = intake.size_problem((0, 0), (0, 0), color, depth)
        if self._intake.depth_info is None:
            raise _Refused(_CODES.BAD_CAMERA, f'{problem}; or publish camera/depth/camera_info')
        try:
            return await self._poses.pose(color, depth, frame['stamp'], self._config.tf_timeout)
        except (PerceptionError, GeometryError) as error:
            raise _Refused(_CODES.BAD_CAMERA, f'{problem} ({error})') from error

    async def _frame(self, not_before: int) -> dict[str, Any]:
        # In lock-step a loaded machine is slow, not broken: the run must not depend on it.
        timeout = self._config.image_timeout * (5.0 if self._config.lockstep else 1.0)
        frame = await self._intake.frame(not_before, timeout)
        if frame is None or self._intake.problem:
            raise _Refused(_CODES.NO_IMAGE, self._intake.why_none(not_before, timeout))
        return frame

    async def _publish(self, panorama: Panorama) -> None:
        config, stamp = self._config, panorama.stamp
        message = await self._worker.submit(
            conversions.panorama_msg, panorama, config.odom_frame, self._camera_frame
        )
        self._panoramas.publish(message)
        self._markers.publish(markers.detection_markers(panorama, config.odom_frame))
        if self._pictures.get_subscription_count():
            picture = await self._worker.submit(markers.detection_picture, panorama)
            self._pictures.publish(conversions.image_of_rgb(picture, stamp, self._camera_frame))
        if self._clouds.get_subscription_count():
            points, colors = await self._worker.submit(
                panorama_cloud, panorama, config.cloud_voxel, config.grounding
            )
            cloud = conversions.cloud_msg(points, colors, stamp, config.odom_frame)
            self._clouds.publish(cloud)

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
