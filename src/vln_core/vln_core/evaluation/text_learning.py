# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Learns to score choices: a conditional logit, then one hidden layer on top of it.

Both make the right options of each state most likely. The order of the features plays no part, so
that the same data and seed give the same numbers.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from vln_core.evaluation.text_scorer import Network

_logger = logging.getLogger(__name__)
_WORDS = ('view:', 'turn:', 'lift:', 'is:')
_BATCH = 128
_RATE = 2e-3
_WARM_UP = 50
_Floats = NDArray[np.floating]


@dataclass
class Rows:
    """Options of many states in compressed rows."""

    index: dict[str, int]
    columns: list[NDArray[np.int32]]
    values: list[NDArray[np.float32]]
    good: list[bool]
    sizes: list[int]

    @classmethod
    def empty(cls) -> Rows:
        """Return rows without states."""
        return cls({}, [], [], [], [])

    def add(self, options: Sequence[Mapping[str, float]], good: Sequence[bool]) -> None:
        """Add a state: the features of its options, and which of them are right."""
        for features in options:
            ids = [self.index.setdefault(name, len(self.index)) for name in features]
            self.columns.append(np.array(ids, np.int32))
            self.values.append(np.array(list(features.values()), np.float32))
        self.good += good
        self.sizes.append(len(options))

    def first(self, count: int) -> Rows:
        """Return the first states."""
        options = sum(self.sizes[:count])
        return Rows(
            self.index, self.columns[:options], self.values[:options], self.good[:options],
            self.sizes[:count],
        )  # fmt: skip

    def table(self, min_count: int, without: str) -> tuple[csr_matrix, list[str]]:
        """Return options by features, and the names of the features in the order of the alphabet.

        Args:
            min_count: Features seen in fewer options are left out.
            without: Features that begin with this are left out; '' leaves out none.
        """
        columns = np.concatenate(self.columns)
        counts = np.bincount(columns, minlength=len(self.index))
        kept = sorted(
            name
            for name, number in self.index.items()
            if counts[number] >= min_count and not (without and name.startswith(without))
        )
        starts = np.concatenate([[0], np.cumsum([len(part) for part in self.columns])])
        table = csr_matrix(
            (np.concatenate(self.values), columns, starts),
            shape=(len(self.columns), len(self.index)),
        )[:, [self.index[name] for name in kept]]
        table.sort_indices()
        return table, kept


def _strengths(names: Sequence[str]) -> NDArray[np.float32]:
    """Return how strongly features are held small: pairs of words most, what is no word least."""

    def strength(name: str) -> float:
        if 'pair:' in name:
            return 10.0
        return 1.0 if name.startswith(_WORDS) or 'word:' in name else 0.1

    return np.array([strength(name) for name in names], np.float32)


def _loss(scores: _Floats, good: NDArray[np.bool_], sizes: Sequence[int]) -> tuple[float, _Floats]:
    """Return the mean of -log(probability of the right options) and its slope by the scores."""
    edges = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    state = np.repeat(np.arange(len(sizes)), sizes)
    power = np.exp(scores - np.maximum.reduceat(scores, edges)[state])
    total = np.add.reduceat(power, edges)
    hit = np.maximum(np.add.reduceat(power * good, edges), 1e-12)
    slope = power / total[state] - power * good / hit[state]
    return float(np.log(total / hit).mean()), slope / len(sizes)


def fit_logit(
    rows: Rows, *, ridge: float, min_count: int, without: str = '', iterations: int = 150
) -> dict[str, float]:
    """Return the weights that make the right options of each state most likely.

    Args:
        rows: Options by state.
        ridge: Strength of the Gaussian prior per state; pairs of words get ten times as much,
            features that are no words a tenth.
        min_count: See :meth:`Rows.table`.
        without: See :meth:`Rows.table`.
        iterations: Of L-BFGS at most.

    Returns:
        Weight by name; empty where there are no states to learn from.
    """
    if not rows.sizes:
        return {}
    table, names = rows.table(min_count, without)
    strength = ridge * _strengths(names)
    good = np.array(rows.good, bool)
    turned = table.T.tocsr()

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = _loss(table @ weights, good, rows.sizes)
        value += 0.5 * float(strength @ weights**2)
        return value, turned @ slope + strength * weights

    found = minimize(
        loss, np.zeros(len(names)), jac=True, method='L-BFGS-B', options={'maxiter': iterations}
    )
    _logger.info(
        '%d states, %d features, loss %.4f after %d rounds',
        len(rows.sizes), len(names), found.fun, found.nit,
    )  # fmt: skip
    return {name: float(w) for name, w in zip(names, found.x) if abs(w) >= 0.01}


