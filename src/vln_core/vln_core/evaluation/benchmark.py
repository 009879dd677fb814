# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the runner needs of a benchmark: episodes by id, each giving one row.

A benchmark is made in every worker process from the same plain settings, so rows do not depend on
who computes them. ``kind`` names it in presets; the table below says where its class is.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

from vln_core.errors import ConfigError

# kind -> module:class; imported only when asked for, since simulators are heavy and optional
KINDS = {
    'text': 'vln_core.evaluation.text_benchmark:TextBenchmark',
    'simulated': 'vln_sim_bridge.benchmark:SimulatedBenchmark',
    'habitat': 'vln_sim_bridge.habitat_benchmark:HabitatBenchmark',
}

Row = dict[str, Any]
"""JSON-able; has 'id'. What may differ from run to run lies in 'timing'."""


class Benchmark(Protocol):
    """A set of episodes and the agent that is tried on them."""

    def episode_ids(self) -> list[str]:
        """Return the episodes in their order."""
        ...

    def facts(self) -> dict[str, str]:
        """Return what a reader of the result must know beside the settings."""
        ...

    def run(self, episode_id: str) -> Row:
        """Run one episode and return its row."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


def make_benchmark(settings: Mapping[str, Any]) -> Benchmark:
    """Make the benchmark that settings describe.

    Args:
        settings: JSON-able; 'kind' is one of ``KINDS``, the rest is read by its class.

    Raises:
        ConfigError: The kind is unknown, or its package is not installed.
        VlnError: The benchmark's own complaint, such as missing data.
    """
    kind = settings.get('kind')
    if kind not in KINDS:
        raise ConfigError(f'benchmark kind {kind!r} is unknown; choose one of {", ".join(KINDS)}')
    module, name = KINDS[kind].split(':')
    try:
        made = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f'benchmarks of kind "{kind}" need {error.name}: not installed'
        ) from error
    benchmark: Benchmark = made(settings)
    return benchmark
