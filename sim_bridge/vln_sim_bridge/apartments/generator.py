# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Write a furnished apartment as a scene folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from vln_sim_bridge.apartments.apartment import Apartment, build
from vln_sim_bridge.apartments.glb import write_glb
from vln_sim_bridge.apartments.instructions import make_episodes
from vln_sim_bridge.apartments.layout import WALL
from vln_sim_bridge.episodes import FILE_NAME, write_episodes

_STAGE_CONFIG = {
    'render_asset': 'stage.glb', 'collision_asset': 'stage.glb', 'up': [0, 1, 0],
    'front': [0, 0, -1], 'gravity': [0, -9.8, 0], 'units_to_meters': 1.0,
    'requires_lighting': False,
}  # fmt: skip


def scene_record(apartment: Apartment) -> dict:
    """Return the content of scene.json."""
    plan = apartment.plan
    x0, y0, x1, y1 = plan.bounds
    names = apartment.names()
    return {
        'version': 1, 'name': f'apartment_{apartment.seed}', 'seed': apartment.seed,
        'stage': 'stage.glb', 'stage_config': 'stage.stage_config.json',
        'bounds': [[x0 - WALL / 2, y0 - WALL / 2], [x1 + WALL / 2, y1 + WALL / 2]],
        'rooms': [{'id': r.id, 'type': r.type, 'polygon': r.polygon} for r in plan.rooms],
        'doorways': [{'id': d.id, 'position': [d.x, d.y], 'width': d.width, 'rooms': list(d.rooms),
                      'yaw': d.yaw} for d in plan.doorways],
        'objects': [{'id': k + 1, 'category': item.category, 'name': name,
                     'glb': f'objects/{name}.glb', 'min': _rounded(item.bounds[0]),
                     'max': _rounded(item.bounds[1]), 'room': item.room}
                    for k, (item, name) in enumerate(zip(apartment.items, names, strict=True))],
        'start': [round(v, 4) for v in apartment.start],
    }  # fmt: skip


def _rounded(values) -> list[float]:
    return [round(float(v), 4) for v in values]


def generate(seed: int, folder: Path) -> Path:
    """Write the apartment of a seed into a folder; equal seeds give equal bytes.

    Args:
        seed: Any non-negative number.
        folder: Made if absent; what a former run left there is replaced.

    Returns:
        The folder.

    Raises:
        SceneError: No plan of this seed can be furnished.
    """
    folder = Path(folder)
    apartment = build(seed)
    episodes = make_episodes(apartment)
    shutil.rmtree(folder / 'objects', ignore_errors=True)
    (folder / 'objects').mkdir(parents=True)
    write_glb(apartment.stage, folder / 'stage.glb', 'stage')
    for item, name in zip(apartment.items, apartment.names(), strict=True):
        write_glb(item.parts, folder / 'objects' / f'{name}.glb', name)
    (folder / 'stage.stage_config.json').write_text(json.dumps(_STAGE_CONFIG, indent=1))
    write_episodes(episodes, folder / FILE_NAME)
    (folder / 'scene.json').write_text(json.dumps(scene_record(apartment), indent=1))
    return folder
