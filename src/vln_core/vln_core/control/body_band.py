# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What one depth image shows at body height, small enough for the safety gate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from vln_core.control.footprint import Footprint, free_sweep
from vln_core.errors import ConfigError
from vln_core.geometry.camera import PinholeCamera, check_size
from vln_core.geometry.transforms import checked_pose

_NUM_BINS = 720


@dataclass(frozen=True)
class BodyBandConfig:
    """Body and range.

    Attributes:
        step_height: Bottom of the band, metres above the floor.
        robot_height: Top of the band, metres above the floor.
        height_noise: Growth of the bottom with depth, metres per metre.
        min_depth: Nearest valid reading; -inf and nearer ones count as this, metres.
        max_range: Things farther than this from the robot do not matter, metres.
        self_radius: Things nearer than this to the robot's centre are the robot, metres.
        min_points: Pixels that a direction needs at the nearest distance to count.
    """

    step_height: float = 0.06
    robot_height: float = 1.2
    height_noise: float = 0.008
    min_depth: float = 0.15
    max_range: float = 2.5
    self_radius: float = 0.15
    min_points: int = 2

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or value < 0.0:
                raise ConfigError(f'body_band.{name} = {value} must be a number of at least 0')


@numba.njit(cache=True, nogil=True)
def _nearest(
    depth: NDArray[np.float32],
    fx: float,
    fy: float,
    cx: float,
    cy: float,
    tform: NDArray[np.float64],
    limits: NDArray[np.float64],
    min_points: int,
    distance: NDArray[np.float64],
    counts: NDArray[np.int64],
    points: NDArray[np.float64],
) -> None:
    """Keep the nearest point of each direction about the robot; see the wrapper."""
    bottom, top, growth, min_depth, max_range, self_radius = limits
    height, width = depth.shape
    for v in range(height):
        ry = (v - cy) / fy
        for u in range(width):
            d = depth[v, u]
            if not d <= 4.0 * max_range or d == 0.0:
                continue
            d = max(d, min_depth)
            rx = (u - cx) / fx
            z = tform[2, 3] + d * (tform[2, 0] * rx + tform[2, 1] * ry + tform[2, 2])
            if z < bottom + growth * d or z > top:
                continue
            x = tform[0, 3] + d * (tform[0, 0] * rx + tform[0, 1] * ry + tform[0, 2])
            y = tform[1, 3] + d * (tform[1, 0] * rx + tform[1, 1] * ry + tform[1, 2])
            away = np.hypot(x, y)
            if away > max_range or away < self_radius:
                continue
            k = int((np.arctan2(y, x) + np.pi) / (2.0 * np.pi) * len(distance))
            k = min(k, len(distance) - 1)
            # A lone pixel is noise until a second one lies within 5 cm of it.
            if away < distance[k] - 0.05:
                counts[k] = 1
                distance[k] = away
                points[k, 0], points[k, 1] = x, y
            elif away <= distance[k] + 0.05:
                counts[k] += 1
                if away < distance[k]:
                    distance[k] = away
                    points[k, 0], points[k, 1] = x, y


def obstacles_in_band(
    depth: NDArray[np.float32],
    camera: PinholeCamera,
    base_tform_camera: NDArray[np.float64],
    config: BodyBandConfig,
) -> NDArray[np.float64]:
    """Return the nearest thing at body height in each half degree about the robot.

    Args:
        depth: (H, W) metres; NaN and 0 unknown, +inf far, -inf too near.
        camera: Intrinsics of ``depth``.
        base_tform_camera: (4, 4) pose of the optical frame in base_link at the exposure; the z of
            base_link is the floor.
        config: Body and range.

    Returns:
        (K, 2) points x forward, y left of base_link, metres, K <= 720; maybe empty.

    Raises:
        ImageSizeError: ``depth`` does not have the size of ``camera``.
        GeometryError: The pose is not a rigid transform.
    """
    check_size(depth, camera)
    tform = np.ascontiguousarray(checked_pose(base_tform_camera)[:3])
    distance = np.full(_NUM_BINS, np.inf)
    counts = np.zeros(_NUM_BINS, dtype=np.int64)
    points = np.zeros((_NUM_BINS, 2))
    limits = np.array(
        [
            config.step_height,
            config.robot_height,
            config.height_noise,
            config.min_depth,
            config.max_range,
            config.self_radius,
        ]
    )
    _nearest(
        np.ascontiguousarray(depth, dtype=np.float32),
        camera.fx,
        camera.fy,
        camera.cx,
        camera.cy,
        tform,
        limits,
        config.min_points,
        distance,
        counts,
        points,
    )
    return points[counts >= config.min_points]


def free_way(
    obstacles_base: NDArray[np.float64], v: float, w: float, body: Footprint, reach: float
) -> float:
    """Return how far a body may move along the arc of (v, w) before it touches an obstacle.

    Args:
        obstacles_base: (K, 2) points of base_link, metres.
        v: m/s; negative is backwards.
        w: rad/s.
        body: Outline of the robot.
        reach: Farthest way of interest, metres.

    Returns:
        Metres, at most ``reach``; inf where nothing is touched. Things that overlap the body
        already count only if the motion goes towards them.
    """
    if len(obstacles_base) == 0 or v == 0.0:
        return math.inf
    step = 0.02
    if not body.is_round:
        sign = math.copysign(1.0, v)
        return free_sweep(body.corners, obstacles_base, w / v, sign, False, reach, step, 0.0)
    way = np.arange(0.0, reach + step, step)
    sign, curvature = math.copysign(1.0, v), w / abs(v)
    if abs(curvature) > 1e-6:
        x = sign * np.sin(curvature * way) / curvature
        y = sign * (1.0 - np.cos(curvature * way)) / curvature
    else:
        x, y = sign * way, np.zeros_like(way)
    apart = np.hypot(obstacles_base[:, 0, None] - x, obstacles_base[:, 1, None] - y)
    nearer = np.diff(apart, axis=1, append=apart[:, -1:] + 1.0) < -1e-9
    touching = (apart < body.outer) & nearer
    first = np.flatnonzero(touching.any(axis=0))
    return float(way[max(0, first[0] - 1)]) if len(first) else math.inf


def free_turn(
    obstacles_base: NDArray[np.float64], w: float, body: Footprint, reach: float
) -> float:
    """Return how far a body may turn in place before it touches an obstacle.

    Args:
        obstacles_base: (K, 2) points of base_link, metres.
        w: rad/s.
        body: Outline of the robot.
        reach: Farthest turn of interest, rad.

    Returns:
        Rad, at most ``reach``; inf where nothing is touched, and for a circle.
    """
    if len(obstacles_base) == 0 or w == 0.0 or body.is_round:
        return math.inf
    sign = math.copysign(1.0, w)
    return free_sweep(body.corners, obstacles_base, 0.0, sign, True, reach, 0.02, 0.0)


def warm_up(config: BodyBandConfig, body: Footprint) -> None:
    """Compile what is called for each picture and command, before anything waits for it."""
    camera = PinholeCamera(2, 2, 1.0, 1.0, 0.5, 0.5)
    obstacles_in_band(np.ones((2, 2), np.float32), camera, np.eye(4), config)
    free_way(np.ones((1, 2)), 0.1, 0.1, body, 0.1)
