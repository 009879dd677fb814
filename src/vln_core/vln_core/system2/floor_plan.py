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
_NUM_ANGLES = 6
_OFFSETS = np.arange(-1.0, 1.01, 0.1)
_LATERALS = np.arange(-1.8, 1.81, 0.05)
_AHEAD = 3
_GAP = (0.45, 1.35)


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


@dataclass(frozen=True, eq=False)
class Passage:
    """A gap in a wall: centre (2,), unit normal (2,) and its two ends, metres."""

    centre: NDArray[np.float64]
    normal: NDArray[np.float64]
    ends: tuple[NDArray[np.float64], NDArray[np.float64]]


def _runs(line: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last index of each free run with walls at both ends, door-wide."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(np.int8)))
    found = []
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if first > 0 and end < len(line) and _GAP[0] <= (end - first) * _CELL <= _GAP[1]:
            found.append((int(first), int(end) - 1))
    return found


def _width_at(line: NDArray[np.bool_], index: int) -> float:
    """Return the width of the free run through an index, metres; 0 where it is not free."""
    if not line[index]:
        return 0.0
    walls = np.flatnonzero(~line)
    before, after = walls[walls < index], walls[walls > index]
    first = before[-1] if len(before) else -1
    last = after[0] if len(after) else len(line)
    return float((last - first - 1) * _CELL)


class FloorPlan:
    """Regions of the seen floor.

    Args:
        scans: By waypoint.
        doorways: (2,) estimated centre of each doorway, metres.

    Attributes:
        passages: Refined centre and normal of each doorway; None where no gap was found there.
    """

    def __init__(
        self,
        scans: Mapping[int, Scan],
        doorways: list[NDArray[np.float64]],
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
            free |= cv2.erode(mask, kernel, iterations=2).astype(np.uint8, copy=False)
        self._free = free
        self.passages = [self._passage(centre) for centre in doorways]
        for passage in self.passages:
            if passage is not None:
                cv2.line(free, self._pixel(passage.ends[0]), self._pixel(passage.ends[1]), 0, 3)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(free, connectivity=4)
        small = stats[:, cv2.CC_STAT_AREA] * _CELL**2 < _MIN_AREA
        labels[small[labels]] = 0
        self._labels = labels

    def _pixel(self, xy: NDArray[np.float64]) -> tuple[int, int]:
        column, row = np.round((xy - self._low) / _CELL).astype(int)
        return int(column), int(row)

    def _passage(self, centre: NDArray[np.float64]) -> Passage | None:
        """Find the gap near where a doorway was seen: the floor on one side is wider.

        A frame seen at an angle shows one jamb only, so that its position may be off by a door's
        width.
        """
        best: tuple[float, Passage] | None = None
        for angle in np.arange(_NUM_ANGLES) * (math.pi / _NUM_ANGLES):
            along = np.array([math.cos(angle), math.sin(angle)])
            normal = np.array([-along[1], along[0]])
            spots = centre + _OFFSETS[:, None, None] * normal + _LATERALS[None, :, None] * along
            cells = np.round((spots - self._low) / _CELL).astype(int)
            rows = np.clip(cells[..., 1], 0, self._free.shape[0] - 1)
            columns = np.clip(cells[..., 0], 0, self._free.shape[1] - 1)
            lines = self._free[rows, columns] > 0
            for k in range(_AHEAD, len(_OFFSETS) - _AHEAD):
                for first, last in _runs(lines[k]):
                    length = (last - first + 1) * _CELL
                    middle = (first + last) // 2
                    before = _width_at(lines[k - _AHEAD], middle)
                    behind = _width_at(lines[k + _AHEAD], middle)
                    # Of a room that was only looked into, no more than the gap's width is known.
                    if max(before, behind) < length + 0.2 or min(before, behind) < length - 0.1:
                        continue
                    spot = spots[k, middle]
                    cost = 0.7 * float(np.hypot(*(spot - centre))) + 0.5 * length
                    if best is None or cost < best[0] - 1e-9:
                        ends = (spots[k, first] - _CELL * along, spots[k, last] + _CELL * along)
                        best = (cost, Passage((ends[0] + ends[1]) / 2.0, normal, ends))
        return best[1] if best else None

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
