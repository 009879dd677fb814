# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From boxes and masks to observations in space: Gamma(O, D, P) of SPEC section 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core import vocabulary
from vln_core.errors import ConfigError
from vln_core.geometry import transforms
from vln_core.observation import Detection, Segment, View
from vln_core.perception.grounding_kernels import measured_pixels

# Medians of thousands of pixels are as good as of all, and grounding must not cost a frame.
_MAX_SAMPLES = 2000
_KEPT = 200
# Metres without a reading that part a thing from what is behind it.
_GAP = 0.2
_RIM = np.ones((3, 3), np.uint8)


@dataclass(frozen=True)
class GroundingConfig:
    """Limits and sensor model of depth grounding.

    Attributes:
        min_depth: Nearer readings give no position, metres.
        max_depth: Farther readings give no position, metres.
        min_pixels_px: Valid depths that a position needs.
        min_valid_fraction: Fraction of the mask that must have valid depth.
        outlier_scale: Depths farther from the median than this many scaled median absolute
            deviations (at least 5 cm), and beyond a gap, are outliers: background behind a rim.
        edge_step: A pixel whose neighbour is nearer or farther by more than this fraction of its
            depth (at least 5 cm) lies on an edge: flying pixels are there.
        sigma_base: Depth error at 0 m, metres.
        sigma_slope: Growth of the depth error with the square of depth, 1/m.
    """

    min_depth: float = 0.15
    max_depth: float = 6.0
    min_pixels_px: int = 12
    min_valid_fraction: float = 0.05
    outlier_scale: float = 3.0
    edge_step: float = 0.06
    sigma_base: float = 0.01
    sigma_slope: float = 0.005

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_depth < self.max_depth or not math.isfinite(self.max_depth):
            raise ConfigError(
                f'grounding: depth limits {self.min_depth} .. {self.max_depth} m are not a range'
            )


@dataclass(frozen=True, eq=False)
class Sighting:
    """A grounded detection with what comparing it to another view's needs.

    Attributes:
        detection: The observation.
        segment: What the detector said.
        points_odom: (N, 3) some points of the visible surface, metres; for a detection without
            position they lie on its rays at the greatest depth.
        low: (3,) least coordinates of the visible surface, metres; None without position.
        high: (3,) greatest coordinates; None without position.
        is_cut: The box touches the border of the picture: part of the thing is not in it.
    """

    detection: Detection
    segment: Segment
    points_odom: NDArray[np.float64]
    low: NDArray[np.float64] | None
    high: NDArray[np.float64] | None
    is_cut: bool


