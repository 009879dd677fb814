# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""How far one has to walk to an object: a thing behind a wall is not near (SPEC 4.2, geometry)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ObjectState, PlanningContext
from vln_core.observation import View
from vln_core.system2.situation import surface_distance

_PATCH_PX = 2
_SLACK = 0.3


def walking_distance(context: PlanningContext, thing: ObjectState) -> float:
    """Return a bound of the way to an object's surface along what is known to be free, metres.

    With nothing between it is the straight way. Else the way leads past the waypoint that saw the
    object: there the sight line was free. inf where neither is known.
    """
    xy = np.array(context.pose[:2], dtype=float)
    straight = surface_distance(xy, thing)
    if is_in_sight(context, thing):
        return straight
    seen_from = thing.best_view[0]
    best = math.inf
    for view in context.graph.viewpoints:
        if view.is_visited and view.seen_from == seen_from:
            spot = np.array([view.x, view.y])
            best = min(best, view.path_length + surface_distance(spot, thing))
    return max(best, straight)


def is_in_sight(context: PlanningContext, thing: ObjectState) -> bool:
    """Tell whether nothing that the present panorama shows stands before an object.

    Detectors miss things, so that depth decides where they do: at the object itself, or above what
    stands on the floor before it, as far as its surface. An object that this very panorama showed
    best is in sight.
    """
    here = max((w.id for w in context.graph.waypoints), default=context.step)
    if thing.best_view[0] == here:
        return True
    position = np.asarray(thing.position, dtype=float)
    reach = 0.5 * float(np.max(np.asarray(thing.extent, dtype=float)[:2])) + _SLACK
    for detection in context.panorama.detections:
        if detection.category == thing.category and detection.position_odom is not None:
            spot = (context.global_tform_odom @ np.append(detection.position_odom, 1.0))[:2]
            if float(np.hypot(*(spot - position[:2]))) <= reach:
                return True
    return any(_is_clear(view, context.global_tform_odom, position, reach)
               for view in context.panorama.views)  # fmt: skip


def _is_clear(
    view: View, global_tform_odom: NDArray[np.float64], position: NDArray[np.float64], reach: float
) -> bool:
    global_tform_camera = global_tform_odom @ view.odom_tform_camera
    level = np.array([position[0], position[1], global_tform_camera[2, 3]])
    for point in (position, level):
        x, y, z = (np.linalg.inv(global_tform_camera) @ np.append(point, 1.0))[:3]
        if z < 0.1:
            continue
        column = round(view.camera.fx * x / z + view.camera.cx)
        row = round(view.camera.fy * y / z + view.camera.cy)
        if not (0 <= column < view.camera.width and 0 <= row < view.camera.height):
            continue
        patch = view.depth[
            max(0, row - _PATCH_PX) : row + _PATCH_PX + 1,
            max(0, column - _PATCH_PX) : column + _PATCH_PX + 1,
        ]
        known = patch[~np.isnan(patch)]
        if len(known) and float(np.median(known)) >= z - reach:
            return True
    return False
