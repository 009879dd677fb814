# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Rigid transforms as 4x4 float64 matrices.

``a_tform_b`` maps points of frame b into frame a: ``points_a = a_tform_b @ points_b``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vln_core.errors import GeometryError

# Columns are the optical axes (x right, y down, z forward) in body axes (x forward, y left, z up).
BODY_TFORM_OPTICAL: NDArray[np.float64] = np.array(
    [[0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)
BODY_TFORM_OPTICAL.setflags(write=False)


def wrap_angle(angle: float) -> float:
    """Return ``angle`` (rad) wrapped into [-pi, pi)."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi


def planar_tform(x: float, y: float, yaw: float, z: float = 0.0) -> NDArray[np.float64]:
    """Return the (4, 4) transform of a frame at (x, y, z) m, turned by ``yaw`` rad about +z."""
    tform = np.eye(4)
    cos, sin = math.cos(yaw), math.sin(yaw)
    tform[:2, :2] = [[cos, -sin], [sin, cos]]
    tform[:3, 3] = (x, y, z)
    return tform


def yaw_of(tform: NDArray[np.float64]) -> float:
    """Return the heading (rad) of the x axis of a (4, 4) transform, projected on the ground."""
    return math.atan2(tform[1, 0], tform[0, 0])


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> NDArray[np.float64]:
    """Return the (3, 3) rotation Rz(yaw) Ry(pitch) Rx(roll), angles in rad (REP-103)."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def camera_mount_tform(
    x: float, y: float, z: float, *, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0
) -> NDArray[np.float64]:
    """Return ``base_tform_camera`` of an optical frame at (x, y, z) m; pitch > 0 looks down."""
    tform = np.eye(4)
    tform[:3, :3] = rotation_from_rpy(roll, pitch, yaw)
    tform[:3, 3] = (x, y, z)
    return tform @ BODY_TFORM_OPTICAL


def inverse(tform: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of a rigid (4, 4) transform."""
    result = np.eye(4)
    result[:3, :3] = tform[:3, :3].T
    result[:3, 3] = -tform[:3, :3].T @ tform[:3, 3]
    return result


def apply(tform: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map (N, 3) points of frame b into frame a with ``a_tform_b``; NaN rows stay NaN."""
    return points @ tform[:3, :3].T + tform[:3, 3]


def tform_from_quat(translation: ArrayLike, quat_xyzw: ArrayLike) -> NDArray[np.float64]:
    """Return the (4, 4) transform of a translation (m) and a quaternion (x, y, z, w).

    Raises:
        GeometryError: The quaternion is not finite or has no length.
    """
    quat = np.asarray(quat_xyzw, dtype=np.float64)
    norm = float(np.linalg.norm(quat))
    if not np.isfinite(norm) or norm < 1e-9 or not np.all(np.isfinite(np.asarray(translation))):
        raise GeometryError(f'transform with quaternion {quat.tolist()} is not a rotation')
    x, y, z, w = quat / norm
    tform = np.eye(4)
    tform[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    tform[:3, 3] = np.asarray(translation, dtype=np.float64)
    return tform


def quat_from_tform(tform: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit quaternion (x, y, z, w), w >= 0, of a (4, 4) transform (Shepperd)."""
    m = tform[:3, :3]
    trace = float(np.trace(m))
    candidates = np.array([m[0, 0], m[1, 1], m[2, 2], trace])
    k = int(np.argmax(candidates))
    quat = np.empty(4)
    if k == 3:
        quat[:] = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1.0 + trace)
    else:
        i, j, n = k, (k + 1) % 3, (k + 2) % 3
        quat[i] = 1.0 - trace + 2.0 * m[i, i]
        quat[j] = m[j, i] + m[i, j]
        quat[n] = m[n, i] + m[i, n]
        quat[3] = m[n, j] - m[j, n]
    quat /= np.linalg.norm(quat)
    return -quat if quat[3] < 0 else quat


def checked_pose(tform: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``tform`` as (4, 4) float64.

    Raises:
        GeometryError: It is not a finite rigid transform.
    """
    pose = np.asarray(tform, dtype=np.float64)
    if pose.shape != (4, 4) or not np.all(np.isfinite(pose)):
        raise GeometryError('camera pose is not a finite 4x4 matrix; check TF at the image stamp')
    rotation = pose[:3, :3]
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-3 or np.linalg.det(rotation) < 0.0:
        raise GeometryError('camera pose is not rigid; check TF at the image stamp')
    return pose
