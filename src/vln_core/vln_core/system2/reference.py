# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The pose from which direction words are meant (rules planner)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ProgressItem
from vln_core.system2.doorways import Doorway
from vln_core.system2.situation import wrap

# A turn behind a doorway is meant from inside the room, metres.
_INSIDE = 0.6
_SIDE = {'left': math.pi / 2, 'right': -math.pi / 2, 'straight': 0.0, 'around': math.pi}


@dataclass(frozen=True, eq=False)
class Reference:
    """Pose from which the direction words of a clause are meant.

    Attributes:
        waypoint: Waypoint at which the clause became current.
        xy: (2,) metres.
        heading: rad.
        door: Id of the doorway that one came through, -1 where there is none.
        is_turned: Whether a turn was said to come to this heading.
        room: The room where the clause begins, if it is not the one of the waypoint.
    """

    waypoint: int
    xy: NDArray[np.float64]
    heading: float
    door: int = -1
    is_turned: bool = False
    room: Hashable = None

    def angle_to(self, xy: NDArray[np.float64]) -> float:
        """Return the direction of a point relative to the heading, rad, left positive."""
        return wrap(math.atan2(xy[1] - self.xy[1], xy[0] - self.xy[0]) - self.heading)


def wanted_angle(item: ProgressItem) -> float | None:
    """Return the relative direction that a clause asks for, rad, or None."""
    return _SIDE.get(item.direction)


def through(door: Doorway, before: NDArray[np.float64], waypoint: int) -> Reference:
    """Return the reference pose of one who comes through a doorway from ``before``."""
    assert door.normal is not None
    normal = -door.side(before) * door.normal
    inside = door.centre + _INSIDE * normal
    return Reference(waypoint, inside, math.atan2(normal[1], normal[0]), door.id)


def is_beside(door: Doorway, forward: NDArray[np.float64]) -> bool:
    """Tell whether a doorway is in a wall along a way ``forward`` (2,), not in one across it."""
    return door.normal is not None and abs(float(door.normal @ forward)) < 0.75
