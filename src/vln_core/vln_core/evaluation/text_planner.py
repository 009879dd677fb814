# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The ``rules`` planner of the text worlds: linear scores of choices, no model.

Its weights are fitted on training splits by :mod:`.text_fit` and committed with the command that
made them. It explains itself by the features that decided.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from vln_core.errors import EpisodeError
from vln_core.evaluation.text_features import Choice, FeatureConfig, FeatureMaker, named
from vln_core.evaluation.text_words import read_instruction, words_of
from vln_core.evaluation.text_world import TextPanorama, TextWalk

WEIGHTS = Path(__file__).parent / 'weights'


@dataclass(frozen=True)
class TextWeights:
    """Fitted numbers.

    Attributes:
        features: What the features read.
        choice: Weight of each feature of a choice.
        stop_bias: Added to the scores of stops.
        thing: Weights by which REVERIE's object is chosen.
        made_by: Command that made the file.
    """

    features: FeatureConfig
    choice: Mapping[str, float]
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
                choice={str(name): float(value) for name, value in raw['choice'].items()},
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
        """Write the file, one weight a line, in the order of the names."""
        raw = asdict(self)
        for part in ('choice', 'thing'):
            raw[part] = {name: round(value, 3) for name, value in sorted(raw[part].items())}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(raw, indent=0) + '\n', encoding='utf-8')


@dataclass(frozen=True)
class TextDecision:
    """What the planner chose and why."""

    choice: Choice
    score: float
    rationale: str


class LinearTextPlanner:
    """Chooses by the greatest linear score; ties go to the choice that comes first."""

    def __init__(self, weights: TextWeights) -> None:
        self.weights = weights
        self.maker = FeatureMaker(weights.features)

    def score(self, choice: Choice) -> float:
        """Return the score of one choice."""
        table = self.weights.choice
        score = sum(table.get(name, 0.0) * value for name, value in choice.features.items())
        return score + self.weights.stop_bias if choice.is_stop else score

    def decide(self, walk: TextWalk, instruction: str, *, must_stop: bool = False) -> TextDecision:
        """Return the best choice; with ``must_stop`` the best stop."""
        choices = self.maker.choices(walk, read_instruction(instruction))
        choices = [choice for choice in choices if choice.is_stop or not must_stop]
        scores = [self.score(choice) for choice in choices]
        best = max(range(len(choices)), key=lambda number: (scores[number], -number))
        return TextDecision(choices[best], scores[best], self.explain(choices[best]))

    def explain(self, choice: Choice) -> str:
        """Return the features that speak most for or against a choice, with their shares."""
        parts = [
            (self.weights.choice.get(name, 0.0) * value, name)
            for name, value in choice.features.items()
        ]
        parts.sort(key=lambda part: (-abs(part[0]), part[1]))
        return ', '.join(f'{name} {value:+.2f}' for value, name in parts[:5])

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
    planner: LinearTextPlanner, walk: TextWalk, instruction: str, limit: int
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
