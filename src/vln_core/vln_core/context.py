# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What System 2 reads: progress record, memory states and the planning context M_t.

These are read-only snapshots; the memory owns the live state. Positions are in the memory's
``global_frame``, metres; bearings are rad about +z in the same frame unless called relative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from vln_core.observation import Panorama


class ClauseKind(str, Enum):
    """Kinds of progress items (SPEC 3.2)."""

    GO = 'go'  # move forward, walk a distance, follow a corridor
    TURN = 'turn'
    PASS = 'pass'  # walk past a landmark, or through a doorway or room to the other side
    ENTER = 'enter'
    EXIT = 'exit'
    APPROACH = 'approach'  # walk to a landmark that is not the last one
    FIND = 'find'  # search for an object or room
    STOP = 'stop'  # the goal condition; always the last item


class ItemStatus(str, Enum):
    """Status of a progress item."""

    PENDING = 'pending'
    ACTIVE = 'active'
    DONE = 'done'
    SKIPPED = 'skipped'
    FAILED = 'failed'

    @property
    def is_open(self) -> bool:
        """True while the item still asks for something."""
        return self in (ItemStatus.PENDING, ItemStatus.ACTIVE)


@dataclass(frozen=True)
class Evidence:
    """Why an item has its status: the waypoint where that was seen, and the reason."""

    waypoint: int
    reason: str


@dataclass(frozen=True)
class ProgressItem:
    """One clause of the instruction.

    Attributes:
        index: Position in the record, from 0.
        text: Words of the clause.
        kind: What it asks for.
        landmarks: Canonical object categories (or the words, if unknown), in order of mention.
        rooms: Canonical room types, in order of mention.
        direction: 'left', 'right', 'straight', 'around' or ''.
        ordinal: 1 = first, 2 = second ...; -1 = last; 0 = not said.
        side: Side on which the landmark is: 'left', 'right' or ''.
        distance: Metres, if said.
        status: Where it stands.
        evidence: Of the last change of status.
    """

    index: int
    text: str
    kind: ClauseKind
    landmarks: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()
    direction: str = ''
    ordinal: int = 0
    side: str = ''
    distance: float | None = None
    status: ItemStatus = ItemStatus.PENDING
    evidence: Evidence | None = None


@dataclass(frozen=True)
class ProgressRecord:
    """L_t: ordered items of the instruction."""

    items: tuple[ProgressItem, ...] = ()

    @property
    def current(self) -> ProgressItem | None:
        """The first open item: subgoal q_t; None when all are closed."""
        return next((item for item in self.items if item.status.is_open), None)


@dataclass(frozen=True)
class FailureNote:
    """Reflection memory: why a place was abandoned (HAM-VLN 3.4)."""

    reason: str
    step: int
    subgoal: str


@dataclass(frozen=True)
class WaypointState:
    """A decision waypoint: where the robot stopped, looked around and decided.

    Attributes:
        id: t, from 0; also the p of recall(p, k).
        x: Metres.
        y: Metres.
        yaw: Heading on arrival, rad.
        place: Id of the place it belongs to.
        num_views: Views that its panorama had.
    """

    id: int
    x: float
    y: float
    yaw: float
    place: int
    num_views: int


@dataclass(frozen=True, eq=False)
class ObjectState:
    """An object node of the world graph.

    Attributes:
        id: Stable number.
        category: Canonical category.
        position: (3,) metres.
        extent: (3,) metres.
        confidence: 0..1; falls when it is looked at and absent.
        num_sightings: Sightings fused into it.
        best_view: (waypoint, view) that shows it best, for recall.
        place: Id of the place that contains it, or -1.
        descriptions: Open-vocabulary words, oldest first.
    """

    id: int
    category: str
    position: NDArray[np.float64]
    extent: NDArray[np.float64]
    confidence: float
    num_sightings: int
    best_view: tuple[int, int]
    place: int = -1
    descriptions: tuple[str, ...] = ()
    attributes: dict[str, int] = field(default_factory=dict)
    last_step: int = 0


@dataclass(frozen=True)
class PlaceState:
    """A place node of the world graph.

    Attributes:
        id: Stable number; the smaller id survives a merge.
        anchors: (x, y, yaw) poses.
        name: Written by the agent.
        room_type: Written by the agent, canonical where known.
        description: Written by the agent.
        visit_count: Visits.
        first_step: Step of the first visit, -1 if never visited.
        last_step: Step of the last visit, -1 if never visited.
        failures: Notes, oldest first.
        objects: Ids of contained objects.
        neighbours: Ids of connected places.
        landmark_agreement: Fraction of the instruction's landmarks found here, 0..1.
    """

    id: int
    anchors: tuple[tuple[float, float, float], ...]
    name: str = ''
    room_type: str = ''
    description: str = ''
    visit_count: int = 0
    first_step: int = -1
    last_step: int = -1
    failures: tuple[FailureNote, ...] = ()
    objects: tuple[int, ...] = ()
    neighbours: tuple[int, ...] = ()
    landmark_agreement: float = 0.0


