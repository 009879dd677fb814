# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Images, depth and cameras: messages to arrays and back. Pure functions."""

from __future__ import annotations

from array import array

import cv2
import numpy as np
from cv_bridge import CvBridge, CvBridgeError
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2, PointField
from sensor_msgs_py import point_cloud2
from std_msgs.msg import Header

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.perception.intake import Distortion, decode_compressed_depth
from vln_nodes.pose_conversions import stamp_msg

_BRIDGE = CvBridge()
_GENERIC = {
    '8UC1': cv2.COLOR_GRAY2RGB,
    '8UC3': cv2.COLOR_BGR2RGB,
    '8UC4': cv2.COLOR_BGRA2RGB,
}
_JPEG = [cv2.IMWRITE_JPEG_QUALITY, 90]
_PNG = [cv2.IMWRITE_PNG_COMPRESSION, 1]
_FAR_MM = 65535
_NEAR_MM = 1


def rgb_of_image(message: Image) -> NDArray[np.uint8]:
    """Return a colour image as (H, W, 3) uint8, red first, whatever its encoding.

    8UC3 and 8UC4, which do not say what their channels are, count as OpenCV has them: blue first.

    Raises:
        PerceptionError: The encoding is not a colour, or the data do not fill the picture.
    """
    code = _GENERIC.get(message.encoding)
    if code is None:
        return np.ascontiguousarray(_cv2_of(message, 'rgb8'))
    return np.asarray(cv2.cvtColor(_cv2_of(message, 'passthrough'), code), dtype=np.uint8)


def image_of_rgb(rgb: NDArray[np.uint8], stamp: int, frame_id: str) -> Image:
    """Return an (H, W, 3) uint8 picture, red first, as rgb8 Image; stamp in nanoseconds."""
    message = Image(
        height=rgb.shape[0], width=rgb.shape[1], encoding='rgb8', step=3 * rgb.shape[1]
    )
    message.header.stamp = stamp_msg(stamp)
    message.header.frame_id = frame_id
    message.data = array('B', np.ascontiguousarray(rgb).tobytes())
    return message


def depth_of_image(message: Image) -> NDArray[np.float32]:
    """Return a depth image in metres by its encoding (REP-118).

    Returns:
        (H, W) float32: NaN unknown, +inf far, -inf nearer than measurable (REP-117). 16UC1 is
        millimetres with 0 invalid; in 32FC1 zero and negative numbers count as unknown too.

    Raises:
        PerceptionError: Another encoding, or data that do not fill the picture.
    """
    if message.encoding in ('16UC1', 'mono16'):
        raw = _cv2_of(message, 'passthrough')
        depth = raw.astype(np.float32) * np.float32(1e-3)
        depth[raw == 0] = np.nan
        return depth
    if message.encoding != '32FC1':
        raise PerceptionError(
            f'depth image of encoding {message.encoding}: publish 32FC1 (metres) or 16UC1 (mm)'
        )
    depth = np.array(_cv2_of(message, 'passthrough'), dtype=np.float32)
    with np.errstate(invalid='ignore'):
        depth[(depth <= 0.0) & np.isfinite(depth)] = np.nan
    return depth


def semantic_of_image(message: Image) -> NDArray[np.uint16]:
    """Return a 16UC1 image of ids as (H, W) uint16."""
    if message.encoding not in ('16UC1', 'mono16'):
        raise PerceptionError(f'semantic image of encoding {message.encoding}: publish 16UC1')
    return np.array(_cv2_of(message, 'passthrough'), dtype=np.uint16)


def _cv2_of(message: Image, encoding: str) -> NDArray[np.generic]:
    try:
        return _BRIDGE.imgmsg_to_cv2(message, desired_encoding=encoding)
    except (CvBridgeError, TypeError, ValueError) as error:
        raise PerceptionError(
            f'image of {message.width} x {message.height} px, encoding {message.encoding}, '
            f'step {message.step}, {len(message.data)} bytes cannot be read: {error}'
        ) from error


def camera_of_info(info: CameraInfo) -> PinholeCamera:
    """Return the intrinsics of the picture that is published: binning and ROI applied.

    Rectified pictures are described by P; K is used where P is empty.

    Raises:
        GeometryError: The camera is not calibrated (K[0] = 0), or the ROI lies outside.
    """
    if not info.k[0] > 0.0:
        raise GeometryError(
            f'camera {info.header.frame_id or "without frame"} has no intrinsics (CameraInfo.k[0] '
            '= 0): calibrate it, or start its driver with a calibration file'
        )
    if info.p[0] > 0.0:
        fx, cx, fy, cy = info.p[0], info.p[2], info.p[5], info.p[6]
    else:
        fx, cx, fy, cy = info.k[0], info.k[2], info.k[4], info.k[5]
    bin_x, bin_y = max(info.binning_x, 1), max(info.binning_y, 1)
    roi = info.roi
    width, height = roi.width or info.width, roi.height or info.height
    if roi.x_offset + width > info.width or roi.y_offset + height > info.height:
        raise GeometryError(
            f'region of interest {width} x {height} at ({roi.x_offset}, {roi.y_offset}) lies '
            f'outside the picture of {info.width} x {info.height} px'
        )
    return PinholeCamera(
        width // bin_x,
        height // bin_y,
        fx / bin_x,
        fy / bin_y,
        # Pixel centres are at integers: the left edge, -0.5, stays where it is when pixels merge.
        (cx - roi.x_offset + 0.5) / bin_x - 0.5,
        (cy - roi.y_offset + 0.5) / bin_y - 0.5,
    )


