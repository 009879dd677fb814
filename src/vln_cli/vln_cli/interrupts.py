# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Interrupts that end a command with its own exit code."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn


class Interrupted(KeyboardInterrupt):
    """A KeyboardInterrupt that Python does not remember.

    A plain one that is raised within ``exec()``, which the import of a dataclass calls, makes
    CPython kill itself by SIGINT at its end, although it was caught (``run_eval_code_obj``).
    """


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal as Ctrl-C.

    Raises:
        Interrupted: Always.
    """
    raise Interrupted


def handle_interrupts() -> None:
    """Let Ctrl-C raise :class:`Interrupted`, unless whoever started this process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
