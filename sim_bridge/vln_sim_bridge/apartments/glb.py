# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Write shapes as binary glTF 2.0.

Written here and not by a mesh library, because a scene has hundreds of small textured meshes whose
textures repeat: each PNG is compressed once, and equal scenes are equal byte by byte.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vln_sim_bridge.apartments.materials import Material, texture_png
from vln_sim_bridge.apartments.shape import Part

_ARRAY_BUFFER, _ELEMENT_BUFFER, _FLOAT, _UINT32 = 34962, 34963, 5126, 5125
_PLANES = {0: [1, 2], 1: [0, 2], 2: [0, 1]}


class _Mesh:
    """Triangles of one texture."""

    def __init__(self) -> None:
        self.points: list[NDArray] = []
        self.normals: list[NDArray] = []
        self.uv: list[NDArray] = []
        self.faces: list[tuple[int, int, int]] = []
        self.count = 0

    def add(self, polygon: NDArray, normal: NDArray, uv: NDArray) -> None:
        first, k = self.count, len(polygon)
        self.points.append(polygon)
        self.normals.append(np.broadcast_to(normal, polygon.shape))
        self.uv.append(uv)
        self.faces += [(first, first + i, first + i + 1) for i in range(1, k - 1)]
        self.count += k


def _texture_coordinates(polygon: NDArray, axis: int, material: Material) -> NDArray:
    plane = polygon[:, _PLANES[axis]]
    if material.kind == 'picture':  # stretched over the face, once
        low, high = plane.min(0), plane.max(0)
        plane = (plane - low) / np.maximum(high - low, 1e-6)
    else:
        plane = plane / material.period
    return plane * np.array([1.0, -1.0]) + np.array([0.0, 1.0])  # glTF's v grows downwards


def _grouped(parts: list[Part]) -> dict[tuple[Material, int], _Mesh]:
    groups: dict[tuple[Material, int], _Mesh] = {}
    for part in parts:
        for polygon in part.polygons:
            a, b = polygon[1] - polygon[0], polygon[2] - polygon[0]
            normal = np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                               a[0] * b[1] - a[1] * b[0]])  # fmt: skip
            normal /= np.sqrt(normal @ normal)
            axis = int(np.round(np.abs(normal), 6).argmax())
            shade = (2, 1, 0 if normal[2] > 0 else 3)[axis]
            if part.material.kind in ('picture', 'bright'):
                shade = 0
            mesh = groups.setdefault((part.material, shade), _Mesh())
            mesh.add(polygon, normal, _texture_coordinates(polygon, axis, part.material))
    return groups


class _Buffer:
    """The binary chunk with its views and accessors."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict] = []
        self.accessors: list[dict] = []

    def view(self, data: bytes, target: int | None = None) -> int:
        self.data += b'\0' * (-len(self.data) % 4)
        entry = {'buffer': 0, 'byteOffset': len(self.data), 'byteLength': len(data)}
        self.views.append(entry | ({'target': target} if target else {}))
        self.data += data
        return len(self.views) - 1

    def array(self, values: NDArray, kind: str, *, bounded: bool = False) -> int:
        is_index = kind == 'SCALAR'
        values = np.ascontiguousarray(values, '<u4' if is_index else '<f4')
        view = self.view(values.tobytes(), _ELEMENT_BUFFER if is_index else _ARRAY_BUFFER)
        entry = {'bufferView': view, 'componentType': _UINT32 if is_index else _FLOAT,
                 'count': len(values), 'type': kind}  # fmt: skip
        if bounded:
            entry |= {'min': values.min(0).tolist(), 'max': values.max(0).tolist()}
        self.accessors.append(entry)
        return len(self.accessors) - 1


def write_glb(parts: list[Part], path: Path, name: str) -> None:
    """Write parts given in the world (z up, metres) as y-up glTF: (x, z, -y)."""
    buffer = _Buffer()
    materials, textures, images, meshes, nodes = [], [], [], [], []
    for index, ((material, shade), mesh) in enumerate(_grouped(parts).items()):
        turn = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
        attributes = {
            'POSITION': buffer.array(np.concatenate(mesh.points) @ turn.T, 'VEC3', bounded=True),
            'NORMAL': buffer.array(np.concatenate(mesh.normals) @ turn.T, 'VEC3'),
            'TEXCOORD_0': buffer.array(np.concatenate(mesh.uv), 'VEC2'),
        }
        indices = buffer.array(np.array(mesh.faces).ravel(), 'SCALAR')
        png = buffer.view(texture_png(material, shade))
        images.append({'bufferView': png, 'mimeType': 'image/png'})
        textures.append({'source': index, 'sampler': 0})
        materials.append({
            'name': f'{material.kind}_{bytes(material.rgb).hex()}_{shade}',
            'pbrMetallicRoughness': {'baseColorTexture': {'index': index}, 'metallicFactor': 0.0,
                                     'roughnessFactor': 1.0},
        })  # fmt: skip
        primitive = {'attributes': attributes, 'indices': indices, 'material': index, 'mode': 4}
        meshes.append({'name': f'{name}__{index}', 'primitives': [primitive]})
        nodes.append({'name': f'{name}__{index}', 'mesh': index})
    document = {
        'asset': {'version': '2.0', 'generator': 'vln_sim_bridge'}, 'scene': 0,
        'scenes': [{'nodes': list(range(len(nodes)))}], 'nodes': nodes, 'meshes': meshes,
        'materials': materials, 'textures': textures, 'images': images,
        'samplers': [{'magFilter': 9729, 'minFilter': 9987, 'wrapS': 10497, 'wrapT': 10497}],
        'accessors': buffer.accessors, 'bufferViews': buffer.views,
        'buffers': [{'byteLength': len(buffer.data)}],
    }  # fmt: skip
    _write(path, document, bytes(buffer.data))


def _write(path: Path, document: dict, data: bytes) -> None:
    text = json.dumps(document, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 4)
    data += b'\0' * (-len(data) % 4)
    total = 12 + 8 + len(text) + 8 + len(data)
    path.write_bytes(
        struct.pack('<4sII', b'glTF', 2, total) + struct.pack('<I4s', len(text), b'JSON') + text
        + struct.pack('<I4s', len(data), b'BIN\0') + data
    )  # fmt: skip
