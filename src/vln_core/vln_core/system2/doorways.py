# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Doorways as the rules planner sees them: where they are and what leads through them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ObjectState

DOORWAY = 'doorway'
_MERGE_DOORWAYS = 0.8
_HALF_WIDTH = 0.85
_SILL = 0.35


class Doorway:
    """A doorway with its centre, normal and the side on which a point lies."""

    def __init__(self, state: ObjectState) -> None:
        self.state = state
        self.id = state.id
        self.centre = np.asarray(state.position, dtype=float)[:2]
        extent = np.asarray(state.extent, dtype=float)
        self.normal: NDArray[np.float64] | None = None
        long_side, short_side = max(extent[0], extent[1]), min(extent[0], extent[1])
        if long_side >= 0.45 and long_side >= 1.6 * short_side:
            self.normal = np.array([0.0, 1.0]) if extent[0] > extent[1] else np.array([1.0, 0.0])

    def orient(self, viewer: NDArray[np.float64]) -> None:
        """Guess the normal along the line of sight where the extent does not tell it."""
        if self.normal is None:
            gap = self.centre - viewer
            axis = int(np.argmax(np.abs(gap)))
            self.normal = np.eye(2)[axis]

    def side(self, xy: NDArray[np.float64]) -> int:
        """Return +1 or -1: the side of the wall on which a point lies."""
        assert self.normal is not None
        return 1 if float(self.normal @ (xy - self.centre)) >= 0.0 else -1

    def holds(self, xy: NDArray[np.float64]) -> bool:
        """Tell whether a point lies in the opening itself, neither inside nor outside."""
        assert self.normal is not None
        gap = xy - self.centre
        along = np.array([-self.normal[1], self.normal[0]])
        return abs(float(self.normal @ gap)) < _SILL and abs(float(along @ gap)) < _HALF_WIDTH

    def is_crossed(self, a: NDArray[np.float64], b: NDArray[np.float64], slack: float) -> bool:
        """Tell whether going from ``a`` to ``b`` leads through; ``slack``: the detour, metres."""
        assert self.normal is not None
        da = float(self.normal @ (a - self.centre))
        db = float(self.normal @ (b - self.centre))
        if da * db >= 0.0 or min(abs(da), abs(db)) < 0.05:
            return False
        along = np.array([-self.normal[1], self.normal[0]])
        hit = a + (b - a) * (da / (da - db))
        if abs(float(along @ (hit - self.centre))) <= _HALF_WIDTH:
            return True
        detour = np.hypot(*(a - self.centre)) + np.hypot(*(b - self.centre)) - np.hypot(*(b - a))
        return slack > 0.0 and float(detour) <= slack


def merge_doorways(
    things: Iterable[ObjectState],
    waypoints_xy: Mapping[int, NDArray[np.float64]],
    xy: NDArray[np.float64],
) -> list[Doorway]:
    """Return the doorways among objects, each once, by id.

    Args:
        things: Objects of the graph.
        waypoints_xy: Where the waypoints are that saw them, (2,) metres.
        xy: (2,) where the robot is, for those whose waypoint is not known.
    """
    kept: list[Doorway] = []
    found = [o for o in things if o.category == DOORWAY]
    for state in sorted(found, key=lambda o: (-o.num_sightings, o.id)):
        door = Doorway(state)
        if all(np.hypot(*(door.centre - k.centre)) > _MERGE_DOORWAYS for k in kept):
            door.orient(waypoints_xy.get(state.best_view[0], xy))
            kept.append(door)
    return sorted(kept, key=lambda d: d.id)


def doorways_crossed(
    doorways: Iterable[Doorway],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    slack: float = 0.0,
) -> list[Doorway]:
    """Return the doorways that a way from ``a`` to ``b`` leads through, nearest first."""
    hits = [d for d in doorways if d.is_crossed(a, b, slack)]
    return sorted(hits, key=lambda d: float(np.hypot(*(d.centre - a))))
