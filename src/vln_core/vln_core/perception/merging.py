# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One observation for each thing of a panorama: what overlapping views both show is merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.geometry import transforms
from vln_core.geometry.camera import project
from vln_core.observation import Detection, Panorama, View

if TYPE_CHECKING:  # compiled kernels, which who only asks visible_in need not load
    from vln_core.perception.grounding import Sighting

# Two views show the same thing where this share of what both could see of it agrees.
_MIN_AGREEMENT = 0.5
_MIN_POINTS = 6
# Odometry between the views, depth noise and masks disagree by this much.
_SLACK = 0.15
_SLACK_PX = 3


def merge_views(sightings: Sequence[Sighting], views: Sequence[View]) -> list[Detection]:
    """Merge sightings of one thing in different views; within a view things stay apart.

    The view that shows the thing whole, and largest, keeps it: its view, box and pixel are the
    merged observation's. Positions of several whole views are averaged by inverse variance; where
    every view cuts the thing off, the merged surface is what they show together.

    Args:
        sightings: Of all views.
        views: The views they refer to by index.

    Returns:
        Detections in order of view, then of falling score.
    """
    view_of = {view.index: view for view in views}
    by_category: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        by_category[sighting.detection.category].append(sighting)
    merged = []
    for same in by_category.values():
        merged += [_fused(group) for group in _groups(same, view_of)]
    return sorted(merged, key=lambda found: (found.view, -found.score))


def visible_in(panorama: Panorama, view: View) -> list[Detection]:
    """Return the detections of a view, and the merged ones of others that it shows too.

    Args:
        panorama: Of which the view is one.
        view: The view.

    Returns:
        Its own detections as they are; after them those of other views whose middle this view
        shows at its depth, with box and pixel in this view.
    """
    own = [found for found in panorama.detections if found.view == view.index]
    seen = (_seen_from(found, view) for found in panorama.detections if found.view != view.index)
    return own + [found for found in seen if found is not None]


def _seen_from(found: Detection, view: View) -> Detection | None:
    if found.position_odom is None or found.extent is None:
        return None
    camera_tform_odom = transforms.inverse(view.odom_tform_camera)
    signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
    corners = found.position_odom + np.vstack([np.zeros(3), signs * found.extent])
    points = transforms.apply(camera_tform_odom, corners)
    pixels = project(points, view.camera)
    if not np.all(np.isfinite(pixels)):
        return None
    u, v = (int(round(x)) for x in pixels[0])
    width, height = view.camera.width, view.camera.height
    if not (0 <= u < width and 0 <= v < height):
        return None
    reach = _SLACK + 0.5 * float(np.linalg.norm(found.extent))
    if not abs(float(view.depth[v, u]) - points[0, 2]) <= reach:
        return None
    left, top = np.clip(pixels[1:].min(axis=0), 0.0, (width, height))
    right, bottom = np.clip(pixels[1:].max(axis=0) + 1.0, 0.0, (width, height))
    box = (float(left), float(top), float(right), float(bottom))
    return replace(found, view=view.index, box_xyxy=box, pixel_uv=(u, v))


def _groups(sightings: Sequence[Sighting], view_of: dict[int, View]) -> list[list[Sighting]]:
    """Join the pairs that agree best first; no group has two sightings of one view."""
    pairs = []
    for j, b in enumerate(sightings):
        for i, a in enumerate(sightings[:j]):
            if a.detection.view != b.detection.view:
                agreement = _agreement(a, b, view_of)
                if agreement >= _MIN_AGREEMENT:
                    pairs.append((-agreement, i, j))
    group_of = [[k] for k in range(len(sightings))]
    for _, i, j in sorted(pairs):
        one, other = group_of[i], group_of[j]
        seen_in = [sightings[k].detection.view for k in one + other]
        if one is not other and len(set(seen_in)) == len(seen_in):
            one += other
            for k in other:
                group_of[k] = one
    unique = {id(group): group for group in group_of}
    return [[sightings[k] for k in group] for group in unique.values()]


