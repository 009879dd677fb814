# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Triangles and colours of GLB files, in ROS world coordinates, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from numpy.typing import NDArray

from vln_core.errors import SceneError
from vln_sim_bridge.scene import Scene

_DEFAULT_COLOUR = (180, 180, 180)


@dataclass(frozen=True, eq=False)
class TriangleSoup:
    """Triangles of one or more models.

    Attributes:
        corners: (M, 3, 3) float64 corner positions, metres, ROS world.
        corner_uv: (M, 3, 2) float32 texture coordinates, v upwards.
        texture: (M,) int32 row of the texture table.
        tint: (M, 3) float32 factor of the texture's colour, 0..1.
        owner: (M,) uint32 id of the semantic image, 0 is the building.
        textures: (h, w, 3) uint8 pictures, top row first.
    """

    corners: NDArray[np.float64]
    corner_uv: NDArray[np.float32]
    texture: NDArray[np.int32]
    tint: NDArray[np.float32]
    owner: NDArray[np.uint32]
    textures: tuple[NDArray[np.uint8], ...]

    def __len__(self) -> int:
        return len(self.corners)

    @property
    def normals(self) -> NDArray[np.float64]:
        """(M, 3) unit normals; zero for a triangle without area."""
        edge_1 = self.corners[:, 1] - self.corners[:, 0]
        edge_2 = self.corners[:, 2] - self.corners[:, 0]
        normal = np.cross(edge_1, edge_2)
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        return np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)


def ros_from_gltf(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map (..., 3) Y-up points to ROS: gltf = (x, z, -y)."""
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)


def load_glb(path: Path, owner: int) -> TriangleSoup:
    """Read a Y-up GLB; every triangle gets the semantic id ``owner``.

    Raises:
        SceneError: The file cannot be read or has no triangle.
    """
    try:
        model = trimesh.load(path, force='scene', process=False)
        instances = [
            (model.geometry[model.graph[node][1]], model.graph[node][0])
            for node in model.graph.nodes_geometry
        ]
    except Exception as error:  # trimesh raises whatever its parsers meet
        raise SceneError(f'{path} is not a readable GLB: {error}') from error
    parts = [
        _part(mesh, np.asarray(tform), owner)
        for mesh, tform in instances
        if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces)
    ]
    if not parts:
        raise SceneError(f'{path} has no triangle')
    return concatenate(parts)


def load_soup(scene: Scene) -> TriangleSoup:
    """Read the stage and every object of a scene.

    Raises:
        SceneError: A model cannot be read.
    """
    parts = [load_glb(scene.stage, 0)]
    parts += [load_glb(item.glb, item.id) for item in scene.objects]
    return concatenate(parts)


def concatenate(parts: Sequence[TriangleSoup]) -> TriangleSoup:
    """Join soups; texture tables are joined too."""
    offsets = np.cumsum([0] + [len(part.textures) for part in parts])
    return TriangleSoup(
        np.concatenate([part.corners for part in parts]),
        np.concatenate([part.corner_uv for part in parts]),
        np.concatenate([p.texture + np.int32(o) for p, o in zip(parts, offsets)]),
        np.concatenate([part.tint for part in parts]),
        np.concatenate([part.owner for part in parts]),
        tuple(picture for part in parts for picture in part.textures),
    )


def _part(mesh: trimesh.Trimesh, tform: NDArray[np.float64], owner: int) -> TriangleSoup:
    faces = np.asarray(mesh.faces)
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    corners = ros_from_gltf((vertices @ tform[:3, :3].T + tform[:3, 3])[faces])
    if np.linalg.det(tform[:3, :3]) < 0:
        raise SceneError(f'a mesh of object {owner} is mirrored; export it without negative scale')
    count = len(faces)
    corner_uv = np.zeros((count, 3, 2), np.float32)
    picture, tint = _look(mesh, count)
    uv = getattr(mesh.visual, 'uv', None)
    if uv is not None and picture.size > 3:
        corner_uv = np.asarray(uv, dtype=np.float32)[faces]
    return TriangleSoup(
        corners,
        corner_uv,
        np.zeros(count, np.int32),
        tint,
        np.full(count, owner, np.uint32),
        (picture,),
    )


def _look(mesh: trimesh.Trimesh, count: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the base colour picture (a single white pixel without one) and each face's tint."""
    white = np.full((1, 1, 3), 255, np.uint8)
    tint = np.ones((count, 3), np.float32)
    visual = mesh.visual
    if visual.kind == 'texture':
        material = visual.material
        image = getattr(material, 'baseColorTexture', None)
        if image is None:
            image = getattr(material, 'image', None)
        factor = getattr(material, 'baseColorFactor', None)
        if factor is None and image is None:
            factor = getattr(material, 'main_color', None)
        if factor is not None:
            tint *= _unit(np.asarray(factor)[:3])
        if image is not None and visual.uv is not None:
            return np.asarray(image.convert('RGB'), dtype=np.uint8), tint
        return white, tint
    if visual.kind in ('vertex', 'face'):
        return white, np.asarray(visual.face_colors)[:, :3].astype(np.float32) / np.float32(255.0)
    return white, tint * _unit(np.array(_DEFAULT_COLOUR))


def _unit(colour: NDArray[np.generic]) -> NDArray[np.float32]:
    """Return a colour in 0..1; trimesh keeps factors as 0..255 integers or 0..1 floats."""
    scale = 255.0 if np.issubdtype(colour.dtype, np.integer) or colour.max() > 1.0 else 1.0
    return (colour / scale).astype(np.float32)
