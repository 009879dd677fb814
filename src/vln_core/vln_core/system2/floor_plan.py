# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Rooms as regions of the floor that was seen, cut at the doorways (rules planner).

Each panorama gives one scan: how far the walls are all around, from depth above most furniture.
The scans of the visited waypoints together cover the seen floor; a line across each doorway cuts
it into rooms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.context import PlanningContext

_BINS = 240
_BAND = (1.05, 1.9)
_CELL = 0.05
_MAX_RANGE = 8.0
_MIN_AREA = 0.4
_MARGIN = 0.6


@dataclass(frozen=True, eq=False)
class Scan:
    """Free space around a waypoint.

    Attributes:
        origin: (2,) metres, global frame.
        outline: (N, 2) corners of what is free, metres, counter-clockwise.
        panorama: Id of the panorama it was made from.
    """

    origin: NDArray[np.float64]
    outline: NDArray[np.float64]
    panorama: int


def scan_of(context: PlanningContext) -> Scan | None:
    """Return the scan of the present panorama, or None where its depth does not give one."""
    origin = np.array(context.pose[:2], dtype=float)
    floor = float(context.panorama.odom_tform_base[2, 3])
    ranges = np.full(_BINS, np.inf)
    for view in context.panorama.views:
        pose = context.global_tform_odom @ view.odom_tform_camera
        rows, columns = np.meshgrid(
            np.arange(0, view.depth.shape[0], 3), np.arange(0, view.depth.shape[1], 2),
            indexing='ij',
        )  # fmt: skip
        depth = view.depth[rows, columns].astype(float).ravel()
        depth = np.where(np.isposinf(depth), 2.0 * _MAX_RANGE, depth)
        good = np.isfinite(depth) & (depth > 0.0)
        camera = view.camera
        x = (columns.ravel() - camera.cx) / camera.fx
        y = (rows.ravel() - camera.cy) / camera.fy
        points = np.stack([x * depth, y * depth, depth, np.ones_like(depth)])[:, good]
        spots = pose @ points
        height = spots[2] - floor
        in_band = (height > _BAND[0]) & (height < _BAND[1])
        delta = spots[:2, in_band] - origin[:, None]
        gap = np.hypot(*delta)
        bins = ((np.arctan2(delta[1], delta[0]) + math.pi) / (2 * math.pi) * _BINS).astype(int)
        np.minimum.at(ranges, bins % _BINS, gap)
    if np.isfinite(ranges).sum() < 0.7 * _BINS:
        return None
    ranges = _fill(ranges)
    angles = (np.arange(_BINS) + 0.5) / _BINS * 2 * math.pi - math.pi
    reach = np.minimum(ranges, _MAX_RANGE)
    outline = origin + np.stack([np.cos(angles), np.sin(angles)], axis=1) * reach[:, None]
    return Scan(origin, outline, context.panorama.id)


def _fill(ranges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give empty bins the smaller of their neighbours' ranges."""
    for _ in range(_BINS):
        empty = ~np.isfinite(ranges)
        if not empty.any():
            break
        near = np.minimum(np.roll(ranges, 1), np.roll(ranges, -1))
        ranges = np.where(empty, near, ranges)
    return ranges


class FloorPlan:
    """Regions of the seen floor.

    Args:
        scans: By waypoint.
        doorways: (centre (2,), normal (2,) or None where it is not known) of each doorway.
    """

    def __init__(
        self,
        scans: Mapping[int, Scan],
        doorways: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]],
    ) -> None:
        corners = np.concatenate([s.outline for s in scans.values()])
        self._low = corners.min(axis=0) - _MARGIN
        size = np.ceil((corners.max(axis=0) + _MARGIN - self._low) / _CELL).astype(int)
        free = np.zeros((int(size[1]), int(size[0])), np.uint8)
        kernel = np.ones((3, 3), np.uint8)
        for scan in scans.values():
            mask = np.zeros_like(free)
            pixels = np.round((scan.outline - self._low) / _CELL).astype(np.int32)
            cv2.fillPoly(mask, [pixels], 1)
            # Grazing rays blur thin walls: what one scan calls free shrinks a little.
            free |= cv2.erode(mask, kernel, iterations=2)
        self._free = free
        self.normals = [self._normal(centre, normal) for centre, normal in doorways]
        for (centre, _), normal in zip(doorways, self.normals, strict=True):
            along = np.array([-normal[1], normal[0]])
            ends = [self._pixel(centre + s * 0.75 * along) for s in (-1.0, 1.0)]
            cv2.line(free, ends[0], ends[1], 0, 3)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(free, connectivity=4)
        small = stats[:, cv2.CC_STAT_AREA] * _CELL**2 < _MIN_AREA
        labels[small[labels]] = 0
        self._labels = labels

    def _pixel(self, xy: NDArray[np.float64]) -> tuple[int, int]:
        column, row = np.round((xy - self._low) / _CELL).astype(int)
        return int(column), int(row)

    def _normal(
        self, centre: NDArray[np.float64], known: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the axis across the wall: the one along which more floor is free."""
        runs = [self._run(centre, axis) for axis in np.eye(2)]
        if abs(runs[0] - runs[1]) < 0.3 and known is not None:
            return known
        return np.eye(2)[int(np.argmax(runs))]

    def _run(self, centre: NDArray[np.float64], axis: NDArray[np.float64]) -> float:
        length = 0.0
        for sign in (-1.0, 1.0):
            for step in np.arange(_CELL, 1.6, _CELL):
                column, row = self._pixel(centre + sign * step * axis)
                inside = 0 <= row < self._free.shape[0] and 0 <= column < self._free.shape[1]
                if step > 0.2 and not (inside and self._free[row, column]):
                    break
                length += _CELL
        return length

    def room_at(self, xy: NDArray[np.float64], within: float = 0.5) -> int:
        """Return the region of the nearest seen floor within a distance, or 0."""
        column, row = self._pixel(xy)
        span = int(within / _CELL)
        top, left = max(0, row - span), max(0, column - span)
        patch = self._labels[top : max(0, row + span + 1), left : max(0, column + span + 1)]
        cells = np.argwhere(patch > 0)
        if not len(cells):
            return 0
        gap = np.hypot(cells[:, 0] + top - row, cells[:, 1] + left - column)
        best = int(np.argmin(gap))
        if gap[best] * _CELL > within:
            return 0
        return int(patch[cells[best][0], cells[best][1]])

    def room_seen(self, xy: NDArray[np.float64], viewer: NDArray[np.float64]) -> int:
        """Return the region in which something lies that was seen from ``viewer``, or 0."""
        gap = viewer - xy
        length = float(np.hypot(*gap))
        for step in np.arange(0.0, min(length, 1.6), 0.1):
            room = self.room_at(xy + gap * (step / max(length, 1e-6)), 0.1)
            if room:
                return room
        return 0
