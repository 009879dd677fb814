# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vln_core.errors import EpisodeError
from vln_core.evaluation import metrics


def score(distances, driven=10.0, shortest=8.0, cost=((0.0,),), **kwargs):
    return metrics.score_episode(
        distances, driven, shortest, np.array(cost), success_radius=3.0, **kwargs
    )


def test_hand_made_success():
    result = score([8.0, 2.0, 2.5])
    assert (result.SR, result.OSR, result.NE, result.TL) == (1.0, 1.0, 2.5, 10.0)
    assert result.SPL == pytest.approx(0.8)


def test_passing_the_goal_is_only_an_oracle_success():
    result = score([8.0, 1.0, 6.0])
    assert (result.SR, result.OSR, result.SPL) == (0.0, 1.0, 0.0)


def test_the_radius_itself_follows_the_protocol():
    assert score([3.0]).SR == 0.0
    assert score([3.0], is_inclusive=True).SR == 1.0


def test_without_a_stop_there_is_no_success():
    assert score([1.0], stopped=False).SR == 0.0


def test_unreachable_goals_are_flagged_and_finite_elsewhere():
    result = score([math.inf], shortest=math.inf, cost=((math.inf,),))
    assert not result.is_reachable and math.isnan(result.NE)
    assert (result.SR, result.SPL, result.nDTW) == (0.0, 0.0, 0.0)


def test_dtw_of_a_hand_made_pair():
    path = np.array([[0.0], [1.0], [3.0]])
    reference = np.array([[0.0], [2.0], [3.0]])
    assert metrics.dtw(np.abs(path - reference.T)) == 1.0
    assert metrics.ndtw(np.abs(path - reference.T), 3.0) == pytest.approx(math.exp(-1 / 9))


@given(st.lists(st.floats(0, 50), min_size=1, max_size=12))
def test_a_path_equals_itself(values):
    points = np.array(values)
    assert metrics.ndtw(np.abs(points[:, None] - points), 3.0) == 1.0


@pytest.mark.parametrize('bad', [[], [math.nan]])
def test_an_episode_without_path_is_an_error(bad):
    with pytest.raises(EpisodeError, match='needs a path'):
        score(bad)


def test_start_at_the_goal_counts_as_perfect():
    assert metrics.spl(1.0, 0.0, 0.0) == 1.0


def test_means_and_intervals_ignore_what_is_not_finite():
    assert metrics.mean_finite([1.0, math.nan, 3.0]) == 2.0
    low, high = metrics.bootstrap_interval([0.0, 1.0] * 50)
    assert 0.35 < low < 0.5 < high < 0.65
    assert metrics.bootstrap_interval([0.0, 1.0] * 50) == (low, high)
    assert all(math.isnan(edge) for edge in metrics.bootstrap_interval([math.nan]))
