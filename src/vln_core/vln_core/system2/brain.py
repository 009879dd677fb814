# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Makes System 2 by the name of its mode, and keeps it going when the model does not answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from vln_core.context import PlanningContext, ProgressItem
from vln_core.errors import ConfigError
from vln_core.ports import Brain
from vln_core.system2.messages import ChatModel
from vln_core.system2.model_errors import ModelError
from vln_core.system2.model_planner import Demonstrations, ModelPlanner, ModelPlannerConfig
from vln_core.system2.record import DecisionRecord
from vln_core.system2.rules import RulesConfig, RulesPlanner

_logger = logging.getLogger(__name__)
MODES = ('ham', 'agentic', 'mcgpt', 'fused', 'rules')
OUTAGES = ('fail', 'wait', 'rules')


@dataclass(frozen=True)
class OutageConfig:
    """What to do while the model cannot be reached.

    Attributes:
        policy: 'fail': end the episode; 'wait': stand still and try again; 'rules': let the rules
            planner decide until the model is back.
        patience: Longest time of standing still for one decision, seconds.
        period: Time between attempts, seconds.
    """

    policy: str = 'fail'
    patience: float = 120.0
    period: float = 5.0

    def __post_init__(self) -> None:
        if self.policy not in OUTAGES:
            raise ConfigError(
                f'outage.policy = "{self.policy}": choose one of {", ".join(OUTAGES)}'
            )
        if not (self.patience >= 0.0 and self.period > 0.0):
            raise ConfigError('outage.patience must be >= 0 s and outage.period > 0 s')


class ResilientBrain:
    """A model planner with a policy for the time in which its model is away."""

    def __init__(
        self,
        planner: ModelPlanner,
        outage: OutageConfig,
        *,
        rules: RulesPlanner | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap a planner."""
        self._planner = planner
        self._outage = outage
        self._rules = rules or RulesPlanner()
        self._sleep = sleep
        self._clock = clock

    def parse(self, instruction: str) -> list[ProgressItem]:
        """See :class:`ModelPlanner`."""
        return self._planner.parse(instruction)

    def decide(self, context: PlanningContext) -> DecisionRecord:
        """Ask the model; on an outage follow the policy.

        Raises:
            PlannerError: The model stayed away and the policy is not ``rules``.
        """
        started = self._clock()
        while True:
            try:
                return self._planner.decide(context)
            except ModelError as error:
                if self._outage.policy == 'rules':
                    _logger.warning('%s; the rules planner decides', error)
                    record = self._rules.decide(context)
                    told = f'[rules, as the model is away: {error.kind}] {record.rationale}'
                    return record.model_copy(update={'rationale': told[:1900]})
                waited = self._clock() - started
                is_hopeless = not error.is_transient and error.kind != 'timeout'
                if self._outage.policy == 'fail' or is_hopeless or waited >= self._outage.patience:
                    raise
                _logger.warning('%s; standing still, %.0f s so far', error, waited)
                self._sleep(self._outage.period)


def make_brain(
    mode: str = 'rules',
    config: RulesConfig | ModelPlannerConfig | None = None,
    client: ChatModel | None = None,
    demonstrations: Demonstrations | None = None,
    outage: OutageConfig | None = None,
) -> Brain:
    """Return a planner.

    Args:
        mode: One of ``MODES``.
        config: :class:`RulesConfig` for ``rules``, else :class:`ModelPlannerConfig`; or None.
        client: Model client of the other modes.
        demonstrations: Examples for ``mcgpt`` and ``fused``; None: without.
        outage: What to do while the model is away; None: fail.

    Raises:
        ConfigError: The mode is unknown, or its model client is missing.
    """
    if mode == 'rules':
        if config is not None and not isinstance(config, RulesConfig):
            raise ConfigError(f'mode rules takes a RulesConfig, not {type(config).__name__}')
        return RulesPlanner(config)
    if mode not in MODES:
        raise ConfigError(f'planner mode "{mode}" is unknown; choose one of {", ".join(MODES)}')
    if client is None:
        raise ConfigError(
            f'planner mode "{mode}" needs a model client; configure one, or use rules'
        )
    if config is None:
        config = ModelPlannerConfig(mode=mode)
    if not isinstance(config, ModelPlannerConfig) or config.mode != mode:
        raise ConfigError(f'mode {mode} takes a ModelPlannerConfig of the same mode')
    planner = ModelPlanner(client, config, demonstrations)
    # A client's rest ends at once where the operator cancels.
    rest = getattr(client, 'rest', time.sleep)
    return ResilientBrain(planner, outage or OutageConfig(), sleep=rest)
