# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What became of a motion or of an episode: codes shared with the ROS interfaces.

Each part owns a block of numbers; ``vln_interfaces`` repeats them and a contract test compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class MotionCode(IntEnum):
    """Outcome of a motion goal. 1xx: refused before moving (Reselect). 2xx: failed on the way."""

    REACHED = 0
    OUT_OF_PICTURE = 101
    INVALID_DEPTH = 102
    TOO_SHORT = 103
    CORRIDOR_BLOCKED = 104
    NO_PATH = 105
    GOAL_IN_OBSTACLE = 106
    UNKNOWN_SPACE = 107
    DETOUR_TOO_LONG = 108
    UNKNOWN_PANORAMA = 109
    SEE_THROUGH = 110
    STALE_INPUT = 201
    BLOCKED = 202
    STUCK = 203
    OSCILLATING = 204
    TIMEOUT = 205
    CANCELLED = 206
    EMERGENCY_STOP = 207
    SAFETY_LOST = 208
    NOT_READY = 209

    @property
    def is_refusal(self) -> bool:
        """True when nothing moved and System 2 may choose again in the same turn."""
        return 100 <= self < 200


class GroundingCode(IntEnum):
    """Outcome of System 1."""

    FOUND = 0
    NOT_IN_VIEW = 301
    LOW_CONFIDENCE = 302
    NO_DEPTH = 303
    UNKNOWN_VIEW = 304
    MODEL_FAILED = 305


class EpisodeCode(IntEnum):
    """How an instruction ended."""

    STOPPED_VERIFIED = 0
    STOPPED_UNVERIFIED = 401
    GAVE_UP = 402
    WAYPOINT_BUDGET = 403
    TIME_BUDGET = 404
    CANCELLED = 405
    PLANNER_FAILED = 406
    PERCEPTION_FAILED = 407
    MOTION_FAILED = 408
    BAD_INSTRUCTION = 409
    BUSY = 410
    MEMORY_FAILED = 411


@dataclass(frozen=True)
class MotionOutcome:
    """Result of a motion goal.

    Attributes:
        code: What happened.
        message: A sentence that System 2 and people can act on.
        travelled: Length of the path driven, metres.
        goal_xy: Goal in the odometry frame that was driven to, metres; None if refused before.
    """

    code: MotionCode
    message: str
    travelled: float = 0.0
    goal_xy: tuple[float, float] | None = None

    @property
    def reached(self) -> bool:
        """True when the robot stands at the goal."""
        return self.code is MotionCode.REACHED


@dataclass(frozen=True)
class Grounding:
    """Result of System 1: a box and a pixel of one view, or a refusal.

    Attributes:
        code: What happened.
        message: Why, for System 2 and people.
        box_xyxy: Left, top, right, bottom, px; None if refused.
        pixel_uv: Column and row to drive to; None if refused.
        score: Confidence in 0..1.
    """

    code: GroundingCode
    message: str
    box_xyxy: tuple[float, float, float, float] | None = None
    pixel_uv: tuple[int, int] | None = None
    score: float = 0.0
