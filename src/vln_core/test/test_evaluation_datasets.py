# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vln_core.errors import EpisodeError
from vln_core.evaluation import datasets, json_stream

R2R = {
    'scan': 'house', 'path_id': 7, 'path': ['a', 'b'], 'heading': 1.5,
    'instructions': ['Walk out.', 'Leave the room.'],
}  # fmt: skip
CE = {
    'episode_id': 3, 'scene_id': 'mp3d/house/house.glb',
    'start_position': [1.0, 0.0, 2.0], 'start_rotation': [0.0, 1.0, 0.0, 0.0],
    'goals': [{'position': [4.0, 0.0, 6.0], 'radius': 3.0}],
    'info': {'geodesic_distance': 5.5}, 'instruction': {'instruction_text': ' Go\n there. '},
}  # fmt: skip


def write(path, content, *, packed=False):
    text = json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return path


def without(entry, key):
    return {name: value for name, value in entry.items() if name != key}


def test_r2r_gives_an_episode_for_each_instruction(tmp_path):
    first, second = datasets.load_r2r(write(tmp_path / 'f.json', [R2R]))
    assert (first.id, second.id) == ('7_0', '7_1')
    assert second.instruction == 'Leave the room.' and first.path == ('a', 'b')


def test_reverie_names_the_object_in_the_id(tmp_path):
    episode = next(datasets.load_reverie(write(tmp_path / 'f.json', [{**R2R, 'objId': 12}])))
    assert (episode.id, episode.object_id) == ('7_12_0', '12')


@pytest.mark.parametrize('packed', [True, False])
def test_r2r_ce(tmp_path, packed):
    content = {'instruction_vocab': {'words': ['x'] * 50}, 'episodes': [CE]}
    episode = next(datasets.load_r2r_ce(write(tmp_path / 'f', content, packed=packed)))
    assert (episode.id, episode.instruction, episode.radius) == ('3', 'Go there.', 3.0)
    assert episode.goals == ((4.0, 0.0, 6.0),) and episode.shortest == 5.5


def test_rxr_ce_keeps_one_language(tmp_path):
    other = {**CE, 'episode_id': 4, 'instruction': {'instruction_text': 'x', 'language': 'hi-IN'}}
    english = {**CE, 'instruction': {'instruction_text': 'x', 'language': 'en-US'}}
    path = write(tmp_path / 'f.json.gz', {'episodes': [other, english]}, packed=True)
    assert [episode.id for episode in datasets.load_rxr_ce(path, 'en')] == ['3']
    assert len(list(datasets.load_rxr_ce(path))) == 2


def objectnav(category='sofa'):
    view = {'agent_state': {'position': [1, 0, 2]}}
    return {
        'goals_by_category': {f'house.glb_{category}': [{'view_points': [view, view]}]},
        'episodes': [{**without(CE, 'instruction'), 'object_category': 'sofa'}],
    }


def test_objectnav_success_is_at_viewpoints(tmp_path):
    folder = tmp_path / 'content'
    folder.mkdir()
    write(folder / 'house.json.gz', objectnav(), packed=True)
    (episode,) = datasets.load_objectnav(tmp_path)
    assert episode.instruction == 'find a sofa' and len(episode.goals) == 2
    assert episode.id == 'house/3'


def test_objectnav_without_goal_names_it(tmp_path):
    path = write(tmp_path / 'house.json.gz', objectnav('bed'), packed=True)
    with pytest.raises(EpisodeError, match='episode 0 .id 3.*house.glb_sofa'):
        list(datasets.load_objectnav(path))


