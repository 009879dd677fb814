# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Messages as the page shows them: JSON-able dicts, every number finite. Pure functions."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import OccupancyGrid, Path
from numpy.typing import NDArray

from vln_core.control.safety_config import SafetyState
from vln_core.geometry import transforms
from vln_core.outcome import EpisodeCode, GroundingCode, MotionCode
from vln_interfaces import msg
from vln_nodes import conversions

_LEVELS = {0: 'ok', 1: 'warn', 2: 'error', 3: 'stale'}


def number(value: float, digits: int = 3) -> float | None:
    """Return a rounded number; None (JSON null) for what is not finite."""
    value = float(value)
    return round(value, digits) if math.isfinite(value) else None


def _numbers(values: Sequence[float], digits: int = 3) -> list[float | None]:
    return [number(value, digits) for value in values]


def safety(status: msg.SafetyStatus) -> dict[str, Any]:
    """Return the state of the safety process."""
    try:
        name = SafetyState(status.state).name
    except ValueError:
        name = f'STATE_{status.state}'
    return {
        'state': name,
        'text': status.message,
        'source': status.source,
        'linear': number(status.commanded.linear.x),
        'angular': number(status.commanded.angular.z),
    }


def progress(record: msg.ProgressRecord) -> dict[str, Any]:
    """Return the progress record."""
    return {
        'instruction': record.instruction,
        'items': [
            {
                'index': item.index,
                'text': item.text,
                'kind': item.kind,
                'status': item.status,
                'reason': item.evidence_reason,
                'waypoint': item.evidence_waypoint,
            }
            for item in record.items
        ],
    }


def graph(world: msg.WorldGraph) -> dict[str, Any]:
    """Return places, objects, waypoints, openings and edges; metres in the graph's frame."""
    return {
        'frame': world.header.frame_id,
        'step': world.step,
        'places': [_place(place) for place in world.places if place.anchors],
        'objects': [
            {
                'id': item.id,
                'name': item.category,
                'at': _numbers((item.position.x, item.position.y), 2),
                'confidence': number(item.confidence, 2),
                'seen': item.num_sightings,
            }
            for item in world.objects
        ],
        'waypoints': [
            _numbers((stop.pose.x, stop.pose.y, stop.pose.theta), 2) for stop in world.waypoints
        ],
        'openings': [
            {'id': point.id, 'at': _numbers((point.position.x, point.position.y), 2),
             'text': point.caption}
            for point in world.viewpoints
            if not point.is_visited
        ],
        'edges': [[edge.a, edge.b] for edge in world.edges],
    }  # fmt: skip


def _place(place: msg.Place) -> dict[str, Any]:
    x = sum(anchor.x for anchor in place.anchors) / len(place.anchors)
    y = sum(anchor.y for anchor in place.anchors) / len(place.anchors)
    return {
        'id': place.id,
        'at': _numbers((x, y), 2),
        'name': place.name or place.room_type or f'place {place.id}',
        'text': place.description,
        'visits': place.visit_count,
        'failures': [
            {'reason': note.reason, 'step': note.step, 'goal': note.subgoal}
            for note in place.failures
        ],
    }


def plan(path: Path) -> dict[str, Any]:
    """Return the points of the planned path, metres."""
    points = [pose.pose.position for pose in path.poses]
    return {'points': [_numbers((point.x, point.y), 2) for point in points]}


def decision(
    record: msg.DecisionRecord, prompt_price: float, completion_price: float
) -> dict[str, Any]:
    """Return one decision; prices are per million tokens, 0 where nothing is to be paid."""
    cost = (
        record.prompt_tokens * prompt_price + record.completion_tokens * completion_price
    ) * 1e-6
    try:
        content = json.loads(record.record_json) if record.record_json else {}
    except ValueError:
        content = {}
    analysis = content.get('analysis', '') if isinstance(content, dict) else ''
    return {
        'episode': record.episode_id,
        'instruction': record.instruction,
        'step': record.step,
        'panorama': record.panorama_id,
        'planner': record.planner,
        'action': record.action_text or 'no decision',
        'analysis': str(analysis),
        'reason': record.rationale,
        'view': record.view,
        'box': _numbers(record.box_xyxy_px, 1) if any(record.box_xyxy_px) else None,
        'pixel': [record.u_px, record.v_px] if record.u_px >= 0 else None,
        'refusals': list(record.refusals),
        'code': code_name(record.outcome_code),
        'ok': record.outcome_code == 0,
        'outcome': record.outcome,
        'prompt_tokens': record.prompt_tokens,
        'completion_tokens': record.completion_tokens,
        'cost': number(cost, 6) if prompt_price or completion_price else None,
        'latency': number(record.latency),
    }


