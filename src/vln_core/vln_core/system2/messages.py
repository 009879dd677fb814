# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Chat messages and replies as the planners see them, independent of the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture in a prompt with its caption."""

    caption: str
    rgb: NDArray[np.uint8]


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants; ``arguments`` is its JSON text as it came."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, eq=False)
class Message:
    """One message of a dialogue.

    Attributes:
        role: 'system', 'user', 'assistant' or 'tool'.
        text: Words.
        pictures: Pictures that follow the words.
        tool_calls: Of an assistant.
        tool_call_id: Which call a tool answers.
    """

    role: str
    text: str
    pictures: tuple[Picture, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ''


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        text: Words; may be empty where tools are called.
        tool_calls: Tools it wants.
        finish: 'stop', 'length', 'tool_calls' ...
        prompt_tokens: As counted by the endpoint, or by the stack's formula where it did not say.
        reply_tokens: As above.
        model: Name of the model that answered.
        seconds: Waiting time with retries.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = 'stop'
    prompt_tokens: int = 0
    reply_tokens: int = 0
    model: str = ''
    seconds: float = 0.0


@dataclass(frozen=True)
class ToolSpec:
    """A tool offered to a model: JSON schema of its parameters."""

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)


class ChatModel(Protocol):
    """Anything that answers a dialogue."""

    def begin_episode(self, name: str) -> None:
        """Start counting budgets anew."""
        ...

    def chat(
        self,
        messages: list[Message],
        *,
        tools: tuple[ToolSpec, ...] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """Return the reply.

        Raises:
            ModelError: No usable reply.
            BudgetSpent: The episode's budget is used up.
            Cancelled: The episode was cancelled while waiting.
        """
        ...
