# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Accumulating poses on the way from two frames up to their common ancestor."""

from tf2_py.cache import Record
from tf2_py.rotation import (
    IDENTITY,
    ORIGIN,
    Quaternion,
    Vector,
    conjugate,
    multiply,
    rotate,
)


class PoseChain:
    """The pose of a frame in an ancestor, extended one parent at a time."""

    def __init__(self) -> None:
        """Start at the frame itself."""
        self.rotation: Quaternion = IDENTITY
        self.translation: Vector = ORIGIN

    def climb(self, record: Record) -> None:
        """Go from the current ancestor to its parent."""
        x, y, z = rotate(record.rotation, self.translation)
        dx, dy, dz = record.translation
        self.translation = (x + dx, y + dy, z + dz)
        self.rotation = multiply(record.rotation, self.rotation)

    def inverse(self) -> tuple[Quaternion, Vector]:
        """Return the pose of the ancestor in the frame."""
        back = conjugate(self.rotation)
        x, y, z = self.translation
        return back, rotate(back, (-x, -y, -z))


def source_in_target(source: PoseChain, target: PoseChain) -> tuple[Quaternion, Vector]:
    """Return the pose of the source frame in the target frame; both chains end at one frame."""
    back, offset = target.inverse()
    x, y, z = rotate(back, source.translation)
    return multiply(back, source.rotation), (x + offset[0], y + offset[1], z + offset[2])
