# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The memory on disk: restart, refusals, kill -9, malformed updates."""

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from memory_scenes import INSTRUCTION, ITEMS, WALK, decide, drive, note, panorama
from test_memory_store import fingerprint

from vln_core.errors import MemoryStoreError, UnknownReference, UpdateRefused
from vln_core.geometry.transforms import inverse, planar_tform
from vln_core.memory.export import to_dict
from vln_core.memory.fuzz import malformed_updates
from vln_core.memory.recall_cache import RecallCache
from vln_core.memory.store import MemoryConfig, MemoryStore


def open_store(path, config=None, map_id='', begin=True):
    store = MemoryStore(config, path, encoder='words', map_id=map_id)
    if begin:
        store.begin(INSTRUCTION, ITEMS)
    return store


def test_a_restart_resumes_the_episode(tmp_path):
    path = tmp_path / 'memory.db'
    store = open_store(path)
    drive(store)
    store.backtrack(3, 'turn back')
    before = fingerprint(store)
    store.close()
    again = open_store(path, begin=False)
    with pytest.raises(MemoryStoreError, match='observe its panorama again'):
        again.context()
    rng = np.random.default_rng(0)
    looks = [panorama(k, *pose, sigma=0.03, rng=rng) for k, pose in enumerate(WALK)]
    assert again.observe(looks[-1]) == 4, 'its last panorama is known again'
    assert fingerprint(again) == before
    assert again.recall(0, 1).shape == (120, 160, 3)
    assert len(again.history) == 5
    # Both go on alike.
    other = open_store(None)
    drive(other)
    other.backtrack(3, 'turn back')
    for one in (again, other):
        one.observe(panorama(77, 6.2, 3.5, 1.0))
    assert fingerprint(again)[1] == fingerprint(other)[1]


def test_a_correction_survives_a_restart(tmp_path):
    path = tmp_path / 'memory.db'
    store = open_store(path)
    drive(store)
    store.set_global_tform_odom(planar_tform(3.0, 4.0, 0.7))
    before = store.occupancy()
    again = open_store(path, begin=False)
    assert again.waypoints[2].pose == store.waypoints[2].pose
    rows, columns = np.nonzero(before.data == 100)
    now = again.occupancy()
    now_rows, now_columns = np.nonzero(now.data == 100)
    shift = np.round((np.array(before.origin) - np.array(now.origin)) / 0.1).astype(int)
    assert np.array_equal(rows + shift[1], now_rows)
    assert np.array_equal(columns + shift[0], now_columns)


def test_a_building_is_remembered_over_restarts_whatever_the_odometry(tmp_path):
    path, config = tmp_path / 'memory.db', MemoryConfig(lifelong=True)
    store = open_store(path, config, map_id='map')
    drive(store)
    before = store.snapshot()
    store.close()
    again = open_store(path, config, map_id='map', begin=False)
    again.begin('find the sofa', ITEMS)
    # The robot was switched on elsewhere: its odometry begins there, the map is the same.
    origin = planar_tform(3.0, 5.0, -0.7)
    again.set_global_tform_odom(origin)
    assert [p.anchors for p in again.snapshot().places] == [p.anchors for p in before.places]
    look = panorama(0, *WALK[1], objects=())
    again.observe(replace(look, odom_tform_base=np.eye(4), views=tuple(
        replace(v, odom_tform_camera=inverse(origin) @ v.odom_tform_camera) for v in look.views
    )))  # fmt: skip
    here = again.snapshot().waypoints[0]
    assert (here.x, here.y) == pytest.approx(WALK[1][:2])
    known = next(p for p in before.places if any(a[:2] == WALK[1][:2] for a in p.anchors))
    assert here.place == known.id, 'it knows the place again'
    aged = {o.id: o.confidence for o in again.snapshot().objects}
    assert aged and all(aged[o.id] <= o.confidence for o in before.objects if o.id in aged)
    again.close()
    third = open_store(path, config, map_id='map', begin=False)
    assert {p.id for p in third.snapshot().places} >= {known.id}
    assert third.instruction == 'find the sofa' and len(third.waypoints) == 1


