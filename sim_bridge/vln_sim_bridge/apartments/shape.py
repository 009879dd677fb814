# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes composed of boxes, cylinders and balls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_sim_bridge.apartments.materials import Material

_BOX_FACES = {
    '-x': (0, 4, 6, 2), '+x': (1, 3, 7, 5), '-y': (0, 1, 5, 4),
    '+y': (2, 6, 7, 3), '-z': (0, 2, 3, 1), '+z': (4, 5, 7, 6),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """Polygons of one material: each (K, 3) corners, counter-clockwise seen from outside."""

    polygons: tuple[NDArray[np.float64], ...]
    material: Material

    @property
    def bounds(self) -> NDArray[np.float64]:
        """(2, 3) lower and upper corner, metres."""
        points = np.concatenate(self.polygons)
        return np.stack([points.min(0), points.max(0)])


def box(lo, hi, material: Material, skip: tuple[str, ...] = ()) -> Part:
    """Return an axis-aligned box without the faces named in ``skip`` ('-x' .. '+z')."""
    corners = np.array(
        [[(lo, hi)[i >> k & 1][k] for k in range(3)] for i in range(8)], dtype=float
    )
    polygons = tuple(corners[list(ids)] for name, ids in _BOX_FACES.items() if name not in skip)
    return Part(polygons, material)


def cylinder(
    centre, radius: float, height: float, material: Material, *, top: float | None = None,
    axis: int = 2, sides: int = 12,
) -> Part:  # fmt: skip
    """Return a cylinder or cone frustum standing on ``centre`` along ``axis``."""
    angle = np.arange(sides) * 2 * np.pi / sides
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(sides)], 1)
    low = ring * radius
    high = ring * (radius if top is None else top) + np.array([0, 0, height])
    polygons = [np.stack([low[i], low[i - sides + 1], high[i - sides + 1], high[i]])
                for i in range(sides)]  # fmt: skip
    polygons += [low[::-1], high]
    order = {2: [0, 1, 2], 0: [2, 0, 1], 1: [1, 2, 0]}[axis]
    offset = np.asarray(centre, float)
    return Part(tuple(p[:, order] + offset for p in polygons), material)


def ball(centre, radius: float, material: Material, *, sides: int = 10, flat: float = 1.0) -> Part:
    """Return a sphere; ``flat`` scales its height."""
    rows = 6
    polygons = []
    latitude = np.linspace(-np.pi / 2, np.pi / 2, rows + 1)
    angle = np.arange(sides + 1) * 2 * np.pi / sides

    def point(i: int, j: int) -> NDArray:
        c = np.cos(latitude[i])
        return np.array([c * np.cos(angle[j]), c * np.sin(angle[j]), flat * np.sin(latitude[i])])

    for i in range(rows):
        for j in range(sides):
            quad = [point(i, j), point(i, j + 1), point(i + 1, j + 1), point(i + 1, j)]
            if i == 0:
                quad = quad[1:]
            elif i == rows - 1:
                quad = quad[:3]
            polygons.append(np.stack(quad) * radius + np.asarray(centre, float))
    return Part(tuple(polygons), material)


def placed(parts: list[Part], x: float, y: float, yaw: float, z: float = 0.0) -> list[Part]:
    """Return parts turned by a multiple of 90 degrees about z and moved."""
    quarter = round(yaw / (np.pi / 2)) % 4
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[quarter]
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], float)
    offset = np.array([x, y, z])
    return [Part(tuple(p @ turn.T + offset for p in part.polygons), part.material)
            for part in parts]  # fmt: skip


def bounds_of(parts: list[Part]) -> NDArray[np.float64]:
    """Return the (2, 3) bounds of all parts, metres."""
    each = np.stack([part.bounds for part in parts])
    return np.stack([each[:, 0].min(0), each[:, 1].max(0)])
