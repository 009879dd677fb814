# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Lets motions begin: at once, after a pause, or when an operator has approved of them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from vln_core.navigator import CancelToken

_POLL = 0.05


class MotionGate:
    """Stands between the navigator and the legs; thread-safe.

    The navigator's thread waits in :meth:`enter` while the operator's wishes arrive on another.
    The robot stands meanwhile, because no motion is active.
    """

    def __init__(self, on_change: Callable[[], None] | None = None) -> None:
        self._changed = threading.Condition()
        self._on_change = on_change or (lambda: None)
        self._is_paused = False
        self._needs_approval = False
        self._pending = ''
        self._answer: bool | None = None

    @property
    def is_paused(self) -> bool:
        """Whether a motion that runs must be interrupted, and none may begin."""
        return self._is_paused

    @property
    def pending(self) -> str:
        """The motion that waits for an answer, in words; empty if none does."""
        return self._pending

    @property
    def state(self) -> str:
        """'paused', 'waiting' for an answer, 'approval' (of every motion), or 'open'."""
        if self._is_paused:
            return 'paused'
        if self._pending:
            return 'waiting'
        return 'approval' if self._needs_approval else 'open'

    def pause(self, is_paused: bool) -> None:
        """Pause or resume."""
        self._set(_is_paused=is_paused)

    def require_approval(self, is_required: bool) -> None:
        """Ask before every motion from now on; without, what waits goes on."""
        self._set(_needs_approval=is_required)

    def answer(self, is_approved: bool) -> bool:
        """Approve of the motion that waits, or refuse it; False if none waits."""
        with self._changed:
            if not self._pending:
                return False
            self._answer = is_approved
            self._changed.notify_all()
        return True

    def enter(self, motion: str, token: CancelToken, *, asks: bool) -> bool:
        """Wait until the motion may begin.

        Args:
            motion: What the robot is about to do, for people.
            token: Ends the wait.
            asks: Whether this motion needs approval where approval is required.

        Returns:
            False if the operator refused it.

        Raises:
            Cancelled: The episode was cancelled meanwhile.
        """
        try:
            while True:
                token.check()
                with self._changed:
                    must_ask = asks and self._needs_approval and self._answer is None
                    if not self._is_paused and not must_ask:
                        return self._answer is not False
                    pending = motion if must_ask else self._pending
                    is_new = pending != self._pending
                    self._pending = pending
                    if not is_new:
                        self._changed.wait(_POLL)
                if is_new:
                    self._on_change()
        finally:
            with self._changed:
                had_pending = bool(self._pending)
                self._pending, self._answer = '', None
            if had_pending:
                self._on_change()

    def _set(self, **values: bool) -> None:
        with self._changed:
            for name, value in values.items():
                setattr(self, name, value)
            self._changed.notify_all()
        self._on_change()
