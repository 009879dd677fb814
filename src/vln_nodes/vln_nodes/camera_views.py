# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From a camera's frames to one upright view with its pose, checked, at rest and not blurred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry import mounting, transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import View
from vln_core.perception import camera_checks, intake
from vln_interfaces.srv import Capture
from vln_nodes import conversions
from vln_nodes.awaiting import TfPoses
from vln_nodes.base import StackNode
from vln_nodes.camera_intake import CameraIntake
from vln_nodes.perception_parameters import PerceptionParameters
from vln_nodes.runtime import Worker

_CODES = Capture.Response


class Refused(Exception):
    """A view cannot be taken; carries an error code of the service."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, eq=False)
class Shot:
    """One picture of one camera, upright.

    Attributes:
        rgb: (H, W, 3) uint8, red first.
        depth: (H, W) float32 metres.
        semantic: (H, W) uint16 ids of the simulator; None on a robot.
        camera: Intrinsics.
        odom_tform_camera: (4, 4) pose of the optical frame at the stamp.
        odom_tform_base: (4, 4) pose of the robot at the stamp.
        stamp: Nanoseconds.
        frame_id: Optical frame of the camera.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    semantic: NDArray[np.uint16] | None
    camera: PinholeCamera
    odom_tform_camera: NDArray[np.float64]
    odom_tform_base: NDArray[np.float64]
    stamp: int
    frame_id: str

    @property
    def heading(self) -> float:
        """Where the camera looks relative to the robot, rad."""
        base_tform_odom = transforms.inverse(self.odom_tform_base)
        return mounting.heading_of(base_tform_odom @ self.odom_tform_camera)

    def view(self, index: int, yaw: float) -> View:
        """Return the shot as a view of a panorama."""
        return View(
            index, yaw, self.rgb, self.depth, self.camera, self.odom_tform_camera, self.stamp
        )


