# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One place that knows which simulators there are."""

from __future__ import annotations

from pathlib import Path

from vln_core.errors import ConfigError
from vln_sim_bridge.scene import load_scene
from vln_sim_bridge.scene_cache import resolve_scene
from vln_sim_bridge.simulator import Simulator, SimulatorConfig

KINDS = ('raycast', 'habitat')


def make_simulator(
    kind: str, scene: str | Path, config: SimulatorConfig | None = None
) -> Simulator:
    """Start a simulator with the robot at the scene's start.

    Args:
        kind: One of :data:`KINDS`.
        scene: ``apartment:SEED``, ``small_house``, or a scene folder.
        config: Camera, body and noise; None for the defaults.

    Raises:
        ConfigError: There is no such kind.
        SceneError: The scene is missing or broken, the body does not fit at its start, or Habitat
            is not set up.
    """
    if kind not in KINDS:
        raise ConfigError(f"no simulator '{kind}': choose one of {', '.join(KINDS)}")
    loaded = load_scene(resolve_scene(scene))
    if kind == 'habitat':
        from vln_sim_bridge.habitat_client import HabitatSimulator

        return HabitatSimulator(loaded, config or SimulatorConfig())
    from vln_sim_bridge.raycast import RaycastSimulator

    return RaycastSimulator(loaded, config or SimulatorConfig())
