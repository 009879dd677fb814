# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""System 2 as a benchmark tries it: modes, models, ablations, and what a decision costs.

``hide`` takes parts away that a planner would read: the map image, action history, recall, the
depth tool. ``probe`` renders the prompt of a model mode at each decision of ``rules`` and
counts its tokens, so that the cost of an ablation is known where no model is at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from vln_core.context import PlanningContext, ProgressItem
from vln_core.errors import ConfigError
from vln_core.memory.encoders import make_encoder
from vln_core.memory.tokens import image_tokens, text_tokens
from vln_core.ports import Brain
from vln_core.system2.brain import make_brain
from vln_core.system2.demonstrations import (
    Demonstration,
    DemonstrationStore,
    load_demonstrations,
)
from vln_core.system2.messages import Message, Reply
from vln_core.system2.model_client import ModelClient
from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig
from vln_core.system2.model_profile import ModelProfile
from vln_core.system2.prompting import config_folder
from vln_core.system2.record import DecisionRecord

HIDEABLE = ('map', 'history', 'recall', 'depth')
DEMONSTRATIONS = ('none', 'room type', 'true room type', 'instruction', 'first step')


@dataclass
class Meter:
    """What one episode has cost so far."""

    prompt_tokens: list[int] = field(default_factory=list)
    reply_tokens: int = 0
    cost: float = 0.0
    calls: int = 0
    probed: dict[str, list[int]] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Return the columns of a result row; empty where nothing was counted."""
        row: dict[str, Any] = {}
        if self.prompt_tokens:
            total = float(sum(self.prompt_tokens))
            row = {
                'prompt_tokens': total,
                'tokens_per_decision': total / len(self.prompt_tokens),
                'reply_tokens': float(self.reply_tokens),
                'cost': self.cost,
                'calls': float(self.calls),
            }
        if self.probed:
            row['probed_tokens'] = {name: list(counts) for name, counts in self.probed.items()}
        return row


@dataclass(frozen=True)
class Probe:
    """A mode whose prompts are rendered and counted, though nobody is asked.

    Attributes:
        planner: Renders them.
        hide: Of ``HIDEABLE``.
        demonstrations: Told the true room type of each episode's destination.
    """

    planner: ModelPlanner
    hide: frozenset[str] = frozenset()
    demonstrations: VariedDemonstrations | None = None


class Agent:
    """A planner with its meter and what is hidden from it; itself a Brain."""

    def __init__(
        self,
        brain: Brain,
        hide: Sequence[str] = (),
        *,
        client: ModelClient | None = None,
        probe: ModelPlanner | None = None,
        probes: Mapping[str, Probe] | None = None,
        demonstrations: VariedDemonstrations | None = None,
    ) -> None:
        """Wrap a planner.

        Args:
            brain: Who decides.
            hide: Of ``HIDEABLE``.
            client: Whose usage is read.
            probe: Whose prompts are counted.
            probes: Others whose prompts are counted, by name.
            demonstrations: Told the true room type of each episode's destination.
        """
        self._brain, self._hide = brain, _hideable(hide)
        self._probes = dict(probes or {})
        self._client, self._probe = client, probe
        self._demonstrations = demonstrations
        self.meter = Meter()

    def begin(self, destination_room: str = '') -> None:
        """Start an episode: count anew.

        Args:
            destination_room: Type of the room the goal is in, '' where the scene does not say;
                read by the ablation 'true room type' alone.
        """
        self.meter = Meter()
        for told in (self._demonstrations, *(p.demonstrations for p in self._probes.values())):
            if told is not None:
                told.destination_room = destination_room

    def parse(self, instruction: str) -> list[ProgressItem]:
        """See :class:`vln_core.ports.Brain`."""
        return self._brain.parse(instruction)

    def decide(self, context: PlanningContext) -> DecisionRecord:
        """Decide on what is left of the context; count what it takes."""
        for name, probe in self._probes.items():
            prompt = probe.planner.prompt(hidden(context, probe.hide))
            self.meter.probed.setdefault(name, []).append(count_tokens(prompt))
        context = hidden(context, self._hide)
        if self._probe is not None:
            self.meter.prompt_tokens.append(count_tokens(self._probe.prompt(context)))
        before = replace(self._client.usage) if self._client is not None else None
        record = self._brain.decide(context)
        if self._client is not None and before is not None:
            after = self._client.usage
            self.meter.prompt_tokens.append(after.prompt_tokens - before.prompt_tokens)
            self.meter.reply_tokens += after.reply_tokens - before.reply_tokens
            self.meter.cost += after.cost - before.cost
            self.meter.calls += after.calls - before.calls
        return record


def _hideable(names: Sequence[str]) -> frozenset[str]:
    unknown = sorted(set(names) - set(HIDEABLE))
    if unknown:
        raise ConfigError(f'cannot hide {", ".join(unknown)}; choose from {", ".join(HIDEABLE)}')
    return frozenset(names)


def hidden(context: PlanningContext, hide: frozenset[str]) -> PlanningContext:
    """Return the context without what is hidden; depth becomes unknown for the depth tool."""
    if 'map' in hide:
        context = replace(context, map_image=None)
    if 'history' in hide:
        context = replace(context, history=())
    if 'recall' in hide:
        context = replace(context, recall=None)
    if 'depth' in hide:
        views = tuple(
            replace(view, depth=np.full_like(view.depth, np.nan))
            for view in context.panorama.views
        )
        context = replace(context, panorama=replace(context.panorama, views=views))
    return context


def count_tokens(messages: Sequence[Message]) -> int:
    """Return the tokens of a prompt by the one formula: text and pictures."""
    total = 0
    for message in messages:
        total += text_tokens(message.text)
        for picture in message.pictures:
            height, width = picture.rgb.shape[:2]
            total += image_tokens(height, width)
    return total


class _NoModel:
    """Stands where prompts are only rendered; nothing is ever asked of it."""

    def begin_episode(self, name: str) -> None:
        """Nothing to begin."""

    def chat(self, messages: list[Message], **options: Any) -> Reply:
        """Refuse: a probe renders prompts and asks nobody."""
        raise ConfigError('a probe has no model to ask')


class VariedDemonstrations:
    """MC-GPT's ablations of the demonstration: how it is queried, or its first step only.

    Attributes:
        destination_room: True type of the destination's room, for 'true room type'.
    """

    def __init__(self, examples: Sequence[Demonstration], how: str, encoder: str) -> None:
        """Prepare the examples.

        Args:
            examples: To choose from.
            how: Of ``DEMONSTRATIONS``, but 'none'.
            encoder: Of sentences, see :func:`vln_core.memory.encoders.make_encoder`.
        """
        self._how = how
        self.destination_room = ''
        self._examples = list(examples)
        if how == 'first step':
            self._examples = [replace(e, steps=e.steps[:1]) for e in self._examples]
        self._encoder = make_encoder(encoder)
        self._store = DemonstrationStore(self._examples, self._encoder)

    def query(self, instruction: str) -> str:
        """Return the text of the example for an instruction, '' where there is none."""
        if self._how == 'true room type':
            return self._store.query(self.destination_room or instruction)
        if self._how != 'instruction':
            return self._store.query(instruction)
        if not self._examples:
            return ''
        table = self._encoder.encode([e.instruction for e in self._examples])
        best = int(np.argmax(table @ self._encoder.encode([instruction])[0]))
        return self._examples[best].text()


def make_agent(settings: Mapping[str, Any]) -> Agent:
    """Make the agent that a preset describes.

    Args:
        settings: 'planner' (a mode), 'model' (values of a ModelProfile), 'hide', 'probe' (a mode
            whose prompts are counted), 'demonstrations' (of ``DEMONSTRATIONS``),
            'demonstrations_folder' (default: config/demonstrations), 'encoder'; 'probes': more
            modes whose prompts are counted, settings by name.

    Raises:
        ConfigError: A mode with a model has none, or a setting is unknown.
    """
    mode = str(settings['planner'])
    hide = list(settings.get('hide', ()))
    examples = _demonstrations(settings)
    if mode == 'rules':
        probe = _prompts_of(settings, examples) if settings.get('probe') else None
        return Agent(
            make_brain('rules'), hide, probe=probe, probes=_probes(settings.get('probes', {})),
            demonstrations=examples,
        )  # fmt: skip
    values = settings.get('model') or {}
    if not values.get('model'):
        raise ConfigError(
            f'planner "{mode}" needs a model: --model FILE, a YAML file with model, base_url and '
            'key_variable'
        )
    unknown = sorted(set(values) - {entry.name for entry in fields(ModelProfile)})
    if unknown:
        raise ConfigError(f'a model profile has no setting {", ".join(unknown)}')
    client = ModelClient(ModelProfile(**values), seed=int(settings.get('seed', 0)))
    config = ModelPlannerConfig(mode=mode, native_tools=client.profile.native_tools)
    brain = make_brain(mode, config, client, examples)
    return Agent(brain, hide, client=client, demonstrations=examples)


def _prompts_of(
    settings: Mapping[str, Any], examples: VariedDemonstrations | None
) -> ModelPlanner:
    return ModelPlanner(_NoModel(), ModelPlannerConfig(mode=str(settings['probe'])), examples)


def _probes(listed: Mapping[str, Mapping[str, Any]]) -> dict[str, Probe]:
    made = {}
    for name, settings in listed.items():
        examples = _demonstrations(settings)
        hide = _hideable(settings.get('hide', ()))
        made[name] = Probe(_prompts_of(settings, examples), hide, examples)
    return made


def _demonstrations(settings: Mapping[str, Any]) -> VariedDemonstrations | None:
    how = str(settings.get('demonstrations', 'none'))
    if how not in DEMONSTRATIONS:
        raise ConfigError(f'demonstrations "{how}": choose one of {", ".join(DEMONSTRATIONS)}')
    if how == 'none':
        return None
    named = settings.get('demonstrations_folder')
    folder = config_folder('demonstrations', Path(named) if named else None)
    examples = load_demonstrations(folder)
    if not examples:
        raise ConfigError(
            f'{folder} holds no demonstrations: ./vln demonstrations mine makes them'
        )
    return VariedDemonstrations(examples, how, str(settings.get('encoder', 'minilm')))
