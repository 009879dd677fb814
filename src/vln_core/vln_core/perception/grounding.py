# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From boxes and masks to observations in space: Gamma(O, D, P) of SPEC section 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core import vocabulary
from vln_core.errors import ConfigError
from vln_core.geometry import transforms
from vln_core.observation import Detection, Segment, View

_MAX_SAMPLES = 8000


@dataclass(frozen=True)
class GroundingConfig:
    """Limits and sensor model of depth grounding.

    Attributes:
        min_depth: Nearer readings give no position, metres.
        max_depth: Farther readings give no position, metres.
        min_pixels_px: Valid depths that a position needs.
        min_valid_fraction: Fraction of the mask that must have valid depth.
        outlier_scale: Depths farther from the median than this many scaled median absolute
            deviations (at least 5 cm) are outliers: background behind a mask's rim, flying pixels.
        sigma_base: Depth error at 0 m, metres.
        sigma_slope: Growth of the depth error with the square of depth, 1/m.
    """

    min_depth: float = 0.15
    max_depth: float = 6.0
    min_pixels_px: int = 12
    min_valid_fraction: float = 0.05
    outlier_scale: float = 3.0
    sigma_base: float = 0.01
    sigma_slope: float = 0.005

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_depth < self.max_depth or not math.isfinite(self.max_depth):
            raise ConfigError(
                f'grounding: depth limits {self.min_depth} .. {self.max_depth} m are not a range'
            )


def ground_segments(
    view: View, segments: Sequence[Segment], config: GroundingConfig
) -> list[Detection]:
    """Ground what a detector saw in one view; order is kept.

    Args:
        view: Picture with aligned depth and camera pose.
        segments: Boxes and masks of that picture.
        config: Limits and sensor model.

    Returns:
        One detection a segment; those without enough valid depth are bearing-only.
    """
    return [_ground(view, segment, config) for segment in segments]


def _ground(view: View, segment: Segment, config: GroundingConfig) -> Detection:
    mask = _support(segment, view.depth.shape)
    rows, columns = np.nonzero(mask)
    depths = view.depth[rows, columns].astype(np.float64)
    valid = np.isfinite(depths) & (depths >= config.min_depth) & (depths <= config.max_depth)
    centre_u, centre_v = _centre(segment, rows, columns)
    enough = max(config.min_pixels_px, config.min_valid_fraction * len(depths))
    if np.count_nonzero(valid) < enough:
        pixel = (int(round(centre_u)), int(round(centre_v)))
        return _detection(view, segment, _clip(pixel, view), None, None, None)
    # Medians of thousands of pixels are as good as of all, and grounding must not cost a frame.
    step = -(-int(np.count_nonzero(valid)) // _MAX_SAMPLES)
    chosen = np.flatnonzero(valid)[::step]
    rows, columns, depths = rows[chosen], columns[chosen], depths[chosen]
    inlier = _inliers(depths, config.outlier_scale)
    rows, columns, depths = rows[inlier], columns[inlier], depths[inlier]
    median = float(np.median(depths))
    pixel = _median_pixel(rows, columns, depths, median, centre_u, centre_v)
    camera = view.camera
    tform = view.odom_tform_camera
    ray = np.array([(centre_u - camera.cx) / camera.fx, (centre_v - camera.cy) / camera.fy, 1.0])
    position = transforms.apply(tform, (ray * median)[None])[0]
    points = np.stack(
        [
            (columns - camera.cx) / camera.fx * depths,
            (rows - camera.cy) / camera.fy * depths,
            depths,
        ],
        axis=1,
    )
    points_odom = transforms.apply(tform, points)
    low, high = np.percentile(points_odom, [2.0, 98.0], axis=0)
    covariance = _covariance(ray, median, step * len(depths), view, config)
    return _detection(view, segment, pixel, position, covariance, high - low)


def _support(segment: Segment, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the pixels to measure: the mask without its rim, or the core of the box."""
    if segment.mask is not None:
        core = cv2.erode(segment.mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        return core if np.count_nonzero(core) >= 24 else segment.mask
    left, top, right, bottom = segment.box_xyxy
    margin_u, margin_v = 0.25 * (right - left), 0.25 * (bottom - top)
    mask = np.zeros(shape, dtype=bool)
    mask[
        max(0, math.floor(top + margin_v)) : max(0, math.ceil(bottom - margin_v)),
        max(0, math.floor(left + margin_u)) : max(0, math.ceil(right - margin_u)),
    ] = True
    return mask


def _centre(
    segment: Segment, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> tuple[float, float]:
    """Return column and row of the box's middle, which holds for rings like doorways too."""
    left, top, right, bottom = segment.box_xyxy
    if segment.mask is None or not len(rows):
        return (left + right - 1.0) / 2.0, (top + bottom - 1.0) / 2.0
    return (columns.min() + columns.max()) / 2.0, (rows.min() + rows.max()) / 2.0


def _inliers(depths: NDArray[np.float64], scale: float) -> NDArray[np.bool_]:
    deviation = np.abs(depths - np.median(depths))
    spread = max(1.4826 * float(np.median(deviation)), 0.05)
    return deviation <= scale * spread


def _median_pixel(
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    depths: NDArray[np.float64],
    median: float,
    centre_u: float,
    centre_v: float,
) -> tuple[int, int]:
    """Return (column, row) of the pixel of median depth that is nearest to the middle."""
    error = np.abs(depths - median)
    near = np.flatnonzero(error <= max(float(np.percentile(error, 20)), 1e-6))
    offset = np.hypot(columns[near] - centre_u, rows[near] - centre_v)
    best = near[int(np.argmin(offset))]
    return int(columns[best]), int(rows[best])


def _covariance(
    ray: NDArray[np.float64], depth: float, count: int, view: View, config: GroundingConfig
) -> NDArray[np.float64]:
    """Return the (3, 3) covariance in the odometry frame, m^2: range grows with depth squared."""
    sigma_range = config.sigma_base + config.sigma_slope * depth * depth
    # Half the footprint of the support: where on the surface the middle lies is not known better.
    sigma_across = max(0.5 * math.sqrt(count) * depth / view.camera.fx, 0.02)
    along = view.odom_tform_camera[:3, :3] @ (ray / np.linalg.norm(ray))
    outer = np.outer(along, along)
    return sigma_range**2 * outer + sigma_across**2 * (np.eye(3) - outer)


def _clip(pixel: tuple[int, int], view: View) -> tuple[int, int]:
    return (
        min(max(pixel[0], 0), view.camera.width - 1),
        min(max(pixel[1], 0), view.camera.height - 1),
    )


def _detection(
    view: View,
    segment: Segment,
    pixel: tuple[int, int],
    position: NDArray[np.float64] | None,
    covariance: NDArray[np.float64] | None,
    extent: NDArray[np.float64] | None,
) -> Detection:
    camera = view.camera
    ray = np.array([(pixel[0] - camera.cx) / camera.fx, (pixel[1] - camera.cy) / camera.fy, 1.0])
    direction = view.odom_tform_camera[:3, :3] @ ray
    return Detection(
        view=view.index,
        label=segment.label,
        category=vocabulary.category_of(segment.label),
        score=segment.score,
        box_xyxy=segment.box_xyxy,
        pixel_uv=pixel,
        bearing=math.atan2(direction[1], direction[0]),
        position_odom=position,
        covariance=covariance,
        extent=extent,
    )
