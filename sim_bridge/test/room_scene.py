# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A tiny scene with known measures: one room with a box, a wardrobe, a wall and a door."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import PBRMaterial

HEIGHT = 2.5
# name -> (lower corner, upper corner, colour), ROS world
STAGE = {
    'floor': ((-4, -3, -0.1), (4, 3, 0.0), (150, 110, 70)),
    'west': ((-4.1, -3.1, 0), (-4, 3.1, HEIGHT), (200, 200, 190)),
    'east': ((4, -3.1, 0), (4.1, 3.1, HEIGHT), (190, 200, 210)),
    'south': ((-4, -3.1, 0), (4, -3, HEIGHT), (200, 190, 200)),
    'north': ((-4, 3, 0), (4, 3.1, HEIGHT), (210, 210, 180)),
    # An inner wall at x = 1 with a door from y = -0.5 to y = 0.5.
    'inner_south': ((0.95, -3, 0), (1.05, -0.5, HEIGHT), (180, 160, 160)),
    'inner_north': ((0.95, 0.5, 0), (1.05, 3, HEIGHT), (180, 160, 160)),
    'lintel': ((0.95, -0.5, 2.0), (1.05, 0.5, HEIGHT), (180, 160, 160)),
}
OBJECTS = {
    1: ('table', 'table_1', (-2.5, 1.0, 0.0), (-1.5, 2.0, 0.7), (160, 60, 40)),
    2: ('wardrobe', 'wardrobe_1', (2.5, 2.2, 0.0), (3.7, 3.0, 2.0), (60, 90, 160)),
    3: ('rug', 'rug_1', (-1.5, -1.0, 0.0), (0.0, 0.5, 0.02), (40, 140, 60)),
}


def box_mesh(low, high, colour) -> trimesh.Trimesh:
    """Return a textured box given in ROS coordinates, as Y-up glTF wants it."""
    low, high = np.array(low, float), np.array(high, float)
    mesh = trimesh.creation.box(extents=high - low)
    mesh.apply_translation((low + high) / 2)
    mesh.unmerge_vertices()
    uv = mesh.vertices[:, :2] + mesh.vertices[:, 2:]
    v = mesh.vertices
    mesh.vertices = np.stack([v[:, 0], v[:, 2], -v[:, 1]], axis=1)
    picture = np.full((4, 4, 3), colour, np.uint8)
    material = PBRMaterial(
        baseColorTexture=Image.fromarray(picture), metallicFactor=0.0, roughnessFactor=1.0
    )
    mesh.visual = TextureVisuals(uv=uv, material=material)
    return mesh


def write_scene(folder: Path) -> Path:
    """Write the scene folder of :data:`STAGE` and :data:`OBJECTS`."""
    (folder / 'objects').mkdir(parents=True)
    stage = trimesh.Scene()
    for name, (low, high, colour) in STAGE.items():
        stage.add_geometry(box_mesh(low, high, colour), node_name=name, geom_name=name)
    stage.export(folder / 'stage.glb')
    config = {
        'render_asset': 'stage.glb',
        'collision_asset': 'stage.glb',
        'up': [0, 1, 0],
        'front': [0, 0, -1],
        'gravity': [0, -9.8, 0],
        'units_to_meters': 1.0,
        'requires_lighting': False,
    }
    (folder / 'stage.stage_config.json').write_text(json.dumps(config))
    objects = []
    for number, (category, name, low, high, colour) in OBJECTS.items():
        model = trimesh.Scene()
        model.add_geometry(box_mesh(low, high, colour), node_name=name, geom_name=name)
        model.export(folder / 'objects' / f'{name}.glb')
        objects.append(
            {
                'id': number,
                'category': category,
                'name': name,
                'glb': f'objects/{name}.glb',
                'min': low,
                'max': high,
                'room': 0,
            }
        )
    outline = [[-4, -3], [1, -3], [1, 3], [-4, 3]]
    other = [[1, -3], [4, -3], [4, 3], [1, 3]]
    scene = {
        'version': 1,
        'name': 'test_room',
        'seed': 0,
        'stage': 'stage.glb',
        'stage_config': 'stage.stage_config.json',
        'bounds': [[-4, -3], [4, 3]],
        'rooms': [
            {'id': 0, 'type': 'living room', 'polygon': outline},
            {'id': 1, 'type': 'bedroom', 'polygon': other},
        ],
        'doorways': [{'id': 0, 'position': [1, 0], 'width': 1.0, 'rooms': [0, 1], 'yaw': 0.0}],
        'objects': objects,
        'start': [-2.0, 0.0, 0.0],
    }
    (folder / 'scene.json').write_text(json.dumps(scene))
    return folder
