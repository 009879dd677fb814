# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln memory show|export|diff`` on real stores."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cv2
import networkx as nx
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / 'vln_core' / 'test'))
from memory_scenes import INSTRUCTION, ITEMS, WALK, drive

from vln_cli import memory
from vln_core.memory.store import MemoryStore


@pytest.fixture(scope='module')
def stores(tmp_path_factory):
    """Return the files of two stores, the second of which went on and turned back."""
    folder = tmp_path_factory.mktemp('stores')
    paths = folder / 'one.db', folder / 'other.db'
    for path, poses in zip(paths, (WALK[:3], WALK)):
        store = MemoryStore(path=path, encoder='words')
        store.begin(INSTRUCTION, ITEMS)
        drive(store, poses)
        if poses is WALK:
            store.backtrack(3, 'the way is closed')
        store.close()
    return paths


def test_show_says_what_a_store_knows(stores, tmp_path, capsys):
    picture = tmp_path / 'map.png'
    options = ['show', str(stores[1]), '--history', '--picture', str(picture)]
    assert memory.main(options) == 0
    said = capsys.readouterr().out
    for words in (INSTRUCTION, '5 waypoints', 'spot 0', 'bed', 'the way is closed', 'commit: go('):
        assert words in said
    assert cv2.imread(str(picture)).shape == (512, 512, 3)


def test_export_writes_what_others_read(stores, tmp_path):
    before = stores[1].read_bytes()
    for name in ('store.json', 'store.graphml', 'store.png'):
        assert memory.main(['export', str(stores[1]), str(tmp_path / name), '--size', '256']) == 0
    known = json.loads((tmp_path / 'store.json').read_text())
    assert len(known['waypoints']) == 5 and known['progress'][0]['text'] == ITEMS[0].text
    graph = nx.read_graphml(tmp_path / 'store.graphml')
    kinds = [data['kind'] for _, data in graph.nodes(data=True)]
    assert kinds.count('object') == len(known['objects']) == 7
    assert kinds.count('place') == len(known['places'])
    assert any(data.get('failures') for _, data in graph.nodes(data=True))
    assert cv2.imread(str(tmp_path / 'store.png')).shape == (256, 256, 3)
    assert stores[1].read_bytes() == before, 'looking changes nothing'


def test_diff_tells_two_stores_apart(stores, capsys):
    assert memory.main(['diff', str(stores[0]), str(stores[0])]) == 0
    assert 'the same' in capsys.readouterr().out
    assert memory.main(['diff', *map(str, stores)]) == 1
    said = capsys.readouterr().out
    assert '+ waypoints 4' in said and '+ objects' in said and 'actions: 3 -> 5' in said


def test_what_cannot_be_read_is_said_in_one_line(tmp_path, capsys):
    other = tmp_path / 'notes.db'
    other.write_bytes(b'no store at all ' * 100)
    for arguments, words in (
        (['show', str(tmp_path / 'none.db')], 'no memory store'),
        (['show', str(other)], 'damaged or not a store'),
        (['export', str(other), str(tmp_path / 'store.txt')], 'must end in'),
        (['export', str(other), str(tmp_path / 'store.png'), '--size', '1'], 'not in 128..4096'),
    ):
        assert memory.main(arguments) == 2
        said = capsys.readouterr().err.strip()
        assert words in said and '\n' not in said
    assert not (tmp_path / 'none.db').exists()
