# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Self-contained HTML reports: one run with every decision, and several runs compared."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from vln_core.errors import ConfigError
from vln_core.evaluation import charts
from vln_core.evaluation.benchmark import Row
from vln_core.evaluation.runner import failures, read_rows, summary

_FOLDER = Path(__file__).parent
_BINS = 6
RATES = frozenset(('SR', 'OSR', 'SPL', 'RGS', 'RGSPL', 'nDTW', 'SDTW', 'SR_final'))


@dataclass(frozen=True)
class Run:
    """A run read back from its folder."""

    name: str
    head: Mapping[str, Any]
    rows: tuple[Row, ...]
    seconds: float | None


def read_run(folder: Path) -> Run:
    """Read a run, complete or not.

    Raises:
        ConfigError: The folder holds no run.
    """
    try:
        head = json.loads((folder / 'run.json').read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ConfigError(f'{folder} holds no run: {error}') from error
    rows = {row['id']: row for row in read_rows(folder / 'rows.jsonl')}
    seconds = None
    if (folder / 'result.json').is_file():
        content = json.loads((folder / 'result.json').read_text(encoding='utf-8'))
        seconds = float(content['seconds'])
    return Run(folder.resolve().name, head, tuple(rows[key] for key in sorted(rows)), seconds)


def facts_of(run: Run) -> dict[str, str]:
    """Return the provenance as texts for people."""
    head = run.head
    facts = {
        name: str(head.get(name, ''))
        for name in (
            'preset', 'planner', 'model', 'seed', 'commit', 'config', 'episode set',
        )
    }  # fmt: skip
    facts['episodes'] = f'{len(run.rows)} of {head.get("episodes", "?")}'
    facts |= {str(name): str(value) for name, value in head.get('facts', {}).items()}
    facts |= {str(name): str(value) for name, value in head.get('versions', {}).items()}
    if run.seconds is not None:
        facts['wall time'] = f'{run.seconds:.0f} s'
    return facts


def shown(name: str, value: float | None) -> str:
    """Return a measured value as people read it."""
    if value is None or not math.isfinite(value):
        return ''
    return f'{100 * value:.1f} %' if name in RATES else f'{value:.2f}'


def success_by_length(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return (length of the reference path in metres, success rate) in bins of equal count."""
    pairs = sorted(
        (_length(row['reference']), float(row['SR'])) for row in rows if row.get('reference')
    )
    if not pairs:
        return []
    parts = np.array_split(np.array(pairs), min(_BINS, len(pairs)))
    return [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in parts]


def context_growth(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return (decision, mean characters of context) over all episodes that got that far."""
    sizes: defaultdict[int, list[float]] = defaultdict(list)
    for row in rows:
        for number, decision in enumerate(row.get('decisions', ())):
            if 'memory_characters' in decision:
                sizes[number].append(
                    float(decision['memory_characters'] + decision['window_characters'])
                )
    return [(float(number), float(np.mean(sizes[number]))) for number in sorted(sizes)]


def _length(points: Sequence[Sequence[float]]) -> float:
    return float(np.linalg.norm(np.diff(np.array(points, float), axis=0), axis=1).sum())


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True
    )
    environment.globals['shown'] = shown
    environment.globals['plan'] = lambda row: _plan(row)
    return environment


def _plan(row: Row) -> str:
    poses = [d['pose'] for d in row.get('decisions', ()) if 'pose' in d]
    return charts.plan(row.get('positions', ()), row.get('reference', ()), poses)


def write_run_report(run: Run, path: Path, pictures: Callable[[Row], str] | None = None) -> None:
    """Write one run as HTML.

    Args:
        run: From :func:`read_run`.
        path: File to write.
        pictures: Returns a picture of an episode's path over the building's plan as a data URL,
            or ''; None draws the paths alone.
    """
    rows = run.rows
    context = context_growth(rows)
    text = (
        _environment()
        .get_template('run_report.html.j2')
        .render(
            title=f'{run.head.get("preset", run.name)}: {len(rows)} episodes',
            facts=facts_of(run),
            summary=summary(list(rows)),
            failures=charts.bars(failures(rows), 'How episodes ended'),
            by_length=charts.lines(
                {'SR': success_by_length(rows)}, 'Success against path length',
                'reference path, m', 'SR', y_top=1.0,
            ),
            growth=charts.lines(
                {'characters': context}, 'Growth of context', 'decision', 'characters of memory'
            ),
            rows=rows,
            pictures=pictures or (lambda row: ''),
        )
    )  # fmt: skip
    path.write_text(text, encoding='utf-8')


def write_comparison(runs: Sequence[Run], path: Path) -> None:
    """Write several runs beside each other as HTML, CSV and JSON of the same name.

    Raises:
        ConfigError: There are fewer than two runs.
    """
    if len(runs) < 2:
        raise ConfigError(f'{len(runs)} run is nothing to compare: name at least two folders')
    tables = {run.name: summary(list(run.rows)) for run in runs}
    names = [name for name in next(iter(tables.values()))]
    names += [n for table in tables.values() for n in table if n not in names]
    sets = {str(run.head.get('episode set')) for run in runs}
    warning = (
        ''
        if len(sets) == 1
        else 'These runs are over different sets of episodes: their figures are not comparable.'
    )
    text = (
        _environment()
        .get_template('comparison.html.j2')
        .render(
            title=f'Comparison of {len(runs)} runs',
            warning=warning,
            runs=[(run, tables[run.name], facts_of(run)) for run in runs],
            names=list(dict.fromkeys(names)),
            paired=paired_differences(runs),
            by_length=charts.lines(
                {run.name: success_by_length(run.rows) for run in runs},
                'Success against path length', 'reference path, m', 'SR', y_top=1.0,
            ),
            failures=[
                (run.name, charts.bars(failures(run.rows), f'How episodes of {run.name} ended'))
                for run in runs
            ],
        )
    )  # fmt: skip
    path.write_text(text, encoding='utf-8')
    content = {run.name: {**run.head, 'summary': tables[run.name]} for run in runs}
    path.with_suffix('.json').write_text(json.dumps(content, indent=1) + '\n', encoding='utf-8')
    with path.with_suffix('.csv').open('w', newline='', encoding='utf-8') as stream:
        writer = csv.writer(stream, lineterminator='\n')
        writer.writerow(['run', 'metric', 'mean', 'low', 'high'])
        for name, table in tables.items():
            for metric, entry in table.items():
                writer.writerow([name, metric, entry['mean'], entry['low'], entry['high']])


def paired_differences(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return, against the first run, the mean difference in SR over common episodes."""
    from vln_core.evaluation.metrics import bootstrap_interval

    first = {row['id']: row for row in runs[0].rows}
    found = []
    for run in runs[1:]:
        values = [
            float(row['SR']) - float(first[row['id']]['SR'])
            for row in run.rows
            if row['id'] in first
        ]
        if values:
            low, high = bootstrap_interval(values)
            found.append(
                {'run': run.name, 'episodes': len(values), 'mean': float(np.mean(values)),
                 'low': low, 'high': high}
            )  # fmt: skip
    return found