def refuse(path, words, **arguments):
    content = Path(path).read_bytes()
    with pytest.raises(MemoryStoreError, match=words):
        open_store(path, begin=False, **arguments)
    assert Path(path).read_bytes() == content, 'a refused store is never changed'


def test_stores_that_are_not_ours_are_refused_and_left_alone(tmp_path):
    path = tmp_path / 'memory.db'
    store = open_store(path, map_id='floor 1')
    drive(store, WALK[:2])
    store.close()
    refuse(path, 'belongs to map "floor 1", not to "floor 2"', map_id='floor 2')

    garbage = tmp_path / 'garbage.db'
    garbage.write_bytes(os.urandom(5000))
    refuse(garbage, 'damaged or not a store')

    foreign = tmp_path / 'foreign.db'
    connection = sqlite3.connect(foreign)
    connection.execute('CREATE TABLE recipes(name TEXT)')
    connection.close()
    refuse(foreign, 'of another program')

    newer = tmp_path / 'newer.db'
    newer.write_bytes(path.read_bytes())
    connection = sqlite3.connect(newer)
    connection.execute('PRAGMA user_version=99')
    connection.close()
    refuse(newer, 'schema 99, newer than 2', map_id='floor 1')

    damaged = tmp_path / 'damaged.db'
    content = bytearray(path.read_bytes())
    for at in range(4096, len(content), 4096):
        content[at : at + 64] = b'\xff' * 64
    damaged.write_bytes(bytes(content))
    refuse(damaged, 'damaged', map_id='floor 1')


def test_a_store_of_schema_1_is_read_and_brought_to_date(tmp_path):
    path = tmp_path / 'memory.db'
    store = open_store(path)
    drive(store)
    before = to_dict(store)
    store.close()
    connection = sqlite3.connect(path)
    anchors = {}
    for number, data in connection.execute("SELECT id, data FROM entity WHERE kind = 'anchor'"):
        *pose, place = json.loads(data)
        anchors.setdefault(place, {})[str(number)] = pose
    connection.execute("DELETE FROM entity WHERE kind = 'anchor'")
    for number, data in connection.execute(
        "SELECT id, data FROM entity WHERE kind = 'place'"
    ).fetchall():
        old = {**json.loads(data), 'poses': anchors[number]}
        old['anchors'] = [int(k) for k in anchors[number]]
        connection.execute(
            "UPDATE entity SET data = ? WHERE kind = 'place' AND id = ?",
            (json.dumps(old).encode(), number),
        )
    connection.execute('PRAGMA user_version=1')
    connection.commit()
    connection.close()
    for _ in range(2):  # the second time it is of the new schema already
        again = open_store(path, begin=False)
        assert to_dict(again) == before
        again.close()


def test_a_write_that_fails_is_not_acknowledged_and_nothing_is_built_on_it(tmp_path):
    store = open_store(tmp_path / 'memory.db')
    drive(store, WALK[:1])
    store.journal._connection.execute('PRAGMA query_only=ON')  # as a full or read-only disk does
    with pytest.raises(MemoryStoreError, match='refused a write'):
        store.observe(panorama(5, *WALK[1]))
    with pytest.raises(MemoryStoreError, match='reopen'):
        store.observe(panorama(6, *WALK[1]))
    again = open_store(tmp_path / 'memory.db', begin=False)
    assert len(again.waypoints) == 1


