# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From what a camera driver sends to a rectified picture with depth that belongs to it.

What can be wrong with it is told by :mod:`vln_core.perception.camera_checks`.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera

# Distortion models of CameraInfo -> counts of coefficients they may have.
MODELS = {'plumb_bob': (4, 5), 'rational_polynomial': (8, 12, 14), 'equidistant': (4,)}
_HEADER = struct.Struct('<i2f')


@dataclass(frozen=True)
class Distortion:
    """Lens of a picture that is not rectified.

    Attributes:
        model: Name in CameraInfo; '' counts as 'plumb_bob'.
        coefficients: D of CameraInfo.
        raw: Intrinsics K of the picture as it came, binning and region applied.
        rotation: (3, 3) R of CameraInfo, row by row; identity for a single camera.
    """

    model: str
    coefficients: tuple[float, ...]
    raw: PinholeCamera
    rotation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

    @property
    def is_straight(self) -> bool:
        """True where the lens bends nothing."""
        return not any(self.coefficients)


class Rectifier:
    """Removes a lens from pictures and depth; the maps are made once."""

    def __init__(self, distortion: Distortion, target: PinholeCamera) -> None:
        """Prepare.

        Args:
            distortion: Lens of the pictures.
            target: Intrinsics of the rectified pictures.

        Raises:
            GeometryError: The model is unknown, or its count of coefficients is wrong.
        """
        model = distortion.model or 'plumb_bob'
        if model not in MODELS:
            raise GeometryError(
                f"distortion model '{model}' is not known; calibrate with one of "
                f'{", ".join(MODELS)}, or publish rectified pictures (image_rect_color)'
            )
        if len(distortion.coefficients) not in MODELS[model]:
            raise GeometryError(
                f'{len(distortion.coefficients)} coefficients for distortion model {model}: it has'
                f' {" or ".join(map(str, MODELS[model]))}; check CameraInfo.d'
            )
        lens = np.asarray(distortion.coefficients, dtype=np.float64)
        rotation = np.asarray(distortion.rotation, dtype=np.float64).reshape(3, 3)
        if not np.any(rotation):
            rotation = np.eye(3)
        is_fisheye = model == 'equidistant'
        make: Any = cv2.fisheye if is_fisheye else cv2
        self._maps: tuple[Any, Any] = make.initUndistortRectifyMap(
            matrix_of(distortion.raw), lens, rotation, matrix_of(target),
            (target.width, target.height), cv2.CV_32FC1,
        )  # fmt: skip

    def color(self, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the rectified picture (H, W, 3); black where the lens saw nothing."""
        return np.asarray(cv2.remap(rgb, *self._maps, cv2.INTER_LINEAR), dtype=np.uint8)

    def depth(self, depth: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return rectified depth (H, W), metres; nearest pixels, as edges must not be blended."""
        return np.asarray(
            cv2.remap(depth, *self._maps, cv2.INTER_NEAREST, borderValue=float('nan')),
            dtype=np.float32,
        )


def matrix_of(camera: PinholeCamera) -> NDArray[np.float64]:
    """Return the (3, 3) matrix of intrinsics."""
    return np.array([[camera.fx, 0.0, camera.cx], [0.0, camera.fy, camera.cy], [0.0, 0.0, 1.0]])


def register_depth(
    depth: NDArray[np.float32],
    depth_camera: PinholeCamera,
    color_camera: PinholeCamera,
    color_tform_depth: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Move a depth image into the colour camera; the nearest surface wins.

    Args:
        depth: (H, W) metres of the depth camera, NaN or inf where there is no reading.
        depth_camera: Intrinsics of ``depth``.
        color_camera: Intrinsics of the result.
        color_tform_depth: (4, 4) pose of the depth camera in the colour camera's optical frame.

    Returns:
        (H', W') float32 metres along the colour camera's z, NaN where nothing was measured. Far
        pixels (+inf) have no place in another camera and become NaN.
    """
    rows, columns = np.nonzero(np.isfinite(depth) & (depth > 0.0))
    z = depth[rows, columns].astype(np.float64)
    x = (columns - depth_camera.cx) / depth_camera.fx * z
    y = (rows - depth_camera.cy) / depth_camera.fy * z
    points = np.stack([x, y, z]).T @ color_tform_depth[:3, :3].T + color_tform_depth[:3, 3]
    points = points[points[:, 2] > 1e-6]
    u = color_camera.fx * points[:, 0] / points[:, 2] + color_camera.cx
    v = color_camera.fy * points[:, 1] / points[:, 2] + color_camera.cy
    # A depth pixel covers as many colour pixels as the colour camera sees finer.
    reach = max(color_camera.fx / depth_camera.fx, color_camera.fy / depth_camera.fy)
    size = max(1, math.ceil(reach - 1e-6)) + 1
    result = np.full(color_camera.height * color_camera.width, np.inf, dtype=np.float32)
    first_u, first_v = np.floor(u - 0.5 * (size - 2)), np.floor(v - 0.5 * (size - 2))
    for step_v in range(size):
        for step_u in range(size):
            at_u, at_v = first_u + step_u, first_v + step_v
            near = (np.abs(at_u - u) <= 0.5 * reach + 0.01) & (
                np.abs(at_v - v) <= 0.5 * reach + 0.01
            )
            near &= (at_u >= 0) & (at_u < color_camera.width)
            near &= (at_v >= 0) & (at_v < color_camera.height)
            index = (at_v[near] * color_camera.width + at_u[near]).astype(np.int64)
            np.minimum.at(result, index, points[near, 2].astype(np.float32))
    result[np.isinf(result)] = np.nan
    return result.reshape(color_camera.height, color_camera.width)


def decode_compressed_depth(data: bytes, format_text: str) -> NDArray[np.float32]:
    """Return the depth of the transport compressedDepth, (H, W) float32 metres, NaN unknown.

    Args:
        data: As sent: twelve bytes of header, then a PNG.
        format_text: Of the message, for example '16UC1; compressedDepth png'.

    Raises:
        PerceptionError: Another encoding or codec, or broken data.
    """
    encoding = format_text.split(';')[0].strip()
    if 'compresseddepth' not in format_text.lower() or 'rvl' in format_text.lower():
        raise PerceptionError(
            f"depth in the form '{format_text}' cannot be read: set the driver's compressedDepth "
            'format to png, or use raw depth'
        )
    picture = None
    if len(data) > _HEADER.size:
        picture = cv2.imdecode(
            np.frombuffer(data, np.uint8, offset=_HEADER.size), cv2.IMREAD_UNCHANGED
        )
    if picture is None or picture.dtype != np.uint16 or picture.ndim != 2:
        raise PerceptionError(f'compressed depth ({format_text}, {len(data)} bytes) is broken')
    raw = picture.astype(np.float32)
    if encoding in ('16UC1', 'mono16'):
        depth = raw * np.float32(1e-3)
    elif encoding == '32FC1':
        # compressed_depth_image_transport stores A / z + B.
        _, quant_a, quant_b = _HEADER.unpack_from(data)
        with np.errstate(divide='ignore', invalid='ignore'):
            depth = np.float32(quant_a) / (raw - np.float32(quant_b))
        depth = np.where(depth > 0.0, depth, np.nan).astype(np.float32)
    else:
        raise PerceptionError(f'compressed depth of encoding {encoding}: send 16UC1 or 32FC1')
    depth[raw == 0] = np.nan
    return depth


def sharpness(rgb: NDArray[np.uint8]) -> float:
    """Return the variance of the Laplacian of green, levels squared: low in blurred pictures."""
    green = np.ascontiguousarray(rgb[::2, ::2, 1])  # most of the brightness, a quarter of the work
    return float(cv2.meanStdDev(cv2.Laplacian(green, cv2.CV_32F))[1][0, 0] ** 2)
