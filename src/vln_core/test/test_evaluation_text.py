# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace

import numpy as np
import pytest
from evaluation_world import write_data

from vln_core.errors import ConfigError, EpisodeError, UnknownReference
from vln_core.evaluation import datasets, text_fit
from vln_core.evaluation.text_benchmark import TextBenchmark
from vln_core.evaluation.text_features import FeatureConfig, FeatureMaker, named
from vln_core.evaluation.text_learning import Rows, fit_logit, fit_network, mean_of
from vln_core.evaluation.text_planner import TextPlanner, TextWeights, walk_episode
from vln_core.evaluation.text_scorer import Network, Scorer
from vln_core.evaluation.text_words import read_instruction, words_of
from vln_core.evaluation.text_world import TextWalk, TextWorld


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / 'data')


@pytest.fixture
def world(data):
    return TextWorld(data, use_proposals=True)


def start(world):
    return TextWalk(world, 'house', 'a', math.pi / 2)


def test_words_are_brought_to_common_names():
    assert words_of('A large dining room with two couches') == ('dining room', 'sofa')


def test_an_agent_sees_only_what_it_reached_or_was_shown(world):
    walk = start(world)
    assert set(walk.visited) == {'a'} and set(walk.shown) == {'b'}
    assert set(walk.known_distances()) == {'a', 'b'}
    with pytest.raises(UnknownReference, match='viewpoint c was neither reached nor shown'):
        walk.move_to('c')
    walk.move_to('b')
    assert set(walk.shown) == {'c', 'f'} and walk.heading == pytest.approx(math.pi / 2)


def test_global_action_space_walks_every_viewpoint_on_the_way(world):
    walk = start(world)
    for name in ('b', 'c', 'f'):
        walk.move_to(name)
    assert walk.path == ['a', 'b', 'c', 'b', 'f'] and walk.num_moves == 3
    assert walk.heading == pytest.approx(0.0)  # north, from b
    walk.move_to('f')
    assert walk.num_moves == 3  # staying is no move


def test_proposals_have_the_heading_of_their_largest_box(world):
    (thing,) = world.panorama('house', 'f').proposals
    assert (thing.name, thing.id) == ('sink', '102')
    # view 12 is heading 0 at the horizon; the box is centred in it
    assert thing.heading == pytest.approx(0.0)


def test_captions_only_shows_no_objects(data):
    assert TextWorld(data).panorama('house', 'a').objects
    assert not TextWorld(data, use_objects=False).panorama('house', 'a').objects
    assert not TextWorld(data).panorama('house', 'a').proposals


def test_missing_texts_are_named(data, world):
    with pytest.raises(EpisodeError, match='observations_list/castle.json'):
        world.panorama('castle', 'a')
    with pytest.raises(EpisodeError, match='viewpoint z has no captions'):
        world.panorama('house', 'z')
    (data / 'navgpt_text_world.zip').unlink()
    with pytest.raises(EpisodeError, match='captions and objects of NavGPT are needed'):
        TextWorld(data)


def choices_at(world, text, moves, **config):
    walk = start(world)
    for name in moves:
        walk.move_to(name)
    made = FeatureMaker(FeatureConfig(**config)).choices(walk, read_instruction(text))
    return {(c.viewpoint, c.is_stop): c.features for c in made}


def test_turn_words_meet_the_side_that_a_move_is_on(world):
    made = choices_at(world, 'turn left to the bathroom', ['b'])
    assert made['f', False]['turn:left:now:6'] == 1.0  # f lies to the left
    assert made['c', False]['turn:left:now:0'] == 1.0  # c lies ahead
    assert made['f', False]['in:now'] == 1.0 and 'in:now' not in made['c', False]


def test_only_the_prior_reads_path_lengths(world):
    def names(**config):
        made = choices_at(world, 'go to the sofa', ['b', 'c'], **config)
        return {name for features in made.values() for name in features}

    assert not any(name.startswith('prior:') for name in names())
    assert any(name.startswith('prior:') for name in names(use_prior=True))
    far = choices_at(world, 'go to the sofa', ['b', 'c'], use_prior=True)
    assert 'prior:stop:hops:2' in far['c', True] and 'prior:stop:hops:0' in far['a', True]


def test_features_of_unseen_places_come_from_where_they_were_seen(world):
    # nobody has been at f: that it is a bathroom is known by the view from b alone
    made = choices_at(world, 'go to the bathroom', ['b', 'c'])
    assert made['f', False]['move:there'] == 1.0
    assert ('f', True) not in made


def test_a_stop_knows_whether_one_climbed(world):
    stop = choices_at(world, 'go up to the second floor', ['b'])['b', True]
    assert {n for n in stop if n.startswith('lift:stop:')} == {
        f'lift:stop:{word}:level' for word in ('up', 'second', 'floor')
    }


def test_named_prefers_the_thing_that_is_acted_upon():
    words = read_instruction('Go to the bathroom and clean the sink')
    assert named('sink', words) > named('bathroom cabinet', words) > named('bed', words) == 0.0


