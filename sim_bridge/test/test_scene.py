# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Scene folders: what is checked, how names become folders, how the cache is written."""

from __future__ import annotations

import json
import shutil

import pytest
from room_scene import write_scene

from vln_core.errors import ConfigError, SceneError
from vln_sim_bridge import scene_cache
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.scene import load_scene
from vln_sim_bridge.scene_cache import resolve_scene


@pytest.fixture
def folder(room_folder, tmp_path):
    return shutil.copytree(room_folder, tmp_path / 'copy')


def change(folder, edit):
    path = folder / 'scene.json'
    raw = json.loads(path.read_text())
    edit(raw)
    path.write_text(json.dumps(raw))


def test_reads_everything(folder):
    scene = load_scene(folder)
    assert [item.name for item in scene.objects] == ['table_1', 'wardrobe_1', 'rug_1']
    assert scene.objects[0].minimum == (-2.5, 1.0, 0.0)
    assert scene.rooms[1].type == 'bedroom'
    assert scene.doorways[0].rooms == (0, 1)
    assert scene.start == (-2.0, 0.0, 0.0)
    assert scene.stage.is_file()


@pytest.mark.parametrize(
    ('edit', 'words'),
    [
        (lambda raw: raw.pop('start'), "lacks the field 'start'"),
        (lambda raw: raw.update(version=2), 'version 2'),
        (lambda raw: raw.update(start=[0, 0]), 'not 3 finite numbers'),
        (lambda raw: raw.update(start=[0, 0, float('nan')]), 'not 3 finite numbers'),
        (lambda raw: raw.update(stage='gone.glb'), 'gone.glb'),
        (lambda raw: raw['objects'][0].update(glb='gone.glb'), 'gone.glb'),
        (lambda raw: raw['objects'][0].update(id=2), 'ids must differ'),
        (lambda raw: raw['objects'][0].update(id=0), '1..65535'),
        (lambda raw: raw['objects'][0].update(name='rug_1'), 'same name'),
        (lambda raw: raw.update(bounds=[[0, 0], [0, 1]]), 'empty'),
    ],
)
def test_broken_scene_is_one_clear_line(folder, edit, words):
    change(folder, edit)
    with pytest.raises(SceneError, match=words.replace('.', r'\.')) as caught:
        load_scene(folder)
    assert str(folder) in str(caught.value)
    assert '\n' not in str(caught.value)


def test_broken_json_and_broken_model(folder):
    (folder / 'objects' / 'rug_1.glb').write_bytes(b'nonsense')
    with pytest.raises(SceneError, match='rug_1.glb is not a readable GLB'):
        make_simulator('raycast', folder)
    (folder / 'scene.json').write_text('{')
    with pytest.raises(SceneError, match='not readable JSON'):
        load_scene(folder)


@pytest.mark.parametrize('name', ['/no/such', 'apartment:x', 'apartment:', 'apartment:-1'])
def test_unknown_name(name):
    with pytest.raises(SceneError, match=name):
        resolve_scene(name)


def test_unknown_simulator(folder):
    with pytest.raises(ConfigError, match='raycast, habitat'):
        make_simulator('gazebo', folder)


def test_cache_is_whole_or_absent(tmp_path, monkeypatch):
    monkeypatch.setenv('VLN_CACHE', str(tmp_path))
    calls = []

    def make(work):
        calls.append(work)
        shutil.rmtree(work)
        write_scene(work)

    def fail(work):
        (work / 'scene.json').write_text('{}')
        raise SceneError('broken on the way')

    with pytest.raises(SceneError, match='on the way'):
        scene_cache._cached('a', fail)
    assert list(scene_cache.cache_folder().iterdir()) == []
    target = scene_cache._cached('a', make)
    assert target == scene_cache.cache_folder() / 'a'
    assert scene_cache._cached('a', fail) == target  # made once
    assert len(calls) == 1
    assert [path.name for path in target.parent.iterdir()] == ['a']
