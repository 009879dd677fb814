# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The small top-down picture B_t (AgenticNav, SPEC 3.6): constant size, north up, to scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.context import WorldGraph
from vln_core.memory.space_map import SpaceMap

_UNKNOWN, _FREE, _OCCUPIED = (176, 180, 186), (250, 250, 248), (52, 58, 66)


@dataclass(frozen=True, eq=False)
class MapImage:
    """A drawn map.

    Attributes:
        pixels: (S, S, 3) uint8 RGB, north (global +y) up.
        resolution: Metres per pixel.
        origin: (x, y) of the lower left corner, metres, global frame.
    """

    pixels: NDArray[np.uint8]
    resolution: float
    origin: tuple[float, float]

    def pixel_of(self, x: float, y: float) -> tuple[int, int]:
        """Return column and row of a point in metres."""
        size = self.pixels.shape[0]
        return (
            int(round((x - self.origin[0]) / self.resolution)),
            int(round(size - 1 - (y - self.origin[1]) / self.resolution)),
        )


def draw_map(space: SpaceMap, graph: WorldGraph, size_px: int = 512) -> MapImage:
    """Return the picture of what the memory knows."""
    rows, columns = np.nonzero(space.seen)
    if len(rows):
        low = space.points_of(np.array([[rows.min(), columns.min()]]))[0]
        high = space.points_of(np.array([[rows.max(), columns.max()]]))[0]
    else:
        low, high = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    span = float(max(high - low)) + 1.0
    resolution = span / size_px
    centre = 0.5 * (low + high)
    origin = (float(centre[0] - span / 2), float(centre[1] - span / 2))
    x = origin[0] + (np.arange(size_px) + 0.5) * resolution
    y = origin[1] + (np.arange(size_px)[::-1] + 0.5) * resolution
    image = np.empty((size_px, size_px, 3), np.uint8)
    image[:] = _UNKNOWN
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    cells = space.cells_of(grid)
    inside = space.inside(cells)
    cells[~inside] = 0
    flat = image.reshape(-1, 3)
    if space.evidence.size:
        occupied, free = space.masks()
        flat[inside & free[cells[:, 0], cells[:, 1]]] = _FREE
        flat[inside & occupied[cells[:, 0], cells[:, 1]]] = _OCCUPIED
    result = MapImage(image, resolution, origin)
    trail = [result.pixel_of(w.x, w.y) for w in graph.waypoints]
    for a, b in zip(trail, trail[1:], strict=False):
        cv2.line(image, a, b, (30, 110, 220), 2, cv2.LINE_AA)
    for waypoint, spot in zip(graph.waypoints, trail, strict=True):
        cv2.circle(image, spot, 8, (30, 110, 220), -1, cv2.LINE_AA)
        cv2.putText(
            image,
            str(waypoint.id),
            (spot[0] - 5, spot[1] + 4),
            cv2.FONT_HERSHEY_SIMPLEX,
            0.35,
            (255, 255, 255),
            1,
            cv2.LINE_AA,
        )
    if graph.waypoints:
        last = graph.waypoints[-1]
        tip = (last.x + 0.6 * math.cos(last.yaw), last.y + 0.6 * math.sin(last.yaw))
        cv2.arrowedLine(image, trail[-1], result.pixel_of(*tip), (220, 40, 40), 3, cv2.LINE_AA)
    return result
