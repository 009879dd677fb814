# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Turn a user's model of a building into a scene folder.

Needed are a GLB (metres; z or y up) with one node or more an object, named ``NAME`` or
``NAME__k``; a table of objects (JSON list with ``name`` and optionally ``category``); and a
settings file in YAML such as ``config/scenes/small_house.yaml``: categories, rooms, start,
episodes.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import yaml
from numpy.typing import NDArray

from vln_core.errors import SceneError
from vln_core.vocabulary import category_of
from vln_sim_bridge.episodes import FILE_NAME, to_habitat, write_episodes, yaw_to_rotation

_log = logging.getLogger(__name__)

BUILDING = 'building'
_STAGE_CONFIG = {
    'render_asset': 'stage.glb',
    'collision_asset': 'stage.glb',
    'up': [0, 1, 0],
    'front': [0, 0, -1],
    'gravity': [0, -9.8, 0],
    'units_to_meters': 1.0,
    'requires_lighting': False,
}
_Y_UP_TFORM_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
_BODY = 0.3  # radius of the robot and its margin, metres


def import_scene(glb: Path, objects: Path, settings: dict[str, Any], folder: Path) -> Path:
    """Write a scene folder from a model, its object table and settings.

    Args:
        glb: Model, metres, one node or more an object.
        objects: JSON list; each entry has ``name`` and optionally ``category``.
        settings: ``name``, ``up_axis`` ('z' or 'y'), ``categories``, ``rooms``, ``start``, and
            optionally ``doorways`` and ``episodes``.
        folder: Made if absent.

    Returns:
        The folder.

    Raises:
        SceneError: A file is missing or malformed; the message names it.
    """
    folder = Path(folder)
    for path in (glb, objects):
        if not Path(path).is_file():
            raise SceneError(f'{path} does not exist')
    table = _read_table(Path(objects))
    nodes = _load_nodes(Path(glb), str(settings.get('up_axis', 'y')))
    shutil.rmtree(folder / 'objects', ignore_errors=True)
    (folder / 'objects').mkdir(parents=True)
    stage: list[tuple[str, trimesh.Trimesh]] = []
    records: list[dict[str, Any]] = []
    for name in sorted(nodes):
        category = _category(name, table.get(name, {}), settings.get('categories', {}))
        if name not in table or category == BUILDING:
            stage += nodes[name]
            continue
        _export(nodes[name], folder / 'objects' / f'{name}.glb')
        low, high = _ros_bounds([mesh for _, mesh in nodes[name]])
        records.append(
            {
                'id': len(records) + 1,
                'category': category,
                'name': name,
                'glb': f'objects/{name}.glb',
                'min': low,
                'max': high,
                'room': _room_of((low, high), settings.get('rooms', [])),
            }
        )
    missing = sorted(set(table) - set(nodes))
    if missing:
        raise SceneError(f'{objects} lists {missing[0]}, but {glb} has no node of that name')
    if not stage:
        raise SceneError(
            f'{glb}: no node is left for the building; mark walls and floor as {BUILDING}'
        )
    _export(stage, folder / 'stage.glb')
    low, high = _ros_bounds([mesh for _, mesh in stage])
    record = {
        'version': 1,
        'name': settings['name'],
        'seed': None,
        'stage': 'stage.glb',
        'stage_config': 'stage.stage_config.json',
        'bounds': [low[:2], high[:2]],
        'rooms': settings.get('rooms', []),
        'doorways': settings.get('doorways', []),
        'objects': records,
        'start': settings['start'],
    }
    (folder / 'stage.stage_config.json').write_text(json.dumps(_STAGE_CONFIG, indent=1))
    (folder / 'scene.json').write_text(json.dumps(record, indent=1))
    write_episodes(_episodes(folder, settings, records), folder / FILE_NAME)
    return folder


def import_small_house(folder: Path) -> Path:
    """Write the scene folder of the small house.

    Raises:
        SceneError: Its data are not on this machine; the message says where they were looked for.
    """
    settings = load_settings('small_house')
    data = find_data('small_house')
    return import_scene(data / settings['glb'], data / settings['objects'], settings, Path(folder))