def fitted(world, data, hidden=4):
    episodes = list(datasets.load_reverie(data / 'REVERIE_train.json'))
    config = FeatureConfig(is_goal_only=True)
    rows = Rows.empty()
    text_fit._collect(
        rows, world, episodes, TextPlanner(TextWeights(config, Network({}))),
        is_own_walk=False, rng=np.random.default_rng(0),
    )  # fmt: skip
    return episodes, TextWeights(
        config,
        fit_network(
            rows, fit_logit(rows, ridge=1e-3, min_count=1),
            ridge=1e-3, min_count=1, hidden=hidden, epochs=20,
        ),
        thing=text_fit._fit_objects(world, episodes, 1e-3) or {'how': 1.0},
    )  # fmt: skip


@pytest.mark.parametrize('hidden', [0, 4])
def test_fitting_learns_the_walks_it_is_shown(world, data, tmp_path, hidden):
    episodes, weights = fitted(world, data, hidden)
    planner = TextPlanner(weights)
    assert text_fit.success_and_spl(planner, world, episodes) == (1.0, 1.0, 1.0)
    untrained = TextPlanner(TextWeights(weights.features, Network({})))
    assert text_fit.success_and_spl(untrained, world, episodes)[0] < 1.0
    weights.save(tmp_path / 'w.json')
    again = TextWeights.load(tmp_path / 'w.json')
    assert text_fit.success_and_spl(TextPlanner(again), world, episodes)[0] == 1.0


def test_a_hidden_layer_learns_what_no_linear_score_can(tmp_path):
    # right where the two differ: (-1, 1) and (1, -1) must both beat (-1, -1) and (1, 1)
    corners = [{'one': a, 'other': b} for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    rows = Rows.empty()
    for number in range(300):
        rows.add([corners[1 + number % 2], corners[0], corners[3]], [True, False, False])
    linear = fit_logit(rows, ridge=1e-3, min_count=1)
    assert max(map(abs, linear.values()), default=0.0) < 0.1
    learned = [
        fit_network(rows, linear, ridge=1e-3, min_count=1, hidden=8, epochs=60) for _ in range(2)
    ]
    scores = Scorer(learned[0]).scores(corners)
    assert min(scores[1:3]) > max(scores[0], scores[3])
    assert learned[0] == learned[1]


def test_shares_of_features_sum_up_to_the_score():
    network = Network(
        {'a': 1.0, 'b': -0.5}, {'a': [2.0, -1.0], 'c': [0.5, 3.0]}, [0.25, -1.0], [1.0, 2.0]
    )
    scorer, features = Scorer(network), {'a': 1.0, 'b': 2.0, 'c': -1.0, 'unknown': 9.0}
    (score, alone) = scorer.scores([features, {'a': 1.0}])
    # units: 2 - 0.5 + 0.25 = 1.75 and -1 - 3 - 1 < 0, which is out of use
    assert score == pytest.approx(1.0 - 1.0 + 1.75) and alone == pytest.approx(1.0 + 2.25)
    shares = scorer.shares(features)
    assert sum(shares.values()) + 0.25 == pytest.approx(score) and shares['unknown'] == 0.0


def test_the_mean_of_networks_has_the_mean_of_their_scores():
    networks = [
        Network({'a': 1.0}, {'a': [2.0, -1.0], 'c': [0.5, 3.0]}, [0.2, -1.0], [1.0, 2.0]),
        Network({'a': 3.0, 'b': -0.5}, {'b': [1.5], 'c': [-4.0]}, [0.5], [0.7]),
    ]
    options = [{'a': 1.0, 'b': 2.0}, {'c': -1.0}, {'a': -2.0, 'c': 0.5}]
    each = [Scorer(network).scores(options) for network in networks]
    assert Scorer(mean_of(networks)).scores(options) == pytest.approx(np.mean(each, axis=0))
    assert mean_of(networks[:1]) is networks[0]


def test_the_last_decision_is_the_best_stop(world, data):
    episodes, weights = fitted(world, data)
    weights = replace(weights, stop_bias=-100.0)
    walk = start(world)
    decisions = walk_episode(TextPlanner(weights), walk, episodes[0].instruction, 5)
    assert len(decisions) == 5 and decisions[-1].choice.is_stop


def settings(data, **more):
    return {
        'kind': 'text', 'dataset': 'r2r', 'planner': 'rules', 'split': 'train', 'limit': 15,
        'seed': 0, 'data': str(data), **more,
    }  # fmt: skip


def test_rows_of_the_benchmark_are_the_scores_of_its_walks(world, data, tmp_path):
    _, weights = fitted(world, data)
    weights.save(tmp_path / 'w.json')
    benchmark = TextBenchmark(settings(data, dataset='reverie', weights=str(tmp_path / 'w.json')))
    assert benchmark.episode_ids() == ['1_101_0', '1_101_1', '2_102_0']
    row = benchmark.run('2_102_0')
    assert (row['path'], row['object'], row['RGS'], row['SPL']) == (['a', 'b', 'f'], '102', 1, 1)
    assert len(row['decisions']) == 3 and row['decisions'][-1]['action'] == 'stop at f'
    assert benchmark.run('2_102_0')['path'] == row['path']


def test_modes_with_a_model_are_refused_with_the_reason(data):
    with pytest.raises(ConfigError, match='"rules" without a model, not "ham"'):
        TextBenchmark(settings(data, planner='ham'))


def test_missing_weights_say_how_they_are_made(data):
    with pytest.raises(EpisodeError, match='text_fit'):
        TextBenchmark(settings(data, weights='/nowhere.json'))
