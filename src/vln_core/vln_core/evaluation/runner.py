# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark: rows on disk as they come, resumed after any interruption.

The folder of a run holds ``run.json`` (settings and provenance), ``rows.jsonl`` (one line per
episode, in the order in which they ended), and when it is complete ``result.json`` and
``rows.csv``, in the order of the episodes.
"""

from __future__ import annotations

import csv
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vln_core.errors import ConfigError
from vln_core.evaluation.benchmark import Row, make_benchmark
from vln_core.evaluation.datasets import set_hash
from vln_core.evaluation.metrics import bootstrap_interval, mean_finite
from vln_core.evaluation.pool import ProcessPool
from vln_core.evaluation.provenance import commit_of, config_hash, versions
from vln_core.evaluation.ray_pool import RayPool
from vln_core.evaluation.scoring import METRICS, mean_metrics

SCHEMA = 1
# measured beside the metrics where a benchmark has them
EXTRAS = (
    'SR_final', 'collisions', 'num_decisions', 'prompt_tokens', 'reply_tokens', 'cost',
    'tokens_per_decision',
)  # fmt: skip


@dataclass(frozen=True)
class RunOptions:
    """How to run, which never changes the rows.

    Attributes:
        folder: Of the run; made if absent.
        num_workers: Processes or actors.
        ray_address: Of a Ray cluster, 'local' to start one; '' for processes.
        deadline: Longest time of an episode, seconds.
        resume: Whether rows that are there are kept; else they are refused.
        retry_failed: Whether episodes without a result (error, crash, deadline) run again.
        source: Checkout, for the commit.
    """

    folder: Path
    num_workers: int = 1
    ray_address: str = ''
    deadline: float = 600.0
    resume: bool = False
    retry_failed: bool = False
    source: Path = Path('.')

    def __post_init__(self) -> None:
        if self.num_workers < 1 or not self.deadline > 0.0:
            raise ConfigError(
                f'workers = {self.num_workers} must be >= 1, deadline = {self.deadline} s > 0'
            )


@dataclass(frozen=True)
class RunResult:
    """What came out of a run."""

    preset: str
    rows: tuple[Row, ...]
    facts: Mapping[str, Any]
    seconds: float

    @property
    def metrics(self) -> dict[str, float | None]:
        """Means; an episode without a result counts as a failure in the rates."""
        return mean_metrics(self.rows)


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a run; a last line cut off by a crash is dropped.

    Raises:
        ConfigError: Another line is broken.
    """
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b'\n')
    rows: list[Row] = []
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            if number == len(lines) - 1:
                break
            raise ConfigError(f'{path}, line {number + 1} is broken: {error}') from error
    return rows


def _keep_whole_lines(path: Path) -> None:
    """Cut a torn last line off, so that what is appended next is a line of its own."""
    if not path.is_file():
        return
    data = path.read_bytes()
    end = data.rfind(b'\n') + 1
    if end < len(data):
        with path.open('r+b') as stream:
            stream.truncate(end)


def _write(path: Path, text: str) -> None:
    """Write a file so that it is either the old one or the new one, whatever happens."""
    beside = path.with_suffix(path.suffix + '.new')
    with beside.open('w', encoding='utf-8') as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)


def _prepare(
    settings: Mapping[str, Any], options: RunOptions, ids: Sequence[str], facts: dict[str, Any]
) -> list[Row]:
    """Make the folder, check that rows there belong to this run, and return them."""
    options.folder.mkdir(parents=True, exist_ok=True)
    head, rows_file = options.folder / 'run.json', options.folder / 'rows.jsonl'
    if head.is_file() and options.resume:
        before = json.loads(head.read_text(encoding='utf-8'))
        for name in ('config', 'episode set'):
            if before.get(name) != facts[name]:
                raise ConfigError(
                    f'{options.folder} is a run with another {name} ({before.get(name)}, not '
                    f'{facts[name]}): choose another --out, or the settings of that run'
                )
    elif rows_file.is_file() and not options.resume:
        raise ConfigError(
            f'{options.folder} already holds rows: --resume continues them, another --out starts '
            'anew'
        )
    _write(head, json.dumps({**facts, 'settings': dict(settings)}, indent=1) + '\n')
    _keep_whole_lines(rows_file)
    rows = {row['id']: row for row in read_rows(rows_file)}
    if options.retry_failed:
        rows = {name: row for name, row in rows.items() if 'error' not in row}
    return [rows[name] for name in ids if name in rows]


