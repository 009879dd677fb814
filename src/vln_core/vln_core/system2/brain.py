# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Makes System 2 by the name of its mode."""

from __future__ import annotations

from vln_core.errors import ConfigError
from vln_core.ports import Brain
from vln_core.system2.rules import RulesConfig, RulesPlanner

MODES = ('ham', 'agentic', 'mcgpt', 'fused', 'rules')


def make_brain(
    mode: str = 'rules',
    config: object | None = None,
    client: object | None = None,
    demonstrations: object | None = None,
) -> Brain:
    """Return a planner.

    Args:
        mode: One of ``MODES``.
        config: :class:`RulesConfig` for ``rules``; None: defaults.
        client: Model client of the other modes.
        demonstrations: Demonstration store of ``mcgpt`` and ``fused``; None: without.

    Raises:
        ConfigError: The mode is unknown, or its model client is missing.
    """
    if mode == 'rules':
        if config is not None and not isinstance(config, RulesConfig):
            raise ConfigError(f'mode rules takes a RulesConfig, not {type(config).__name__}')
        return RulesPlanner(config)
    if mode not in MODES:
        raise ConfigError(f'planner mode "{mode}" is unknown; choose one of {", ".join(MODES)}')
    raise ConfigError(f'planner mode "{mode}" needs a model client; configure one, or use rules')
