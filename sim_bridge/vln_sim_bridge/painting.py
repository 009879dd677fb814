# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Colours and semantic ids of ray hits: nearest texel, shaded by the face's normal.

The loops over pixels are compiled, because a dozen numpy passes over an image cost more than the
ray casting itself.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from vln_sim_bridge.meshes import TriangleSoup

_BACKGROUND = np.array([110, 130, 150], np.uint8)
_LIGHT = np.array([0.35, 0.2, 0.9]) / np.linalg.norm([0.35, 0.2, 0.9])
_AMBIENT = 0.7


class Painter:
    """Looks up what rays have hit."""

    def __init__(self, soup: TriangleSoup) -> None:
        """Lay all textures out in one table and precompute what depends on the triangle only."""
        sizes = np.array([picture.shape[:2] for picture in soup.textures], np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes.prod(axis=1))])[:-1]
        table = np.concatenate([picture.reshape(-1, 3) for picture in soup.textures])
        self._texels: NDArray[np.uint8] = np.ascontiguousarray(table)
        # Start in the table, rows and columns of each triangle's texture.
        self._layout = np.column_stack([starts[soup.texture], sizes[soup.texture]]).astype(
            np.int32
        )
        self._uv = np.ascontiguousarray(soup.corner_uv, dtype=np.float32)
        # Both sides of a face are lit alike: models do not agree on the order of corners.
        shade = _AMBIENT + (1.0 - _AMBIENT) * np.abs(soup.normals @ _LIGHT)
        self._gain = np.ascontiguousarray(soup.tint * shade[:, None], dtype=np.float32)
        self._owner = np.ascontiguousarray(soup.owner, dtype=np.uint32)

    def paint(
        self, triangle: NDArray[np.uint32], barycentric: NDArray[np.float32]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """Return (N, 3) uint8 colours and (N,) uint32 ids of ray hits.

        Args:
            triangle: (N,) row of the soup; anything beyond its end means no hit.
            barycentric: (N, 2) weights of the second and third corner.
        """
        rgb = np.empty((len(triangle), 3), np.uint8)
        owner = np.empty(len(triangle), np.uint32)
        _paint(
            triangle,
            barycentric,
            self._uv,
            self._layout,
            self._texels,
            self._gain,
            self._owner,
            _BACKGROUND,
            rgb,
            owner,
        )
        return rgb, owner


@numba.njit(cache=True)
def _paint(triangle, barycentric, uv, layout, texels, gain, ids, background, rgb, owner):
    count = uv.shape[0]
    for n in range(triangle.shape[0]):
        t = np.int64(triangle[n])
        if t >= count:
            owner[n] = 0
            for c in range(3):
                rgb[n, c] = background[c]
            continue
        b, c = barycentric[n, 0], barycentric[n, 1]
        a = np.float32(1.0) - b - c
        rows, columns = layout[t, 1], layout[t, 2]
        u = a * uv[t, 0, 0] + b * uv[t, 1, 0] + c * uv[t, 2, 0]
        v = a * uv[t, 0, 1] + b * uv[t, 1, 1] + c * uv[t, 2, 1]
        # Texture coordinates repeat and count v upwards, pictures rows downwards.
        column = min(int((u - np.floor(u)) * columns), columns - 1)
        row = rows - 1 - min(int((v - np.floor(v)) * rows), rows - 1)
        texel = layout[t, 0] + row * columns + column
        owner[n] = ids[t]
        for k in range(3):
            rgb[n, k] = np.uint8(texels[texel, k] * gain[t, k])


@numba.njit(cache=True)
def fill_rays(directions, rotation, origin, rays):
    """Write (N, 6) rays: the origin (3,), and (N, 3) directions turned by a (3, 3) rotation."""
    for n in range(directions.shape[0]):
        for i in range(3):
            rays[n, i] = origin[i]
            rays[n, 3 + i] = (
                rotation[i, 0] * directions[n, 0]
                + rotation[i, 1] * directions[n, 1]
                + rotation[i, 2] * directions[n, 2]
            )


@numba.njit(cache=True)
def draw_cylinder(rays, centre, radius, height, colour, number, depth, rgb, owner):
    """Draw an upright cylinder that stands on the floor over finished images.

    Args:
        rays: (N, 6) float32 origins and directions in the world.
        centre: (2,) world x, y, metres.
        radius: Metres.
        height: Metres.
        colour: (3,) float32, 0..255.
        number: Id for ``owner``.
        depth: (N,) float32 ray parameters, changed where the cylinder is nearer.
        rgb: (N, 3) uint8, changed likewise.
        owner: (N,) uint32, changed likewise.
    """
    for n in range(rays.shape[0]):
        ox, oy = rays[n, 0] - centre[0], rays[n, 1] - centre[1]
        oz, dx, dy, dz = rays[n, 2], rays[n, 3], rays[n, 4], rays[n, 5]
        a = dx * dx + dy * dy
        b = ox * dx + oy * dy
        c = ox * ox + oy * oy - radius * radius
        root = b * b - a * c
        if root <= 0.0 or a < 1e-12:
            continue
        t = (-b - np.sqrt(root)) / a
        z = oz + t * dz
        shade = np.float32(1.0)
        if z > height and dz < 0.0:
            t = (height - oz) / dz
            x, y = ox + t * dx, oy + t * dy
            if x * x + y * y > radius * radius:
                continue
        elif z < 0.0 or z > height:
            continue
        else:
            shade = np.float32(0.6 + 0.4 * abs((ox + t * dx) / radius))
        if t <= 0.0 or t >= depth[n]:
            continue
        depth[n] = t
        owner[n] = number
        for k in range(3):
            rgb[n, k] = np.uint8(colour[k] * shade)
