# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Decision waypoints, the viewpoints over them and the ways to these (F_S of SPEC 3.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from vln_core.context import ViewpointState
from vln_core.errors import UnknownReference
from vln_core.geometry.transforms import wrap_angle
from vln_core.memory.config import MemoryConfig
from vln_core.memory.frontiers import Frontier, FrontierTracker
from vln_core.memory.routes import Reach
from vln_core.observation import Panorama

# A waypoint farther from an opening than this hardly saw what lies there, metres.
_SIGHT = 8.0


@dataclass
class Waypoint:
    """Live state of a decision waypoint.

    Attributes:
        id: t.
        odom_tform_base: (4, 4) pose when its look-around began.
        pose: (x, y, yaw) in the global frame.
        anchor: Number of its anchor in the world graph.
        num_views: Views of its panorama.
        panorama: Id and stamp of its panorama, to know it again after a restart.
        parent: Waypoint that the robot came from, -1 for the first.
        unplaced: Categories that it saw and depth could not place, in order.
    """

    id: int
    odom_tform_base: NDArray[np.float64]
    pose: tuple[float, float, float]
    anchor: int
    num_views: int
    panorama: tuple[int, int]
    parent: int
    unplaced: tuple[str, ...] = ()


def list_viewpoints(
    waypoints: Sequence[Waypoint],
    frontiers: FrontierTracker,
    reach: Reach,
    captions: Mapping[str, str],
    config: MemoryConfig,
) -> tuple[ViewpointState, ...]:
    """Return the newest visited waypoints, then the openings, as the global action space."""
    if not waypoints:
        return ()
    here = waypoints[-1]
    listed = waypoints[-config.max_viewpoints :]
    lengths = reach.lengths_to(np.array([w.pose[:2] for w in listed]))
    lengths[-1] = 0.0
    if not np.isfinite(lengths).all():
        # Where depth showed no floor there is still the way that was driven.
        driven = nx.single_source_dijkstra_path_length(
            trajectory_graph(listed), here.id, weight='length'
        )
        for k in np.flatnonzero(~np.isfinite(lengths)).tolist():
            lengths[k] = driven.get(listed[k].id, math.inf)
    result = []
    for waypoint, length in zip(listed, lengths, strict=True):
        bearing = bearing_to(here.pose, *waypoint.pose[:2])
        result.append(
            ViewpointState(
                f'w{waypoint.id}',
                *waypoint.pose[:2],
                True,
                waypoint.id,
                float(length),
                bearing,
                caption=captions.get(f'w{waypoint.id}', ''),
            )
        )
    spots = np.array([w.pose[:2] for w in listed])
    for number, frontier in sorted(frontiers.current.items()):
        origin = listed[_viewer(frontier, spots, reach)].id
        result.append(_opening(number, frontier, origin, here, captions))
    return tuple(result)


def caption_towards(
    panorama: Panorama, global_tform_odom: NDArray[np.float64], spot: tuple[float, float]
) -> str:
    """Return the caption of the view whose camera looks most nearly at (x, y), metres."""
    gaps = []
    for view in panorama.views:
        tform = global_tform_odom @ view.odom_tform_camera
        to_spot = math.atan2(spot[1] - tform[1, 3], spot[0] - tform[0, 3])
        gaps.append(abs(wrap_angle(math.atan2(tform[1, 2], tform[0, 2]) - to_spot)))
    return panorama.captions[int(np.argmin(gaps))]


def _viewer(frontier: Frontier, spots: NDArray[np.float64], reach: Reach) -> int:
    """Return the row of the newest waypoint in sight of an opening, else of the nearest."""
    place = np.array([frontier.x, frontier.y])
    gaps = np.hypot(*(spots - place).T)
    in_sight = np.flatnonzero(reach.sees(place, spots) & (gaps <= _SIGHT))
    return int(in_sight[-1]) if len(in_sight) else int(np.argmin(gaps))


def _opening(
    number: int, frontier: Frontier, origin: int, here: Waypoint, captions: Mapping[str, str]
) -> ViewpointState:
    return ViewpointState(
        f'f{number}',
        frontier.x,
        frontier.y,
        False,
        origin,
        frontier.path_length,
        bearing_to(here.pose, frontier.x, frontier.y),
        frontier.width,
        frontier.unknown_area,
        frontier.heading_out,
        captions.get(f'f{number}', ''),
    )


def route(
    viewpoint: ViewpointState,
    waypoints: Sequence[Waypoint],
    reach: Reach,
    reachable: Sequence[str],
) -> NDArray[np.float64]:
    """Return (N, 2) points of the global frame that lead to a viewpoint, robot first.

    Raises:
        UnknownReference: There is no known way; the message lists viewpoints that can be reached.
    """
    goal = np.array([viewpoint.x, viewpoint.y])
    cell = reach.nearest(goal, 0.5)
    way = reach.way_to(cell) if cell is not None else None
    if way is None and viewpoint.is_visited:
        way = _along_trajectory(waypoints, int(viewpoint.id[1:]))
    if way is None:
        raise UnknownReference(
            f'no known way to viewpoint "{viewpoint.id}"; reachable are: {", ".join(reachable)}'
        )
    points = [np.array(waypoints[-1].pose[:2]), *way[1:]]
    if viewpoint.is_visited and np.hypot(*(points[-1] - goal)) > 1e-6:
        # The anchor replaces a last cell that is closer to it than the controller cares.
        points = (
            points[:-1] if len(points) > 1 and np.hypot(*(points[-1] - goal)) < 0.15 else points
        )
        points.append(goal)
    return np.array(points)


def trajectory_graph(waypoints: Sequence[Waypoint]) -> nx.Graph:
    """Return the graph of the ways driven between waypoints."""
    graph = nx.Graph()
    poses = {waypoint.id: waypoint.pose for waypoint in waypoints}
    graph.add_nodes_from(poses)
    for waypoint in waypoints:
        if waypoint.parent in poses:
            other = poses[waypoint.parent]
            length = math.hypot(waypoint.pose[0] - other[0], waypoint.pose[1] - other[1])
            graph.add_edge(waypoint.parent, waypoint.id, length=length)
    return graph


def _along_trajectory(waypoints: Sequence[Waypoint], goal: int) -> NDArray[np.float64] | None:
    try:
        nodes = nx.shortest_path(
            trajectory_graph(waypoints), waypoints[-1].id, goal, weight='length'
        )
    except nx.NetworkXNoPath:
        return None
    return np.array([waypoints[n].pose[:2] for n in nodes])


def bearing_to(pose: tuple[float, float, float], x: float, y: float) -> float:
    """Return the bearing of a point relative to the heading, rad, left positive."""
    dx, dy = x - pose[0], y - pose[1]
    return wrap_angle(math.atan2(dy, dx) - pose[2]) if math.hypot(dx, dy) > 1e-6 else 0.0
