# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the System 2 node, and the planner that they choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vln_core.errors import ConfigError
from vln_core.memory.encoders import make_encoder
from vln_core.navigator import NavigatorConfig
from vln_core.ports import Brain
from vln_core.system2.brain import OutageConfig, make_brain
from vln_core.system2.demonstrations import DemonstrationStore, load_demonstrations
from vln_core.system2.messages import ChatModel
from vln_core.system2.model_client import ModelClient, ReplayModel
from vln_core.system2.model_planner import ModelPlannerConfig
from vln_core.system2.model_profile import Budget, ModelProfile
from vln_core.system2.prompting import config_folder
from vln_core.system2.transcript import Transcript
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class System2Parameters:
    """Parameters of the System 2 node."""

    planner: str = parameter(
        'rules',
        "Mode of the planner: 'rules' needs no model; 'ham', 'agentic', 'mcgpt' and 'fused' ask "
        "the one of 'model.*', with the key of the environment variable model.key_variable.",
    )
    with_map_image: bool = parameter(
        False,
        'Whether the map image is made for mode rules and mcgpt too; the others are shown it.',
    )
    prompts: str = parameter('', "Folder of prompt files; '': the stack's own, config/prompts.")
    demonstrations: str = parameter(
        'config',
        "Folder of examples for 'mcgpt' and 'fused' (./vln demonstrations mine); 'config': the "
        "stack's own, config/demonstrations; '': none.",
    )
    encoder: str = parameter(
        'minilm',
        "Sentence encoder that chooses the example: 'minilm', 'transformers:FOLDER', 'words'.",
    )
    max_calls: int = parameter(
        8, 'Requests to the model that one decision may take where tools are offered.', minimum=1
    )
    max_repairs: int = parameter(
        1, 'Unusable answers of one decision that are sent back with the reason.', minimum=0
    )
    transcript: str = parameter('', "Folder for a transcript of the model's answers; '': none.")
    replay: str = parameter(
        '',
        "Folder of a transcript that answers in place of the model, call by call; '': none.",
    )
    replay_is_strict: bool = parameter(
        False, 'Whether a prompt that differs from the recorded one fails the replay.'
    )
    navigator: NavigatorConfig = field(default_factory=NavigatorConfig)
    model: ModelProfile = field(default_factory=ModelProfile)
    budget: Budget = field(default_factory=Budget)
    outage: OutageConfig = field(default_factory=OutageConfig)

    @property
    def shows_map(self) -> bool:
        """Whether the map image is to be made."""
        has_pictures = self.planner in ('ham', 'agentic', 'fused') and self.model.has_vision
        return self.with_map_image or has_pictures


def make_planner(config: System2Parameters, model: ChatModel | None) -> Brain:
    """Return the planner that the parameters choose.

    Args:
        config: Parameters.
        model: What :func:`make_model` returned for them.

    Raises:
        ConfigError: The mode is unknown, or asks for a model and none is named.
    """
    if config.planner == 'rules':
        return make_brain('rules')
    limits = ModelPlannerConfig(
        mode=config.planner,
        prompts=Path(config.prompts) if config.prompts else None,
        max_calls=config.max_calls,
        max_repairs=config.max_repairs,
        native_tools=config.model.native_tools,
        has_vision=config.model.has_vision,
    )
    examples = _demonstrations(config)
    return make_brain(config.planner, limits, model, examples, config.outage)


def make_model(
    config: System2Parameters,
    is_cancelled: Callable[[], bool],
    transcript: Transcript | None = None,
) -> ChatModel | None:
    """Return the model that the planner asks, None where it asks none.

    Args:
        config: Parameters.
        is_cancelled: Asked while waiting for a reply.
        transcript: Where exchanges go; None: into the folder of the parameters.

    Raises:
        ConfigError: The mode asks a model, and none is named.
    """
    if config.planner == 'rules':
        return None
    if config.replay:
        return ReplayModel(Path(config.replay), is_strict=config.replay_is_strict)
    if not config.model.model:
        raise ConfigError(
            f"planner mode '{config.planner}' asks a model: name one in system2's parameter "
            'model.model and its endpoint in model.base_url, or choose planner:=rules'
        )
    if transcript is None and config.transcript:
        transcript = Transcript(Path(config.transcript))
    return ModelClient(
        config.model, budget=config.budget, transcript=transcript, is_cancelled=is_cancelled
    )


def usage_text(model: ChatModel | None, budget: Budget) -> dict[str, str]:
    """Return what the episode's model calls used, of how much, for the diagnostics."""
    usage = getattr(model, 'usage', None)
    if usage is None:
        return {}
    shown = {'model calls': f'{usage.calls}, {usage.failed_calls} failed'}
    for name, (value, limit) in usage.against(budget).items():
        left = f', {max(0.0, limit - value):g} left' if limit else ''
        shown[f'model {name}'] = f'{value:g}{left}'
    return shown


def _demonstrations(config: System2Parameters) -> DemonstrationStore | None:
    if not config.demonstrations or config.planner not in ('mcgpt', 'fused'):
        return None
    is_own = config.demonstrations == 'config'
    folder = config_folder('demonstrations', None if is_own else Path(config.demonstrations))
    return DemonstrationStore(load_demonstrations(folder), make_encoder(config.encoder))
