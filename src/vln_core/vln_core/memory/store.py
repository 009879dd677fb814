# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of the navigator: one store behind :class:`vln_core.ports.Memory`."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from vln_core.context import (
    ActionNote,
    FailureNote,
    PlanningContext,
    ProgressItem,
    ProgressRecord,
    ViewpointState,
    WaypointState,
    WorldGraph,
)
from vln_core.errors import MemoryStoreError, UnknownReference, UpdateRefused
from vln_core.geometry.transforms import inverse, planar_tform, wrap_angle, yaw_of
from vln_core.memory import checks
from vln_core.memory.config import MemoryConfig
from vln_core.memory.encoders import SentenceEncoder, make_encoder
from vln_core.memory.frontiers import FrontierTracker, find_frontiers
from vln_core.memory.map_image import MapImage, draw_map
from vln_core.memory.progress import Change, apply_updates, check_items, describe
from vln_core.memory.recall_cache import RecallCache
from vln_core.memory.retrieval import Retriever, Scored, serialise
from vln_core.memory.routes import Reach
from vln_core.memory.space_map import SpaceMap
from vln_core.memory.window import WorkingWindow
from vln_core.memory.world_graph import WorldGraphStore
from vln_core.observation import Panorama
from vln_core.system2.record import DecisionRecord, WorldNotes
from vln_core.vocabulary import canonical_room, category_of

__all__ = ['MemoryConfig', 'MemoryStore']

_log = logging.getLogger(__name__)


@dataclass
class Waypoint:
    """Live state of a decision waypoint."""

    id: int
    odom_tform_base: NDArray[np.float64]
    pose: tuple[float, float, float]
    anchor: int
    num_views: int
    panorama: tuple[int, int]  # id and stamp, to know a panorama again after a restart
    parent: int  # waypoint that the robot came from, -1 for the first


