# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Reasoning examples for a prompt (MC-GPT III-D): a folder of files that people read and edit.

One JSON file an example: the instruction, the steps with what was known, what was chosen and why.
The example is chosen by the type of the destination's room.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vln_core.errors import ConfigError
from vln_core.memory.encoders import SentenceEncoder
from vln_core.vocabulary import canonical_room, room_names

MAX_CHARACTERS = 2900
_WORD = re.compile(r'[a-z]+')


@dataclass(frozen=True)
class DemonstrationStep:
    """One choice of the example.

    Attributes:
        known: What the map or the views told, in short.
        choice: What was chosen.
        explanation: Why.
    """

    known: str
    choice: str
    explanation: str


@dataclass(frozen=True)
class Demonstration:
    """A whole walk with its chain of thought.

    Attributes:
        room_type: Canonical type of the destination's room.
        type_source: 'scene': the scene says so; 'instruction': read from its room noun.
        instruction: Words.
        steps: Choices in order.
        explained_by: 'rules' or the name of a model.
        source: Where the walk comes from.
    """

    room_type: str
    type_source: str
    instruction: str
    steps: tuple[DemonstrationStep, ...]
    explained_by: str
    source: str

    def text(self, limit: int = MAX_CHARACTERS) -> str:
        """Return the example as a prompt shows it.

        Args:
            limit: Characters it may take; what was known is shortened, equally in all steps, so
                that every choice and its reason stay.
        """
        own = sum(len(step.choice) + len(step.explanation) + 60 for step in self.steps)
        spare = limit - own - len(self.instruction) - 60
        share = max(40, spare // max(1, len(self.steps)))
        lines = [f'Destination room: {self.room_type}', f'Instruction: {self.instruction}']
        for number, step in enumerate(self.steps, 1):
            lines.append(f'Step {number}. Known: {_shortened(step.known, share)}')
            lines.append(f'  Thought: {step.explanation}')
            lines.append(f'  Choice: {step.choice}')
        return '\n'.join(lines)

    def save(self, folder: Path) -> Path:
        """Write the example to its file in a folder; one file a room type."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f'{self.room_type.replace(" ", "_")}.json'
        path.write_text(json.dumps(asdict(self), indent=2) + '\n', encoding='utf-8')
        return path


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 4].rsplit(' ', 1)[0] + ' ...'


def load_demonstrations(folder: Path) -> list[Demonstration]:
    """Return the examples of a folder in order of room type.

    Raises:
        ConfigError: A file is malformed; names it.
    """
    found = []
    for path in sorted(folder.glob('*.json')):
        try:
            raw = json.loads(path.read_text(encoding='utf-8'))
            steps = tuple(DemonstrationStep(**step) for step in raw.pop('steps'))
            example = Demonstration(steps=steps, **raw)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(f'demonstration {path} is malformed: {error}') from error
        if canonical_room(example.room_type) != example.room_type:
            raise ConfigError(f'demonstration {path}: "{example.room_type}" is no known room type')
        found.append(example)
    return found


def rooms_named(instruction: str) -> list[str]:
    """Return the canonical types of the room nouns of an instruction, in order of mention."""
    words = _WORD.findall(instruction.lower())
    names = room_names()
    found: list[str] = []
    start = 0
    while start < len(words):
        for length in (3, 2, 1):
            name = names.get(' '.join(words[start : start + length]))
            if name is not None:
                found.append(name)
                start += length
                break
        else:
            start += 1
    return found


def first_room(instruction: str) -> str:
    """Return the canonical type of the first room noun of an instruction, or ''."""
    return next(iter(rooms_named(instruction)), '')


class DemonstrationStore:
    """Finds the example for an instruction."""

    def __init__(self, examples: Sequence[Demonstration], encoder: SentenceEncoder) -> None:
        """Embed the room types of the examples."""
        self._examples = list(examples)
        self._encoder = encoder
        types = [e.room_type for e in self._examples]
        self._types = encoder.encode(types) if types else np.zeros((0, 1), np.float32)

    def find(self, instruction: str) -> Demonstration | None:
        """Return the example whose room type is nearest to the instruction's.

        The query is the first room noun of the instruction; without one, all of its words.
        """
        if not self._examples:
            return None
        query = self._encoder.encode([first_room(instruction) or instruction])[0]
        # argmax takes the first of equals, so equal queries give equal examples
        return self._examples[int(np.argmax(self._types @ query))]

    def query(self, instruction: str) -> str:
        """Return the text of the example, or '' where there is none."""
        found = self.find(instruction)
        return '' if found is None else found.text()