class CameraViews:
    """Takes shots of one camera for callbacks of one executor."""

    def __init__(
        self,
        node: StackNode,
        camera: CameraIntake,
        poses: TfPoses,
        worker: Worker,
        config: PerceptionParameters,
    ) -> None:
        """Take the parts; the conversion of pictures runs in ``worker``."""
        self._node, self._intake, self._poses = node, camera, poses
        self._worker, self._config = worker, config
        self._sharpness = 0.0
        self._unreadable = ''  # holds until the next deep look
        # In lock-step a loaded machine is slow, not broken: the run must not depend on it.
        self._patience = 5.0 if config.lockstep else 1.0

    @property
    def name(self) -> str:
        """Namespace of the camera."""
        return self._intake.name

    async def take(self, not_before: int) -> Shot:
        """Return the newest picture taken at rest.

        Args:
            not_before: End of the last motion, ns; 0 where the robot has not moved.

        Raises:
            Refused: No usable picture; the message says what to do.
        """
        config = self._config.intake
        if not_before and not self._config.lockstep:
            not_before += int(config.settle_time * 1e9)
        frame = await self._frame(not_before)
        poses = await self._locate(frame)
        depth_tform = await self._depth_tform(frame)
        try:
            rgb, depth = await self._worker.submit(self._intake.convert, frame, depth_tform)
            for _ in range(0 if self._config.lockstep else config.max_retakes):
                # Blurred by what still shakes: the next picture, with the pose of its own stamp.
                if intake.sharpness(rgb) >= config.blur_ratio * self._sharpness:
                    break
                again = await self._intake.frame(0, 0.5, newer_than=frame['stamp'])
                if again is None:
                    break
                frame, poses = again, await self._locate(again)
                rgb, depth = await self._worker.submit(self._intake.convert, frame, depth_tform)
            self._sharpness = intake.sharpness(rgb)
        except (PerceptionError, GeometryError) as error:
            raise Refused(_CODES.BAD_CAMERA, str(error)) from error
        return _upright(frame, rgb, depth, self._intake.camera(), *poses)

    async def watch(self, *, deep: bool) -> tuple[str, str]:
        """Return what is wrong at this moment and what is odd, for people; '' each if nothing.

        Args:
            deep: Convert the newest pictures too, which finds wrong units and sizes.
        """
        problem = self._intake.watch()
        frame = self._intake.frames.newest(0)
        if problem or frame is None or self._intake.info is None:
            return problem, ''
        name = frame['color'].header.frame_id
        mount = self._poses.latest(self._config.base_frame, name)
        if mount is not None:
            problem = camera_checks.mount_problem(mount, name)
        is_apart = self._intake.needs_registration(frame)
        if is_apart and self._poses.latest(name, frame['depth'].header.frame_id) is None:
            problem = problem or (
                f'{self._intake.registration_problem(frame)}; or publish the pose of the depth '
                'camera in TF'
            )
        if deep:
            self._unreadable = ''
        if deep and not problem and not is_apart:
            try:
                await self._worker.submit(self._intake.convert, frame, None)
            except (PerceptionError, GeometryError) as error:
                self._unreadable = str(error)
        problem = problem or self._unreadable
        return problem, '' if mount is None or problem else self._doubts(mount, name)

    def _doubts(self, base_tform_camera: NDArray[np.float64], name: str) -> str:
        """Return what is odd about the mount, but may be meant."""
        return camera_checks.inward_problem(
            base_tform_camera, name
        ) or camera_checks.floor_problem(base_tform_camera, self._intake.camera())

    async def _frame(self, not_before: int) -> dict[str, Any]:
        timeout = self._config.image_timeout * self._patience
        frame = await self._intake.frame(not_before, timeout)
        if frame is None or self._intake.problem:
            raise Refused(_CODES.NO_IMAGE, self._intake.why_none(not_before, timeout))
        return frame

    async def _locate(
        self, frame: dict[str, Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the poses of camera and robot in odometry at the stamp; check the mount."""
        config, stamp = self._config, frame['stamp']
        timeout = config.tf_timeout * self._patience
        name = frame['color'].header.frame_id
        try:
            self._intake.camera()
            camera = await self._poses.pose(config.odom_frame, name, stamp, timeout)
            base = await self._poses.pose(config.odom_frame, config.base_frame, stamp, timeout)
        except GeometryError as error:
            raise Refused(_CODES.BAD_CAMERA, str(error)) from error
        except PerceptionError as error:
            raise Refused(_CODES.NO_TF, str(error)) from error
        mount = transforms.inverse(base) @ camera
        problem = camera_checks.mount_problem(mount, name)
        if problem:
            raise Refused(_CODES.BAD_CAMERA, problem)
        doubts = self._doubts(mount, name)
        if doubts:
            self._node.get_logger().warning(doubts, throttle_duration_sec=30.0)
        return camera, base

    async def _depth_tform(self, frame: dict[str, Any]) -> NDArray[np.float64] | None:
        """Return the depth camera's pose in the colour camera; None where they are one."""
        if not self._intake.needs_registration(frame):
            return None
        problem = self._intake.registration_problem(frame)
        if self._intake.depth_info is None:
            raise Refused(_CODES.BAD_CAMERA, problem)
        color, depth = frame['color'].header.frame_id, frame['depth'].header.frame_id
        try:
            return await self._poses.pose(color, depth, frame['stamp'], self._config.tf_timeout)
        except (PerceptionError, GeometryError) as error:
            raise Refused(_CODES.BAD_CAMERA, f'{problem} ({error})') from error


def _upright(
    frame: dict[str, Any],
    rgb: NDArray[np.uint8],
    depth: NDArray[np.float32],
    camera: PinholeCamera,
    odom_tform_camera: NDArray[np.float64],
    odom_tform_base: NDArray[np.float64],
) -> Shot:
    """Turn the picture of a camera that is mounted on its side or head."""
    turns = mounting.quarter_turns(transforms.inverse(odom_tform_base) @ odom_tform_camera)
    semantic = None
    if 'semantic' in frame:
        semantic = conversions.semantic_of_image(frame['semantic'])
    if turns:
        rgb, depth = (np.ascontiguousarray(np.rot90(image, turns)) for image in (rgb, depth))
        semantic = semantic if semantic is None else np.rot90(semantic, turns)
    return Shot(
        rgb=rgb,
        depth=depth,
        semantic=semantic,
        camera=mounting.turned_camera(camera, turns),
        odom_tform_camera=mounting.turned_pose(odom_tform_camera, turns),
        odom_tform_base=odom_tform_base,
        stamp=frame['stamp'],
        frame_id=frame['color'].header.frame_id,
    )
