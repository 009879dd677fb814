# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the server asks of the robot; the command node answers, or a scripted one in tests."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Answer:
    """What became of a command, for people."""

    ok: bool
    text: str


class Robot(Protocol):
    """Commands. None of them blocks, and each may be called from any thread."""

    @property
    def is_following(self) -> bool:
        """Whether an instruction is being followed."""
        ...

    def stop(self) -> Future[Answer]:
        """Stop at once and until released; the answer is the safety process's confirmation."""
        ...

    def release(self) -> Future[Answer]:
        """Release the emergency stop."""
        ...

    def instruct(self, text: str, who: str) -> Future[Answer]:
        """Follow an instruction; answered when it was accepted or not."""
        ...

    def cancel(self) -> Future[Answer]:
        """End the instruction that is being followed, whoever gave it."""
        ...

    def pause(self, is_paused: bool) -> Future[Answer]:
        """Pause or resume."""
        ...

    def require_approval(self, is_required: bool) -> Future[Answer]:
        """Ask before every motion, or not."""
        ...

    def approve(self, is_approved: bool) -> Future[Answer]:
        """Answer to the motion that waits."""
        ...

    def drive(self, linear: float, angular: float, speed: float) -> None:
        """Drive by hand, fractions of the limits; the robot stands after a short silence."""
        ...

    def let_go(self) -> None:
        """Zero velocity by hand, now."""
        ...