class MemoryStore:
    """World graph, progress record, working window, retrieval, map and recall in one.

    Not thread safe: the memory node serialises its callers.
    """

    def __init__(
        self,
        config: MemoryConfig | None = None,
        path: Path | None = None,
        encoder: SentenceEncoder | str | None = None,
        map_id: str = '',
    ) -> None:
        """Make an empty memory, or open the one stored at ``path``.

        Args:
            config: Settings; the defaults of SPEC section 3 without.
            path: File of the journal; None keeps everything in memory only.
            encoder: Sentence encoder, or its name for ``make_encoder``; ``minilm`` without.
            map_id: Which map the global frame belongs to; '' is odometry.

        Raises:
            ConfigError: The encoder is not installed.
            MemoryStoreError: The journal belongs to another map, is newer, or is damaged.
        """
        self.config = config or MemoryConfig()
        self.map_id = map_id
        is_name = encoder is None or isinstance(encoder, str)
        self._encoder = make_encoder(encoder or 'minilm') if is_name else encoder
        self._path = path
        self._global_tform_odom = np.eye(4)
        self._clear()

    def _clear(self) -> None:
        self.space = SpaceMap(self.config)
        self.graph = WorldGraphStore(self.config)
        self.frontiers = FrontierTracker(self.config)
        self.waypoints: list[Waypoint] = []
        self.retriever = Retriever(self.config, self._encoder)
        self._cache = RecallCache(self.config.recall_bytes)
        self._reset_episode('', ())

    def _reset_episode(self, instruction: str, items: Sequence[ProgressItem]) -> None:
        self.instruction = instruction
        self.progress = ProgressRecord(tuple(items))
        self.changes: list[Change] = []
        self.history: list[ActionNote] = []
        self.window = WorkingWindow(self.config)
        self.waypoints = []
        self.panorama: Panorama | None = None
        self._landmarks = frozenset(category_of(w) for item in items for w in item.landmarks)
        self.retriever.clear(self._landmarks)
        self._stale = set(self.graph.places.nodes)
        self._reach: tuple[int, int, Reach] | None = None
        self._snapshot: WorldGraph | None = None
        self._returning_to: int | None = None

    # -- writing ---------------------------------------------------------------------------------

    def begin(self, instruction: str, items: Sequence[ProgressItem]) -> None:
        """Start an episode with an empty graph.

        Raises:
            UpdateRefused: The items do not form a record, or the text is not clean.
        """
        checks.check_text('instruction', instruction, self.config.max_text, allow_empty=False)
        check_items(items)
        for item in items:
            checks.check_text(f'item {item.index}', item.text, self.config.max_text)
        self._clear()
        self._reset_episode(instruction, items)

    def set_global_tform_odom(self, tform: NDArray[np.float64], moves_memory: bool = True) -> None:
        """Take over a correction of map -> odom.

        Args:
            tform: (4, 4) new ``global_tform_odom``.
            moves_memory: Move all that was recorded with the old one by the same correction. Places
                keep their ids and members either way.

        Raises:
            UpdateRefused: The transform is not finite or not rigid.
        """
        checks.check_tform('global_tform_odom', tform)
        correction = tform @ inverse(self._global_tform_odom)
        self._global_tform_odom = np.array(tform, dtype=np.float64)
        if np.allclose(correction, np.eye(4), atol=1e-9) or not moves_memory:
            return
        self._move_everything(correction)

    def _move_everything(self, new_tform_old: NDArray[np.float64]) -> None:
        turn = yaw_of(new_tform_old)
        places, objects = self.graph.places, self.graph.objects
        moved = {}
        for anchor in range(places.num_anchors):
            x, y, yaw = places.anchors[anchor]
            new = new_tform_old @ np.array([x, y, 0.0, 1.0])
            moved[anchor] = (float(new[0]), float(new[1]), wrap_angle(float(yaw) + turn))
        places.transform(moved)
        objects.transform(new_tform_old)
        self.space.transform(new_tform_old)
        self.frontiers.move(new_tform_old)
        for waypoint in self.waypoints:
            waypoint.pose = self._pose_of(waypoint.odom_tform_base)
        self._after_change()
        if self.waypoints:
            self._update_frontiers()

    def observe(self, panorama: Panorama) -> int:
        """Fuse a panorama taken at a new decision waypoint; return its number t.

        The same panorama again (same id and stamp as the last one) changes nothing.

        Raises:
            UpdateRefused: The panorama is malformed, or no episode has begun; nothing was changed.
        """
        if not self.instruction:
            raise UpdateRefused('no episode has begun; call begin(instruction, items) first')
        checks.check_panorama(panorama)
        if self.waypoints and self.waypoints[-1].panorama == (panorama.id, panorama.stamp):
            self.panorama = panorama
            return self.waypoints[-1].id
        step = len(self.waypoints)
        global_tform_base = self._global_tform_odom @ panorama.odom_tform_base
        pose = self._pose_of(panorama.odom_tform_base)
        self.space.integrate(
            panorama.views, self._global_tform_odom, tuple(map(float, global_tform_base[:3, 3]))
        )
        anchor, place, _ = self.graph.visit(pose, step, self.space)
        parent = self._parent(step, pose)
        self.waypoints.append(
            Waypoint(
                step,
                panorama.odom_tform_base.copy(),
                pose,
                anchor,
                len(panorama.views),
                (panorama.id, panorama.stamp),
                parent,
            )
        )
        if parent >= 0:
            previous = self.waypoints[parent]
            length = math.hypot(pose[0] - previous.pose[0], pose[1] - previous.pose[1])
            self.graph.places.connect(self.place_of(parent), place, length, 1)
        self.graph.see(
            panorama.detections,
            panorama.views,
            self._global_tform_odom,
            pose[:2],
            step,
            self.space,
        )
        self._cache.add(step, [view.rgb for view in panorama.views])
        self.window.open(step, panorama, self._names_seen(panorama))
        self.panorama = panorama
        self._returning_to = None
        self._after_change()
        self._update_frontiers()
        return step

    def _parent(self, step: int, pose: tuple[float, float, float]) -> int:
        back = self._returning_to
        if back is not None:
            anchor = self.waypoints[back].pose
            if math.hypot(pose[0] - anchor[0], pose[1] - anchor[1]) < self.config.cluster_distance:
                return back
        return step - 1

    def commit(self, record: DecisionRecord) -> None:
        """Apply w_t: place notes, object notes and progress updates, all or none.

        Raises:
            UpdateRefused: An update is illegal; nothing was changed.
        """
        waypoint = self._current_waypoint()
        checks.check_record(record, self.config.max_text, waypoint.num_views)
        self._check_references(record)
        notes = record.notes
        progress, changes = apply_updates(self.progress, notes.progress, waypoint.id)
        self.progress = progress
        self.changes.extend(changes)
        self._write_place(self.place_of(waypoint.id), notes, waypoint.id)
        self.window.decide(record)
        self._after_change()

    def _check_references(self, record: DecisionRecord) -> None:
        action = record.action
        if action.type == 'goto' and self.snapshot().viewpoint(action.viewpoint) is None:
            names = ', '.join(v.id for v in self.snapshot().viewpoints[:12])
            raise UpdateRefused(
                f'viewpoint "{action.viewpoint}" does not exist; there are: {names}'
            )
        if action.type == 'backtrack' and not 0 <= action.waypoint < len(self.waypoints):
            raise UpdateRefused(
                f'waypoint {action.waypoint} was never visited; there are 0..{len(self.waypoints) - 1}'
            )
        if (
            action.type == 'stop'
            and action.object_id is not None
            and action.object_id not in self.graph.objects.nodes
        ):
            raise UpdateRefused(f'object {action.object_id} does not exist in the world graph')

    def _write_place(self, place_id: int, notes: WorldNotes, step: int) -> None:
        node = self.graph.places.nodes[place_id]
        node.name = notes.place_name.strip() or node.name
        room = notes.room_type.strip()
        node.room_type = (canonical_room(room) or room.lower()) if room else node.room_type
        node.description = notes.place_description.strip() or node.description
        for note in notes.objects:
            category = category_of(note.category)
            found = self.graph.objects.find(category, sorted(node.objects))
            if found:
                self.graph.objects.describe(found[0], note.description.strip(), note.attributes)
                continue
            # Not grounded: soft attributes stay with the place and category (HAM-VLN 3.2).
            words = node.notes.setdefault(category, [])
            if note.description.strip() and note.description.strip() not in words:
                words.append(note.description.strip())
                del words[8:]
            for attribute in note.attributes:
                key = f'{category}: {attribute}'
                node.attributes[key] = node.attributes.get(key, 0) + 1
        if notes.failure.strip():
            self.graph.note_failure(
                place_id, FailureNote(notes.failure.strip(), step, self._subgoal())
            )
        self.graph.places.touch(place_id)

    def conclude(self, note: ActionNote) -> None:
        """Store what became of the action, closing the transition of the working window.

        Raises:
            UpdateRefused: The note is malformed or of a waypoint that does not exist.
        """
        checks.check_action_note(note, len(self.waypoints), self.config.max_text)
        self.history.append(note)
        self.window.conclude(note)
        if note.code != 0 and note.action.startswith('goto(f'):
            number = note.action[6:].rstrip(')')
            if number.isdigit():
                self.frontiers.failed(int(number))
                self._snapshot = None
        self._after_change()

    def backtrack(self, waypoint: int, reason: str) -> list[tuple[float, float]]:
        """Mark the abandoned suffix as failed (HAM-VLN Algorithm 1) and return the route back.

        Args:
            waypoint: b_t, a past waypoint.
            reason: r_t, the rationale of the decision.

        Returns:
            Points (x, y) in the odometry frame, metres, robot first.

        Raises:
            UnknownReference: No such waypoint, or it is the current one; nothing was changed.
            UpdateRefused: The reason is not clean text.
        """
        checks.check_text('reason', reason, self.config.max_text, allow_empty=False)
        current = self._current_waypoint().id
        if not 0 <= waypoint < current:
            raise UnknownReference(
                f'cannot backtrack to waypoint {waypoint}: past waypoints are '
                + (f'0..{current - 1}' if current else 'none yet')
            )
        route = self.route_to(f'w{waypoint}')
        home = self.place_of(waypoint)
        failed = {self.place_of(k) for k in range(waypoint + 1, current + 1)} - {home}
        note = FailureNote(reason.strip(), current, self._subgoal())
        for place in sorted(failed):
            self.graph.note_failure(place, note)
        self._returning_to = waypoint
        self._after_change()
        return route

    def _after_change(self) -> None:
        self._stale |= self.graph.places.dirty
        self.graph.places.dirty.clear()
        self.graph.places.dirty_edges.clear()
        self.graph.objects.dirty.clear()
        self._snapshot = None

    # -- reading ---------------------------------------------------------------------------------

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
                f'the store was reopened at waypoint {waypoint.id}; observe its panorama again first'
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
            global_tform_odom=self._global_tform_odom.copy(),
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
            self._snapshot = WorldGraph(
                self.graph.places.snapshot(lambda p: self.graph.agreement(p, self._landmarks)),
                self.graph.objects.snapshot(),
                tuple(
                    WaypointState(w.id, *w.pose, self.place_of(w.id), w.num_views)
                    for w in self.waypoints
                ),
                self._viewpoints(),
                self.graph.places.edges(),
            )
        return self._snapshot

    def _viewpoints(self) -> tuple[ViewpointState, ...]:
        if not self.waypoints:
            return ()
        pose = self.waypoints[-1].pose
        points = np.array([w.pose[:2] for w in self.waypoints])
        lengths = self._ways().lengths_to(points)
        lengths[-1] = 0.0
        graph = None
        result = []
        for waypoint, length in zip(self.waypoints, lengths, strict=True):
            if not math.isfinite(length):
                graph = graph or self._trajectory_graph()
                length = _graph_length(graph, self.waypoints[-1].id, waypoint.id)
            bearing = _bearing(pose, *waypoint.pose[:2])
            result.append(
                ViewpointState(
                    f'w{waypoint.id}',
                    *waypoint.pose[:2],
                    True,
                    waypoint.id,
                    float(length),
                    bearing,
                )
            )
        for number, frontier in sorted(self.frontiers.current.items()):
            result.append(
                ViewpointState(
                    f'f{number}',
                    frontier.x,
                    frontier.y,
                    False,
                    self.waypoints[-1].id,
                    frontier.path_length,
                    _bearing(pose, frontier.x, frontier.y),
                    frontier.width,
                    frontier.unknown_area,
                    frontier.heading_out,
                )
            )
        return tuple(result)

    def route_to(self, viewpoint: str) -> list[tuple[float, float]]:
        """Return points (x, y) in the odometry frame, metres, robot first, that lead to a viewpoint.

        Raises:
            UnknownReference: No such viewpoint, or no known way there; the message lists some.
        """
        pose = self._current_waypoint().pose
        state = self.snapshot().viewpoint(viewpoint)
        if state is None:
            known = ', '.join(v.id for v in self.snapshot().viewpoints[-12:])
            raise UnknownReference(f'viewpoint "{viewpoint}" does not exist; there are: {known}')
        reach = self._ways()
        goal = np.array([state.x, state.y])
        cell = reach.nearest(goal, 0.5)
        way = reach.way_to(cell) if cell is not None else None
        if way is None and state.is_visited:
            way = self._trajectory_way(int(viewpoint[1:]))
        if way is None:
            open_ids = [v.id for v in self.snapshot().viewpoints if math.isfinite(v.path_length)]
            raise UnknownReference(
                f'no known way to viewpoint "{viewpoint}"; reachable are: {", ".join(open_ids[:12])}'
            )
        points = [np.array(pose[:2]), *way[1:]]
        if state.is_visited and np.hypot(*(points[-1] - goal)) > 1e-6:
            points.append(goal)
        return self._to_odom(np.array(points))

    def _trajectory_graph(self) -> nx.Graph:
        graph = nx.Graph()
        graph.add_nodes_from(range(len(self.waypoints)))
        for waypoint in self.waypoints:
            if waypoint.parent >= 0:
                other = self.waypoints[waypoint.parent].pose
                length = math.hypot(waypoint.pose[0] - other[0], waypoint.pose[1] - other[1])
                graph.add_edge(waypoint.parent, waypoint.id, length=length)
        return graph

    def _trajectory_way(self, waypoint: int) -> NDArray[np.float64] | None:
        try:
            nodes = nx.shortest_path(
                self._trajectory_graph(), self.waypoints[-1].id, waypoint, weight='length'
            )
        except nx.NetworkXNoPath:
            return None
        return np.array([self.waypoints[n].pose[:2] for n in nodes])

    def _to_odom(self, points: NDArray[np.float64]) -> list[tuple[float, float]]:
        odom_tform_global = inverse(self._global_tform_odom)
        full = np.concatenate([points, np.zeros((len(points), 1))], axis=1)
        moved = full @ odom_tform_global[:3, :3].T + odom_tform_global[:3, 3]
        return [(float(x), float(y)) for x, y in moved[:, :2]]

    def _ways(self) -> Reach:
        waypoint = self._current_waypoint()
        key = (self.space.version, waypoint.id)
        if self._reach is None or self._reach[:2] != key:
            self._reach = (*key, Reach(self.space, waypoint.pose[:2], self.config.robot_radius))
        return self._reach[2]

    def _update_frontiers(self) -> None:
        points = np.array([w.pose[:2] for w in self.waypoints])
        self.frontiers.update(find_frontiers(self.space, self._ways(), points, self.config))
        self._snapshot = None

    def recall(self, waypoint: int, view: int) -> NDArray[np.uint8]:
        """Return the (H, W, 3) uint8 RGB view of a past waypoint.

        Raises:
            UnknownReference: Not in the cache; the message names what is.
        """
        return self._cache.get(waypoint, view)

    def map_image(self, size_px: int = 512) -> MapImage:
        """Return the top-down picture B_t with its resolution and origin."""
        return draw_map(self.space, self.snapshot(), size_px)

    def _current_waypoint(self) -> Waypoint:
        if not self.waypoints:
            raise MemoryStoreError(
                'no waypoint yet: begin an episode and observe a panorama first'
            )
        return self.waypoints[-1]

    def _pose_of(self, odom_tform_base: NDArray[np.float64]) -> tuple[float, float, float]:
        tform = self._global_tform_odom @ odom_tform_base
        return float(tform[0, 3]), float(tform[1, 3]), yaw_of(tform)

    @staticmethod
    def _names_seen(panorama: Panorama) -> dict[str, int]:
        counts: dict[str, int] = {}
        for detection in panorama.detections:
            name = category_of(detection.category)
            counts[name] = counts.get(name, 0) + 1
        return dict(sorted(counts.items()))


def _bearing(pose: tuple[float, float, float], x: float, y: float) -> float:
    dx, dy = x - pose[0], y - pose[1]
    return wrap_angle(math.atan2(dy, dx) - pose[2]) if math.hypot(dx, dy) > 1e-6 else 0.0


def _graph_length(graph: nx.Graph, start: int, end: int) -> float:
    try:
        return float(nx.shortest_path_length(graph, start, end, weight='length'))
    except nx.NetworkXNoPath:
        return math.inf
