# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests share: building messages, and the same poses as matrices."""

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.time import Time
from scipy.spatial.transform import Rotation


def stamp(seconds: float) -> Time:
    """Return a time."""
    return Time(nanoseconds=round(seconds * 1e9))


def message(parent, child, seconds=0.0, xyz=(0.0, 0.0, 0.0), xyzw=(0.0, 0.0, 0.0, 1.0)):
    """Return a transform message."""
    result = TransformStamped()
    result.header.stamp = stamp(seconds).to_msg()
    result.header.frame_id = parent
    result.child_frame_id = child
    t, r = result.transform.translation, result.transform.rotation
    t.x, t.y, t.z = (float(v) for v in xyz)
    r.x, r.y, r.z, r.w = (float(v) for v in xyzw)
    return result


def values(result: TransformStamped):
    """Return translation and quaternion of a message as arrays."""
    t, r = result.transform.translation, result.transform.rotation
    return np.array([t.x, t.y, t.z]), np.array([r.x, r.y, r.z, r.w])


def matrix(result: TransformStamped) -> np.ndarray:
    """Return a message as a 4x4 matrix."""
    xyz, xyzw = values(result)
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(xyzw).as_matrix()
    pose[:3, 3] = xyz
    return pose


def nanoseconds(result: TransformStamped) -> int:
    """Return the stamp of a message."""
    return Time.from_msg(result.header.stamp).nanoseconds