def run_benchmark(
    preset: str,
    settings: Mapping[str, Any],
    options: RunOptions,
    *,
    on_start: Callable[[int, Sequence[Row]], None] = lambda total, rows: None,
    on_row: Callable[[Row], None] = lambda row: None,
) -> RunResult:
    """Run all episodes that have no row yet, then write the result.

    Args:
        preset: Name for the result.
        settings: Of the benchmark; with 'episodes' > 0 only that many, spread over the set.
        options: How to run.
        on_start: Told the number of episodes and the rows that are there already.
        on_row: Told each new row.

    Raises:
        ConfigError: Settings are wrong, or the folder belongs to another run.
        VlnError: Data are missing or malformed.
    """
    started = time.monotonic()
    benchmark = make_benchmark(settings)
    ids = spread(benchmark.episode_ids(), int(settings.get('episodes') or 0))
    facts = provenance(preset, settings, ids, options.source) | {'facts': benchmark.facts()}
    benchmark.close()
    done = _prepare(settings, options, ids, facts)
    on_start(len(ids), done)
    rows = {row['id']: row for row in done}
    missing = [name for name in ids if name not in rows]
    if missing:
        pool = _make_pool(settings, options, len(missing))
        try:
            with (options.folder / 'rows.jsonl').open('a', encoding='utf-8') as stream:
                for row in pool.rows(missing):
                    stream.write(json.dumps(row) + '\n')
                    stream.flush()
                    os.fsync(stream.fileno())
                    rows[row['id']] = row
                    on_row(row)
        finally:
            pool.close()
    ordered = tuple(rows[name] for name in ids)
    seconds = time.monotonic() - started
    result = RunResult(preset, ordered, facts, seconds)
    write_result(result, options.folder)
    return result


def _make_pool(
    settings: Mapping[str, Any], options: RunOptions, count: int
) -> ProcessPool | RayPool:
    workers = min(options.num_workers, count)
    if options.ray_address:
        return RayPool(settings, workers, options.deadline, options.ray_address)
    return ProcessPool(settings, workers, options.deadline)


def spread(ids: Sequence[str], count: int) -> list[str]:
    """Return ``count`` ids at equal distances, all for 0: buildings lie together in files."""
    if count <= 0 or count >= len(ids):
        return list(ids)
    return [ids[number * len(ids) // count] for number in range(count)]


def provenance(
    preset: str, settings: Mapping[str, Any], ids: Sequence[str], source: Path
) -> dict[str, Any]:
    """Return what makes a result reproducible."""
    return {
        'schema': SCHEMA,
        'preset': preset,
        'config': config_hash(settings),
        'episode set': set_hash(ids),
        'episodes': len(ids),
        'planner': settings.get('planner', ''),
        'model': (settings.get('model') or {}).get('model', '') or 'none',
        'seed': settings.get('seed', 0),
        'commit': commit_of(source),
        'versions': versions(),
    }


def summary(rows: Sequence[Row]) -> dict[str, dict[str, float | None]]:
    """Return mean and 95 % bootstrap interval of everything that was measured."""
    table: dict[str, dict[str, float | None]] = {}
    for name in (*METRICS, *EXTRAS):
        values = [float(row[name]) for row in rows if row.get(name) is not None]
        mean = mean_finite(values)
        if math.isfinite(mean):
            low, high = bootstrap_interval(values)
            table[name] = {'mean': mean, 'low': low, 'high': high}
    seconds = [float(row['timing']['seconds']) for row in rows if 'timing' in row]
    if seconds:
        low, high = bootstrap_interval(seconds)
        table['seconds'] = {'mean': mean_finite(seconds), 'low': low, 'high': high}
    return table


def failures(rows: Iterable[Row]) -> dict[str, int]:
    """Return how many episodes ended by each kind of failure; '' is success."""
    counts: dict[str, int] = {}
    for row in rows:
        name = str(row.get('failure', ''))
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def write_result(result: RunResult, folder: Path) -> None:
    """Write result.json and rows.csv of a complete run."""
    content = {
        **result.facts,
        'metrics': result.metrics,
        'summary': summary(result.rows),
        'failures': failures(result.rows),
        'unreachable': sum(row.get('is_reachable') is False for row in result.rows),
        'seconds': result.seconds,
    }
    _write(folder / 'result.json', json.dumps(content, indent=1) + '\n')
    names = ['id', *METRICS, *EXTRAS, 'failure', 'error', 'instruction']
    with (folder / 'rows.csv').open('w', newline='', encoding='utf-8') as stream:
        writer = csv.DictWriter(stream, names, extrasaction='ignore', lineterminator='\n')
        writer.writeheader()
        writer.writerows(result.rows)
