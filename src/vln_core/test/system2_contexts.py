# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Hand-made planning contexts for the tests of System 2."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from vln_core.context import (
    ActionNote,
    Evidence,
    ItemStatus,
    ObjectState,
    PlanningContext,
    ProgressItem,
    ProgressRecord,
    ViewpointState,
    WaypointState,
    WorldGraph,
)
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Detection, Panorama, View
from vln_core.system2.instructions import parse_instruction


def thing(number, category, x, y, size=(0.6, 0.6), seen_from=0, z=0.5, confidence=0.9):
    """Return an object whose box has ``size`` on the ground, metres."""
    return ObjectState(
        id=number,
        category=category,
        position=np.array([x, y, z]),
        extent=np.array([size[0], size[1], 1.0]),
        confidence=confidence,
        num_sightings=3,
        best_view=(seen_from, 0),
    )


def door(number, x, y, along='y', seen_from=0):
    """Return a doorway in a wall that runs along x or y."""
    size = (0.12, 1.0) if along == 'y' else (1.0, 0.12)
    return thing(number, 'doorway', x, y, size, seen_from)


def opening(number, x, y, pose, seen_from=0, area=6.0, heading_out=0.0):
    """Return an unvisited viewpoint."""
    gap = math.hypot(x - pose[0], y - pose[1])
    bearing = math.atan2(y - pose[1], x - pose[0]) - pose[2]
    return ViewpointState(
        f'f{number}', x, y, False, seen_from, gap, bearing, 0.9, area, heading_out
    )


def views(count=4, width=32, height=24):
    """Return small views all around."""
    camera = PinholeCamera(width, height, 14.0, 14.0, width / 2 - 0.5, height / 2 - 0.5)
    return tuple(
        View(
            k,
            2 * math.pi * k / count,
            np.full((height, width, 3), 20 * k, np.uint8),
            np.full((height, width), 2.5, np.float32),
            camera,
            np.eye(4),
            1,
        )
        for k in range(count)
    )


def detection(view, category, x, y, z=0.5, box=(10.0, 8.0, 20.0, 18.0)):
    """Return a grounded detection; the robot is taken to stand at the origin of odom."""
    return Detection(
        view, category, category, 0.9, box, (15, 13), math.atan2(y, x),
        np.array([x, y, z]), np.eye(3) * 0.01, np.array([0.5, 0.5, 0.8]),
    )  # fmt: skip


def context(
    instruction,
    track=((0.0, 0.0, 0.0),),
    objects=(),
    openings=(),
    detections=(),
    items=None,
    history=(),
    refusals=(),
    **more,
):
    """Return a context; ``track`` holds (x, y, yaw) of the waypoints, the last is the pose."""
    waypoints = tuple(WaypointState(i, x, y, yaw, 0, 4) for i, (x, y, yaw) in enumerate(track))
    pose = track[-1]
    visited = tuple(
        ViewpointState(f'w{w.id}', w.x, w.y, True, w.id, math.hypot(w.x - pose[0], w.y - pose[1]),
                       math.atan2(w.y - pose[1], w.x - pose[0]) - pose[2])
        for w in waypoints
    )  # fmt: skip
    graph = WorldGraph((), tuple(objects), waypoints, visited + tuple(openings), ())
    if items is None:
        items = parse_instruction(instruction)
    return PlanningContext(
        instruction=instruction,
        step=len(track) - 1,
        pose=pose,
        panorama=Panorama(len(track) - 1, 1, np.eye(4), views(), tuple(detections)),
        progress=ProgressRecord(tuple(items)),
        graph=graph,
        history=tuple(history),
        refusals=tuple(refusals),
        **more,
    )


def note(step, action, code):
    """Return a past action."""
    return ActionNote(step, action, 'because', 'outcome', code)


__all__ = [
    'ProgressItem', 'context', 'detection', 'door', 'note', 'opening', 'thing', 'views',
]  # fmt: skip


def with_status(text, closed, waypoint=0):
    """Return the items of an instruction, the first ``closed`` of them done at a waypoint."""
    return [
        replace(item, status=ItemStatus.DONE, evidence=Evidence(waypoint, 'x'))
        if item.index < closed
        else item
        for item in parse_instruction(text)
    ]
