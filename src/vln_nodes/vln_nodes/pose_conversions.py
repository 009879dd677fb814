# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Stamps, points and poses: messages to core types and back. Pure functions."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Pose2D, Quaternion, Transform, Vector3
from nav_msgs.msg import Odometry
from numpy.typing import NDArray

from vln_core.geometry import transforms


def stamp_ns(stamp: Time) -> int:
    """Return a stamp in nanoseconds."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def stamp_msg(nanoseconds: int) -> Time:
    """Return nanoseconds as a stamp."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def point_msg(xyz: NDArray[np.float64] | tuple[float, float, float]) -> Point:
    """Return three numbers as a Point."""
    return Point(x=float(xyz[0]), y=float(xyz[1]), z=float(xyz[2]))


def xyz_of(point: Point | Vector3) -> NDArray[np.float64]:
    """Return a Point or Vector3 as (3,) float64."""
    return np.array([point.x, point.y, point.z])


def pose_msg(tform: NDArray[np.float64]) -> Pose:
    """Return a (4, 4) transform as a Pose."""
    x, y, z, w = (float(value) for value in transforms.quat_from_tform(tform))
    return Pose(position=point_msg(tform[:3, 3]), orientation=Quaternion(x=x, y=y, z=z, w=w))


def tform_of_pose(pose: Pose) -> NDArray[np.float64]:
    """Return a Pose as (4, 4) transform; raises :class:`GeometryError` for a null quaternion."""
    q = pose.orientation
    return transforms.tform_from_quat(xyz_of(pose.position), (q.x, q.y, q.z, q.w))


def tform_of_transform(message: Transform) -> NDArray[np.float64]:
    """Return a Transform as (4, 4); raises :class:`GeometryError` for a null quaternion."""
    q = message.rotation
    return transforms.tform_from_quat(xyz_of(message.translation), (q.x, q.y, q.z, q.w))


def planar_of_odometry(message: Odometry) -> tuple[float, float, float]:
    """Return (x, y, yaw) of an odometry sample, metres and rad."""
    tform = tform_of_pose(message.pose.pose)
    return float(tform[0, 3]), float(tform[1, 3]), transforms.yaw_of(tform)


def pose2d_msg(pose: tuple[float, float, float]) -> Pose2D:
    """Return (x, y, yaw) as a Pose2D."""
    return Pose2D(x=float(pose[0]), y=float(pose[1]), theta=float(pose[2]))


def planar_of_pose2d(pose: Pose2D) -> tuple[float, float, float]:
    """Return a Pose2D as (x, y, yaw)."""
    return pose.x, pose.y, pose.theta
