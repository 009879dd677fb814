# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Moves of the rules planner: what to try towards a thing, and what was tried in vain."""

from __future__ import annotations

import math

import numpy as np

from vln_core.context import ObjectState, PlanningContext
from vln_core.observation import Detection
from vln_core.system2.record import Backtrack, Go, Goto, MoveTo, describe_action
from vln_core.system2.situation import Situation, surface_distance

_OK = 0


class Moves:
    """Moves from where the robot stands.

    Attributes:
        banned: Texts of actions that were refused in this turn, or failed from here before.
    """

    def __init__(self, context: PlanningContext, situation: Situation) -> None:
        self.c = context
        self.s = situation
        self.banned = {text.split(': ', 1)[0] for text in context.refusals}
        self._ban_from_history()

    def _ban_from_history(self) -> None:
        """Never repeat what failed from where the robot still stands."""
        at = {w.id: np.array([w.x, w.y]) for w in self.s.waypoints}
        fails: dict[str, int] = {}
        for note in self.c.history:
            if note.code == _OK:
                continue
            fails[note.action] = fails.get(note.action, 0) + 1
            place = at.get(note.step)
            here = place is not None and float(np.hypot(*(place - self.s.xy))) < 0.6
            goes_somewhere = note.action.startswith(('goto', 'backtrack'))
            if goes_somewhere and (here or fails[note.action] >= 2):
                self.banned.add(note.action)
            elif here and note.step == self.s.here:
                self.banned.add(note.action)

    def is_banned(self, action: Go | MoveTo | Goto | Backtrack) -> bool:
        """Tell whether an action was tried in vain."""
        return describe_action(action) in self.banned

    def towards(self, thing: ObjectState, *, allow_far: bool) -> Go | MoveTo | Goto | None:
        """Return the first move towards an object that was not refused, or None."""
        near = surface_distance(self.s.xy, thing)
        detection = self.s.seen_now(thing)
        if detection is not None:
            for action in self._visible_moves(detection):
                if not self.is_banned(action):
                    return action
        if not allow_far and detection is None:
            return None
        target = np.asarray(thing.position, dtype=float)[:2]
        best: tuple[float, str] | None = None
        for view in self.c.graph.viewpoints:
            xy = np.array([view.x, view.y])
            if not math.isfinite(view.path_length) or view.path_length < 0.3:
                continue
            if np.hypot(*(xy - self.s.xy)) < 0.3 or self.is_banned(Goto(viewpoint=view.id)):
                continue
            if view.is_visited and self._times(Goto(viewpoint=view.id)) >= 2:
                continue
            gap = surface_distance(xy, thing)
            walls = len(self.s.crossed(xy, target))
            cost = gap + 1.5 * walls + 0.15 * view.path_length
            if view.id == f'w{thing.best_view[0]}':
                cost -= 2.0  # from there it was seen
            elif gap + 1.5 * walls > near - 0.3 and not (
                detection is None and walls == 0 and gap < 3.0
            ):
                continue
            if best is None or (cost, view.id) < best:
                best = (cost, view.id)
        return Goto(viewpoint=best[1]) if best else None

    def _times(self, action: Goto) -> int:
        """Return how often an action was taken before."""
        text = describe_action(action)
        return sum(1 for note in self.c.history if note.action == text)

    def _visible_moves(self, detection: Detection) -> list[Go | MoveTo]:
        views = self.c.panorama.views
        moves: list[Go | MoveTo] = [Go(view=detection.view, target=detection.category)]
        if detection.view < len(views):
            camera = views[detection.view].camera
            left, _, right, bottom = detection.box_xyxy
            middle = min(max(0.5 * (left + right) / camera.width, 0.02), 0.98)
            for below in (0.03, 0.10):
                row = min(bottom / camera.height + below, 0.97)
                moves.append(MoveTo(view=detection.view, u=round(middle, 3), v=round(row, 3)))
        return moves
