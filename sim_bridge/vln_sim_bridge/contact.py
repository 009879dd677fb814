# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What counts as one collision, the same in every simulator."""

from __future__ import annotations

_RELEASE = 0.01


class ContactCounter:
    """Counts the beginnings of contacts.

    A contact ends when the body is 1 cm off everything; scraping along a wall counts once.
    """

    def __init__(self) -> None:
        """Start out of contact."""
        self.collided = False
        self.count = 0
        self._in_contact = False

    def update(self, touched: bool, gap: float) -> None:
        """Take in one step: did it touch something, and how far is the body off now (m)."""
        self.collided = touched
        if touched and not self._in_contact:
            self.count += 1
            self._in_contact = True
        elif not touched and gap > _RELEASE:
            self._in_contact = False
