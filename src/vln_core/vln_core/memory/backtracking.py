# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Grounded failure memory (HAM-VLN 3.4, lines 12 and 13 of Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence


def abandoned_places(trajectory: Sequence[int], waypoint: int) -> list[int]:
    """Return the places that a backtrack abandons: Places(suffix after b) without p(b).

    Args:
        trajectory: Place of every waypoint so far, the current one last.
        waypoint: b, index of the waypoint that the robot returns to.

    Returns:
        Place ids, rising, each once.
    """
    return sorted(set(trajectory[waypoint + 1 :]) - {trajectory[waypoint]})
