# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Moves of the rules planner: what to try towards a thing, and what was tried in vain."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ObjectState, PlanningContext
from vln_core.observation import Detection
from vln_core.system2.record import Backtrack, Go, Goto, MoveTo, describe_action
from vln_core.system2.situation import Situation, surface_distance

_OK = 0
_SAME_SPOT = 0.3
_MAX_VISITS = 3
# An action and as many others after it fail before a turn ends in vain.
_TRIES_A_TURN = 4


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
            for action in self._visible_moves(detection)[self._num_tried_from_here() :]:
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
            if view.is_visited and self._num_visits(xy) >= _MAX_VISITS:
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

    def around(self, thing: ObjectState) -> Goto | None:
        """Return the way to a place clearly nearer to an object that cannot be driven at."""
        near = surface_distance(self.s.xy, thing)
        target = np.asarray(thing.position, dtype=float)[:2]
        best: tuple[float, str] | None = None
        for view in self.c.graph.viewpoints:
            xy = np.array([view.x, view.y])
            gap = surface_distance(xy, thing) + 1.5 * len(self.s.crossed(xy, target))
            if not math.isfinite(view.path_length) or gap > min(near - 0.5, 1.5):
                continue
            if self._num_visits(xy) or self.is_banned(Goto(viewpoint=view.id)):
                continue
            cost = gap + 0.15 * view.path_length
            if best is None or (cost, view.id) < best:
                best = (cost, view.id)
        return Goto(viewpoint=best[1]) if best else None

    def _num_visits(self, xy: NDArray[np.float64]) -> int:
        """Return how many waypoints lie at a spot."""
        return sum(float(np.hypot(*(p - xy))) < _SAME_SPOT for p in self.s.track)

    def _num_tried_from_here(self) -> int:
        """Return how many moves to pixels earlier turns at this very spot tried in vain."""
        at = {w.id: p for w, p in zip(self.s.waypoints, self.s.track, strict=True)}
        turns = 0
        for note in self.c.history:
            place = at.get(note.step)
            if place is None or note.code == _OK or note.step == self.s.here:
                continue
            here = float(np.hypot(*(place - self.s.xy))) < _SAME_SPOT
            turns += here and note.action.startswith(('go(', 'move_to('))
        return _TRIES_A_TURN * turns

    def _visible_moves(self, detection: Detection) -> list[Go | MoveTo]:
        """Return moves towards what a view shows: to it, before it, beside it, half the way."""
        views = self.c.panorama.views
        moves: list[Go | MoveTo] = [Go(view=detection.view, target=detection.category)]
        if detection.view >= len(views):
            return moves
        camera = views[detection.view].camera
        left, _, right, bottom = detection.box_xyxy
        middle = 0.5 * (left + right) / camera.width
        half = 0.5 * (right - left) / camera.width
        foot = bottom / camera.height
        spots = [
            (middle, foot + 0.03),
            (middle, foot + 0.10),
            (middle - half - 0.08, foot),
            (middle + half + 0.08, foot),
            (middle, 0.5 * (foot + 1.0)),
        ]
        for u, v in spots:
            u, v = min(max(u, 0.02), 0.98), min(v, 0.97)
            moves.append(MoveTo(view=detection.view, u=round(u, 3), v=round(v, 3)))
        return moves
