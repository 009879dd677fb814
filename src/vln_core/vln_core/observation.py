# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the robot sees at a decision waypoint: views, detections, panorama."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.geometry.camera import PinholeCamera


@dataclass(frozen=True, eq=False)
class View:
    """One picture with aligned depth and the camera's pose at the moment of exposure.

    Attributes:
        index: k of the panorama; view 0 is straight ahead.
        yaw: 2 pi k / N relative to the heading when the look-around began, rad, counter-clockwise.
        rgb: (H, W, 3) uint8, red first.
        depth: (H, W) float32 range along +z of the optical frame, metres. NaN: unknown. +inf: far,
            free as far as the sensor's maximum. -inf: too near, an obstacle (REP-117).
        camera: Intrinsics of both images.
        odom_tform_camera: (4, 4) pose of the optical frame in the odometry frame at ``stamp``.
        stamp: Exposure time, nanoseconds.
    """

    index: int
    yaw: float
    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    camera: PinholeCamera
    odom_tform_camera: NDArray[np.float64]
    stamp: int


@dataclass(frozen=True, eq=False)
class Segment:
    """What a detector says about one picture, before grounding in depth.

    Attributes:
        label: Words of the detector.
        score: Confidence in 0..1.
        box_xyxy: Left, top, right, bottom, px, right and bottom exclusive.
        mask: (H, W) bool, or None where the back end gives boxes only.
    """

    label: str
    score: float
    box_xyxy: tuple[float, float, float, float]
    mask: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Detection:
    """A detection of one view, grounded in depth where enough valid depth lies in its mask.

    Attributes:
        view: Index of the view.
        label: Words of the detector.
        category: Canonical category of :mod:`vln_core.vocabulary`, or ``label`` in lower case.
        score: Confidence in 0..1.
        box_xyxy: Left, top, right, bottom, px.
        pixel_uv: Column and row of the median-depth pixel of the mask (box core without a mask).
        bearing: Direction of ``pixel_uv`` in the odometry frame, rad about +z.
        position_odom: (3,) centre of the visible surface, metres; None: bearing only.
        covariance: (3, 3) of the position, m^2; None with ``position_odom``.
        extent: (3,) size of the visible part along the odometry axes, metres; None as above.
    """

    view: int
    label: str
    category: str
    score: float
    box_xyxy: tuple[float, float, float, float]
    pixel_uv: tuple[int, int]
    bearing: float
    position_odom: NDArray[np.float64] | None = None
    covariance: NDArray[np.float64] | None = None
    extent: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Panorama:
    """All views of one look-around with their detections.

    Attributes:
        id: Number of the panorama, unique within a run, rising.
        stamp: Time of the first view, nanoseconds.
        odom_tform_base: (4, 4) pose of ``base_link`` when the look-around began.
        views: In order of ``index``.
        detections: In order of view, then of falling score.
        is_complete: False when some of the circle was not seen; ``note`` says why.
        note: Reason of a degraded panorama, for people.
        captions: A sentence for each view, by the captioner; empty without one.
    """

    id: int
    stamp: int
    odom_tform_base: NDArray[np.float64]
    views: tuple[View, ...]
    detections: tuple[Detection, ...] = ()
    is_complete: bool = True
    note: str = ''
    captions: tuple[str, ...] = ()
