# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Simulator's data as ROS messages. Pure functions."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

import numpy as np
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image

from vln_core.geometry import transforms
from vln_interfaces.msg import GroundTruth, LabelTable
from vln_interfaces.msg import Label as LabelMsg
from vln_nodes import conversions
from vln_sim_bridge.scene import Label
from vln_sim_bridge.simulator import CameraMount, RobotState

ODOM_FRAME = 'odom'
BASE_FRAME = 'base_link'
CAMERA_FRAME = 'camera_color_optical_frame'
WORLD_FRAME = 'world'


def clock_msg(stamp: int) -> Clock:
    """Return simulated time (ns) as message."""
    return Clock(clock=conversions.stamp_msg(stamp))


def depth_image(depth: NDArray[np.float32], encoding: str, stamp: int) -> Image:
    """Return (H, W) metres as Image (REP-118).

    Args:
        depth: NaN no reading, +inf far.
        encoding: ``32FC1`` (metres) or ``16UC1`` (millimetres; NaN, far and beyond 65.5 m are 0).
        stamp: Nanoseconds.
    """
    if encoding == '32FC1':
        return _image(depth, encoding, stamp)
    with np.errstate(invalid='ignore'):
        mm = np.where(np.isfinite(depth), np.rint(depth.astype(np.float64) * 1000.0), 0.0)
    mm[(mm < 0.0) | (mm > 65535.0)] = 0.0
    return _image(mm.astype(np.uint16), '16UC1', stamp)


def semantic_image(semantic: NDArray[np.uint32], stamp: int) -> Image:
    """Return (H, W) ids as 16UC1 Image; scenes have no id beyond 65535."""
    return _image(semantic.astype(np.uint16), '16UC1', stamp)


def _image(pixels: NDArray[np.generic], encoding: str, stamp: int) -> Image:
    message = Image(
        height=pixels.shape[0],
        width=pixels.shape[1],
        encoding=encoding,
        step=pixels.dtype.itemsize * pixels.shape[1],
    )
    message.header.stamp = conversions.stamp_msg(stamp)
    message.header.frame_id = CAMERA_FRAME
    little = pixels.astype(pixels.dtype.newbyteorder('<'), copy=False)
    message.data = array('B', np.ascontiguousarray(little).tobytes())
    return message


def odometry_msg(
    pose: tuple[float, float, float], velocity: tuple[float, float], stamp: int
) -> Odometry:
    """Return pose (m, rad) and body velocity (m/s, rad/s) as Odometry."""
    message = Odometry(child_frame_id=BASE_FRAME)
    message.header.stamp = conversions.stamp_msg(stamp)
    message.header.frame_id = ODOM_FRAME
    message.pose.pose = conversions.pose_msg(transforms.planar_tform(*pose))
    message.twist.twist.linear.x, message.twist.twist.angular.z = velocity
    return message


def odom_transform(odometry: Odometry) -> TransformStamped:
    """Return odom -> base_link of an odometry sample."""
    message = TransformStamped(header=odometry.header, child_frame_id=odometry.child_frame_id)
    position = odometry.pose.pose.position
    message.transform.translation.x = position.x
    message.transform.translation.y = position.y
    message.transform.translation.z = position.z
    message.transform.rotation = odometry.pose.pose.orientation
    return message


def camera_transform(mount: CameraMount, stamp: int) -> TransformStamped:
    """Return base_link -> camera's optical frame."""
    tform = transforms.camera_mount_tform(
        mount.x, mount.y, mount.z, roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw
    )
    pose = conversions.pose_msg(tform)
    message = TransformStamped(child_frame_id=CAMERA_FRAME)
    message.header.stamp = conversions.stamp_msg(stamp)
    message.header.frame_id = BASE_FRAME
    message.transform.translation.x = pose.position.x
    message.transform.translation.y = pose.position.y
    message.transform.translation.z = pose.position.z
    message.transform.rotation = pose.orientation
    return message


def ground_truth_msg(state: RobotState, distance: float, stamp: int) -> GroundTruth:
    """Return the true state; ``distance`` is metres driven since the last placement."""
    message = GroundTruth(
        pose=conversions.pose2d_msg((state.x, state.y, state.yaw)),
        num_collisions=state.num_collisions,
        is_colliding=state.collided,
        distance_driven=distance,
    )
    message.header.stamp = conversions.stamp_msg(stamp)
    message.header.frame_id = WORLD_FRAME
    return message


def label_table(scene: str, labels: Mapping[int, Label]) -> LabelTable:
    """Return the label table of a scene."""
    rows = [labels[number] for number in sorted(labels)]
    return LabelTable(
        scene=scene,
        labels=[LabelMsg(id=row.id, category=row.category, name=row.name) for row in rows],
    )


def body_velocity(
    before: tuple[float, float, float], after: tuple[float, float, float], period: float
) -> tuple[float, float]:
    """Return forward speed (m/s) and turn rate (rad/s) between two odometry poses (m, rad)."""
    heading = before[2] + 0.5 * math.remainder(after[2] - before[2], 2.0 * math.pi)
    forward = math.cos(heading) * (after[0] - before[0]) + math.sin(heading) * (
        after[1] - before[1]
    )
    turn = math.remainder(after[2] - before[2], 2.0 * math.pi)
    return forward / period, turn / period
