# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From a pixel of a stored view to a goal on the floor, or a refusal (SPEC section 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.control.footprint import Footprint
from vln_core.errors import ConfigError
from vln_core.geometry.camera import PinholeCamera, check_size
from vln_core.geometry.transforms import checked_pose
from vln_core.observation import View
from vln_core.outcome import MotionCode


@dataclass(frozen=True)
class PixelGoalConfig:
    """How a pixel becomes a goal.

    Attributes:
        stop_margin: Kept before the target, metres.
        longest: Longest step, metres.
        step: Steps are rounded down to multiples of this, metres.
        min_depth: Nearest valid reading, metres.
        max_depth: Farthest valid reading; more is far, metres.
        radius: Of the body, metres.
        margin: Kept beyond the radius in the corridor, metres.
        step_height: Bottom of the body-height band, metres above the floor.
        robot_height: Top of the band, metres above the floor.
        self_radius: Points nearer than this to the robot's centre are its own body, metres.
        see_through_ratio: A depth beyond this multiple of its surroundings is a gap or glass.
        see_through_step: ... and by at least so much farther, metres.
        see_through_fraction: ... unless at least this fraction of the surroundings is as far.
    """

    stop_margin: float = 0.35
    longest: float = 2.5
    step: float = 0.25
    min_depth: float = 0.15
    max_depth: float = 10.0
    radius: float = 0.20
    margin: float = 0.05
    step_height: float = 0.06
    robot_height: float = 1.2
    self_radius: float = 0.15
    see_through_ratio: float = 1.5
    see_through_step: float = 0.7
    see_through_fraction: float = 0.2

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value < 0.0:
                raise ConfigError(f'pixel_goal.{name} = {value} must be a number of at least 0')
        if self.step <= 0.0 or self.longest < self.step:
            raise ConfigError('pixel_goal needs 0 < step <= longest')
        if not self.min_depth < self.max_depth:
            raise ConfigError('pixel_goal needs min_depth < max_depth')


@dataclass(frozen=True)
class PixelGoal:
    """Direction and length of the move, relative to base_link at plan time.

    Attributes:
        theta: Bearing, rad, counter-clockwise positive from straight ahead.
        rho: Ground distance to drive, metres, a multiple of the step.
        goal_xy: The end of it in the odometry frame, metres.
        target_odom: (x, y, z) of the surface in the pixel; None for a far pixel.
        is_far: The pixel shows nothing within range: a direction, not a place.
    """

    theta: float
    rho: float
    goal_xy: tuple[float, float]
    target_odom: tuple[float, float, float] | None
    is_far: bool


@dataclass(frozen=True)
class Refusal:
    """Why a pixel is no goal."""

    code: MotionCode
    message: str


def pixel_goal(
    view: View,
    pixel_uv: tuple[float, float],
    pose_xy_yaw: tuple[float, float, float],
    config: PixelGoalConfig,
    *,
    floor_z: float = 0.0,
) -> PixelGoal | Refusal:
    """Turn a pixel into (theta, rho), without looking at what lies between.

    Args:
        view: The stored picture with depth and the camera's pose at the exposure.
        pixel_uv: Column and row, px.
        pose_xy_yaw: base_link at plan time, metres and rad, odometry frame.
        config: Margins and limits.
        floor_z: Height of the floor under the robot in the odometry frame, metres.

    Returns:
        The goal, or a refusal: OUT_OF_PICTURE, INVALID_DEPTH, SEE_THROUGH or TOO_SHORT.

    Raises:
        ImageSizeError: The depth does not have the size of the camera.
        GeometryError: The stored pose is not a rigid transform.
    """
    check_size(view.depth, view.camera)
    tform = checked_pose(view.odom_tform_camera)
    camera = view.camera
    u, v = float(pixel_uv[0]), float(pixel_uv[1])
    if not (math.isfinite(u) and math.isfinite(v)):
        return Refusal(MotionCode.OUT_OF_PICTURE, f'pixel ({u}, {v}) is not a place in a picture')
    column, row = int(math.floor(u + 0.5)), int(math.floor(v + 0.5))
    if not (0 <= column < camera.width and 0 <= row < camera.height):
        return Refusal(
            MotionCode.OUT_OF_PICTURE,
            f'pixel ({u:.0f}, {v:.0f}) is outside the {camera.width} x {camera.height} picture',
        )
    depth = float(view.depth[row, column])
    if math.isnan(depth) or depth == 0.0:
        return Refusal(
            MotionCode.INVALID_DEPTH,
            f'no depth at pixel ({column}, {row}); choose a pixel on a solid surface nearby',
        )
    if depth < config.min_depth:
        return Refusal(
            MotionCode.INVALID_DEPTH,
            f'pixel ({column}, {row}) shows something too near to measure',
        )
    seen_through = _see_through(view.depth, column, row, config)
    if seen_through is not None:
        return seen_through
    is_far = depth > config.max_depth
    ray = np.array([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1.0])
    point = tform[:3, :3] @ (ray * (config.max_depth if is_far else depth)) + tform[:3, 3]
    x, y, yaw = pose_xy_yaw
    bearing = math.atan2(point[1] - y, point[0] - x)
    distance = math.hypot(point[0] - x, point[1] - y)
    wanted = config.longest if is_far else min(distance - config.stop_margin, config.longest)
    rho = math.floor(wanted / config.step + 1e-9) * config.step
    if rho < config.step:
        return Refusal(
            MotionCode.TOO_SHORT,
            f'the target is {distance:.2f} m away, nearer than one step of {config.step:.2f} m '
            f'after the stop margin of {config.stop_margin:.2f} m: the robot is there already',
        )
    return PixelGoal(
        theta=math.remainder(bearing - yaw, 2.0 * math.pi),
        rho=rho,
        goal_xy=(x + rho * math.cos(bearing), y + rho * math.sin(bearing)),
        target_odom=None if is_far else (float(point[0]), float(point[1]), float(point[2])),
        is_far=is_far,
    )


