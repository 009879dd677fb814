# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Models of users: any GLB with an object table, and the small house."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh

from vln_core.errors import SceneError
from vln_core.vocabulary import OBJECTS, ROOMS
from vln_sim_bridge.episodes import load_episodes
from vln_sim_bridge.imported import find_data, import_scene, import_small_house, load_settings
from vln_sim_bridge.raycast import RaycastSimulator
from vln_sim_bridge.scene import load_scene
from vln_sim_bridge.simulator import SimulatorConfig


def _box(low, high) -> trimesh.Trimesh:
    return trimesh.creation.box(bounds=np.array([low, high], float))


def _model(folder: Path, up_axis: str) -> tuple[Path, Path]:
    scene = trimesh.Scene()
    shapes = {
        'Floor__0': _box((-3, -2, -0.1), (3, 2, 0.0)),
        'Wall__0': _box((-3, 1.9, 0), (3, 2, 2.5)),
        'Couch_1__0': _box((1.0, -0.5, 0), (1.8, 0.5, 0.4)),
        'Couch_1__1': _box((1.6, -0.5, 0.4), (1.8, 0.5, 0.8)),
    }
    for name, mesh in shapes.items():
        if up_axis == 'y':
            mesh.apply_transform([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
        scene.add_geometry(mesh, node_name=name, geom_name=name)
    glb, table = folder / 'model.glb', folder / 'objects.json'
    glb.write_bytes(scene.export(file_type='glb'))
    table.write_text(json.dumps([{'name': 'Couch_1'}]))
    return glb, table


def _settings(up_axis: str, **more) -> dict:
    return {
        'name': 'mine', 'up_axis': up_axis, 'categories': {'Couch': 'couch'},
        'rooms': [{'id': 0, 'type': 'living room',
                   'polygon': [[-3, -2], [3, -2], [3, 2], [-3, 2]]}],
        'start': [-2.0, 0.0, 0.0], **more,
    }  # fmt: skip


@pytest.mark.parametrize('up_axis', ['y', 'z'])
def test_both_up_axes(tmp_path: Path, up_axis: str) -> None:
    episode = {'instruction': 'Go to the sofa.', 'start': [-2, 0, 0], 'goal': [0.4, 0.0],
               'goal_object': 'Couch_1'}  # fmt: skip
    settings = _settings(up_axis, episodes=[episode])
    folder = import_scene(*_model(tmp_path, up_axis), settings, tmp_path / 'scene')
    scene = load_scene(folder)
    assert [(o.name, o.category, o.room) for o in scene.objects] == [('Couch_1', 'sofa', 0)]
    assert scene.objects[0].minimum == pytest.approx((1.0, -0.5, 0.0))
    assert scene.objects[0].maximum == pytest.approx((1.8, 0.5, 0.8))
    assert load_episodes(folder)[0].geodesic_distance == pytest.approx(2.4, abs=0.1)
    simulator = RaycastSimulator(scene, SimulatorConfig())
    assert np.count_nonzero(simulator.render().semantic == scene.objects[0].id) > 100


def test_wrong_tables_and_axes_are_named(tmp_path: Path) -> None:
    glb, table = _model(tmp_path, 'z')
    with pytest.raises(SceneError, match='up_axis'):
        import_scene(glb, table, _settings('x'), tmp_path / 'scene')
    with pytest.raises(SceneError, match='nothing.glb'):
        import_scene(tmp_path / 'nothing.glb', table, _settings('z'), tmp_path / 'scene')
    table.write_text('[{"name": "Ghost"}]')
    with pytest.raises(SceneError, match='Ghost'):
        import_scene(glb, table, _settings('z'), tmp_path / 'scene')
    table.write_text('{')
    with pytest.raises(SceneError, match='objects.json'):
        import_scene(glb, table, _settings('z'), tmp_path / 'scene')


def test_an_episode_without_a_way_is_refused(tmp_path: Path) -> None:
    episode = {
        'instruction': 'Go.',
        'start': [-2, 0, 0],
        'goal': [1.4, 0.0],
        'goal_object': 'Couch_1',
    }
    with pytest.raises(SceneError, match='no free way'):
        import_scene(
            *_model(tmp_path, 'z'), _settings('z', episodes=[episode]), tmp_path / 'scene'
        )


def test_absent_data_are_one_clear_line(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv('VLN_DATA', str(tmp_path))
    with pytest.raises(SceneError, match='VLN_DATA') as caught:
        import_small_house(tmp_path / 'scene')
    assert '\n' not in str(caught.value)


def test_the_settings_use_known_words() -> None:
    settings = load_settings('small_house')
    assert set(settings['categories'].values()) <= {'building', *OBJECTS}
    assert {room['type'] for room in settings['rooms']} <= set(ROOMS)


def test_small_house(tmp_path: Path) -> None:
    try:
        find_data('small_house')
    except SceneError as error:
        pytest.skip(str(error))
    scene = load_scene(import_small_house(tmp_path / 'house'))
    categories = {o.name: o.category for o in scene.objects}
    assert categories['Refrigerator_01_001'] == 'refrigerator'
    assert categories['SofaC_01_001'] == 'sofa'
    assert set(categories.values()) <= set(OBJECTS)
    rooms = {o.category: scene.rooms[o.room].type for o in scene.objects if o.room is not None}
    assert rooms['bed'] == 'bedroom'
    assert rooms['refrigerator'] == 'kitchen'
    assert rooms['sofa'] == 'living room'
    episode = load_episodes(scene.folder)[0]
    assert episode.goal_category == 'refrigerator'
    simulator = RaycastSimulator(scene, SimulatorConfig())
    simulator.place(*episode.start)
    for x, y in episode.reference_path_xy:
        simulator.place(x, y, 0.0)
    walked = simulator.geodesic_distance(episode.start[:2], episode.goal)
    assert walked == pytest.approx(episode.geodesic_distance, rel=0.05)