@dataclass(frozen=True)
class ViewpointState:
    """A node of the topological map: somewhere one has been or can go (SPEC 3.7).

    Attributes:
        id: 'w3' for the visited waypoint 3, 'f12' for the unvisited opening 12. Ids are stable.
        x: Metres.
        y: Metres.
        is_visited: Whether it is a waypoint.
        seen_from: Waypoint from which it was last seen; its own number for a waypoint.
        path_length: From the robot through known-free space or the traversed graph, metres; inf if
            no way is known.
        bearing: From the robot, relative to its heading, rad, left positive.
        opening_width: Width of the boundary to the unknown, metres; 0 for waypoints.
        unknown_area: Unknown area around it within sensor range that it could show, m^2.
        heading_out: Direction from known space into the unknown, rad, global frame.
        caption: Text for the map; may be empty.
    """

    id: str
    x: float
    y: float
    is_visited: bool
    seen_from: int
    path_length: float
    bearing: float
    opening_width: float = 0.0
    unknown_area: float = 0.0
    heading_out: float = 0.0
    caption: str = ''


@dataclass(frozen=True)
class PlaceEdge:
    """Navigational connectivity of two places: ``a`` < ``b``."""

    a: int
    b: int
    length: float
    traversals: int


@dataclass(frozen=True, eq=False)
class WorldGraph:
    """Snapshot of the world graph G_t and the topological map over it."""

    places: tuple[PlaceState, ...] = ()
    objects: tuple[ObjectState, ...] = ()
    waypoints: tuple[WaypointState, ...] = ()
    viewpoints: tuple[ViewpointState, ...] = ()
    edges: tuple[PlaceEdge, ...] = ()

    def object(self, object_id: int) -> ObjectState | None:
        """Return the object with that id, or None."""
        return next((o for o in self.objects if o.id == object_id), None)

    def place(self, place_id: int) -> PlaceState | None:
        """Return the place with that id, or None."""
        return next((p for p in self.places if p.id == place_id), None)

    def viewpoint(self, viewpoint_id: str) -> ViewpointState | None:
        """Return the viewpoint with that id, or None."""
        return next((v for v in self.viewpoints if v.id == viewpoint_id), None)


@dataclass(frozen=True)
class ActionNote:
    """One past action with its reason and what became of it (history H_t).

    Attributes:
        step: Waypoint at which it was decided.
        action: Compact text of the action, e.g. 'go(view 2, "sofa")'.
        rationale: r_t.
        outcome: Message of the outcome.
        code: Numeric code of the outcome.
    """

    step: int
    action: str
    rationale: str
    outcome: str
    code: int


@dataclass(frozen=True, eq=False)
class PlanningContext:
    """Everything a planner may read at decision waypoint t.

    Attributes:
        instruction: Words of the operator.
        step: t.
        pose: (x, y, yaw) of the robot in the global frame, yaw as of view 0 of the panorama.
        panorama: O_t with detections.
        progress: L_t.
        graph: Snapshot of G_t and the topological map.
        retrieved: Ids of the retrieved places, best first (R(G_t, q_t)).
        memory_text: Serialised slice for a prompt.
        window_text: Working memory's text part: the last K transitions.
        window_frames: (F, H, W, 3) RGB frames of working memory, maybe empty.
        map_image: (S, S, 3) uint8 RGB, or None when not asked for.
        history: Past actions, oldest first.
        refusals: Reasons for which actions of this very turn were refused, oldest first.
        waypoints_left: Budget.
        stop_radius: Distance within which the last landmark must be grounded to stop, metres.
        global_tform_odom: (4, 4), maps panorama geometry into the frame of the graph.
        recall: Returns the (H, W, 3) RGB view (waypoint, view) of the past, or raises
            UnknownReference; the call-back behind the recall tool.
    """

    instruction: str
    step: int
    pose: tuple[float, float, float]
    panorama: Panorama
    progress: ProgressRecord
    graph: WorldGraph
    retrieved: tuple[int, ...] = ()
    memory_text: str = ''
    window_text: str = ''
    window_frames: tuple[NDArray[np.uint8], ...] = ()
    map_image: NDArray[np.uint8] | None = None
    history: tuple[ActionNote, ...] = ()
    refusals: tuple[str, ...] = ()
    waypoints_left: int = 40
    stop_radius: float = 1.5
    global_tform_odom: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    recall: Callable[[int, int], NDArray[np.uint8]] | None = None
