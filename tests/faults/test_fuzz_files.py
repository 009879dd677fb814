# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever lies on the disk: it is read or refused with a reason, and never changed."""

from __future__ import annotations

import gzip
import json
import sqlite3

import pytest
from hypothesis import example, given
from mutations import FEW, spoiled

from vln_core.context import ClauseKind, ProgressItem
from vln_core.errors import MemoryStoreError, SceneError
from vln_core.memory.store import MemoryStore
from vln_sim_bridge.episodes import EpisodeError, load_episodes
from vln_sim_bridge.scene import load_scene

EPISODES = json.dumps(
    {
        'episodes': [
            {
                'episode_id': '1',
                'trajectory_id': '1',
                'scene_id': 'a/b.glb',
                'start_position': [0.0, 0.0, 0.0],
                'start_rotation': [0.0, 0.0, 0.0, 1.0],
                'info': {'geodesic_distance': 3.0},
                'goals': [{'position': [1.0, 0.0, 2.0], 'radius': 3.0}],
                'instruction': {'instruction_text': 'go to the sofa', 'instruction_tokens': None},
                'reference_path': [[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]],
            }
        ],
        'instruction_vocab': {'word_list': []},
    }
).encode()
SCENE = json.dumps(
    {
        'version': 1,
        'name': 'a',
        'seed': 0,
        'stage': 'stage.glb',
        'stage_config': 'stage.stage_config.json',
        'bounds': [[0, 0], [5, 5]],
        'rooms': [{'id': 0, 'type': 'kitchen', 'polygon': [[0, 0], [5, 0], [5, 5], [0, 5]]}],
        'doorways': [],
        'objects': [
            {'id': 1, 'category': 'bed', 'name': 'bed_1', 'glb': 'objects/bed_1.glb',
             'min': [1, 1, 0], 'max': [2, 2, 1], 'room': 0}
        ],
        'start': [2.5, 2.5, 0.0],
    }
).encode()  # fmt: skip
LAUNCH = b"""<launch><arg name="a" default="1" description="A."/>
<group><set_remap from="x" to="y"/>
<node pkg="vln_nodes" exec="safety_node" name="n" if="$(equals '$(var a)' '1')">
<param name="p" value="$(var a)"/><remap from="/tf" to="tf"/></node></group></launch>"""


@FEW
@given(spoiled(EPISODES))
def test_episode_files(tmp_path_factory, data):
    file = tmp_path_factory.mktemp('e') / 'episodes.json'
    for content in (data, gzip.compress(data)[: max(3, len(data) // 2)]):
        file.write_bytes(content)
        try:
            load_episodes(file)
        except EpisodeError as error:
            assert str(file) in str(error)


@FEW
@given(spoiled(SCENE))
def test_scene_files(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp('s')
    (folder / 'scene.json').write_bytes(data)
    for name in ('stage.glb', 'stage.stage_config.json', 'objects'):
        (folder / name).mkdir() if name == 'objects' else (folder / name).write_bytes(b'')
    (folder / 'objects' / 'bed_1.glb').write_bytes(b'')
    try:
        scene = load_scene(folder)
    except SceneError as error:
        assert str(error)
        return
    for item in scene.objects:
        # A scene is data from elsewhere: it must not name files outside its folder.
        assert (folder / item.glb).resolve().is_relative_to(folder)


@pytest.fixture(scope='module')
def good_store(tmp_path_factory):
    path = tmp_path_factory.mktemp('store') / 'memory.db'
    store = MemoryStore(path=path, encoder='words')
    store.begin('go to the sofa', (ProgressItem(0, 'go to the sofa', ClauseKind.STOP),))
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    return path.read_bytes()


@pytest.mark.parametrize('seed', range(30))
def test_stores_with_broken_pages(tmp_path, good_store, seed):
    import random

    chooser = random.Random(seed)
    data = bytearray(good_store)
    for _ in range(chooser.randrange(1, 40)):
        data[chooser.randrange(len(data))] = chooser.randrange(256)
    if seed % 3 == 0:
        del data[chooser.randrange(len(data)) :]
    path = tmp_path / 'memory.db'
    path.write_bytes(data)
    before = path.read_bytes()
    try:
        MemoryStore(path=path, encoder='words').close()
    except MemoryStoreError as error:
        assert str(path) in str(error)
        assert path.read_bytes() == before


@FEW
@given(spoiled(b'{"anchors":[0],"name":"hall","poses":{"0":[0.0,0.0,0.0]},"visit_count":1}'))
def test_stores_with_broken_rows(tmp_path_factory, good_store, data):
    path = tmp_path_factory.mktemp('r') / 'memory.db'
    path.write_bytes(good_store)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT OR REPLACE INTO entity VALUES ('place', 0, ?)", (data,))
    try:
        MemoryStore(path=path, encoder='words').close()
    except MemoryStoreError as error:
        assert str(path) in str(error)


@FEW
@given(spoiled(LAUNCH))
def test_launch_files(tmp_path_factory, data):
    document = pytest.importorskip('vln_launch.document')
    from vln_launch.errors import LaunchError

    file = tmp_path_factory.mktemp('l') / 'x.launch.xml'
    file.write_bytes(data)
    try:
        document.load(file)
    except LaunchError as error:
        assert str(file) in str(error)


def test_a_launch_file_cannot_blow_up_or_read_files(tmp_path):
    document = pytest.importorskip('vln_launch.document')
    from vln_launch.errors import LaunchError

    lines = [f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "ha"}">' for k in range(12)]
    bomb = (
        f'<!DOCTYPE launch [{"".join(lines)}]><launch><arg name="a" description="&e11;"/></launch>'
    )
    reader = '<!DOCTYPE launch [<!ENTITY f SYSTEM "file:///etc/passwd">]><launch>&f;</launch>'
    for number, text in enumerate((bomb, reader)):
        file = tmp_path / f'{number}.launch.xml'
        file.write_text(text)
        try:
            root = document.load(file)
        except LaunchError:
            continue
        assert 'root:' not in ''.join(element.text for element in document.walk(root))


@FEW
@example(data=b'\x89')
@given(spoiled(b'\x89MCAP0\r\n' + bytes(range(200)) + b'\x89MCAP0\r\n'))
def test_bags(tmp_path_factory, data):
    reader = pytest.importorskip('vln_nodes.bag_reader')
    from vln_core.errors import VlnError

    file = tmp_path_factory.mktemp('b') / 'x.mcap'
    file.write_bytes(data)
    try:
        bag = reader.Bag(file)
        for message in bag.messages():
            assert message.topic
        bag.latched()
        bag.metadata('x')
    except (VlnError, OSError, ValueError) as error:
        assert str(error)