def _agreement(a: Sighting, b: Sighting, view_of: dict[int, View]) -> float:
    """Return the lesser share of what each shows in the other's view that lies on the other."""
    shares = [
        share
        for share in (
            _share(a, b, view_of[b.detection.view]),
            _share(b, a, view_of[a.detection.view]),
        )
        if share is not None
    ]
    if not shares and _continues(a, b):
        return _MIN_AGREEMENT
    return min(shares, default=0.0)


def _continues(a: Sighting, b: Sighting) -> bool:
    """Tell whether the borders of two views cut one surface, so near that nothing is in both.

    The camera moves when the robot turns, so that overlaps end a step before it.
    """
    if not (a.is_cut and b.is_cut):
        return False
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    return bool(np.all(a.low <= b.high + _SLACK) and np.all(b.low <= a.high + _SLACK))


def _share(a: Sighting, b: Sighting, view: View) -> float | None:
    """Return which part of a's points in b's view lies on b; None where the view shows too few."""
    points = a.points_odom
    if a.low is None and b.detection.position_odom is not None:
        # Without depth of its own a lies on its rays, as far away as b.
        eye = view.odom_tform_camera[:3, 3]
        rays = points - eye
        distance = float(np.linalg.norm(b.detection.position_odom - eye))
        points = eye + rays * (distance / np.linalg.norm(rays, axis=1))[:, None]
    camera_tform_odom = transforms.inverse(view.odom_tform_camera)
    pixels = project(transforms.apply(camera_tform_odom, points), view.camera)
    size = np.array([view.camera.width, view.camera.height])
    with np.errstate(invalid='ignore'):
        is_inside = np.all((pixels >= 1.0) & (pixels < size - 2.0), axis=1)
    if np.count_nonzero(is_inside) < _MIN_POINTS:
        return None
    hits = _hits(b, np.rint(pixels[is_inside]).astype(np.intp))
    if a.low is not None and b.low is not None and b.high is not None:
        near = points[is_inside]
        hits &= np.all((near >= b.low - _SLACK) & (near <= b.high + _SLACK), axis=1)
    return float(np.mean(hits))


def _hits(b: Sighting, pixels: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which pixels lie in b's mask, or its box, to within a few px."""
    if b.segment.mask is None:
        left, top, right, bottom = b.segment.box_xyxy
        low = np.array([left, top]) - _SLACK_PX
        high = np.array([right, bottom]) + _SLACK_PX
        return np.asarray(np.all((pixels >= low) & (pixels < high), axis=1))
    size = 2 * _SLACK_PX + 1
    left, top = np.maximum(pixels.min(axis=0) - size, 0)
    right, bottom = pixels.max(axis=0) + size
    window = b.segment.mask[top:bottom, left:right].astype(np.uint8)
    grown = cv2.dilate(window, np.ones((size, size), np.uint8))
    return np.asarray(grown[pixels[:, 1] - top, pixels[:, 0] - left] > 0)


def _fused(group: Sequence[Sighting]) -> Detection:
    best = max(group, key=_rank)
    score = max(sighting.detection.score for sighting in group)
    if len(group) == 1 or best.detection.position_odom is None:
        return replace(best.detection, score=score)
    if best.is_cut:
        low = np.min([s.low for s in group if s.low is not None], axis=0)
        high = np.max([s.high for s in group if s.high is not None], axis=0)
        position, extent = 0.5 * (low + high), high - low
    else:
        position = _averaged([s.detection for s in group if not s.is_cut])
        extent = best.detection.extent
    return replace(best.detection, score=score, position_odom=position, extent=extent)


def _rank(sighting: Sighting) -> tuple[bool, bool, float, float]:
    left, top, right, bottom = sighting.detection.box_xyxy
    is_placed = sighting.detection.position_odom is not None
    area = (right - left) * (bottom - top)
    return is_placed, not sighting.is_cut, area, sighting.detection.score


def _averaged(detections: Sequence[Detection]) -> NDArray[np.float64]:
    """Return the mean of those positions that there are by inverse variance, (3,) metres."""
    total, weighted = np.zeros((3, 3)), np.zeros(3)
    for found in detections:
        if found.position_odom is not None and found.covariance is not None:
            weight = np.linalg.inv(found.covariance)
            total += weight
            weighted += weight @ found.position_odom
    return np.asarray(np.linalg.solve(total, weighted), dtype=np.float64)