def code_name(code: int) -> str:
    """Return the name of an outcome code, whose blocks of numbers differ."""
    if code == 0:
        return 'OK'
    for codes in (MotionCode, GroundingCode, EpisodeCode):
        try:
            return codes(code).name
        except ValueError:
            continue
    return str(code)


def diagnostic(status: DiagnosticStatus) -> dict[str, Any]:
    """Return what a node says about itself."""
    level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
    return {
        'level': _LEVELS.get(level, 'error'),
        'text': status.message,
        'values': {pair.key: pair.value for pair in status.values},
    }


def panorama(message: msg.Panorama) -> tuple[dict[str, Any], bytes]:
    """Return a look-around and its JPEG pictures one after the other.

    The header gives the length of each picture, the boxes, and the camera's pose on the body,
    with which a page can draw on later pictures.
    """
    pictures = [bytes(view.color.data) for view in message.views]
    odom_tform_base = conversions.tform_of_pose(message.base_pose)
    views, mount = [], None
    for view, picture in zip(message.views, pictures):
        odom_tform_camera = conversions.tform_of_pose(view.camera_pose)
        if mount is None and abs(view.yaw) < 1e-6:
            mount = np.linalg.inv(odom_tform_base) @ odom_tform_camera
        camera = conversions.camera_of_info(view.camera_info)
        views.append(
            {
                'index': view.index,
                'yaw': number(view.yaw),
                'bytes': len(picture),
                'size': [camera.width, camera.height],
                'k': _numbers((camera.fx, camera.fy, camera.cx, camera.cy)),
            }
        )
    header = {
        'id': message.id,
        'complete': message.is_complete,
        'text': message.note,
        'views': views,
        'base': _numbers((*odom_tform_base[:2, 3], transforms.yaw_of(odom_tform_base))),
        'mount': None if mount is None else _numbers(mount[:3].ravel(), 6),
        'detections': [_detection(detection) for detection in message.detections],
    }
    return header, b''.join(pictures)


def _detection(detection: msg.Detection) -> dict[str, Any]:
    found = {
        'view': detection.view,
        'name': detection.category or detection.label,
        'score': number(detection.score, 2),
        'box': _numbers(detection.box_xyxy_px, 1),
        'at': None,
        'extent': None,
    }
    if detection.has_position:
        position, extent = detection.position, detection.extent
        found['at'] = _numbers((position.x, position.y, position.z))
        found['extent'] = _numbers((extent.x, extent.y, extent.z))
    return found


def jpeg_of_rgb(rgb: NDArray[np.uint8], max_width_px: int, quality: int) -> tuple[bytes, int, int]:
    """Return an (H, W, 3) picture, red first, as JPEG, scaled down where it is too wide.

    Returns:
        The data, and the width and height of the picture before it was scaled.
    """
    height, width = rgb.shape[:2]
    if width > max_width_px:
        size = (max_width_px, max(1, round(height * max_width_px / width)))
        rgb = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
    _, data = cv2.imencode('.jpg', bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return data.tobytes(), width, height


def png_of_rgb(rgb: NDArray[np.uint8]) -> bytes:
    """Return an (H, W, 3) picture, red first, as PNG."""
    return bytes(conversions.png_of_rgb(rgb).data)


def grid(message: OccupancyGrid) -> tuple[dict[str, Any], bytes] | None:
    """Return an occupancy grid as PNG with transparency, its first row at the top, and its place.

    None for a grid without cells.
    """
    info = message.info
    if info.width == 0 or info.height == 0 or len(message.data) != info.width * info.height:
        return None
    cells = np.asarray(message.data, dtype=np.int16).reshape(info.height, info.width)[::-1]
    picture = np.zeros((*cells.shape, 4), np.uint8)
    # Blue, green, red, opacity.
    picture[(cells >= 0) & (cells < 50)] = (235, 226, 217, 255)
    picture[cells >= 50] = (92, 71, 51, 255)
    _, data = cv2.imencode('.png', picture, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    header = {
        'resolution': number(info.resolution, 4),
        'origin': _numbers((info.origin.position.x, info.origin.position.y)),
        'size': [info.width, info.height],
    }
    return header, data.tobytes()
