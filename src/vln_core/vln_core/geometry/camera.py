# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Pinhole camera of a rectified image, projection and back-projection."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import GeometryError, ImageSizeError


@dataclass(frozen=True)
class PinholeCamera:
    """Intrinsics of a rectified image; pixel centres at integers.

    Attributes:
        width: Columns of the image, px.
        height: Rows of the image, px.
        fx: Focal length along columns, px.
        fy: Focal length along rows, px.
        cx: Column of the principal point, px.
        cy: Row of the principal point, px.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise GeometryError(f'camera of {self.width} x {self.height} px has no picture')
        if not all(map(math.isfinite, (self.fx, self.fy, self.cx, self.cy))):
            raise GeometryError('camera intrinsics are not finite; check CameraInfo.k')
        if self.fx <= 0.0 or self.fy <= 0.0:
            raise GeometryError(
                f'focal length {self.fx}, {self.fy} px: the camera is not calibrated (K[0] = 0); '
                'publish a CameraInfo with intrinsics'
            )

    @classmethod
    def from_hfov(cls, width: int, height: int, hfov: float) -> PinholeCamera:
        """Return a camera with square pixels and a horizontal field of view of ``hfov`` rad."""
        if not 0.0 < hfov < math.pi:
            raise GeometryError(f'horizontal field of view {hfov} rad is not between 0 and pi')
        focal = width / 2.0 / math.tan(hfov / 2.0)
        return cls(width, height, focal, focal, (width - 1) / 2.0, (height - 1) / 2.0)

    @property
    def hfov(self) -> float:
        """Horizontal field of view, rad."""
        return math.atan2(self.cx + 0.5, self.fx) + math.atan2(self.width - 0.5 - self.cx, self.fx)


def back_project(
    pixels_uv: NDArray[np.float64], depth: NDArray[np.float32], camera: PinholeCamera
) -> NDArray[np.float64]:
    """Lift pixels to points: ``p = d K^-1 [u, v, 1]^T`` (HAM-VLN eq. 1, SPEC section 6).

    Args:
        pixels_uv: (N, 2) columns and rows, px; the depth of the nearest pixel is taken.
        depth: (H, W) range along +z, metres; NaN where the sensor has no reading.
        camera: Intrinsics of the image that ``depth`` is registered to.

    Returns:
        (N, 3) points, metres, x right, y down, z forward (REP-103 optical). Rows without a finite
        depth, and pixels outside the picture, are NaN.

    Raises:
        ImageSizeError: ``depth`` does not have the size ``camera`` was calibrated for.
    """
    check_size(depth, camera)
    pixels = np.asarray(pixels_uv, dtype=np.float64).reshape(-1, 2)
    columns = np.rint(pixels[:, 0])
    rows = np.rint(pixels[:, 1])
    inside = (columns >= 0) & (columns < camera.width) & (rows >= 0) & (rows < camera.height)
    z = np.full(len(pixels), np.nan)
    z[inside] = depth[rows[inside].astype(int), columns[inside].astype(int)]
    z[~np.isfinite(z)] = np.nan
    x = (pixels[:, 0] - camera.cx) / camera.fx * z
    y = (pixels[:, 1] - camera.cy) / camera.fy * z
    return np.stack([x, y, z], axis=1)


def back_project_image(
    depth: NDArray[np.float32], camera: PinholeCamera, stride: int = 1
) -> NDArray[np.float64]:
    """Lift every ``stride``-th pixel to (ceil(H/stride), ceil(W/stride), 3) points; invalid: NaN.

    Raises:
        ImageSizeError: ``depth`` does not have the size ``camera`` was calibrated for.
    """
    check_size(depth, camera)
    z = depth[::stride, ::stride].astype(np.float64)
    z = np.where(np.isfinite(z), z, np.nan)
    x = (np.arange(0, camera.width, stride) - camera.cx) / camera.fx
    y = (np.arange(0, camera.height, stride) - camera.cy) / camera.fy
    return np.stack([x[None, :] * z, y[:, None] * z, z], axis=-1)


def project(points_camera: NDArray[np.float64], camera: PinholeCamera) -> NDArray[np.float64]:
    """Project (N, 3) optical-frame points to (N, 2) pixels; NaN if not in front (z <= 0)."""
    points = np.asarray(points_camera, dtype=np.float64).reshape(-1, 3)
    z = np.where(points[:, 2] > 1e-9, points[:, 2], np.nan)
    u = camera.fx * points[:, 0] / z + camera.cx
    v = camera.fy * points[:, 1] / z + camera.cy
    return np.stack([u, v], axis=1)


def check_size(image: NDArray[np.generic], camera: PinholeCamera) -> None:
    """Raise :class:`ImageSizeError` unless ``image`` is (camera.height, camera.width[, C])."""
    if image.shape[:2] != (camera.height, camera.width):
        raise ImageSizeError(
            f'image of {image.shape[1]} x {image.shape[0]} px, but its camera was calibrated for '
            f'{camera.width} x {camera.height} px; check that depth is registered to colour'
        )