def test_a_new_episode_goes_on_once_a_full_disk_is_free(tmp_path):
    path = tmp_path / 'memory.db'
    store = MemoryStore(path=path, encoder='words')
    store.begin('go', ITEMS)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
        with pytest.raises(MemoryStoreError, match='refused a write'):
            for _ in range(200):
                store.begin('x' * 3000, ITEMS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with pytest.raises(MemoryStoreError, match='begin another episode'):
        store.observe(panorama(5, *WALK[1]))
    store.begin('stop at the sofa', ITEMS)
    store.close()
    assert MemoryStore(path=path, encoder='words').instruction == 'stop at the sofa'


def test_recall_spills_to_disk_and_forgets_the_least_recalled_first(tmp_path):
    store = open_store(tmp_path / 'memory.db', MemoryConfig(recall_bytes=1, spill_bytes=10**9))
    drive(store, WALK[:2])
    assert store.cache.num_bytes == 0
    assert store.recall(0, 3).shape == (120, 160, 3)

    pictures = [np.random.default_rng(k).integers(0, 255, (40, 40, 3), np.uint8) for k in range(4)]
    cache = RecallCache(max_bytes=8000)
    for k, picture in enumerate(pictures[:2]):
        cache.add(k, [picture])
    cache.get(0, 0)  # recalled, so 1 goes first
    size = cache.num_bytes // 2
    cache = RecallCache(max_bytes=2 * size + size // 2)
    cache.add(0, [pictures[0]])
    cache.add(1, [pictures[1]])
    cache.get(0, 0)
    cache.add(2, [pictures[2]])
    assert cache.num_bytes <= 2 * size + size // 2
    with pytest.raises(UnknownReference, match='can be recalled: w0 views 0..0, w2 views 0..0'):
        cache.get(1, 0)


_WRITER = """
import sys
sys.path.insert(0, {tests!r})
from memory_scenes import ITEMS, blind_panorama, decide, detection, note
from vln_core.memory.store import MemoryStore
store = MemoryStore(None, __import__('pathlib').Path(sys.argv[1]), encoder='words')
store.begin('walk', ITEMS)
print('ready', flush=True)
for k in range(10000):
    found = [detection('chair', (k % 7, i, 0.4)) for i in range(4)]
    store.observe(blind_panorama(k, 0.5 * (k % 40), 0.0, 0.0, found))
    store.commit(decide())
    store.conclude(note(k))
    print(k, flush=True)
"""


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path):
    random_delay = random.Random(4)
    writer = _WRITER.format(tests=str(Path(__file__).parent))
    for run in range(4):
        path = tmp_path / f'{run}.db'
        process = subprocess.Popen(
            [sys.executable, '-c', writer, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline().strip() == 'ready'
        time.sleep(random_delay.uniform(0.05, 0.6))
        process.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in process.stdout.read().split()]
        process.wait()
        store = MemoryStore(None, path, encoder='words')
        done = len(acknowledged)
        assert len(store.history) >= done
        assert len(store.waypoints) >= done
        store.close()


def test_malformed_updates_are_refused_and_change_nothing():
    store = open_store(None)
    drive(store, WALK[:3])
    before = fingerprint(store)
    names = set()
    for name, update in malformed_updates(store, np.random.default_rng(1), 300):
        with pytest.raises((UpdateRefused, UnknownReference, MemoryStoreError)) as refusal:
            update()
        assert len(str(refusal.value)) > 10, name
        names.add(name)
    assert len(names) >= 12
    assert fingerprint(store) == before


def test_control_characters_and_huge_texts_are_refused():
    store = open_store(None)
    store.observe(panorama(0, *WALK[0]))
    with pytest.raises(UpdateRefused, match=r'control character U\+0007'):
        store.conclude(note(0, action='bell \x07'))
    with pytest.raises(UpdateRefused, match='at most 4000'):
        store.conclude(note(0, action='x' * 5000))
    store.conclude(note(0, action='naïve 中文 – fine'))
    store.commit(decide())


def test_one_process_writes_and_others_read(tmp_path):
    path = tmp_path / 'memory.db'
    store = open_store(path)
    drive(store)
    other, late = (MemoryStore(None, path, encoder='words') for _ in range(2))
    assert to_dict(other) == to_dict(store), 'reading is free'
    with pytest.raises(MemoryStoreError, match='written by another process; end that one'):
        other.begin(INSTRUCTION, ITEMS)
    store.backtrack(3, 'turn back')
    store.close()
    # Its owner is gone, but what it holds is not what was read.
    with pytest.raises(MemoryStoreError, match='since it was opened; open it again'):
        late.begin(INSTRUCTION, ITEMS)
    late.begin(INSTRUCTION, ITEMS)  # it was read again
    late.close()
    other.close()
