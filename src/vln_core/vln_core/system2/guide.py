# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A planner that knows the way: it makes the choices of a given path, as an expert would.

It serves to mine demonstrations and to test that the loop loses nothing of what a planner knows.
It never drives a robot: it is no mode of :mod:`.brain`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vln_core.context import PlanningContext, ProgressItem, ViewpointState
from vln_core.observation import Panorama, View
from vln_core.system2.instructions import parse_instruction
from vln_core.system2.record import (
    DecisionRecord,
    Go,
    Goto,
    MoveTo,
    ProgressUpdate,
    Stop,
    WorldNotes,
    describe_action,
)
from vln_core.system2.situation import surface_distance
from vln_core.vocabulary import category_of

_ARRIVED = 0.5
_LOOK_AHEAD = 3.0
_BESIDE = 0.9
_SAMPLE = 0.1


class PathGuide:
    """Port Brain by a path that is known beforehand."""

    def __init__(self, path_xy: NDArray[np.float64], goal_category: str = '') -> None:
        """Lay out the path.

        Args:
            path_xy: (N, 2) corners of the way in the memory's global frame, metres.
            goal_category: Of the object at its end, canonical; '' where there is none.
        """
        self._points = _resampled(np.asarray(path_xy, float))
        self._goal = goal_category
        self._reached = 0
        self._best_left = math.inf
        self._idle = 0

    def parse(self, instruction: str) -> list[ProgressItem]:
        """Start again at the beginning of the path."""
        self._reached, self._best_left, self._idle = 0, math.inf, 0
        return parse_instruction(instruction)

    def decide(self, context: PlanningContext) -> DecisionRecord:
        """Return the action that follows the path from here; at its end a stop."""
        xy = np.array(context.pose[:2])
        gaps = np.hypot(*(self._points[self._reached :] - xy).T)
        # A path that comes back to itself must not be cut short: look a little ahead only.
        near = gaps[: int(2.0 * _LOOK_AHEAD / _SAMPLE)]
        self._reached += int(np.argmin(near))
        left = _SAMPLE * (len(self._points) - 1 - self._reached)
        gap = float(np.hypot(*(self._points[-1] - xy)))
        if not context.refusals:
            self._idle = 0 if left < self._best_left - 0.15 else self._idle + 1
            self._best_left = min(self._best_left, left)
        is_near = max(left, gap) <= _ARRIVED or (self._idle >= 2 and gap < 1.5)
        if is_near and not self._approaches(context):
            return self._stop(context)
        for action in self._moves(context):
            if not _is_refused(action, context):
                why = f'{left:.1f} m of the way are left'
                return DecisionRecord(action=action, rationale=why)
        return self._stop(context)

    def _moves(self, context: PlanningContext) -> Iterator[Go | Goto | MoveTo]:
        ahead = self._points[self._reached :]
        yield from self._viewpoints(context, ahead, at_least=0.8)
        yield from _pixels(context.panorama, context.global_tform_odom, ahead)
        yield from self._viewpoints(context, ahead, at_least=0.3)
        yield from self._approaches(context)

    def _viewpoints(
        self, context: PlanningContext, ahead: NDArray[np.float64], at_least: float
    ) -> Iterator[Goto]:
        """Yield viewpoints beside the way ahead, the farthest of the next stretch first."""
        found: list[tuple[float, ViewpointState]] = []
        reach = ahead[: int(2.0 * _LOOK_AHEAD / _SAMPLE)]
        for view in context.graph.viewpoints:
            if not math.isfinite(view.path_length) or view.path_length < 0.3:
                continue
            gaps = np.hypot(*(reach - (view.x, view.y)).T)
            along = _SAMPLE * int(np.argmin(gaps))
            is_detour = view.path_length > along + 2.0
            if gaps.min() <= _BESIDE and along >= at_least and not is_detour:
                found.append((along, view))
        found.sort(key=lambda pair: (-pair[0], pair[1].id))
        yield from (Goto(viewpoint=view.id) for _, view in found)

    def _approaches(self, context: PlanningContext) -> list[Go]:
        """Return moves towards the goal's object where the way ends beyond the stop radius."""
        if self._object(context) is not None:
            return []
        end = self._points[-1]
        moves = []
        for found in context.panorama.detections:
            if found.category not in self._names(context) or found.position_odom is None:
                continue
            xy = (context.global_tform_odom @ np.append(found.position_odom, 1.0))[:2]
            if np.hypot(*(xy - end)) < 3.0:
                moves.append(Go(view=found.view, target=found.category))
        return [m for m in moves if not _is_refused(m, context)]

    def _names(self, context: PlanningContext) -> set[str]:
        items = context.progress.items
        said = {category_of(name) for name in items[-1].landmarks} if items else set()
        return {self._goal, *said} - {''}

    def _stop(self, context: PlanningContext) -> DecisionRecord:
        items = context.progress.items
        done = tuple(
            ProgressUpdate(index=i.index, status='done', reason='the way led past it')
            for i in items[:-1]
            if i.status.is_open
        )
        why = 'the way ends here'
        return DecisionRecord(
            action=Stop(object_id=self._object(context)),
            notes=WorldNotes(progress=done),
            rationale=why,
        )

    def _object(self, context: PlanningContext) -> int | None:
        """Return the nearest object of the goal's category, None where none is known."""
        names = self._names(context)
        xy = np.array(context.pose[:2])
        near = [
            (surface_distance(xy, o), o.id) for o in context.graph.objects if o.category in names
        ]
        gap, number = min(near, default=(math.inf, -1))
        return number if gap <= context.stop_radius else None


def _is_refused(action: Go | Goto | MoveTo, context: PlanningContext) -> bool:
    return any(reason.startswith(describe_action(action)) for reason in context.refusals)


def _resampled(path_xy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the path at steps of ``_SAMPLE`` metres, ends included."""
    steps = np.hypot(*np.diff(path_xy, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    count = max(2, round(along[-1] / _SAMPLE) + 1)
    wanted = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(wanted, along, path_xy[:, axis]) for axis in (0, 1)], axis=1)


def _pixels(
    panorama: Panorama, global_tform_odom: NDArray[np.float64], ahead: NDArray[np.float64]
) -> Iterator[MoveTo]:
    """Yield pixels that show the floor of the way ahead, the farthest visible one first."""
    odom_tform_global = np.linalg.inv(global_tform_odom)
    reach = ahead[: int(_LOOK_AHEAD / _SAMPLE) + 1]
    for x, y in reach[::-3]:
        point = (odom_tform_global @ (x, y, 0.0, 1.0))[:3]
        for view in panorama.views:
            pixel = _seen_at(view, point)
            if pixel is not None:
                u, v = pixel
                yield MoveTo(view=view.index, u=u, v=v)


def _seen_at(view: View, point_odom: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return (u, v) where a view shows a point of the floor; None where it is hidden."""
    tform = np.linalg.inv(view.odom_tform_camera)
    x, y, z = tform[:3, :3] @ point_odom + tform[:3, 3]
    if z < 0.3:
        return None
    camera = view.camera
    column = round(camera.fx * x / z + camera.cx)
    row = round(camera.fy * y / z + camera.cy)
    if not (0 <= column < camera.width and 0 <= row < camera.height):
        return None
    if not abs(float(view.depth[row, column]) - z) < 0.15 + 0.05 * z:
        return None
    return (column + 0.5) / camera.width, (row + 0.5) / camera.height