@pytest.mark.parametrize(
    ('entry', 'said'),
    [
        (without(R2R, 'heading'), "episode 0 .id 7.*lacks 'heading'"),
        ({**R2R, 'path': []}, '"path" is not a list of viewpoint ids'),
        ({**R2R, 'heading': float('nan')}, '"heading" is nan'),
        ({**R2R, 'instructions': [5]}, 'instruction 0 is 5'),
        ({**R2R, 'instructions': []}, '"instructions" is empty'),
        ('nonsense', 'episode 0'),
    ],
)
def test_bad_r2r_entries_are_named(tmp_path, entry, said):
    path = write(tmp_path / 'bad.json', [entry])
    with pytest.raises(EpisodeError, match=said) as error:
        list(datasets.load_r2r(path))
    assert 'bad.json' in str(error.value)


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        ({'start_rotation': [0, 0, 0, 0]}, 'norm is 0.000'),
        ({'start_position': [1, 2]}, '"start_position" has 2 coordinates'),
        ({'goals': []}, '"goals" is empty'),
        ({'instruction': {'instruction_text': ''}}, '"instruction_text" is \'\''),
        ({'scene_id': None}, '"scene_id" is None'),
    ],
)
def test_bad_continuous_entries_are_named(tmp_path, change, said):
    path = write(tmp_path / 'bad.json', {'episodes': [CE, {**CE, **change}]})
    with pytest.raises(EpisodeError, match='episode 1 .id 3.*' + said):
        list(datasets.load_r2r_ce(path))


def test_files_that_are_no_episode_files(tmp_path):
    packed = gzip.compress(json.dumps({'episodes': [CE]}).encode())
    cases = {
        'cut.json.gz': (packed[:-20], 'cannot be read'),
        'cut.json': (json.dumps({'episodes': [CE]})[:-8].encode(), 'broken JSON|ends too early'),
        'other.json': (b'{"a": 1}', 'no member "episodes"'),
        'none.json': (b'{"episodes": []}', 'holds no episodes'),
        'empty.json': (b'', 'ends too early'),
        'binary.json': (b'\xff\xfe\x00', 'cannot be read'),
        'list.json': (b'{"episodes": 5}', "'5' where one of '\\['"),
    }
    for name, (data, said) in cases.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(EpisodeError, match=said):
            list(datasets.load_r2r_ce(tmp_path / name))
    with pytest.raises(EpisodeError, match='there is no file'):
        list(datasets.load_r2r_ce(tmp_path / 'absent.json'))


@given(st.lists(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
), max_size=6), st.integers(1, 9), st.booleans())  # fmt: skip
def test_streaming_equals_reading_at_once(tmp_path_factory, values, chunk, pretty):
    path = tmp_path_factory.mktemp('stream') / 'f.json'
    path.write_text(json.dumps({'x': values, 'y': values}, indent=1 if pretty else None))
    before = json_stream._CHUNK
    json_stream._CHUNK = chunk
    try:
        assert list(json_stream.stream_array(path, 'y')) == values
    finally:
        json_stream._CHUNK = before


def test_only_one_element_is_needed_at_a_time(tmp_path):
    path = tmp_path / 'f.json'
    path.write_text('[' + ','.join(['"' + 'x' * 1000 + '"'] * 3000) + ', broken]')
    stream = json_stream.stream_array(path)
    assert len(next(stream)) == 1000  # the broken end is far away
    with pytest.raises(EpisodeError, match='broken JSON'):
        list(stream)


def test_first_refuses_two_of_one_id(tmp_path):
    path = write(tmp_path / 'f.json', [R2R, R2R])
    with pytest.raises(EpisodeError, match='two episodes have the id 7_0'):
        datasets.first(datasets.load_r2r(path), None)
    assert len(datasets.first(datasets.load_r2r(path), 2)) == 2


def test_the_hash_of_a_set_knows_no_order():
    assert datasets.set_hash(['a', 'b']) == datasets.set_hash(['b', 'a'])
    assert datasets.set_hash(['a']) != datasets.set_hash(['a', 'b'])


def test_a_missing_split_lists_what_was_looked_for(tmp_path):
    with pytest.raises(EpisodeError, match='R2R_test.json, annotations/R2R_test.json'):
        datasets.find_split(tmp_path, datasets.R2R_FILES, 'test')
