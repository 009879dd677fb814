# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Top-down picture of a run: the building's truth, the driven path and what memory made of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.context import WorldGraph

_ROOM_COLOURS = [
    (244, 240, 230),
    (232, 241, 246),
    (238, 246, 234),
    (247, 236, 240),
    (240, 238, 248),
]
_MARGIN = 0.4


class PlanPicture:
    """Draws in metres of the world onto an RGB picture, north (+y) up."""

    def __init__(self, scene_folder: Path, size_px: int = 900) -> None:
        self._scene: dict[str, Any] = json.loads((scene_folder / 'scene.json').read_text())
        low, high = np.array(self._scene['bounds'], dtype=float)
        self._low, self._high = low - _MARGIN, high + _MARGIN
        self._scale = size_px / float(max(self._high - self._low))
        width, height = np.ceil((self._high - self._low) * self._scale).astype(int)
        self._picture = np.full((int(height), int(width), 3), 255, np.uint8)
        self._draw_building()

    def draw_path(self, path_xy: NDArray[np.float64]) -> None:
        """Draw the driven path, (N, 2) m, from green (start) to red (end)."""
        points = np.asarray(path_xy, dtype=float).reshape(-1, 2)
        for k in range(1, len(points)):
            part = k / max(len(points) - 1, 1)
            colour = (int(220 * part), int(150 * (1 - part)), 60)
            cv2.line(
                self._picture, self._px(points[k - 1]), self._px(points[k]), colour, 3, cv2.LINE_AA
            )
        if len(points):
            cv2.circle(self._picture, self._px(points[0]), 8, (0, 140, 60), 2, cv2.LINE_AA)
            cv2.circle(self._picture, self._px(points[-1]), 8, (220, 0, 60), -1, cv2.LINE_AA)

    def draw_goal(self, goal_xy: Sequence[float]) -> None:
        """Draw the goal as a star."""
        cv2.drawMarker(self._picture, self._px(goal_xy), (200, 0, 160), cv2.MARKER_STAR, 22, 2)

    def draw_memory(self, graph: WorldGraph) -> None:
        """Draw places, decision points, objects and failures of the world graph."""
        for place in graph.places:
            centre = np.mean([anchor[:2] for anchor in place.anchors], axis=0)
            colour = (200, 60, 40) if place.failures else (90, 90, 200)
            cv2.circle(
                self._picture, self._px(centre), int(0.5 * self._scale), colour, 1, cv2.LINE_AA
            )
        for item in graph.objects:
            if item.category != 'doorway':
                cv2.circle(
                    self._picture, self._px(item.position[:2]), 4, (30, 110, 220), -1, cv2.LINE_AA
                )
        for waypoint in graph.waypoints:
            at = self._px((waypoint.x, waypoint.y))
            cv2.circle(self._picture, at, 9, (40, 40, 40), -1, cv2.LINE_AA)
            self._text(str(waypoint.id), at, (255, 255, 255), 0.38)

    def image(self) -> NDArray[np.uint8]:
        """Return the (H, W, 3) RGB picture."""
        return self._picture

    def _draw_building(self) -> None:
        for k, room in enumerate(self._scene['rooms']):
            polygon = np.array([self._px(point) for point in room['polygon']], np.int32)
            cv2.fillPoly(self._picture, [polygon], _ROOM_COLOURS[k % len(_ROOM_COLOURS)])
            cv2.polylines(self._picture, [polygon], True, (70, 70, 70), 3, cv2.LINE_AA)
        for door in self._scene['doorways']:
            half = door['width'] / 2.0
            along = np.array([-np.sin(door['yaw']), np.cos(door['yaw'])]) * half
            at = np.array(door['position'], dtype=float)
            cv2.line(self._picture, self._px(at - along), self._px(at + along), (235, 225, 205), 6)
        for item in self._scene['objects']:
            if item['category'] == 'doorway':
                continue
            low, high = self._px(item['min'][:2]), self._px(item['max'][:2])
            cv2.rectangle(self._picture, low, high, (196, 178, 150), -1)
            cv2.rectangle(self._picture, low, high, (150, 130, 100), 1, cv2.LINE_AA)
            middle = ((low[0] + high[0]) // 2, (low[1] + high[1]) // 2)
            self._text(item['category'], middle, (90, 75, 55), 0.36)
        for room in self._scene['rooms']:
            middle = np.mean(np.array(room['polygon'], dtype=float), axis=0)
            self._text(room['type'], self._px(middle), (120, 120, 130), 0.6)

    def _px(self, point: Sequence[float] | NDArray[np.float64]) -> tuple[int, int]:
        column = (float(point[0]) - self._low[0]) * self._scale
        row = (self._high[1] - float(point[1])) * self._scale
        return int(round(column)), int(round(row))

    def _text(
        self, text: str, middle: tuple[int, int], colour: tuple[int, int, int], size: float
    ) -> None:
        (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)
        origin = (middle[0] - width // 2, middle[1] + height // 2)
        cv2.putText(
            self._picture, text, origin, cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA
        )
