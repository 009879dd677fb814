# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A goal of the motion controller, and the command that it gives for each period."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from vln_core.control.route import Route
from vln_core.outcome import MotionOutcome

Pose = tuple[float, float, float]
Mode = Literal['corridor', 'plan']


@dataclass(frozen=True)
class Command:
    """What the wheels shall do now.

    Attributes:
        v: Forward, m/s.
        w: Counter-clockwise, rad/s.
        outcome: Set once, when the goal has ended.
        is_hold: No goal is active.
        remaining: Way left, metres, or angle left, rad.
    """

    v: float = 0.0
    w: float = 0.0
    outcome: MotionOutcome | None = None
    is_hold: bool = False
    remaining: float = 0.0


@dataclass
class Goal:
    """State of the goal that is driven to; ``glances`` are headings still to look at, rad."""

    kind: Literal['point', 'straight', 'route', 'spin']
    start_stamp: int | None = None
    deadline: float = 0.0
    goal_xy: tuple[float, float] | None = None
    max_length: float = math.inf
    route: Route | None = None
    angle: float = 0.0
    turned: float = 0.0
    replans: int = 0
    travelled: float = 0.0
    has_path: bool = False
    is_final: bool = True
    failure: str = ''
    is_backwards: bool = False
    glances: list[float] | None = None
    pending: MotionOutcome | None = None
