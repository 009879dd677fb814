# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import math
import os
from pathlib import Path

import pytest
from evaluation_world import REVERIE, write_data

from vln_core.errors import EpisodeError
from vln_core.evaluation import datasets, scoring
from vln_core.evaluation.viewpoint_graph import GraphStore

DATA = Path(os.environ.get('VLN_DATA', Path(__file__).parents[4] / 'shared' / 'data'))
MATTERPORT = DATA / 'matterport'
needs_matterport = pytest.mark.skipif(
    not MATTERPORT.is_dir(), reason=f'no Matterport data in {MATTERPORT}; set VLN_DATA'
)


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / 'data')


def score(data, predictions, preset=''):
    path = data / 'predictions.json'
    path.write_text(json.dumps(predictions))
    return scoring.score_file(path, data, 'train', preset)


def walk(instr_id, path, **more):
    return {'instr_id': instr_id, 'trajectory': [[v, 0.0, 0.0] for v in path], **more}


def test_graph_distances(data):
    graph = GraphStore(data).graph('house')
    assert graph.distance('a', 'e') == 8.0 and graph.distance('a', 'f') == 4.0
    assert math.isinf(graph.distance('a', 'g')) and graph.shortest_path('a', 'g') == []
    assert graph.shortest_path('f', 'd') == ['f', 'b', 'c', 'd']
    assert graph.neighbours('b') == ['a', 'c', 'f']
    with pytest.raises(EpisodeError, match="no viewpoint 'z'"):
        graph.distance('a', 'z')


def test_r2r_by_hand(data):
    # to f and back to d: 2 + 2 + 2 + 2 + 2 = 10 m; 2 m from e, so a success; the graph, not the
    # file's distance of 99 m, gives the shortest way of 8 m
    scores = score(data, [walk('1_0', 'abfbcd')])
    (row,) = scores.rows
    assert scores.preset == 'r2r'
    assert (row['SR'], row['OSR'], row['NE'], row['TL']) == (1.0, 1.0, 2.0, 10.0)
    assert row['SPL'] == pytest.approx(0.8)
    # alignment a-a, b-b, f-b 2, b-b, c-c, d-d, d-e 2: 4 m over 5 points of 3 m
    assert row['nDTW'] == pytest.approx(math.exp(-4 / 15)) and row['SDTW'] == row['nDTW']
    assert scores.notes == ('2 episodes of train have no prediction: left out',)


def test_three_metres_are_a_failure_and_passing_is_oracle(data):
    (row,) = score(data, [walk('1_0', 'abcdedc')]).rows
    assert (row['NE'], row['SR'], row['OSR']) == (4.0, 0.0, 1.0)


def test_jumps_count_by_the_shortest_way_and_turns_by_nothing(data):
    (row,) = score(data, [walk('1_0', 'aaae')]).rows
    assert (row['TL'], row['SPL']) == (8.0, 1.0)


@pytest.mark.parametrize('form', [['a', 'b', 'f'], [['a'], ['b', 'f']], [['a', 0.1], ['f', 1]]])
def test_forms_of_trajectories(data, form):
    (row,) = score(data, [{'instr_id': '2_0', 'trajectory': form}]).rows
    assert (row['SR'], row['TL']) == (1.0, 4.0)


def test_reverie_is_visibility(data):
    target = str(REVERIE[1]['objId'])
    good = walk(f'2_{target}_0', 'abf', predObjId=int(target))
    scores = score(data, [good])
    assert scores.preset == 'reverie'
    assert [scores.metrics[n] for n in ('SR', 'SPL', 'RGS', 'RGSPL')] == [1.0, 1.0, 1.0, 1.0]
    # 2 m from the goal is near, but the sink is not to be seen from b
    (row,) = score(data, [walk(f'2_{target}_0', 'abfb', predObjId=3)]).rows
    assert (row['SR'], row['OSR'], row['RGS'], row['NE']) == (0.0, 1.0, 0.0, 2.0)


def test_what_is_annotated_but_hidden_is_not_visible(data):
    assert '5' not in scoring.VisibleObjects(data).at('house', 'f')


