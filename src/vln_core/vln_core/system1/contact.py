# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From a box to the pixel to drive to: floor contact first, then the surface itself (SPEC 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import ConfigError
from vln_core.geometry.camera import back_project_image
from vln_core.geometry.transforms import checked_pose
from vln_core.observation import View

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class ContactConfig:
    """What counts as floor and where to look for it.

    Attributes:
        floor_tolerance: Height that still is floor, metres; grows by ``tolerance_slope``.
        tolerance_slope: Growth of the tolerance with depth, metres per metre.
        below_fraction: How far below the box to look, as a fraction of its height.
        above_fraction: How far above the bottom of the box to look, likewise.
        max_gap: Farthest the floor point may lie from the object on the ground, metres.
        doorway_beyond: How far behind a doorway the floor point lies, so that the robot, which
            stops before the point, stands in or just behind the opening, metres.
        min_depth: Nearest valid depth, metres.
        max_depth: Farthest valid depth, metres.
    """

    floor_tolerance: float = 0.06
    tolerance_slope: float = 0.01
    below_fraction: float = 0.15
    above_fraction: float = 0.35
    max_gap: float = 0.6
    doorway_beyond: float = 0.75
    min_depth: float = 0.15
    max_depth: float = 10.0

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value < 0.0:
                raise ConfigError(f'contact.{name} = {value} must be a number of at least 0')


def floor_contact(
    view: View,
    box_xyxy: Box,
    config: ContactConfig,
    *,
    floor_z: float = 0.0,
    surface_distance: float | None = None,
) -> tuple[int, int] | None:
    """Return the pixel (column, row) where the box meets the floor, or None.

    Args:
        view: Picture, depth and pose.
        box_xyxy: Left, top, right, bottom, px.
        config: What counts as floor.
        floor_z: Height of the floor in the odometry frame, metres.
        surface_distance: Ground distance of the object's surface from the camera, metres; None:
            taken from the depths in the box.
    """
    points, is_floor = _floor(view, config, floor_z)
    left, top, right, bottom = _clipped(box_xyxy, view)
    if right <= left or bottom <= top:
        return None
    height = bottom - top
    first = max(top, int(bottom - config.above_fraction * height))
    last = min(view.camera.height, int(math.ceil(bottom + config.below_fraction * height)) + 1)
    trim = int(0.2 * (right - left))
    columns = slice(left + trim, max(left + trim + 1, right - trim))
    origin = view.odom_tform_camera[:2, 3]
    ground = np.hypot(points[..., 0] - origin[0], points[..., 1] - origin[1])
    if surface_distance is None:
        inside = ground[top:bottom, left:right][~is_floor[top:bottom, left:right]]
        inside = inside[np.isfinite(inside)]
        if len(inside) == 0:
            return None
        surface_distance = float(np.median(inside))
    candidates = is_floor[first:last, columns].copy()
    candidates &= np.abs(ground[first:last, columns] - surface_distance) <= config.max_gap
    rows, offsets = np.nonzero(candidates)
    if len(rows) == 0:
        return None
    middle = 0.5 * (left + right - 1)
    # Nearest to the bottom of the box; sideways counts half.
    cost = np.abs(rows + first - (bottom - 1)) + 0.5 * np.abs(offsets + columns.start - middle)
    best = int(np.argmin(cost))
    return int(offsets[best] + columns.start), int(rows[best] + first)


def doorway_floor(
    view: View,
    box_xyxy: Box,
    config: ContactConfig,
    *,
    floor_z: float = 0.0,
    frame_distance: float | None = None,
) -> tuple[int, int] | None:
    """Return a floor pixel in the middle of an opening, a little behind it, or None.

    Args:
        view: Picture, depth and pose.
        box_xyxy: Box of the door frame, px.
        config: What counts as floor.
        floor_z: Height of the floor in the odometry frame, metres.
        frame_distance: Ground distance of the frame from the camera, metres; None: from the
            floor at the bottom of the box.
    """
    points, is_floor = _floor(view, config, floor_z)
    left, top, right, bottom = _clipped(box_xyxy, view)
    if right <= left or bottom <= top:
        return None
    origin = view.odom_tform_camera[:2, 3]
    ground = np.hypot(points[..., 0] - origin[0], points[..., 1] - origin[1])
    middle = (left + right) // 2
    half = max(1, (right - left) // 8)
    columns = slice(max(0, middle - half), min(view.camera.width, middle + half + 1))
    rows, offsets = np.nonzero(is_floor[top:, columns])
    if len(rows) == 0:
        return None
    distances = ground[top:, columns][rows, offsets]
    if frame_distance is None:
        at_bottom = np.argmin(np.abs(rows + top - (bottom - 1)))
        frame_distance = float(distances[at_bottom])
    wanted = frame_distance + config.doorway_beyond
    cost = np.abs(distances - wanted) + 0.01 * np.abs(offsets + columns.start - middle)
    cost = np.where(distances > wanted + 0.3, np.inf, cost)
    best = int(np.argmin(cost))
    if not math.isfinite(cost[best]):
        return None
    return int(offsets[best] + columns.start), int(rows[best] + top)


def core_pixel(view: View, box_xyxy: Box, config: ContactConfig) -> tuple[int, int] | None:
    """Return the median-depth pixel of the middle half of a box, nearest its centre, or None."""
    left, top, right, bottom = _clipped(box_xyxy, view)
    if right <= left or bottom <= top:
        return None
    trim_u, trim_v = (right - left) // 4, (bottom - top) // 4
    rows = slice(top + trim_v, max(top + trim_v + 1, bottom - trim_v))
    columns = slice(left + trim_u, max(left + trim_u + 1, right - trim_u))
    core = view.depth[rows, columns]
    valid = np.isfinite(core) & (core >= config.min_depth) & (core <= config.max_depth)
    if not valid.any():
        return None
    median = float(np.median(core[valid]))
    v, u = np.nonzero(valid & (np.abs(core - median) <= max(0.05, 0.03 * median)))
    if len(v) == 0:  # two surfaces half and half: take the nearer one
        v, u = np.nonzero(valid & (core <= median))
    offset = np.hypot(
        v + rows.start - 0.5 * (top + bottom - 1), u + columns.start - 0.5 * (left + right - 1)
    )
    best = int(np.argmin(offset))
    return int(u[best] + columns.start), int(v[best] + rows.start)


def _floor(
    view: View, config: ContactConfig, floor_z: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return (H, W, 3) odometry points, NaN where invalid, and the (H, W) mask of floor."""
    tform = checked_pose(view.odom_tform_camera)
    depth = view.depth
    usable = np.where((depth >= config.min_depth) & (depth <= config.max_depth), depth, np.nan)
    points = back_project_image(usable.astype(np.float32), view.camera)
    points = points @ tform[:3, :3].T + tform[:3, 3]
    limit = config.floor_tolerance + config.tolerance_slope * np.nan_to_num(usable)
    with np.errstate(invalid='ignore'):
        is_floor = np.abs(points[..., 2] - floor_z) <= limit
    return points, is_floor


def _clipped(box_xyxy: Box, view: View) -> tuple[int, int, int, int]:
    left, top, right, bottom = box_xyxy
    if not all(map(math.isfinite, box_xyxy)):
        return 0, 0, 0, 0
    return (
        max(0, int(math.floor(left))),
        max(0, int(math.floor(top))),
        min(view.camera.width, int(math.ceil(right))),
        min(view.camera.height, int(math.ceil(bottom))),
    )