def load_settings(name: str) -> dict[str, Any]:
    """Read ``config/scenes/NAME.yaml`` of the checkout or of the installed vln_bringup.

    Raises:
        SceneError: It is missing or not a mapping with name and start.
    """
    path = _settings_path(f'{name}.yaml')
    settings = yaml.safe_load(path.read_text(encoding='utf-8'))
    if not isinstance(settings, dict) or not {'name', 'start'} <= set(settings):
        raise SceneError(f"{path} must be a mapping with at least 'name' and 'start'")
    return settings


def _settings_path(file_name: str) -> Path:
    for parent in Path(__file__).resolve().parents:
        if (parent / 'config' / 'scenes' / file_name).is_file():
            return parent / 'config' / 'scenes' / file_name
    try:  # installed away from its checkout
        from ament_index_python.packages import get_package_share_directory

        path = Path(get_package_share_directory('vln_bringup')) / 'config' / 'scenes' / file_name
    except LookupError:
        path = None
    except ImportError:
        path = None
    if path is None or not path.is_file():
        raise SceneError(f'config/scenes/{file_name} is neither in a checkout nor in vln_bringup')
    return path


def find_data(name: str) -> Path:
    """Return the data folder with ``name``: $VLN_DATA, or ../shared/data beside the checkout.

    Raises:
        SceneError: None does.
    """
    named = os.environ.get('VLN_DATA')
    if named:
        candidates = [Path(named).expanduser()]
    else:
        places = [*Path(__file__).resolve().parents, Path.cwd(), *Path.cwd().parents]
        candidates = [place.parent / 'shared' / 'data' for place in places]
    for candidate in candidates:
        if (candidate / name).is_dir():
            return candidate
    where = named if named else '../shared/data beside the checkout'
    raise SceneError(
        f"the data of '{name}' are not on this machine (looked in {where}): set VLN_DATA to the "
        f'folder that holds {name}/'
    )


def _read_table(path: Path) -> dict[str, dict[str, Any]]:
    try:
        entries = json.loads(path.read_text(encoding='utf-8'))
        return {str(entry['name']): entry for entry in entries}
    except (ValueError, TypeError, KeyError) as error:
        raise SceneError(
            f"{path} must be a JSON list of objects with 'name': {error!r}"
        ) from error


def _load_nodes(path: Path, up_axis: str) -> dict[str, list[tuple[str, trimesh.Trimesh]]]:
    """Return Y-up meshes in the world, grouped by instance."""
    if up_axis not in ('y', 'z'):
        raise SceneError(f"up_axis is '{up_axis}', but must be y or z")
    try:
        scene = trimesh.load(path, force='scene')
    except Exception as error:  # trimesh raises whatever its parsers raise
        raise SceneError(f'{path} is not a readable GLB: {error}') from error
    groups: dict[str, list[tuple[str, trimesh.Trimesh]]] = {}
    for node in sorted(scene.graph.nodes_geometry):
        world_tform_mesh, geometry = scene.graph[node]
        mesh = scene.geometry[geometry].copy()
        tform = _Y_UP_TFORM_Z_UP @ world_tform_mesh if up_axis == 'z' else world_tform_mesh
        mesh.apply_transform(tform)
        groups.setdefault(re.sub(r'__\d+$', '', node), []).append((node, mesh))
    return groups


