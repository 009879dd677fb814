# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The ``rules`` planner of the text worlds: scores of choices, no language model.

Its weights are fitted on training splits by :mod:`.text_fit` and committed with the command that
made them. It explains itself by the features that decided.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vln_core.errors import EpisodeError
from vln_core.evaluation.text_features import Choice, FeatureConfig, FeatureMaker, named
from vln_core.evaluation.text_scorer import Network, Scorer
from vln_core.evaluation.text_words import read_instruction, words_of
from vln_core.evaluation.text_world import TextPanorama, TextWalk

WEIGHTS = Path(__file__).parent / 'weights'


@dataclass(frozen=True)
class TextWeights:
    """Fitted numbers.

    Attributes:
        features: What the features read.
        choice: Scores the features of a choice.
        stop_bias: Added to the scores of stops.
        thing: Weights by which REVERIE's object is chosen.
        made_by: Command that made the file.
    """

    features: FeatureConfig
    choice: Network
    stop_bias: float = 0.0
    thing: Mapping[str, float] = field(default_factory=dict)
    made_by: str = ''

    @classmethod
    def load(cls, path: Path) -> TextWeights:
        """Read a weights file.

        Raises:
            EpisodeError: It is missing or malformed.
        """
        try:
            raw = json.loads(path.read_text(encoding='utf-8'))
            return cls(
                features=FeatureConfig(**raw['features']),
                choice=_network(raw['choice']),
                stop_bias=float(raw['stop_bias']),
                thing={str(name): float(value) for name, value in raw['thing'].items()},
                made_by=str(raw['made_by']),
            )
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise EpisodeError(
                f'weights {path} cannot be read ({error!r}); fit them by '
                'python -m vln_core.evaluation.text_fit'
            ) from error

    def save(self, path: Path) -> None:
        """Write the file: a line for each feature, in the order of the names."""
        raw = asdict(self)
        raw['thing'] = {name: round(value, 3) for name, value in self.thing.items()}
        for table in (raw['choice']['linear'], raw['choice']['hidden'], raw['thing']):
            for name in sorted(table):
                table[name] = table.pop(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(raw, indent=0)
        # the numbers of one feature stand in one line
        text = re.sub(r'\[[^\[\]]*\]', lambda found: ''.join(found[0].split()), text)
        path.write_text(text + '\n', encoding='utf-8')


def _network(raw: Mapping[str, Any]) -> Network:
    return Network(
        linear={str(name): float(value) for name, value in raw['linear'].items()},
        hidden={str(name): [float(v) for v in row] for name, row in raw['hidden'].items()},
        offset=[float(value) for value in raw['offset']],
        out=[float(value) for value in raw['out']],
    )


@dataclass(frozen=True)
class TextDecision:
    """What the planner chose and why."""

    choice: Choice
    score: float
    rationale: str


class TextPlanner:
    """Chooses by the greatest score; ties go to the choice that comes first."""

    def __init__(self, weights: TextWeights) -> None:
        self.weights = weights
        self.maker = FeatureMaker(weights.features)
        self._scorer = Scorer(weights.choice)

    def scores(self, choices: Sequence[Choice]) -> NDArray[np.float64]:
        """Return the score of each choice."""
        bias = self.weights.stop_bias * np.array([choice.is_stop for choice in choices], float)
        return self._scorer.scores([choice.features for choice in choices]) + bias

    def decide(self, walk: TextWalk, instruction: str, *, must_stop: bool = False) -> TextDecision:
        """Return the best choice; with ``must_stop`` the best stop."""
        choices = self.maker.choices(walk, read_instruction(instruction))
        choices = [choice for choice in choices if choice.is_stop or not must_stop]
        scores = self.scores(choices)
        best = int(np.argmax(scores))
        return TextDecision(choices[best], float(scores[best]), self.explain(choices[best]))

    def explain(self, choice: Choice) -> str:
        """Return the features that speak most for or against a choice, with their shares."""
        shares = self._scorer.shares(choice.features)
        parts = sorted(shares.items(), key=lambda part: (-abs(part[1]), part[0]))
        return ', '.join(f'{name} {value:+.2f}' for name, value in parts[:5])

    def choose_object(self, panorama: TextPanorama, instruction: str) -> str | None:
        """Return the id of the proposal that the words mean, None where there is none."""
        best, best_score = None, float('-inf')
        for thing in panorama.proposals:
            features = object_features(thing.name, instruction)
            score = sum(self.weights.thing.get(name, 0.0) * v for name, v in features.items())
            if score > best_score:
                best, best_score = thing.id, score
        return best


def object_features(name: str, instruction: str) -> dict[str, float]:
    """Return the features of one proposal: do the words name it, how late, as what?"""
    read = read_instruction(instruction)
    own = words_of(name)
    places = [place for place, _, word in read.words if word in own]
    raw = instruction.lower()
    features = {
        'how': named(name, read),
        'named': float(bool(places)),
        'named_whole': float(name.lower() in raw),
        'in_goal': float(any(word in read.goal for word in own)),
        'covered': sum(any(w == word for _, _, w in read.words) for word in own)
        / max(len(own), 1),
        'late': max(places, default=0) / max(read.length, 1),
        'length': len(own) / 2.0,
    }
    for word in own:
        features[f'is:{word}'] = 1.0
        for place, raw_word, other in read.words:
            if place >= read.length // 3 and raw_word:
                features[f'pair:{other}|{word}'] = 1.0
    return features


def walk_episode(
    planner: TextPlanner, walk: TextWalk, instruction: str, limit: int
) -> list[TextDecision]:
    """Walk until the planner stops or ``limit`` decisions are spent; return the decisions."""
    decisions = []
    for number in range(limit):
        # the last decision goes to the best stop known, so that no step is wasted
        decision = planner.decide(walk, instruction, must_stop=number == limit - 1)
        decisions.append(decision)
        walk.move_to(decision.choice.viewpoint)
        if decision.choice.is_stop:
            break
    return decisions
