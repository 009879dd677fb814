# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of SPEC section 7, exact and finite whatever the input.

Success, oracle success and SPL follow Anderson et al. 2018 ("On Evaluation of Embodied Navigation
Agents"); nDTW and SDTW follow Ilharco et al. 2019 with exact dynamic time warping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import EpisodeError

Distance = Callable[[int, int], float]


@dataclass(frozen=True)
class EpisodeMetrics:
    """Metrics of one episode.

    Attributes:
        TL: Length of the driven path, metres.
        NE: Distance from the end to the goal, metres; NaN where it cannot be reached.
        SR: 1 if it ended within the success radius (and stopped, where the protocol asks).
        OSR: 1 if any point of the path lay within the radius.
        SPL: SR times shortest over driven length.
        nDTW: Normalised dynamic time warping to the reference path, 0..1.
        SDTW: SR times nDTW.
        is_reachable: False when the goal cannot be reached from start or end.
    """

    TL: float
    NE: float
    SR: float
    OSR: float
    SPL: float
    nDTW: float  # noqa: N815 -- the name the field writes
    SDTW: float
    is_reachable: bool


def path_length(path: NDArray[np.float64]) -> float:
    """Return the length of an (N, D) polyline, metres; 0 for fewer than two points."""
    points = np.asarray(path, dtype=np.float64)
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()) if len(points) > 1 else 0.0


def dtw(cost: NDArray[np.float64]) -> float:
    """Return the exact dynamic time warping cost of an (N, M) matrix of distances.

    Raises:
        EpisodeError: The matrix is empty.
    """
    cost = np.asarray(cost, dtype=np.float64)
    if cost.ndim != 2 or 0 in cost.shape:
        raise EpisodeError(f'a distance matrix of shape {cost.shape} has no alignment')
    previous = np.full(cost.shape[1] + 1, np.inf)
    previous[0] = 0.0
    for row in cost:
        current = np.full_like(previous, np.inf)
        for j, step in enumerate(row, start=1):
            current[j] = step + min(previous[j], current[j - 1], previous[j - 1])
        previous = current
    return float(previous[-1])


def ndtw(cost: NDArray[np.float64], success_radius: float) -> float:
    """Return exp(-DTW / (|R| d_th)) for an (N path points, |R| reference points) matrix.

    Unreachable pairs (infinite distances) give 0.
    """
    value = dtw(cost)
    return math.exp(-value / (cost.shape[1] * success_radius)) if math.isfinite(value) else 0.0


def spl(success: float, shortest: float, driven: float) -> float:
    """Return success weighted by path length, in 0..1; start at the goal counts as perfect."""
    longest = max(shortest, driven)
    return success * (shortest / longest if longest > 0.0 else 1.0)


def score_episode(
    distances_to_goal: Sequence[float],
    driven: float,
    shortest: float,
    cost: NDArray[np.float64],
    *,
    success_radius: float,
    stopped: bool = True,
    is_inclusive: bool = False,
) -> EpisodeMetrics:
    """Score one episode.

    Args:
        distances_to_goal: Distance of every path point to the goal, metres, the last one final;
            inf where there is no way.
        driven: Length of the driven path, metres.
        shortest: Length of the shortest path from start to goal, metres; inf if there is none.
        cost: (N, M) distances between path and reference points, metres.
        success_radius: Metres.
        stopped: Whether the agent ended the episode itself.
        is_inclusive: Whether a distance of exactly the radius is a success.

    Raises:
        EpisodeError: There is no path point, or a length is negative or NaN.
    """
    distances = np.asarray(distances_to_goal, dtype=np.float64)
    if not len(distances) or np.isnan(distances).any() or not driven >= 0 or not shortest >= 0:
        raise EpisodeError(
            f'{len(distances)} path points, {driven} m driven, {shortest} m shortest: '
            'an episode needs a path and lengths that are not negative'
        )
    near = distances <= success_radius if is_inclusive else distances < success_radius
    success = float(near[-1] and stopped)
    reachable = bool(math.isfinite(shortest) and math.isfinite(distances[-1]))
    similarity = ndtw(cost, success_radius)
    return EpisodeMetrics(
        TL=driven,
        NE=float(distances[-1]) if math.isfinite(distances[-1]) else math.nan,
        SR=success,
        OSR=float(near.any()),
        SPL=spl(success, shortest, driven) if math.isfinite(shortest) else 0.0,
        nDTW=similarity,
        SDTW=success * similarity,
        is_reachable=reachable,
    )


def mean_finite(values: Sequence[float]) -> float:
    """Return the mean of the values that are finite; NaN if none is."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.mean(finite)) if finite else math.nan


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean; (NaN, NaN) without finite values."""
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        return math.nan, math.nan
    rng = np.random.default_rng(seed)
    means = finite[rng.integers(len(finite), size=(resamples, len(finite)))].mean(axis=1)
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(means, [tail, 100.0 - tail])
    return float(low), float(high)