def distortion_of_info(info: CameraInfo) -> Distortion:
    """Return the lens of a picture that is not rectified, binning and ROI applied.

    Raises:
        GeometryError: The camera is not calibrated (K[0] = 0), or the ROI lies outside.
    """
    raw = CameraInfo(header=info.header, width=info.width, height=info.height, k=info.k)
    raw.roi, raw.binning_x, raw.binning_y = info.roi, info.binning_x, info.binning_y
    return Distortion(
        info.distortion_model, tuple(info.d), camera_of_info(raw), tuple(map(float, info.r))
    )


def depth_of_transport(message: CompressedImage) -> NDArray[np.float32]:
    """Return the depth of the transport compressedDepth, (H, W) float32 metres, NaN unknown."""
    return decode_compressed_depth(bytes(message.data), message.format)


def info_of_camera(camera: PinholeCamera, stamp: int, frame_id: str) -> CameraInfo:
    """Return intrinsics as CameraInfo of a rectified picture; stamp in nanoseconds."""
    message = CameraInfo(width=camera.width, height=camera.height, distortion_model='plumb_bob')
    message.header.stamp = stamp_msg(stamp)
    message.header.frame_id = frame_id
    fx, fy, cx, cy = camera.fx, camera.fy, camera.cx, camera.cy
    message.d = [0.0] * 5
    message.k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
    message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    message.p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message


def cloud_msg(
    points: NDArray[np.float32], colors: NDArray[np.uint8], stamp: int, frame_id: str
) -> PointCloud2:
    """Return (N, 3) metres with (N, 3) colours, red first, as PointCloud2 with x, y, z, rgb."""
    cells = np.zeros(len(points), dtype=[('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('rgb', '<u4')])
    cells['x'], cells['y'], cells['z'] = points.T
    red, green, blue = colors.astype(np.uint32).T
    cells['rgb'] = red << 16 | green << 8 | blue
    kinds = (PointField.FLOAT32,) * 3 + (PointField.UINT32,)
    fields = [
        PointField(name=name, offset=4 * k, datatype=kind, count=1)
        for k, (name, kind) in enumerate(zip(('x', 'y', 'z', 'rgb'), kinds))
    ]
    header = Header(stamp=stamp_msg(stamp), frame_id=frame_id)
    return point_cloud2.create_cloud(header, fields, cells)


def jpeg_of_rgb(rgb: NDArray[np.uint8]) -> CompressedImage:
    """Return an (H, W, 3) picture, red first, as JPEG."""
    _, data = cv2.imencode('.jpg', cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), _JPEG)
    return CompressedImage(format='jpeg', data=array('B', data.tobytes()))


def png_of_rgb(rgb: NDArray[np.uint8]) -> CompressedImage:
    """Return an (H, W, 3) picture, red first, as PNG."""
    _, data = cv2.imencode('.png', cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), _PNG)
    return CompressedImage(format='png', data=array('B', data.tobytes()))


def rgb_of_compressed(message: CompressedImage) -> NDArray[np.uint8]:
    """Return a compressed picture as (H, W, 3) uint8, red first."""
    picture = _decode(message, cv2.IMREAD_COLOR)
    return np.ascontiguousarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))


def png_of_depth(depth: NDArray[np.float32]) -> CompressedImage:
    """Return depth (H, W) metres as 16-bit PNG in mm: 0 unknown, 65535 far, 1 too near."""
    with np.errstate(invalid='ignore'):
        mm = np.rint(depth.astype(np.float64) * 1000.0)
        coded = np.clip(np.nan_to_num(mm, nan=0.0), _NEAR_MM, _FAR_MM - 1).astype(np.uint16)
        coded[np.isnan(depth) | (np.isfinite(depth) & (depth <= 0.0))] = 0
        coded[depth == np.inf] = _FAR_MM
        coded[depth == -np.inf] = _NEAR_MM
    _, data = cv2.imencode('.png', coded, _PNG)
    return CompressedImage(format='16UC1; png', data=array('B', data.tobytes()))


def depth_of_png(message: CompressedImage) -> NDArray[np.float32]:
    """Return the depth that :func:`png_of_depth` coded, (H, W) float32 metres."""
    coded = _decode(message, cv2.IMREAD_UNCHANGED)
    if coded.dtype != np.uint16 or coded.ndim != 2:
        raise PerceptionError(f'depth picture of type {coded.dtype}, {coded.ndim} axes: not 16UC1')
    depth = coded.astype(np.float32) * np.float32(1e-3)
    depth[coded == 0] = np.nan
    depth[coded == _FAR_MM] = np.inf
    depth[coded == _NEAR_MM] = -np.inf
    return depth


def _decode(message: CompressedImage, flags: int) -> NDArray[np.generic]:
    data = np.frombuffer(message.data, dtype=np.uint8)
    picture = cv2.imdecode(data, flags) if len(data) else None
    if picture is None:
        raise PerceptionError(
            f'compressed picture ({message.format}, {len(data)} bytes) is broken'
        )
    return picture