def pixel_point(
    view: View, pixel_uv: tuple[float, float], max_depth: float
) -> NDArray[np.float64] | None:
    """Return what a pixel shows, for people to see.

    Args:
        view: The stored picture.
        pixel_uv: Column and row, px.
        max_depth: Depth of what is farther, or unknown, metres.

    Returns:
        (3,) metres, odometry frame; None for a pixel outside of the picture.
    """
    camera = view.camera
    u, v = pixel_uv
    if not (-0.5 <= u < camera.width - 0.5 and -0.5 <= v < camera.height - 0.5):
        return None
    depth = float(view.depth[int(math.floor(v + 0.5)), int(math.floor(u + 0.5))])
    depth = min(depth, max_depth) if depth > 0.0 else max_depth
    ray = np.array([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1.0])
    return view.odom_tform_camera[:3, :3] @ (ray * depth) + view.odom_tform_camera[:3, 3]


def corridor_block(
    depth: NDArray[np.float32],
    camera: PinholeCamera,
    odom_tform_camera: NDArray[np.float64],
    pose_xy_yaw: tuple[float, float, float],
    theta: float,
    rho: float,
    config: PixelGoalConfig,
    *,
    floor_z: float = 0.0,
    body_mask: NDArray[np.bool_] | None = None,
    footprint: Footprint | None = None,
) -> tuple[float, float] | None:
    """Check the straight corridor over every valid depth pixel of a view (SPEC section 6).

    A point p of base_link in the body-height band blocks if ``0 <= f.p <= rho + radius`` and
    ``|n.p| <= radius + margin`` with f = (cos theta, sin theta), n = (-sin theta, cos theta).

    Args:
        depth: (H, W) metres; NaN, 0 and far readings are no points, -inf is one at min_depth.
        camera: Intrinsics of ``depth``.
        odom_tform_camera: (4, 4) pose of the optical frame at the exposure.
        pose_xy_yaw: base_link at plan time.
        theta: Bearing of the corridor relative to base_link, rad.
        rho: Length, metres.
        config: Radius, margin, band.
        floor_z: Height of the floor in the odometry frame, metres.
        body_mask: (H, W) True where the picture shows the robot itself.
        footprint: Its width and front count instead of the radius; None: a circle.

    Returns:
        (ahead, left) of the nearest blocking point along the corridor, metres, or None.

    Raises:
        ImageSizeError: ``depth`` does not have the size of ``camera``.
        GeometryError: The pose is not a rigid transform.
    """
    check_size(depth, camera)
    tform = checked_pose(odom_tform_camera)
    d = depth.astype(np.float64)
    d = np.where(d < config.min_depth, np.where(d == 0.0, np.nan, config.min_depth), d)
    valid = d <= config.max_depth
    if body_mask is not None:
        check_size(body_mask, camera)
        valid &= ~body_mask
    rows, columns = np.nonzero(valid)
    d = d[rows, columns]
    rays = np.stack([(columns - camera.cx) / camera.fx * d, (rows - camera.cy) / camera.fy * d, d])
    points = tform[:3, :3] @ rays + tform[:3, 3:4]
    height = points[2] - floor_z
    x, y, yaw = pose_xy_yaw
    px, py = points[0] - x, points[1] - y
    heading = yaw + theta
    ahead = math.cos(heading) * px + math.sin(heading) * py
    left = -math.sin(heading) * px + math.cos(heading) * py
    blocks = (height >= config.step_height) & (height <= config.robot_height)
    body = footprint or Footprint(config.radius)
    blocks &= (ahead >= 0.0) & (ahead <= rho + body.front)
    blocks &= np.abs(left) <= body.half_width + config.margin
    blocks &= px * px + py * py >= config.self_radius**2
    if not blocks.any():
        return None
    index = int(np.argmin(np.where(blocks, ahead, np.inf)))
    return float(ahead[index]), float(left[index])


def _see_through(
    depth: NDArray[np.float32], column: int, row: int, config: PixelGoalConfig
) -> Refusal | None:
    """Refuse a pixel in a small gap: a mesh hole, a slit, the far side of a pane's edge.

    The surroundings are two windows. In the small one a real opening fills a good part; where it
    does not, the pixel hangs between nearer things.
    """
    half = max(4, depth.shape[1] // 32)
    window = depth[max(0, row - half) : row + half + 1, max(0, column - half) : column + half + 1]
    known = window[~np.isnan(window) & (window != 0.0)]
    own = min(float(depth[row, column]), config.max_depth)
    clipped = np.clip(known, config.min_depth, config.max_depth)
    around = float(np.median(clipped))
    if own < config.see_through_ratio * around or own < around + config.see_through_step:
        return None
    as_far = float(np.mean(clipped > 0.5 * (own + around)))
    if as_far >= config.see_through_fraction:
        return None
    return Refusal(
        MotionCode.SEE_THROUGH,
        f'the depth of {own:.1f} m at this pixel is far beyond its surroundings ({around:.1f} m): '
        'glass, a slit or a hole; choose a pixel on the nearer surface or in a wider opening',
    )