@dataclass(frozen=True, eq=False)
class _Samples:
    """Pixels of a segment: rows and columns (N,), depths (N,) m, and how many each stands for."""

    rows: NDArray[Any]
    columns: NDArray[Any]
    depths: NDArray[np.float64]
    weight: int
    centre_uv: tuple[float, float]

    def only(self, keep: NDArray[np.bool_]) -> _Samples:
        return _Samples(
            self.rows[keep], self.columns[keep], self.depths[keep], self.weight, self.centre_uv
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
    return [sight(view, segment, config).detection for segment in segments]


def sight(view: View, segment: Segment, config: GroundingConfig) -> Sighting:
    """Ground one segment; see :func:`ground_segments`."""
    left, top, support = _support(segment, view.depth.shape)
    step = max(1, math.ceil(math.sqrt(cv2.countNonZero(support) / _MAX_SAMPLES)))
    looked, rows, columns, depths, flat = measured_pixels(
        view.depth,
        support,
        (left, top),
        step,
        (float(config.min_depth), float(config.max_depth)),
        float(config.edge_step),
    )
    centre_uv = _centre(segment, left, top, support.shape)
    enough = max(config.min_pixels_px / step**2, config.min_valid_fraction * looked, 1.0)
    if len(depths) < enough:
        return _bearing_only(view, segment, centre_uv, config)
    samples = _Samples(rows, columns, depths, step * step, centre_uv)
    if np.count_nonzero(flat) >= max(enough, 0.3 * len(flat)):
        samples = samples.only(flat)
    samples = samples.only(_inliers(samples.depths, config.outlier_scale))
    median = _middle(samples.depths)
    points = transforms.apply(view.odom_tform_camera, _lifted(view, samples))
    low, high = _range_of(points)
    # The middle of the visible surface: it holds for rings like doorways too. The core of a box
    # without mask is no surface but whatever lies there: its median depth on the box's middle.
    position = 0.5 * (low + high)
    if segment.mask is None:
        ray = _ray(view, centre_uv)
        position = transforms.apply(view.odom_tform_camera, median * ray[None])[0]
    detection = _detection(
        view,
        segment,
        _median_pixel(samples, median),
        position,
        _covariance(median, samples, view, config),
        high - low,
    )
    kept = points[:: -(-len(points) // _KEPT)]
    return Sighting(detection, segment, kept, low, high, _is_cut(view, segment))


def _bearing_only(
    view: View, segment: Segment, centre_uv: tuple[float, float], config: GroundingConfig
) -> Sighting:
    u, v = centre_uv
    pixel = (
        min(max(int(round(u)), 0), view.camera.width - 1),
        min(max(int(round(v)), 0), view.camera.height - 1),
    )
    left, top, right, bottom = segment.box_xyxy
    columns, rows = np.meshgrid(np.linspace(left, right, 9), np.linspace(top, bottom, 9))
    far = np.full(rows.size, config.max_depth)
    rays = _lifted(view, _Samples(rows.ravel(), columns.ravel(), far, 1, centre_uv))
    detection = _detection(view, segment, pixel, None, None, None)
    points = transforms.apply(view.odom_tform_camera, rays)
    return Sighting(detection, segment, points, None, None, _is_cut(view, segment))


def _centre(segment: Segment, left: int, top: int, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return column and row of the middle of the mask's box, or of the detector's."""
    box = segment.box_xyxy
    if segment.mask is None or not all(shape):
        return 0.5 * (box[0] + box[2] - 1.0), 0.5 * (box[1] + box[3] - 1.0)
    return left + 0.5 * (shape[1] - 1), top + 0.5 * (shape[0] - 1)


def _support(segment: Segment, shape: tuple[int, ...]) -> tuple[int, int, NDArray[np.uint8]]:
    """Return column and row of a cut-out of the picture and its pixels to measure (1) or not."""
    if segment.mask is not None:
        near_u, near_v, mask = _near_box(segment.mask, segment.box_xyxy)
        x, y, width, height = cv2.boundingRect(mask)
        from_u, from_v = max(x - 1, 0), max(y - 1, 0)
        cut = mask[from_v : y + height + 1, from_u : x + width + 1]
        core = cv2.erode(cut, _RIM) if cut.size else cut
        best = core if cv2.countNonZero(core) >= 24 else cut
        return near_u + from_u, near_v + from_v, np.ascontiguousarray(best, np.uint8)
    left, top, right, bottom = segment.box_xyxy
    margin_u, margin_v = 0.25 * (right - left), 0.25 * (bottom - top)
    first_u = min(max(0, math.floor(left + margin_u)), shape[1])
    first_v = min(max(0, math.floor(top + margin_v)), shape[0])
    last_u = min(max(first_u, math.ceil(right - margin_u)), shape[1])
    last_v = min(max(first_v, math.ceil(bottom - margin_v)), shape[0])
    return first_u, first_v, np.ones((last_v - first_v, last_u - first_u), np.uint8)


def _near_box(
    mask: NDArray[np.bool_], box: tuple[float, float, float, float]
) -> tuple[int, int, NDArray[np.uint8]]:
    """Return the mask in the box grown by a fifth, and where that begins: masks may leak."""
    grow_u, grow_v = 2.0 + 0.2 * (box[2] - box[0]), 2.0 + 0.2 * (box[3] - box[1])
    left, top = max(int(box[0] - grow_u), 0), max(int(box[1] - grow_v), 0)
    part = mask[top : max(int(box[3] + grow_v), 0), left : max(int(box[2] + grow_u), 0)]
    return left, top, part.view(np.uint8)


def _middle(values: NDArray[np.float64]) -> float:
    """Return the upper median: numpy's own takes longer than the rest of a small segment."""
    half = len(values) // 2
    return float(np.partition(values, half)[half])


def _lifted(view: View, samples: _Samples) -> NDArray[np.float64]:
    """Return (N, 3) points of the optical frame, metres."""
    camera = view.camera
    points = np.empty((len(samples.depths), 3))
    points[:, 0] = (samples.columns - camera.cx) / camera.fx * samples.depths
    points[:, 1] = (samples.rows - camera.cy) / camera.fy * samples.depths
    points[:, 2] = samples.depths
    return points


def _ray(view: View, pixel_uv: tuple[float, float]) -> NDArray[np.float64]:
    """Return the direction (3,) of a pixel in the optical frame, z = 1."""
    camera = view.camera
    u, v = pixel_uv
    return np.array([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1.0])


def _range_of(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the 1st and the 99th percentile of each coordinate, nearest rank."""
    last = len(points) - 1
    low, high = round(0.01 * last), round(0.99 * last)
    ordered = np.partition(points, (low, high), axis=0)
    return ordered[low], ordered[high]


def _inliers(depths: NDArray[np.float64], scale: float) -> NDArray[np.bool_]:
    """Return which depths are near the median, or lead there without a gap.

    A surface that is seen at a slant has a long tail of depths, which belongs to it; what shines
    through from behind lies beyond a gap. Fewer samples than one in 200 do not bridge it.
    """
    ordered = np.sort(depths)
    middle = ordered[len(ordered) // 2]
    reach = scale * max(1.4826 * _middle(np.abs(depths - middle)), 0.05)
    levels = ordered[:: max(1, len(ordered) // 200)]
    low, high = middle - reach, middle + reach
    low = _continued(levels[levels < low][::-1], low)
    high = _continued(levels[levels > high], high)
    return (depths >= low) & (depths <= high)


def _continued(levels: NDArray[np.float64], edge: float) -> float:
    """Return how far levels, nearest first, lead on from an edge without a gap."""
    for level in levels.tolist():
        if abs(level - edge) > _GAP:
            break
        edge = level
    return edge


def _median_pixel(samples: _Samples, median: float) -> tuple[int, int]:
    """Return (column, row) of the pixel of median depth that is nearest to the middle."""
    error = np.abs(samples.depths - median)
    fifth = float(np.partition(error, len(error) // 5)[len(error) // 5])
    near = np.flatnonzero(error <= max(fifth, 1e-6))
    u, v = samples.centre_uv
    best = near[int(np.argmin(np.hypot(samples.columns[near] - u, samples.rows[near] - v)))]
    return int(samples.columns[best]), int(samples.rows[best])


def _covariance(
    depth: float, samples: _Samples, view: View, config: GroundingConfig
) -> NDArray[np.float64]:
    """Return the (3, 3) covariance in the odometry frame, m^2: range grows with depth squared."""
    ray = _ray(view, samples.centre_uv)
    sigma_range = config.sigma_base + config.sigma_slope * depth * depth
    # Half the footprint of the support: where on the surface the middle lies is not known better.
    count = samples.weight * len(samples.depths)
    sigma_across = max(0.5 * math.sqrt(count) * depth / view.camera.fx, 0.02)
    along = view.odom_tform_camera[:3, :3] @ (ray / np.linalg.norm(ray))
    outer = np.outer(along, along)
    return sigma_range**2 * outer + sigma_across**2 * (np.eye(3) - outer)


def _is_cut(view: View, segment: Segment) -> bool:
    left, top, right, bottom = segment.box_xyxy
    height, width = view.depth.shape
    return left < 1.5 or top < 1.5 or right > width - 1.5 or bottom > height - 1.5


def _detection(
    view: View,
    segment: Segment,
    pixel: tuple[int, int],
    position: NDArray[np.float64] | None,
    covariance: NDArray[np.float64] | None,
    extent: NDArray[np.float64] | None,
) -> Detection:
    direction = view.odom_tform_camera[:3, :3] @ _ray(view, pixel)
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
