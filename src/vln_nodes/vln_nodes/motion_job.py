# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""State of the one motion goal that the controller node works on."""

from __future__ import annotations

from typing import Any

from rclpy.action.server import ServerGoalHandle

from vln_core.outcome import MotionCode, MotionOutcome
from vln_nodes.base import steady_now

_FEEDBACK_PERIOD = 0.2
_STANDING_SPEED = 0.02
_STANDING_TURN_RATE = 0.05


class MotionJob:
    """A goal from its acceptance to its outcome."""

    def __init__(self, handle: ServerGoalHandle, feedback_type: Any) -> None:
        self.is_started = False
        self.is_ended = False
        self.outcome = MotionOutcome(MotionCode.NOT_READY, 'not started')
        self.stopping: MotionOutcome | None = None
        self.stop_time = 0.0
        self.is_zero_sent = False
        """Since it stops."""
        self._handle = handle
        self._feedback_type = feedback_type
        self._feedback_time = 0.0

    @property
    def text(self) -> str:
        """The outcome for people."""
        return f'{self.outcome.code.name}: {self.outcome.message}'

    def stop(self, outcome: MotionOutcome) -> None:
        """Begin to stop for a reason from outside; the outcome counts once the robot stands."""
        self.stopping, self.stop_time = outcome, steady_now()

    def end(self, outcome: MotionOutcome | None = None) -> None:
        """Set the outcome; whoever waits goes on."""
        outcome = outcome or self.stopping
        if outcome is not None:
            self.outcome = outcome
        self.is_ended = True

    @staticmethod
    def stands(velocity: tuple[float, float]) -> bool:
        """Whether measured (v, w), m/s and rad/s, mean that the robot stands."""
        return abs(velocity[0]) < _STANDING_SPEED and abs(velocity[1]) < _STANDING_TURN_RATE

    def feed_back(self, remaining: float) -> None:
        """Tell the client what is left (m or rad), a few times a second."""
        now = steady_now()
        if now - self._feedback_time < _FEEDBACK_PERIOD or not self._handle.is_active:
            return
        self._feedback_time = now
        self._handle.publish_feedback(self._feedback_type(remaining=float(remaining)))
