# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the memory knows and every way of reading it; what is new comes in by the store."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vln_core.context import (
    ActionNote,
    PlanningContext,
    ProgressItem,
    ProgressRecord,
    WaypointState,
    WorldGraph,
)
from vln_core.errors import MemoryStoreError, UnknownReference
from vln_core.geometry.transforms import apply, inverse, yaw_of
from vln_core.memory.config import MemoryConfig
from vln_core.memory.encoders import SentenceEncoder
from vln_core.memory.frontiers import FrontierTracker
from vln_core.memory.journal import Journal
from vln_core.memory.map_image import MapImage, draw_map
from vln_core.memory.progress import Change, describe
from vln_core.memory.recall_cache import RecallCache
from vln_core.memory.retrieval import Retriever, Scored, serialise
from vln_core.memory.routes import Reach
from vln_core.memory.space_map import Occupancy, SpaceMap
from vln_core.memory.topological import TopologicalMap, build_topology, viewpoint_objects
from vln_core.memory.waypoints import Waypoint, list_viewpoints, route
from vln_core.memory.window import WorkingWindow
from vln_core.memory.world_graph import WorldGraphStore
from vln_core.observation import Panorama
from vln_core.vocabulary import category_of


class MemoryState:
    """Live state of the memory with its readers; :class:`MemoryStore` adds the writers."""

    def __init__(
        self, config: MemoryConfig, encoder: SentenceEncoder, journal: Journal | None, map_id: str
    ) -> None:
        self.config, self.map_id = config, map_id
        self._encoder = encoder
        self.journal = journal
        self.global_tform_odom = np.eye(4)
        self._clear()

    def _clear(self) -> None:
        self.space = SpaceMap(self.config)
        self.graph = WorldGraphStore(self.config)
        self.graph.places.agreement = lambda p: self.graph.agreement(p, self.landmarks)
        self.retriever = Retriever(self.config, self._encoder)
        self._new_episode('', ())

    def _new_episode(self, instruction: str, items: Sequence[ProgressItem]) -> None:
        self.instruction = instruction
        self.progress = ProgressRecord(tuple(items))
        self.frontiers = FrontierTracker(self.config)
        self.waypoints: list[Waypoint] = []
        self.changes: list[Change] = []
        self.history: list[ActionNote] = []
        self.saved_changes = self.saved_actions = 0
        self.unsaved_waypoints: set[int] = set()
        self.window = WorkingWindow(self.config)
        self.panorama: Panorama | None = None
        self.returning_to: int | None = None
        self.captions: dict[str, str] = {}
        self.unsaved_captions: set[str] = set()
        self.cache = RecallCache(self.config.recall_bytes, self.journal, self.config.spill_bytes)
        self._reach: tuple[int, int, Reach] | None = None
        self._snapshot: WorldGraph | None = None
        self._listed_waypoints: list[WaypointState] = []
        self._set_landmarks(items)

    def resume(
        self,
        instruction: str,
        progress: ProgressRecord,
        global_tform_odom: NDArray[np.float64],
        returning_to: int | None,
    ) -> None:
        """Continue an episode whose graph, waypoints and notes were loaded already."""
        self.instruction, self.progress = instruction, progress
        self.global_tform_odom, self.returning_to = global_tform_odom, returning_to
        self._set_landmarks(progress.items)

    def _set_landmarks(self, items: Sequence[ProgressItem]) -> None:
        self.landmarks = frozenset(category_of(w) for item in items for w in item.landmarks)
        self.retriever.clear(self.landmarks)
        self._stale = set(self.graph.places.nodes)
        for place in self._stale:
            self.graph.places.touch(place)

    def context(
        self, refusals: Sequence[str] = (), with_map_image: bool = False
    ) -> PlanningContext:
        """Return the planning context at the current waypoint.

        Raises:
            MemoryStoreError: No waypoint has been observed, or not since a restart.
        """
        waypoint = self._current_waypoint()
        if self.panorama is None:
            raise MemoryStoreError(
                f'the store was reopened at waypoint {waypoint.id}; '
                'observe its panorama again first'
            )
        config = self.config
        retrieved = self.retrieve()
        parts = [describe(self.progress)] if config.use_progress else []
        if config.use_world_graph:
            current = self.place_of(waypoint.id)
            parts.append(serialise(self.graph, retrieved, waypoint.pose, current, config))
        return PlanningContext(
            instruction=self.instruction,
            step=waypoint.id,
            pose=waypoint.pose,
            panorama=self.panorama,
            progress=self.progress,
            graph=self.snapshot(),
            retrieved=tuple(s.place for s in retrieved) if config.use_world_graph else (),
            memory_text='\n'.join(p for p in parts if p),
            window_text=self.window.text(),
            window_frames=self.window.frames(),
            map_image=self.map_image().pixels if with_map_image else None,
            history=tuple(self.history),
            refusals=tuple(refusals),
            waypoints_left=max(0, config.max_waypoints - len(self.waypoints)),
            stop_radius=config.stop_radius,
            global_tform_odom=self.global_tform_odom.copy(),
        )

    def retrieve(self) -> list[Scored]:
        """Return R(G_t, q_t) with its scores, best first."""
        self.retriever.refresh(self.graph, self._stale)
        self._stale = set()
        waypoint = self._current_waypoint()
        return self.retriever.retrieve(
            self.graph, self._subgoal(), waypoint.id, self.place_of(waypoint.id)
        )

    def _subgoal(self) -> str:
        current = self.progress.current
        return current.text if current is not None else ''

    def place_of(self, waypoint: int) -> int:
        """Return the place that a waypoint belongs to now."""
        return self.graph.place_of_anchor(self.waypoints[waypoint].anchor)

    def snapshot(self) -> WorldGraph:
        """Return the world graph and topological map as read-only states."""
        if self._snapshot is None:
            # Those of before are kept: an episode of 5,000 steps costs no more than one of 50.
            for w in self.waypoints[len(self._listed_waypoints) :]:
                self._listed_waypoints.append(
                    WaypointState(w.id, *w.pose, self.place_of(w.id), w.num_views)
                )
            self._snapshot = WorldGraph(
                self.graph.places.snapshot(),
                self.graph.objects.snapshot(),
                tuple(self._listed_waypoints),
                list_viewpoints(
                    self.waypoints, self.frontiers, self._ways(), self.captions, self.config
                )
                if self.waypoints
                else (),
                self.graph.places.edges(),
            )
        return self._snapshot

    def route_to(self, viewpoint: str) -> list[tuple[float, float]]:
        """Return points (x, y) in the odometry frame, metres, robot first, to a viewpoint.

        Raises:
            UnknownReference: No such viewpoint, or no known way there; the message lists some.
        """
        self._current_waypoint()
        listed = self.snapshot().viewpoints
        state = self.snapshot().viewpoint(viewpoint)
        if state is None:
            known = ', '.join(v.id for v in listed[-12:])
            raise UnknownReference(f'viewpoint "{viewpoint}" does not exist; there are: {known}')
        reachable = [v.id for v in listed if np.isfinite(v.path_length)][-12:]
        return self._to_odom(route(state, self.waypoints, self._ways(), reachable))

    def _to_odom(self, points: NDArray[np.float64]) -> list[tuple[float, float]]:
        flat = np.column_stack([points, np.zeros(len(points))])
        moved = apply(inverse(self.global_tform_odom), flat)
        return [(float(x), float(y)) for x, y in moved[:, :2]]

    def _ways(self) -> Reach:
        waypoint = self._current_waypoint()
        key = (self.space.version, waypoint.id)
        if self._reach is None or self._reach[:2] != key:
            self._reach = (*key, Reach(self.space, waypoint.pose[:2], self.config.robot_radius))
        return self._reach[2]

    def recall(self, waypoint: int, view: int) -> NDArray[np.uint8]:
        """Return the (H, W, 3) uint8 RGB view of a past waypoint.

        Raises:
            UnknownReference: Not in the cache; the message names what is.
        """
        return self.cache.get(waypoint, view)

    def map_image(self, size_px: int = 512) -> MapImage:
        """Return the top-down picture B_t with its resolution and origin."""
        return draw_map(self.space, self.snapshot(), size_px)

    def occupancy(self) -> Occupancy:
        """Return the space map as an occupancy grid in the global frame."""
        return self.space.occupancy()

    def topology(self) -> TopologicalMap:
        """Return the topological map (SPEC 3.7) over the current snapshot."""
        graph = self.snapshot()
        placed = {item.category for item in graph.objects}
        unplaced = viewpoint_objects(
            [
                (name, waypoint.pose[:2])
                for waypoint in self.waypoints
                for name in waypoint.unplaced
                if name not in placed
            ]
        )
        return build_topology(graph, self._viewpoint_edges(), unplaced)

    def _viewpoint_edges(self) -> list[tuple[str, str, float]]:
        edges = []
        for waypoint in self.waypoints:
            if waypoint.parent >= 0:
                gap = np.subtract(waypoint.pose[:2], self.waypoints[waypoint.parent].pose[:2])
                edges.append((f'w{waypoint.parent}', f'w{waypoint.id}', float(np.hypot(*gap))))
        if self.waypoints:
            here = f'w{self.waypoints[-1].id}'
            for viewpoint in self.snapshot().viewpoints:
                if viewpoint.id != here and np.isfinite(viewpoint.path_length):
                    edges.append((here, viewpoint.id, viewpoint.path_length))
        return edges

    def _current_waypoint(self) -> Waypoint:
        if not self.waypoints:
            raise MemoryStoreError(
                'no waypoint yet: begin an episode and observe a panorama first'
            )
        return self.waypoints[-1]

    def _pose_of(self, odom_tform_base: NDArray[np.float64]) -> tuple[float, float, float]:
        tform = self.global_tform_odom @ odom_tform_base
        return float(tform[0, 3]), float(tform[1, 3]), yaw_of(tform)

    @staticmethod
    def _names_seen(panorama: Panorama) -> dict[str, int]:
        counts: dict[str, int] = {}
        for detection in panorama.detections:
            name = category_of(detection.category)
            counts[name] = counts.get(name, 0) + 1
        return dict(sorted(counts.items()))
