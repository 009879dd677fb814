# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The five ports of the navigator (DESIGN). Each has a ROS adapter and an in-process one.

Calls block until they are answered; a cancelled episode makes a waiting call raise
:class:`vln_core.errors.Cancelled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ActionNote, PlanningContext, ProgressItem
from vln_core.observation import Panorama, View
from vln_core.outcome import Grounding, MotionOutcome
from vln_core.system2.record import DecisionRecord


class Eyes(Protocol):
    """Camera and detectors."""

    def look_around(self, landmarks: Sequence[str]) -> Panorama:
        """Look all around (turning through Legs where one camera needs it) and detect.

        Args:
            landmarks: Words of the instruction to look for beside the standing vocabulary.

        Raises:
            PerceptionError: No usable view could be taken.
        """
        ...


class Memory(Protocol):
    """World graph, progress record, retrieval, map and recall: one store."""

    def begin(self, instruction: str, items: Sequence[ProgressItem]) -> None:
        """Start an episode; in a lifelong store the graph stays, the progress record is new."""
        ...

    def observe(self, panorama: Panorama) -> int:
        """Fuse a panorama taken at a new decision waypoint; return its number t."""
        ...

    def context(self, refusals: Sequence[str] = ()) -> PlanningContext:
        """Return the planning context at the current waypoint."""
        ...

    def commit(self, record: DecisionRecord) -> None:
        """Apply w_t: place notes, object notes and progress updates, all or none.

        Raises:
            UpdateRefused: An update is illegal; nothing was changed.
        """
        ...

    def conclude(self, note: ActionNote) -> None:
        """Store what became of the action, closing the transition of the working window."""
        ...

    def route_to(self, viewpoint: str) -> list[tuple[float, float]]:
        """Return points (x, y) in the odometry frame, robot first, that lead to a viewpoint.

        Raises:
            UnknownReference: No such viewpoint, or no known way there; the message lists some.
        """
        ...

    def backtrack(self, waypoint: int, reason: str) -> list[tuple[float, float]]:
        """Mark the abandoned suffix as failed (Algorithm 1) and return the route back."""
        ...

    def recall(self, waypoint: int, view: int) -> NDArray[np.uint8]:
        """Return the (H, W, 3) RGB view of a past waypoint.

        Raises:
            UnknownReference: Not in the cache; the message names what is.
        """
        ...


class Brain(Protocol):
    """System 2."""

    def parse(self, instruction: str) -> list[ProgressItem]:
        """Turn an instruction into progress items, the last of kind STOP.

        Raises:
            PlannerError: The text holds nothing to do.
        """
        ...

    def decide(self, context: PlanningContext) -> DecisionRecord:
        """Choose the next action.

        Raises:
            PlannerError: No decision within the limits; the robot stands still.
        """
        ...


class Pointer(Protocol):
    """System 1."""

    def ground(self, panorama: Panorama, view: int, target: str) -> Grounding:
        """Find the target in one view and choose the pixel to drive to."""
        ...


class Legs(Protocol):
    """Controller."""

    def move_to_pixel(
        self, panorama: Panorama, view: int, pixel_uv: tuple[int, int]
    ) -> MotionOutcome:
        """Drive to what the pixel shows, less the stop margin, at most one longest step."""
        ...

    def move_along(self, route: Sequence[tuple[float, float]]) -> MotionOutcome:
        """Drive along points (x, y) of the odometry frame to the last one, replanned locally."""
        ...

    def spin(self, angle: float) -> MotionOutcome:
        """Turn in place by ``angle`` rad, counter-clockwise positive."""
        ...

    def halt(self) -> None:
        """Stop at once; returns when zero velocity has been commanded."""
        ...


class Camera(Protocol):
    """A source of single views; :class:`Eyes` builds panoramas from it."""

    def capture(self, index: int, yaw: float) -> View:
        """Return the newest view taken after the robot came to rest."""
        ...
