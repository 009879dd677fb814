# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of the navigator: one store behind :class:`vln_core.ports.Memory`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ActionNote, FailureNote, ProgressItem
from vln_core.errors import MemoryStoreError, UnknownReference, UpdateRefused
from vln_core.geometry.transforms import apply, inverse, wrap_angle, yaw_of
from vln_core.memory import checks, persistence
from vln_core.memory.backtracking import abandoned_places
from vln_core.memory.config import MemoryConfig
from vln_core.memory.encoders import SentenceEncoder, make_encoder
from vln_core.memory.frontiers import Frontier, find_frontiers
from vln_core.memory.journal import Journal, Row
from vln_core.memory.progress import apply_updates, check_items
from vln_core.memory.state import MemoryState
from vln_core.memory.waypoints import Waypoint, caption_towards
from vln_core.observation import Panorama
from vln_core.system2.record import DecisionRecord, describe_action
from vln_core.vocabulary import category_of

__all__ = ['MemoryConfig', 'MemoryStore']

# Rows that end with their episode even where the graph lives on.
_EPISODE_KINDS = frozenset({'waypoint', 'action', 'change', 'frontier', 'view', 'caption'})


class MemoryStore(MemoryState):
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
        chosen = encoder or 'minilm'
        chosen = make_encoder(chosen) if isinstance(chosen, str) else chosen
        journal = None if path is None else Journal(path, map_id)
        super().__init__(config or MemoryConfig(), chosen, journal, map_id)
        self._broken = ''
        if self.journal is not None:
            persistence.load(self, self.journal)
            self._forget_changes()

    def close(self) -> None:
        """Release the journal; every accepted write is on disk already."""
        if self.journal is not None:
            self.journal.close()

    def begin(self, instruction: str, items: Sequence[ProgressItem]) -> None:
        """Start an episode with an empty graph.

        Raises:
            UpdateRefused: The items do not form a record, or the text is not clean.
        """
        checks.check_text('instruction', instruction, self.config.max_text, allow_empty=False)
        check_items(items)
        for item in items:
            checks.check_text(f'item {item.index}', item.text, self.config.max_text)
        if self._broken:
            self._reopen()
        rows: list[Row] = []
        if self.config.lifelong:
            if self.journal is not None:
                rows = [r for r in self.journal.clear() if r[0] in _EPISODE_KINDS]
            self.graph.age(len(self.waypoints))
        else:
            if self.journal is not None:
                rows = list(self.journal.clear())
            self._clear()
        self._new_episode(instruction, items)
        self.cache.forget()
        self._save('begin', instruction, rows)

    def _reopen(self) -> None:
        """Go back to what the disk holds, all that was acknowledged; a full disk may be free."""
        assert self.journal is not None  # only a write to it can have failed
        self.journal.close()
        self.journal = Journal(self.journal.path, self.map_id)
        self._clear()
        persistence.load(self, self.journal)
        self._forget_changes()
        self._broken = ''

    def _check_usable(self) -> None:
        if self._broken:
            raise MemoryStoreError(
                f'the memory store accepts no writes since one failed ({self._broken}); '
                'begin another episode, or reopen it'
            )

    def _save(self, kind: str, text: str, extra: Sequence[Row] = ()) -> None:
        """Write all changes to disk; only then may the caller acknowledge them."""
        self._snapshot = None
        if self.journal is not None:
            step = self.waypoints[-1].id if self.waypoints else -1
            try:
                self.journal.write([*extra, *persistence.changed_rows(self)], (kind, step, text))
            except MemoryStoreError as error:
                # Memory is ahead of the disk now: nothing more is accepted on top of it.
                self._broken = str(error)
                raise
        self._forget_changes()

    def _forget_changes(self) -> None:
        places = self.graph.places
        self._stale |= places.stale
        for changed in (
            places.dirty,
            places.stale,
            places.dirty_anchors,
            places.dirty_edges,
            self.graph.objects.dirty,
            self.frontiers.dirty,
        ):
            changed.clear()
        self.space.dirty_box = None
        self.unsaved_waypoints.clear()
        self.unsaved_captions.clear()
        self.saved_actions, self.saved_changes = len(self.history), len(self.changes)

    def set_global_tform_odom(self, tform: NDArray[np.float64], moves_memory: bool = True) -> None:
        """Take over a correction of map -> odom.

        Args:
            tform: (4, 4) new ``global_tform_odom``.
            moves_memory: Move all that was recorded with the old one by the same correction.
                Places keep their ids and members either way. Before the first waypoint of an
                episode nothing moves: what a lifelong store knows came by another odometry.

        Raises:
            UpdateRefused: The transform is not finite or not rigid.
        """
        checks.check_tform('global_tform_odom', tform)
        self._check_usable()
        correction = tform @ inverse(self.global_tform_odom)
        self.global_tform_odom = np.array(tform, dtype=np.float64)
        if moves_memory and self.waypoints and not np.allclose(correction, np.eye(4), atol=1e-9):
            self._move_everything(correction)
        self._save('correct', 'global_tform_odom')

    def _move_everything(self, new_tform_old: NDArray[np.float64]) -> None:
        turn = yaw_of(new_tform_old)
        places = self.graph.places
        flat = np.column_stack(
            [places.anchors[: places.num_anchors, :2], np.zeros(places.num_anchors)]
        )
        moved = apply(new_tform_old, flat)
        places.transform(
            {
                k: (float(p[0]), float(p[1]), wrap_angle(float(places.anchors[k, 2]) + turn))
                for k, p in enumerate(moved)
            }
        )
        self.graph.objects.transform(new_tform_old)
        self.space.transform(new_tform_old)
        self.frontiers.move(new_tform_old)
        for waypoint in self.waypoints:
            waypoint.pose = self._pose_of(waypoint.odom_tform_base)
            self.unsaved_waypoints.add(waypoint.id)
        self._reach = None
        self._listed_waypoints.clear()
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
        self._check_usable()
        checks.check_panorama(panorama)
        if self.waypoints and self.waypoints[-1].panorama == (panorama.id, panorama.stamp):
            self.panorama = panorama
            return self.waypoints[-1].id
        step = len(self.waypoints)
        rows = self.cache.add(step, [view.rgb for view in panorama.views])
        global_tform_base = self.global_tform_odom @ panorama.odom_tform_base
        pose = self._pose_of(panorama.odom_tform_base)
        x, y, z = map(float, global_tform_base[:3, 3])
        self.space.integrate(panorama.views, self.global_tform_odom, (x, y, z))
        anchor, place, merged = self.graph.visit(pose, step, self.space)
        if merged:
            self._listed_waypoints.clear()
        parent = self._parent(step, pose)
        found = panorama.detections
        unplaced = {category_of(d.category) for d in found if d.position_odom is None}
        self.waypoints.append(
            Waypoint(
                step,
                panorama.odom_tform_base.copy(),
                pose,
                anchor,
                len(panorama.views),
                (panorama.id, panorama.stamp),
                parent,
                tuple(sorted(unplaced)),
            )
        )
        self.unsaved_waypoints.add(step)
        if parent >= 0:
            length = float(np.hypot(*np.subtract(pose[:2], self.waypoints[parent].pose[:2])))
            self.graph.places.connect(self.place_of(parent), place, length, 1)
        self.graph.see(
            panorama.detections, panorama.views, self.global_tform_odom, pose[:2], step, self.space
        )
        self.window.open(step, panorama, self._names_seen(panorama))
        seen = ', '.join(self._names_seen(panorama)) or 'no objects'
        self._set_caption(f'w{step}', f'saw {seen}')
        self.panorama = panorama
        self.returning_to = None
        self._update_frontiers()
        self._save(
            'observe', f'panorama {panorama.id}, {len(panorama.detections)} detections', rows
        )
        return step

    def _parent(self, step: int, pose: tuple[float, float, float]) -> int:
        back = self.returning_to
        if back is not None:
            gap = float(np.hypot(*np.subtract(pose[:2], self.waypoints[back].pose[:2])))
            if gap < self.config.cluster_distance:
                return back
        return step - 1

    def commit(self, record: DecisionRecord) -> None:
        """Apply w_t: place notes, object notes and progress updates, all or none.

        Raises:
            UpdateRefused: An update is illegal; nothing was changed.
        """
        self._check_usable()
        waypoint = self._current_waypoint()
        checks.check_record(record, self.config.max_text, waypoint.num_views)
        self._check_references(record)
        notes = record.notes
        progress, changes = apply_updates(self.progress, notes.progress, waypoint.id)
        self.progress = progress
        self.changes.extend(changes)
        self.graph.annotate(self.place_of(waypoint.id), notes, waypoint.id, self._subgoal())
        self.window.decide(record)
        self._save('commit', describe_action(record.action))

    def _check_references(self, record: DecisionRecord) -> None:
        action = record.action
        if action.type == 'goto' and self.snapshot().viewpoint(action.viewpoint) is None:
            names = ', '.join(v.id for v in self.snapshot().viewpoints[:12])
            raise UpdateRefused(
                f'viewpoint "{action.viewpoint}" does not exist; there are: {names}'
            )
        if action.type == 'backtrack' and not 0 <= action.waypoint < len(self.waypoints):
            raise UpdateRefused(
                f'waypoint {action.waypoint} was never visited; '
                f'there are 0..{len(self.waypoints) - 1}'
            )
        if (
            action.type == 'stop'
            and action.object_id is not None
            and action.object_id not in self.graph.objects.nodes
        ):
            raise UpdateRefused(f'object {action.object_id} does not exist in the world graph')

    def caption(self, viewpoint: str, text: str) -> None:
        """Keep a caption of a viewpoint for the topological map.

        Raises:
            UnknownReference: No such viewpoint.
            UpdateRefused: The text is not clean.
        """
        self._check_usable()
        checks.check_text('caption', text, self.config.max_text)
        if self.snapshot().viewpoint(viewpoint) is None:
            raise UnknownReference(f'viewpoint "{viewpoint}" does not exist')
        self._set_caption(viewpoint, text.strip())
        self._save('caption', viewpoint)

    def _set_caption(self, viewpoint: str, text: str) -> None:
        self.captions[viewpoint] = text
        self.unsaved_captions.add(viewpoint)

    def conclude(self, note: ActionNote) -> None:
        """Store what became of the action, closing the transition of the working window.

        Raises:
            UpdateRefused: The note is malformed or of a waypoint that does not exist.
        """
        self._check_usable()
        checks.check_action_note(note, len(self.waypoints), self.config.max_text)
        self.history.append(note)
        self.window.conclude(note)
        if note.code != 0 and note.action.startswith('goto(f'):
            number = note.action[6:].rstrip(')')
            if number.isdigit():
                self.frontiers.failed(int(number))
        self._save('conclude', f'{note.action}: {note.code}')

    def add_way_frame(self, rgb: NDArray[np.uint8]) -> None:
        """Offer a frame of a camera, once a second, for the working window (SPEC 3.3).

        Args:
            rgb: (H, W, 3) uint8. Ignored while no action is under way.

        Raises:
            UpdateRefused: It is not such a picture.
        """
        if not isinstance(rgb, np.ndarray) or rgb.dtype != np.uint8 or rgb.shape[2:] != (3,):
            raise UpdateRefused('a frame on the way must be an (H, W, 3) picture of uint8')
        self.window.add_way_frame(rgb)

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
        self._check_usable()
        checks.check_text('reason', reason, self.config.max_text, allow_empty=False)
        current = self._current_waypoint().id
        if not 0 <= waypoint < current:
            raise UnknownReference(
                f'cannot backtrack to waypoint {waypoint}: past waypoints are '
                + (f'0..{current - 1}' if current else 'none yet')
            )
        way = self.route_to(f'w{waypoint}')
        failed = abandoned_places([self.place_of(k) for k in range(current + 1)], waypoint)
        note = FailureNote(reason.strip(), current, self._subgoal())
        for place in failed:
            self.graph.note_failure(place, note)
        self.returning_to = waypoint
        self._save('backtrack', f'w{waypoint}: {reason.strip()}')
        return way

    def _opening_caption(self, frontier: Frontier) -> str:
        """Return the captioner's words for the view that looks there, else what stands near."""
        if self.panorama is not None and self.panorama.captions:
            return caption_towards(self.panorama, self.global_tform_odom, (frontier.x, frontier.y))
        near = self.graph.objects.near(frontier.x, frontier.y, 1.5)
        names = sorted({self.graph.objects.nodes[int(i)].category for i in near})
        return 'opening' + (f' by {", ".join(names[:5])}' if names else '')

    def _update_frontiers(self) -> None:
        # Anchors of one episode follow each other.
        first = self.waypoints[0].anchor
        points = self.graph.places.anchors[first : first + len(self.waypoints), :2]
        self.frontiers.update(find_frontiers(self.space, self._ways(), points, self.config))
        for number, frontier in self.frontiers.current.items():
            # Captions are made when an opening is first seen, and kept (MC-GPT III-C).
            if f'f{number}' not in self.captions:
                self._set_caption(f'f{number}', self._opening_caption(frontier))
        self._snapshot = None