def fit_network(
    rows: Rows,
    linear: Mapping[str, float],
    *,
    ridge: float,
    min_count: int,
    without: str = '',
    hidden: int = 16,
    epochs: int = 6,
    seed: int = 0,
) -> Network:
    """Return a network with one hidden layer, by Adam from the weights of the logit on.

    Args:
        rows: Options by state.
        linear: Where the linear part starts.
        ridge: See :func:`fit_logit`.
        min_count: See :meth:`Rows.table`.
        without: See :meth:`Rows.table`.
        hidden: Hidden units; 0 leaves the logit as it is.
        epochs: Passes over the states.
        seed: Of the first weights of the layer and of the order of the states.
    """
    if not rows.sizes or not hidden:
        return Network(linear)
    table, names = rows.table(min_count, without)
    good = np.array(rows.good, bool)
    rng = np.random.default_rng(seed)
    start = np.array([linear.get(name, 0.0) for name in names], np.float32)
    into = 0.1 * rng.standard_normal((len(names), hidden)).astype(np.float32)
    out = 0.1 * rng.standard_normal(hidden).astype(np.float32)
    numbers = [start, into, np.zeros(hidden, np.float32), out]
    strength = ridge * _strengths(names)
    step = _adam(numbers, epochs * math.ceil(len(rows.sizes) / _BATCH))
    for epoch in range(epochs):
        losses = []
        for options, sizes in _batches(rows.sizes, rng):
            part = table[options]
            value, slopes = _slopes(part, good[options], sizes, numbers)
            losses.append(value)
            slopes[0] += strength * start
            slopes[1] += strength[:, None] * into
            step(slopes)
        _logger.info('epoch %d: loss %.4f', epoch, float(np.mean(losses)))
    start, into = np.round(start.astype(float), 3), np.round(into.astype(float), 2)
    return Network(
        {name: float(w) for name, w in zip(names, start) if w},
        {name: row.tolist() for name, row in zip(names, into) if row.any()},
        numbers[2].tolist(),
        out.tolist(),
    )


def mean_of(networks: Sequence[Network]) -> Network:
    """Return the network whose scores are the mean of those of others.

    Networks that began elsewhere err elsewhere (Hansen and Salamon 1990, network ensembles).
    """
    count = len(networks)
    if count == 1:
        return networks[0]
    linear: dict[str, float] = {}
    hidden: dict[str, list[float]] = {}
    names = dict.fromkeys(name for network in networks for name in network.linear)
    for name in names:
        mean = sum(network.linear.get(name, 0.0) for network in networks) / count
        linear[name] = round(mean, 3)
    names = dict.fromkeys(name for network in networks for name in network.hidden)
    for name in names:
        hidden[name] = []
        for network in networks:
            hidden[name] += network.hidden.get(name, [0.0] * len(network.out))
    return Network(
        linear,
        hidden,
        [value for network in networks for value in network.offset],
        [value / count for network in networks for value in network.out],
    )


def _batches(
    sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], list[int]]]:
    """Yield the options of some states at a time, and how many each state has."""
    edges = np.concatenate([[0], np.cumsum(sizes)])
    order = rng.permutation(len(sizes))
    for first in range(0, len(order), _BATCH):
        states = order[first : first + _BATCH]
        options = np.concatenate([np.arange(edges[n], edges[n + 1]) for n in states])
        yield options, [sizes[n] for n in states]


def _slopes(
    table: csr_matrix, good: NDArray[np.bool_], sizes: Sequence[int], numbers: Sequence[_Floats]
) -> tuple[float, list[_Floats]]:
    """Return the loss of some states and its slope by linear, hidden, offset and out."""
    linear, into, offset, out = numbers
    units = np.maximum(table @ into + offset, 0.0)
    value, slope = _loss(table @ linear + units @ out, good, sizes)
    slope = slope.astype(np.float32)
    back = np.outer(slope, out) * (units > 0.0)
    turned = table.T.tocsr()
    return value, [turned @ slope, turned @ back, back.sum(axis=0), units.T @ slope]


def _adam(numbers: Sequence[_Floats], steps: int) -> Callable[[Sequence[_Floats]], None]:
    """Return a function that moves the numbers in place down their slopes."""
    means = [np.zeros_like(part) for part in numbers]
    squares = [np.zeros_like(part) for part in numbers]
    done = 0

    def step(slopes: Sequence[_Floats]) -> None:
        nonlocal done
        done += 1
        rate = _RATE * min(1.0, done / _WARM_UP) * 0.5 * (1.0 + math.cos(math.pi * done / steps))
        for part, mean, square, slope in zip(numbers, means, squares, slopes):
            mean += 0.1 * (slope - mean)
            square += 0.01 * (slope**2 - square)
            part -= (
                rate * (mean / (1.0 - 0.9**done)) / (np.sqrt(square / (1.0 - 0.99**done)) + 1e-6)
            )

    return step
