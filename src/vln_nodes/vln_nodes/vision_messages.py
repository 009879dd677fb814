# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Detections as vision_msgs, for other software; only where that package is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from std_msgs.msg import Header

from vln_core.observation import Detection, Panorama, View
from vln_nodes import conversions


def load() -> Any | None:
    """Return the messages of vision_msgs, or None where the package is not installed."""
    try:
        return importlib.import_module('vision_msgs.msg')
    except ImportError:
        return None


def boxes_2d(msgs: Any, panorama: Panorama, view: View, frame_id: str) -> Any:
    """Return the detections of one view as Detection2DArray, stamped and framed like its picture.

    Args:
        msgs: As :func:`load` gave it.
        panorama: Of which the view is one.
        view: The view.
        frame_id: Optical frame of its camera.
    """
    header = Header(stamp=conversions.stamp_msg(view.stamp), frame_id=frame_id)
    array = msgs.Detection2DArray(header=header)
    for number, found in enumerate(panorama.detections):
        if found.view != view.index:
            continue
        left, top, right, bottom = found.box_xyxy
        message = msgs.Detection2D(header=header, id=f'{panorama.id}.{number}')
        message.results.append(_hypothesis(msgs, found))
        message.bbox.center.position.x = 0.5 * (left + right)
        message.bbox.center.position.y = 0.5 * (top + bottom)
        message.bbox.size_x, message.bbox.size_y = right - left, bottom - top
        array.detections.append(message)
    return array


def boxes_3d(msgs: Any, panorama: Panorama, frame_id: str) -> Any:
    """Return the detections with a position as Detection3DArray in the odometry frame.

    Args:
        msgs: As :func:`load` gave it.
        panorama: The panorama.
        frame_id: Odometry frame.
    """
    header = Header(stamp=conversions.stamp_msg(panorama.stamp), frame_id=frame_id)
    array = msgs.Detection3DArray(header=header)
    for number, found in enumerate(panorama.detections):
        if found.position_odom is None or found.extent is None:
            continue
        message = msgs.Detection3D(header=header, id=f'{panorama.id}.{number}')
        hypothesis = _hypothesis(msgs, found)
        hypothesis.pose.pose.position = conversions.point_msg(found.position_odom)
        hypothesis.pose.pose.orientation.w = 1.0
        if found.covariance is not None:
            covariance = np.zeros((6, 6))
            covariance[:3, :3] = found.covariance
            hypothesis.pose.covariance = covariance.ravel()
        message.results.append(hypothesis)
        message.bbox.center.position = conversions.point_msg(found.position_odom)
        message.bbox.center.orientation.w = 1.0
        x, y, z = (float(edge) for edge in found.extent)
        message.bbox.size.x, message.bbox.size.y, message.bbox.size.z = x, y, z
        array.detections.append(message)
    return array


def _hypothesis(msgs: Any, found: Detection) -> Any:
    result = msgs.ObjectHypothesisWithPose()
    result.hypothesis.class_id = found.category
    result.hypothesis.score = float(found.score)
    return result
