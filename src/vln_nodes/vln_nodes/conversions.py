# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Messages to core types and back: images, cameras, poses, panoramas. Pure functions.

What memory and planner exchange is in :mod:`vln_nodes.memory_conversions`.
"""

from __future__ import annotations

import math
from array import array

import cv2
import numpy as np
from builtin_interfaces.msg import Time
from cv_bridge import CvBridge, CvBridgeError
from geometry_msgs.msg import Point, Pose, Pose2D, Quaternion, Transform, Vector3
from nav_msgs.msg import OccupancyGrid, Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2, PointField

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Detection, Panorama, View
from vln_core.perception.intake import Distortion, decode_compressed_depth
from vln_interfaces.msg import Detection as DetectionMsg
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_interfaces.msg import View as ViewMsg

_BRIDGE = CvBridge()
_JPEG = [cv2.IMWRITE_JPEG_QUALITY, 90]
_PNG = [cv2.IMWRITE_PNG_COMPRESSION, 1]
_FAR_MM = 65535
_NEAR_MM = 1


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


def rgb_of_image(message: Image) -> NDArray[np.uint8]:
    """Return a colour image as (H, W, 3) uint8, red first, whatever its encoding.

    Raises:
        PerceptionError: The encoding is not a colour, or the data do not fill the picture.
    """
    return np.ascontiguousarray(_cv2_of(message, 'rgb8'))


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
    fields = [
        PointField(name=name, offset=4 * k, datatype=PointField.FLOAT32, count=1)
        for k, name in enumerate(('x', 'y', 'z', 'rgb'))
    ]
    message = PointCloud2(height=1, width=len(points), fields=fields, point_step=16)
    message.row_step, message.is_dense = 16 * len(points), True
    message.header.stamp, message.header.frame_id = stamp_msg(stamp), frame_id
    message.data = array('B', cells.tobytes())
    return message


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


def view_msg(view: View, frame_id: str) -> ViewMsg:
    """Return a view as message; ``frame_id`` is the camera's optical frame."""
    message = ViewMsg(index=view.index, yaw=view.yaw, stamp=stamp_msg(view.stamp))
    message.color = jpeg_of_rgb(view.rgb)
    message.depth = png_of_depth(view.depth)
    message.camera_info = info_of_camera(view.camera, view.stamp, frame_id)
    message.color.header = message.depth.header = message.camera_info.header
    message.camera_pose = pose_msg(view.odom_tform_camera)
    return message


def view_of(message: ViewMsg) -> View:
    """Return a view from its message."""
    return View(
        index=message.index,
        yaw=message.yaw,
        rgb=rgb_of_compressed(message.color),
        depth=depth_of_png(message.depth),
        camera=camera_of_info(message.camera_info),
        odom_tform_camera=tform_of_pose(message.camera_pose),
        stamp=stamp_ns(message.stamp),
    )


def detection_msg(detection: Detection) -> DetectionMsg:
    """Return a detection as message."""
    message = DetectionMsg(
        view=detection.view,
        label=detection.label,
        category=detection.category,
        score=float(detection.score),
        box_xyxy_px=np.asarray(detection.box_xyxy, dtype=np.float32),
        u_px=int(detection.pixel_uv[0]),
        v_px=int(detection.pixel_uv[1]),
        bearing=float(detection.bearing),
        has_position=detection.position_odom is not None,
    )
    if detection.position_odom is not None:
        message.position = point_msg(detection.position_odom)
        covariance = detection.covariance
        if covariance is not None:
            message.covariance = np.asarray(covariance, dtype=np.float64).reshape(9)
        if detection.extent is not None:
            x, y, z = (float(value) for value in detection.extent)
            message.extent = Vector3(x=x, y=y, z=z)
    return message


def detection_of(message: DetectionMsg) -> Detection:
    """Return a detection from its message; bearing-only ones carry no position."""
    placed = message.has_position
    left, top, right, bottom = (float(edge) for edge in message.box_xyxy_px)
    return Detection(
        view=message.view,
        label=message.label,
        category=message.category,
        score=message.score,
        box_xyxy=(left, top, right, bottom),
        pixel_uv=(message.u_px, message.v_px),
        bearing=message.bearing,
        position_odom=xyz_of(message.position) if placed else None,
        covariance=np.array(message.covariance).reshape(3, 3) if placed else None,
        extent=xyz_of(message.extent) if placed else None,
    )


def panorama_msg(panorama: Panorama, odom_frame: str, camera_frame: str) -> PanoramaMsg:
    """Return a panorama as message."""
    message = PanoramaMsg(id=panorama.id, is_complete=panorama.is_complete, note=panorama.note)
    message.header.stamp = stamp_msg(panorama.stamp)
    message.header.frame_id = odom_frame
    message.base_pose = pose_msg(panorama.odom_tform_base)
    message.views = [view_msg(view, camera_frame) for view in panorama.views]
    message.detections = [detection_msg(detection) for detection in panorama.detections]
    return message


def panorama_of(message: PanoramaMsg) -> Panorama:
    """Return a panorama from its message.

    Raises:
        PerceptionError: A picture is broken.
        GeometryError: A pose or camera is unusable.
    """
    views = tuple(view_of(view) for view in message.views)
    for view in views:
        if view.depth.shape != view.rgb.shape[:2]:
            raise GeometryError(f'view {view.index}: depth and colour differ in size')
    return Panorama(
        id=message.id,
        stamp=stamp_ns(message.header.stamp),
        odom_tform_base=tform_of_pose(message.base_pose),
        views=views,
        detections=tuple(detection_of(detection) for detection in message.detections),
        is_complete=message.is_complete,
        note=message.note,
    )


def grid_msg(
    occupied: NDArray[np.bool_],
    free: NDArray[np.bool_],
    origin: tuple[float, float],
    resolution: float,
) -> OccupancyGrid:
    """Return (R, C) masks as OccupancyGrid, row 0 at the origin's y; the header is left open.

    Args:
        occupied: True where something stands.
        free: True where the floor is known free; the rest is unknown.
        origin: Corner of cell (0, 0), metres.
        resolution: Edge of a cell, metres.
    """
    cells = np.full(occupied.shape, -1, np.int8)
    cells[free] = 0
    cells[occupied] = 100
    message = OccupancyGrid(data=int8_array(cells))
    message.info.height, message.info.width = cells.shape
    message.info.resolution = float(resolution)
    message.info.origin.position = point_msg((*origin, 0.0))
    message.info.origin.orientation.w = 1.0
    return message


def int8_array(cells: NDArray[np.int8]) -> array[int]:
    """Return grid data as message field: rclpy takes arrays without a look at each element."""
    return array('b', np.ascontiguousarray(cells, dtype=np.int8).tobytes())


def distance_msg(distance: float | None) -> float:
    """Return an optional distance for a message: NaN where it was not said."""
    return math.nan if distance is None else float(distance)


def distance_of(distance: float) -> float | None:
    """Return an optional distance from a message."""
    return None if math.isnan(distance) else distance
