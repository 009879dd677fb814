# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Scores of choices: a linear part, and one hidden layer that lets features work together.

The layer is piecewise linear, so that every score is still a sum of shares of its features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Features = Mapping[str, float]


@dataclass(frozen=True)
class Network:
    """Fitted numbers of a score: x · linear + max(x · hidden + offset, 0) · out.

    Attributes:
        linear: Weight of each feature.
        hidden: For each feature its weights into the hidden units; empty for a linear score.
        offset: Of each hidden unit.
        out: Weight of each hidden unit in the score.
    """

    linear: Mapping[str, float]
    hidden: Mapping[str, Sequence[float]] = field(default_factory=dict)
    offset: Sequence[float] = ()
    out: Sequence[float] = ()


class Scorer:
    """Computes the scores of a network."""

    def __init__(self, network: Network) -> None:
        names = list(dict.fromkeys([*network.linear, *network.hidden]))
        self._rows = {name: row for row, name in enumerate(names)}
        none = [0.0] * len(network.out)
        # the last row is that of every feature without weights
        self._weights = np.array(
            [[network.linear.get(n, 0.0), *network.hidden.get(n, none)] for n in names]
            + [[0.0, *none]]
        )
        self._offset = np.array(network.offset, float)
        self._out = np.array(network.out, float)

    def scores(self, options: Sequence[Features]) -> NDArray[np.float64]:
        """Return the score of each option, which has one feature at least."""
        rows = [self._row(name) for features in options for name in features]
        values = np.array([value for features in options for value in features.values()])
        starts = np.cumsum([0, *(len(features) for features in options[:-1])])
        sums = np.add.reduceat(self._weights[rows] * values[:, None], starts)
        active = np.maximum(sums[:, 1:] + self._offset, 0.0)
        return np.asarray(sums[:, 0] + active @ self._out)

    def shares(self, features: Features) -> dict[str, float]:
        """Return what each feature adds to the score, through the hidden units in use as well."""
        weights = self._weights[[self._row(name) for name in features]]
        values = np.array(list(features.values()))
        in_use = (values @ weights[:, 1:] + self._offset) > 0.0
        slopes = weights[:, 0] + weights[:, 1:] @ (self._out * in_use)
        return dict(zip(features, (slopes * values).tolist()))

    def _row(self, name: str) -> int:
        return self._rows.get(name, len(self._rows))
