# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The table of ablations: which presets drive, which only render prompts, and what came out.

Presets that differ only in what a model would read (``READ_BY_MODELS``) share one set of drives by
``rules``: at each decision the prompts of all of them are rendered and counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vln_core.evaluation.metrics import bootstrap_interval, mean_finite

READ_BY_MODELS = ('probe', 'hide', 'demonstrations', 'demonstrations_folder', 'encoder')
"""Settings that ``rules`` does not read."""
NEEDS_MODEL = 'needs_model'
"""Setting of presets whose success says nothing without a model."""


@dataclass(frozen=True)
class Group:
    """Presets that share their drives.

    Attributes:
        settings: Of the run; its 'probes' count the prompts of each preset.
        presets: Names, in the order of the table.
    """

    settings: Mapping[str, Any]
    presets: tuple[str, ...]


def groups(presets: Mapping[str, Mapping[str, Any]]) -> list[Group]:
    """Sort presets into runs, in the order of their first member."""
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for name, settings in presets.items():
        ignored = (*READ_BY_MODELS, NEEDS_MODEL)
        shared = {key: value for key, value in settings.items() if key not in ignored}
        key = json.dumps(shared, sort_keys=True)
        probes = found.setdefault(key, (shared, {}))[1]
        probes[name] = {key: settings[key] for key in READ_BY_MODELS if key in settings}
    return [
        Group({**shared, 'probes': probes}, tuple(probes)) for shared, probes in found.values()
    ]


@dataclass(frozen=True)
class AblationRow:
    """One line of the table; rates as fractions, None where a model is needed."""

    preset: str
    episodes: int
    success: tuple[float, float, float] | None
    spl: tuple[float, float, float] | None
    tokens_per_decision: float
    tokens_per_episode: float


def table(
    group: Group, presets: Mapping[str, Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[AblationRow]:
    """Return the lines of one run.

    Args:
        group: The run.
        presets: All presets, for what needs a model.
        rows: Of the run's episodes.
    """
    made = []
    for name in group.presets:
        counted = [row['probed_tokens'][name] for row in rows if 'probed_tokens' in row]
        each = [tokens for counts in counted for tokens in counts]
        needs_model = bool(presets[name].get(NEEDS_MODEL))
        made.append(
            AblationRow(
                name,
                len(rows),
                None if needs_model else _with_interval(rows, 'SR'),
                None if needs_model else _with_interval(rows, 'SPL'),
                float(np.mean(each)) if each else 0.0,
                float(np.mean([sum(counts) for counts in counted])) if counted else 0.0,
            )
        )
    return made


def _with_interval(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[float, float, float]:
    values = [float(row[name]) for row in rows if row.get(name) is not None]
    return (mean_finite(values), *bootstrap_interval(values))


def as_markdown(lines: Sequence[AblationRow]) -> str:
    """Return the table for a README, rates in per cent with 95 % intervals."""
    text = [
        '| preset | episodes | SR | SPL | prompt tokens / decision | / episode |',
        '|---|---|---|---|---|---|',
    ]
    for line in lines:
        text.append(
            f'| {line.preset} | {line.episodes} | {_rate(line.success)} | {_rate(line.spl)} | '
            f'{line.tokens_per_decision:,.0f} | {line.tokens_per_episode:,.0f} |'
        )
    return '\n'.join(text) + '\n'


def _rate(value: tuple[float, float, float] | None) -> str:
    if value is None:
        return 'needs a model'
    mean, low, high = (100.0 * part for part in value)
    return f'{mean:.1f} ({low:.1f} .. {high:.1f})'