@pytest.mark.parametrize(
    ('predictions', 'said'),
    [
        ([walk('1_0', 'bc')], 'begins at b, not at the start a'),
        ([walk('9_0', 'ab')], 'has none of the 1 predicted episodes, such as 9_0'),
        ([walk('1_0', 'az')], "no viewpoint 'z'"),
        ([walk('1_0', 'ab'), walk('1_0', 'ab')], 'predicts episode 1_0 twice'),
        ([{'instr_id': '1_0', 'trajectory': []}], 'entry 0 .id 1_0.*trajectory is empty'),
        ([{'instr_id': '1_0'}], "lacks 'trajectory'"),
        ([{'trajectory': []}], 'names no episode'),
        ([walk('1_0', 'ab'), {'episode_id': 1, 'success': 1}], 'mixes formats'),
        ([], 'holds no predictions'),
        (5, 'neither a list nor an object'),
        ({'3': []}, 'its path is empty'),
        ({'3': [{'position': [0, math.inf, 0]}]}, 'finite .N, 3. is expected'),
    ],
)
def test_bad_files_are_named(data, predictions, said):
    with pytest.raises(EpisodeError, match=said):
        score(data, predictions)


def continuous(data):
    entry = {
        'episode_id': 3, 'scene_id': 'mp3d/x/x.glb', 'start_position': [0, 0, 0],
        'start_rotation': [0, 0, 0, 1], 'goals': [{'position': [4, 0, 0], 'radius': 3}],
        'info': {'geodesic_distance': 4.0}, 'instruction': {'instruction_text': 'go'},
    }  # fmt: skip
    truth = {'3': {'locations': [[0, 0, 0], [2, 0, 0], [4, 0, 0]]}}
    for name, content in (('', {'episodes': [entry]}), ('_gt', truth)):
        path = data / f'R2R-CE_train{name}.json.gz'
        path.write_bytes(gzip.compress(json.dumps(content).encode()))


def steps(points, stop=True):
    found = [{'position': point, 'heading': 0.0, 'stop': False} for point in points]
    found[-1]['stop'] = stop
    return found


def test_r2r_ce_positions(data):
    continuous(data)
    path = [[0, 0, 0], [0, 0, 0], [0, 0, 1], [2, 0, 1]]
    scores = score(data, {'3': steps(path)})
    (row,) = scores.rows
    assert (row['TL'], row['SR']) == (3.0, 1.0)
    assert row['NE'] == pytest.approx(math.sqrt(5.0)) and row['SPL'] == 1.0
    # the turn in place adds no point: 0 + 1 + 1 + sqrt(5) over 3 points of 3 m
    assert row['nDTW'] == pytest.approx(math.exp(-(2 + math.sqrt(5)) / 9))
    assert 'straight lines' in scores.notes[0]
    assert score(data, {'3': steps(path, stop=False)}).rows[0]['SR'] == 0.0


def test_r2r_ce_results_of_others(data):
    continuous(data)
    values = {
        'distance_to_goal': 2.5, 'success': 1.0, 'oracle_success': 1.0, 'spl': 0.75, 'ndtw': 0.5,
        'path_length': 9.0, 'steps_taken': 30, 'collisions': {'count': 2},
    }  # fmt: skip
    scores = score(data, {'3': values})
    wanted = {
        'SR': 1.0, 'OSR': 1.0, 'SPL': 0.75, 'NE': 2.5, 'TL': 9.0, 'nDTW': 0.5, 'SDTW': 0.5,
        'RGS': None, 'RGSPL': None,
    }  # fmt: skip
    assert scores.metrics == wanted
    assert score(data, [{'episode_id': 3, **values}]).metrics == wanted


@needs_matterport
def test_reference_paths_of_r2r_are_perfect_walks():
    episodes = list(datasets.load_r2r(MATTERPORT / 'R2R_val_seen.json'))[:60]
    graphs = GraphStore(MATTERPORT)
    for episode in episodes:
        prediction = scoring.GraphPrediction(episode.id, episode.path)
        row = scoring.score_graph_episode(graphs.graph(episode.scan), episode, prediction)
        assert (row['SR'], row['NE'], row['nDTW']) == (1.0, 0.0, 1.0)


@needs_matterport
def test_every_reference_path_of_reverie_ends_where_the_object_is_visible():
    visible = scoring.VisibleObjects(MATTERPORT)
    episodes = list(datasets.load_reverie(MATTERPORT / 'REVERIE_val_seen.json'))[:200]
    seen = [e.object_id in visible.at(e.scan, e.path[-1]) for e in episodes]
    assert all(seen)
