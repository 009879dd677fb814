# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Frames a second of the simulators: step and render while the robot turns on a curve.

python tests/benchmarks/simulator_speed.py --scene apartment:0 --sim raycast habitat
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from vln_core.errors import VlnError
from vln_sim_bridge.make import KINDS, make_simulator
from vln_sim_bridge.simulator import SimulatorConfig

_SIZES = ((320, 240), (640, 480))


def measure(kind: str, scene: str, size: tuple[int, int], frames: int) -> np.ndarray:
    """Return the seconds that each step with images took."""
    config = SimulatorConfig(width=size[0], height=size[1])
    simulator = make_simulator(kind, scene, config)
    try:
        simulator.render()
        seconds = []
        for _ in range(frames):
            began = time.perf_counter()
            simulator.step(0.2, 0.6, 0.1)
            simulator.render()
            seconds.append(time.perf_counter() - began)
    finally:
        simulator.close()
    return np.array(seconds)


def main() -> int:
    """Print one line for each simulator and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--scene', default='apartment:0')
    parser.add_argument('--sim', nargs='+', choices=KINDS, default=list(KINDS))
    parser.add_argument('--frames', type=int, default=100)
    options = parser.parse_args()
    for kind in options.sim:
        for size in _SIZES:
            try:
                seconds = measure(kind, options.scene, size, options.frames)
            except VlnError as error:
                print(f'{kind}: {error}')  # noqa: T201
                return 2
            p50, p95 = np.quantile(seconds, [0.5, 0.95]) * 1e3
            line = f'{kind:8} {size[0]}x{size[1]}: {1 / seconds.mean():6.1f} frames/s'
            print(f'{line}, p50 {p50:.1f} ms, p95 {p95:.1f} ms')  # noqa: T201
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
