# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Messages to core types and back: panoramas and grids, and in one place all that nodes need.

Pure functions. Images are in :mod:`vln_nodes.image_conversions`, stamps and poses in
:mod:`vln_nodes.pose_conversions`; what memory and planner exchange in
:mod:`vln_nodes.memory_conversions`.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping

import numpy as np
from geometry_msgs.msg import Vector3
from nav_msgs.msg import OccupancyGrid
from numpy.typing import NDArray

from vln_core.errors import GeometryError
from vln_core.observation import Detection, Panorama, View
from vln_interfaces.msg import Detection as DetectionMsg
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_interfaces.msg import View as ViewMsg
from vln_nodes.image_conversions import (
    camera_of_info,
    cloud_msg,
    depth_of_image,
    depth_of_png,
    depth_of_transport,
    distortion_of_info,
    image_of_rgb,
    info_of_camera,
    jpeg_of_rgb,
    png_of_depth,
    png_of_rgb,
    rgb_of_compressed,
    rgb_of_image,
    semantic_of_image,
)
from vln_nodes.pose_conversions import (
    planar_of_odometry,
    planar_of_pose2d,
    point_msg,
    pose2d_msg,
    pose_msg,
    stamp_msg,
    stamp_ns,
    tform_of_pose,
    tform_of_transform,
    xyz_of,
)

__all__ = [
    'camera_of_info',
    'cloud_msg',
    'depth_of_image',
    'depth_of_png',
    'depth_of_transport',
    'detection_msg',
    'detection_of',
    'distance_msg',
    'distance_of',
    'distortion_of_info',
    'grid_msg',
    'image_of_rgb',
    'info_of_camera',
    'int8_array',
    'jpeg_of_rgb',
    'panorama_msg',
    'panorama_of',
    'planar_of_odometry',
    'planar_of_pose2d',
    'png_of_depth',
    'png_of_rgb',
    'point_msg',
    'pose2d_msg',
    'pose_msg',
    'rgb_of_compressed',
    'rgb_of_image',
    'semantic_of_image',
    'stamp_msg',
    'stamp_ns',
    'tform_of_pose',
    'tform_of_transform',
    'view_msg',
    'view_of',
    'xyz_of',
]

_CAPTION = 'caption of view'


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


def panorama_msg(
    panorama: Panorama, odom_frame: str, camera_frame: str | Mapping[int, str]
) -> PanoramaMsg:
    """Return a panorama as message.

    Args:
        panorama: The panorama.
        odom_frame: Frame of its poses.
        camera_frame: Optical frame of all views, or of each by its index.
    """
    # The message has no field for captions: they are lines below the note, where people read them.
    lines = [f'{_CAPTION} {k}: {text}' for k, text in enumerate(panorama.captions)]
    note = '\n'.join([panorama.note, *lines])
    message = PanoramaMsg(id=panorama.id, is_complete=panorama.is_complete, note=note)
    message.header.stamp = stamp_msg(panorama.stamp)
    message.header.frame_id = odom_frame
    message.base_pose = pose_msg(panorama.odom_tform_base)
    message.views = [
        view_msg(view, camera_frame if isinstance(camera_frame, str) else camera_frame[view.index])
        for view in panorama.views
    ]
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
    note, *captions = re.split(rf'\n{_CAPTION} \d+: ', message.note)
    return Panorama(
        id=message.id,
        stamp=stamp_ns(message.header.stamp),
        odom_tform_base=tform_of_pose(message.base_pose),
        views=views,
        detections=tuple(detection_of(detection) for detection in message.detections),
        is_complete=message.is_complete,
        note=note,
        captions=tuple(captions),
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
