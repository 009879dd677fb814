# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Seeded sensor noise: depth as structured-light cameras have it, and drifting odometry."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vln_sim_bridge.simulator import SimulatorConfig

# Streams of one seed, so that the number of rendered images never changes the odometry.
_DEPTH_STREAM = 1
_ODOMETRY_STREAM = 2


class DepthNoise:
    """Noise that grows with the square of depth, lost pixels, and holes at depth edges."""

    def __init__(self, config: SimulatorConfig) -> None:
        """Draw from ``config.seed``; all levels of ``config`` at 0 leave images as they are."""
        self._config = config
        self.reset()

    def reset(self) -> None:
        """Start the random stream again."""
        self._random = np.random.default_rng((self._config.seed, _DEPTH_STREAM))

    def apply(self, depth: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a noisy copy of ``depth`` (H, W) float32 metres.

        Sigma at depth z is ``depth_noise * z^2``; lost pixels become NaN; +inf (far) stays +inf
        unless lost; noise that passes ``max_depth`` becomes +inf.
        """
        config = self._config
        noisy = depth.copy()
        if config.depth_noise > 0.0:
            sigma = np.float32(config.depth_noise) * depth * depth
            normal = self._random.standard_normal(depth.shape, dtype=np.float32)
            finite = np.isfinite(depth)
            noisy[finite] += sigma[finite] * normal[finite]
            noisy[finite & (noisy <= 0.0)] = np.nan
            noisy[finite & (noisy > config.max_depth)] = np.inf
        if config.depth_edge_holes:
            noisy[_shadow_edges(depth)] = np.nan
        if config.depth_dropout > 0.0:
            lost = self._random.random(depth.shape, dtype=np.float32) < config.depth_dropout
            noisy[lost] = np.nan
        return noisy


def _shadow_edges(depth: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return the pixels right behind a nearer edge, where a projector's pattern does not reach."""
    step = np.float32(0.1)
    bounded = np.minimum(np.nan_to_num(depth, nan=np.float32(1e3)), np.float32(1e3))
    edges = np.zeros(depth.shape, np.bool_)
    relative = step * np.minimum(bounded[:, 1:], bounded[:, :-1])
    difference = bounded[:, 1:] - bounded[:, :-1]
    edges[:, 1:] |= difference > relative
    edges[:, :-1] |= -difference > relative
    return edges


class OdometryNoise:
    """Odometry that integrates true body-frame increments with a relative error.

    Every run has a scale error for distance and for turning drawn once (wheels of the wrong size)
    and a white part on each increment, both with the relative sigma ``odometry_noise``.
    """

    def __init__(self, config: SimulatorConfig) -> None:
        """Draw from ``config.seed``."""
        self._sigma = config.odometry_noise
        self._seed = config.seed
        self.reset(0.0, 0.0, 0.0)

    def reset(self, x: float, y: float, yaw: float) -> None:
        """Start at the pose (m, rad) with the random stream from its beginning."""
        self._random = np.random.default_rng((self._seed, _ODOMETRY_STREAM))
        self._bias = self._sigma * self._random.standard_normal(2)
        self.x, self.y, self.yaw = x, y, yaw

    def advance(
        self, before: tuple[float, float, float], after: tuple[float, float, float]
    ) -> None:
        """Take in a true motion between two world poses (m, m, rad)."""
        if self._sigma == 0.0:
            self.x, self.y, self.yaw = after
            return
        cos, sin = math.cos(before[2]), math.sin(before[2])
        dx, dy = after[0] - before[0], after[1] - before[1]
        turn = math.remainder(after[2] - before[2], 2.0 * math.pi)
        white = self._sigma * self._random.standard_normal(2)
        scale = 1.0 + self._bias[0] + white[0]
        forward = (cos * dx + sin * dy) * scale
        left = (-sin * dx + cos * dy) * scale
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        self.x += cos * forward - sin * left
        self.y += sin * forward + cos * left
        turned = self.yaw + turn * (1.0 + self._bias[1] + white[1])
        self.yaw = math.remainder(turned, 2.0 * math.pi)