def _category(name: str, entry: dict[str, Any], categories: dict[str, str]) -> str:
    """Return the category from the table, else the longest matching key, else the name's words."""
    if entry.get('category'):
        return category_of(str(entry['category']))
    keys = [key for key in categories if re.match(rf'{re.escape(key)}(?![A-Za-z])', name)]
    if keys:
        value = categories[max(keys, key=len)]
        return value if value == BUILDING else category_of(value)
    words = re.sub(r'[_\d]+', ' ', re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', name))
    _log.warning("no category for object '%s': it is called '%s'", name, category_of(words))
    return category_of(words)


def _export(meshes: list[tuple[str, trimesh.Trimesh]], path: Path) -> None:
    scene = trimesh.Scene()
    for node, mesh in meshes:
        scene.add_geometry(mesh, node_name=node, geom_name=node)
    path.write_bytes(scene.export(file_type='glb'))


def _ros_bounds(meshes: list[trimesh.Trimesh]) -> tuple[list[float], list[float]]:
    low = np.min([mesh.bounds[0] for mesh in meshes], axis=0)
    high = np.max([mesh.bounds[1] for mesh in meshes], axis=0)
    corners = [low[0], -high[2], low[1]], [high[0], -low[2], high[1]]
    return tuple([round(float(v), 4) for v in corner] for corner in corners)  # type: ignore[return-value]


def _room_of(bounds: tuple[list[float], list[float]], rooms: list[dict[str, Any]]) -> int | None:
    x, y = ((bounds[0][k] + bounds[1][k]) / 2 for k in (0, 1))
    for room in rooms:
        if _inside(x, y, np.array(room['polygon'], float)):
            return int(room['id'])
    return None


def _inside(x: float, y: float, polygon: NDArray[np.float64]) -> bool:
    """Count crossings of a ray along +x."""
    a, b = polygon, np.roll(polygon, -1, axis=0)
    spans = (a[:, 1] > y) != (b[:, 1] > y)
    with np.errstate(divide='ignore', invalid='ignore'):
        at = a[:, 0] + (y - a[:, 1]) / (b[:, 1] - a[:, 1]) * (b[:, 0] - a[:, 0])
    return bool(np.count_nonzero(spans & (at > x)) % 2)


def _episodes(
    folder: Path, settings: dict[str, Any], records: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    if not settings.get('episodes'):
        return []
    by_name = {record['name']: record for record in records}
    result = []
    for number, episode in enumerate(settings['episodes'], start=1):
        x, y, yaw = (float(v) for v in episode['start'])
        goal = (float(episode['goal'][0]), float(episode['goal'][1]))
        target = by_name.get(episode['goal_object'])
        if target is None:
            raise SceneError(
                f"episode {number} ends at '{episode['goal_object']}', which is no object"
            )
        path, length = _shortest_walk(folder, (x, y), goal)
        result.append(
            {
                'episode_id': number,
                'trajectory_id': number,
                'scene_id': settings['name'],
                'start_position': to_habitat(x, y),
                'start_rotation': yaw_to_rotation(yaw),
                'info': {
                    'geodesic_distance': round(length, 4),
                    'goal_object': target['name'],
                    'goal_object_id': target['id'],
                    'goal_category': target['category'],
                    'tags': list(episode.get('tags', [])),
                    'num_clauses': int(episode.get('num_clauses', 0)),
                },
                'goals': [{'position': to_habitat(*goal), 'radius': 3.0}],
                'instruction': {'instruction_text': episode['instruction']},
                'reference_path': [to_habitat(*p) for p in path],
            }
        )
    return result


def _shortest_walk(
    folder: Path, start: tuple[float, float], goal: tuple[float, float]
) -> tuple[NDArray[np.float64], float]:
    """Walk over the floor of the real geometry.

    Raises:
        SceneError: An end is not free, or there is no way.
    """
    from vln_sim_bridge.apartments.raster import CELL, walk_over
    from vln_sim_bridge.collision import CELL as FINE
    from vln_sim_bridge.collision import ClearanceMap
    from vln_sim_bridge.meshes import load_soup
    from vln_sim_bridge.scene import load_scene

    fine = ClearanceMap.from_soup(load_soup(load_scene(folder)), 1.2)
    step = round(CELL / FINE)
    clearance, origin = fine.clearance[::step, ::step], np.array(fine.origin)
    path, length = walk_over(clearance, origin, start, goal, _BODY)
    if not math.isfinite(length):
        raise SceneError(f'{folder}: there is no free way from {start} to {goal}')
    return path, length
