# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln bench memory``: speed, size, durability, context and refusals of the memory.

Times are wall clock, those of writes without the disk's own flush, which is stated beside; the
processor's time is the one to compare where other programs want the same cores.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vln_cli import memory_scenes as scenes
from vln_cli.measured import tell

Metrics = dict[str, Any]

METRICS = (
    'update_ms_p95', 'retrieve_ms_p95', 'map_image_ms_p95', 'kill_runs', 'kill_lost',
    'tokens_per_decision', 'token_reduction_vs_full_history', 'malformed_tried',
    'malformed_refused',
)  # fmt: skip
_STEP = ('step_ms', 'step_processor_ms')
_BLOCK = 50  # steps that a point of the growth curve is the median of


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; the last line with ``--json`` is ``{"name", "metrics"}``."""
    options = _parser().parse_args(list(argv))
    names = list(_PARTS) if options.parts is None else options.parts.split(',')
    unknown = [name for name in names if name not in _PARTS]
    if unknown:
        print(f'vln bench memory: no part {unknown[0]!r}; there are {", ".join(_PARTS)}')
        return 2
    saved = _Saved(options)
    with tempfile.TemporaryDirectory(prefix='vln_bench_memory_') as folder:
        for name in (n for n in names if n not in saved.done):
            started = time.perf_counter()
            saved.add(_PARTS[name](options, Path(folder), saved), name)
            _say(options, f'{name}: {time.perf_counter() - started:.0f} s')
    figures = {**saved.metrics, 'seed': options.seed}
    tell('memory', figures, METRICS, as_json=options.json, output=options.output)
    if options.json:
        return 0
    for name, points in saved.curves.items():
        scenes.plot(points, name, options.output / f'memory_{name.split()[0]}.png')
    print(f'plots: {options.output}')
    return 0


class _Saved:
    """Figures so far, in a file, so that a long campaign can be done in several sittings."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.path = options.output / 'memory.json'
        wanted = ('seed', 'places', 'kills', 'malformed', 'steps')
        self.setting = {name: getattr(options, name) for name in wanted}
        self.metrics: Metrics = {}
        self.curves: dict[str, list[tuple[float, float]]] = {}
        self.done: list[str] = []
        if options.resume and self.path.is_file():
            data = json.loads(self.path.read_text(encoding='utf-8'))
            if data['setting'] == self.setting:
                self.metrics, self.done = data['metrics'], data['done']
                self.curves = {k: [(x, y) for x, y in v] for k, v in data['curves'].items()}

    def add(self, metrics: Metrics, name: str = '') -> None:
        """Take over figures; with a name that part is complete."""
        self.metrics.update(metrics)
        self.done += [name] if name else []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        data = {k: getattr(self, k) for k in ('setting', 'metrics', 'curves', 'done')}
        self.path.write_text(json.dumps(data), encoding='utf-8')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='vln bench memory', description='Measure the memory.')
    parser.add_argument('--json', action='store_true', help='print one JSON object as last line')
    parser.add_argument('--seed', type=int, default=0, help='of all random choices (0)')
    parser.add_argument('--places', type=int, default=10_000, help='places of the large graph')
    parser.add_argument('--kills', type=int, default=300, help='runs of the kill -9 campaign')
    parser.add_argument('--malformed', type=int, default=10_000, help='malformed updates to try')
    parser.add_argument('--steps', type=int, default=5000, help='steps of the growth curve')
    parser.add_argument('--output', type=Path, default=Path('runs/bench'), help='folder of plots')
    parser.add_argument('--parts', help='some of them, with commas: kill,scale,size,context ...')
    parser.add_argument('--resume', action='store_true', help='go on with figures of --output')
    return parser


def _say(options: argparse.Namespace, text: str) -> None:
    print(text, file=sys.stderr if options.json else sys.stdout, flush=True)


def _p95(values: Sequence[float]) -> float:
    return round(float(np.percentile(np.asarray(values), 95)) * 1e3, 3)


def _scale(options: argparse.Namespace, folder: Path, saved: _Saved) -> Metrics:
    result: Metrics = {}
    sizes = [n for n in (100, 1000) if n < options.places] + [options.places]
    for places in sizes:
        store = scenes.large_store(places, folder / f'{places}.db', options.seed)
        update, flush, processor = _time_updates(store, options.seed)
        retrieve, retrieve_busy = _time_retrieval(store, options.seed)
        saved.curves.setdefault('update_ms over places', []).append((places, _p95(update)))
        saved.curves.setdefault('retrieve_ms over places', []).append((places, _p95(retrieve)))
        store.close()
    result['update_ms_p95'] = _p95(update)
    result['update_flush_ms_p95'] = _p95(flush)
    result['update_processor_ms_p95'] = _p95(processor)
    result['retrieve_ms_p95'] = _p95(retrieve)
    result['retrieve_processor_ms_p95'] = _p95(retrieve_busy)
    cosine, cosine_busy = _time_cosine(options.seed)
    result['numpy_cosine_ms_p95'] = _p95(cosine)
    result['numpy_cosine_processor_ms_p95'] = _p95(cosine_busy)
    result['scale_places'] = options.places
    result['scale_objects'] = options.places * 10
    return result


def _time_updates(store: Any, seed: int) -> tuple[list[float], list[float], list[float]]:
    """Return seconds of each update: without the flush, of the flush, of the processor without."""
    rng = np.random.default_rng(seed)
    update, flush, processor = [], [], []
    for k in range(200):
        look, pose = scenes.random_look(store, rng, k)
        started, busy = time.perf_counter(), time.thread_time()
        scenes.update_graph(store, look, pose, k)
        spent = time.perf_counter() - started
        processor.append(time.thread_time() - busy - store.journal.flush_processor_seconds)
        update.append(spent - store.journal.flush_seconds)
        flush.append(store.journal.flush_seconds)
    return update, flush, processor


def _time_retrieval(store: Any, seed: int) -> tuple[list[float], list[float]]:
    """Return seconds of each retrieval: by the clock, of the processor."""
    rng = np.random.default_rng(seed + 1)
    places = sorted(store.graph.places.nodes)
    store.retriever.refresh(store.graph, set(places))
    times, processor = [], []
    for k in range(200):
        query = f'find the {scenes.CATEGORIES[k % len(scenes.CATEGORIES)]} number {k}'
        current = int(rng.choice(places))
        started, busy = time.perf_counter(), time.thread_time()
        found = store.retriever.retrieve(store.graph, query, k, current)
        times.append(time.perf_counter() - started)
        processor.append(time.thread_time() - busy)
        assert len(found) == store.config.max_places
    return times, processor


def _time_cosine(seed: int) -> tuple[list[float], list[float]]:
    """Return seconds of a bare cosine over 10,000 x 384: how fast and how busy the machine is."""
    rng = np.random.default_rng(seed)
    table, vector = rng.random((10_000, 384), np.float32), rng.random(384, np.float32)
    times, processor = [], []
    for _ in range(200):
        started, busy = time.perf_counter(), time.thread_time()
        table @ vector
        times.append(time.perf_counter() - started)
        processor.append(time.thread_time() - busy)
    return times, processor


def _size(options: argparse.Namespace, folder: Path, saved: _Saved) -> Metrics:
    def grow(places: int, objects: int) -> int:
        tracemalloc.start()
        store = scenes.large_store(places, None, options.seed, objects_per_place=objects)
        store.snapshot()
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return used

    bare, full = grow(1000, 0), grow(1000, 10)
    return {
        'bytes_per_place': round(bare / 1000),
        'bytes_per_object': round((full - bare) / 10_000),
    }


def _map_and_context(options: argparse.Namespace, folder: Path, saved: _Saved) -> Metrics:
    from vln_core.memory.config import MemoryConfig
    from vln_core.memory.store import MemoryStore

    store = MemoryStore(encoder='words')
    raw = {
        k: MemoryStore(MemoryConfig(use_world_graph=False, window=k), encoder='words')
        for k in (3, 5, 10, -1)
    }
    for one in (store, *raw.values()):
        one.begin(scenes.INSTRUCTION, scenes.items())
    tokens: dict[int, list[int]] = {k: [] for k in (*raw, 0)}
    step_ms = []
    for step, look in enumerate(scenes.episode(40, options.seed)):
        started = time.perf_counter()
        store.observe(look)
        context = store.context()
        step_ms.append(time.perf_counter() - started)
        tokens[0].append(scenes.context_tokens(context))
        scenes.finish(store, step)
        for k, one in raw.items():
            scenes.observe_window_only(one, look)
            tokens[k].append(scenes.window_tokens(one))
            scenes.finish(one, step)
    saved.curves['tokens over the steps of an episode'] = list(enumerate(map(float, tokens[0])))
    drawn, drawn_busy = [], []
    for _ in range(60):
        started, busy = time.perf_counter(), time.thread_time()
        store.map_image()
        drawn.append(time.perf_counter() - started)
        drawn_busy.append(time.thread_time() - busy)
    mean = {k: float(np.mean(v)) for k, v in tokens.items()}
    return {
        'map_image_ms_p95': _p95(drawn),
        'map_image_processor_ms_p95': _p95(drawn_busy),
        'observe_and_context_ms_p95': _p95(step_ms),
        'tokens_per_decision': round(mean[0], 1),
        'tokens_per_decision_last_10': round(float(np.mean(tokens[0][-10:])), 1),
        'tokens_full_history': round(mean[-1], 1),
        **{f'tokens_raw_k{k}': round(mean[k], 1) for k in (3, 5, 10)},
        'token_reduction_vs_full_history': round(1.0 - mean[0] / mean[-1], 4),
    }


def _growth(options: argparse.Namespace, folder: Path, saved: _Saved) -> Metrics:
    """Return the cost of a whole step (observe to conclude) as an episode goes on and on.

    The store stays beside the figures until the end, so that ``--resume`` goes on with it.
    """
    path = options.output / 'memory_growth.db'
    curves = [saved.curves.setdefault(f'{name} over steps', []) for name in _STEP]
    if not curves[0]:
        path.unlink(missing_ok=True)
    store = scenes.growing_store(path, options.seed)
    while len(store.waypoints) < options.steps:
        start = len(store.waypoints)
        end = min(options.steps, start - start % _BLOCK + _BLOCK)
        spent = [_time_step(store, step, options.seed) for step in range(start, end)]
        for curve, values in zip(curves, zip(*spent, strict=True), strict=True):
            curve.append((float(start), round(float(np.median(values)) * 1e3, 3)))
        saved.add({})
    store.close()
    for left in options.output.glob(f'{path.name}*'):
        left.unlink()
    result: Metrics = {}
    for name, curve in zip(_STEP, curves, strict=True):
        result[f'{name}_at_50'] = curve[min(1, len(curve) - 1)][1]
        result[f'{name}_at_{options.steps}'] = curve[-1][1]
    return result


def _time_step(store: Any, step: int, seed: int) -> tuple[float, float]:
    """Return seconds of a whole step: by the clock without flushes, and of the processor."""
    look = scenes.wandering_look(step, seed)
    started, busy = time.perf_counter(), time.thread_time()
    store.observe(look)
    flush = store.journal.flush_seconds
    store.context()
    for write in scenes.decision_of(store, step):
        write()
        flush += store.journal.flush_seconds
    return time.perf_counter() - started - flush, time.thread_time() - busy


def _kills(options: argparse.Namespace, folder: Path, saved: _Saved) -> Metrics:
    runs, lost = saved.metrics.get('kill_runs', 0), saved.metrics.get('kill_lost', 0)
    for run in range(runs, options.kills):
        path = folder / f'kill_{run}.db'
        moment = random.Random(f'{options.seed} {run}').uniform(0.02, 0.4)
        lost += int(not scenes.holds(path, _kill_one(path, moment)))
        for left in folder.glob(f'kill_{run}.db*'):
            left.unlink()
        if run % 10 == 9:
            saved.add({'kill_runs': run + 1, 'kill_lost': lost})
    return {'kill_runs': options.kills, 'kill_lost': lost}


def _kill_one(path: Path, delay: float) -> int:
    """Fork a writer, kill it at a random moment; return how many writes it had acknowledged."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            scenes.write_forever(path, lambda: os.write(writer, b'.'))
        finally:
            os._exit(1)
    os.close(writer)
    try:
        os.read(reader, 1)  # it is writing now
        time.sleep(delay)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    count = 1
    while True:
        block = os.read(reader, 65536)
        if not block:
            break
        count += len(block)
    os.close(reader)
    return count


def _malformed(options: argparse.Namespace, folder: Path, saved: _Saved) -> Metrics:
    from vln_core.errors import MemoryStoreError
    from vln_core.memory.export import to_dict
    from vln_core.memory.fuzz import malformed_updates
    from vln_core.memory.store import MemoryStore

    store = MemoryStore(encoder='words')
    store.begin(scenes.INSTRUCTION, scenes.items())
    for step, look in enumerate(scenes.episode(3, options.seed)):
        store.observe(look)
        scenes.finish(store, step)
    before = json.dumps(to_dict(store), sort_keys=True)
    refused = tried = 0
    for _, update in malformed_updates(
        store, np.random.default_rng(options.seed), options.malformed
    ):
        tried += 1
        try:
            update()
        except MemoryStoreError as error:
            refused += int(bool(str(error)))
    unchanged = json.dumps(to_dict(store), sort_keys=True) == before
    return {
        'malformed_tried': tried,
        'malformed_refused': refused if unchanged else 0,
        'malformed_left_no_trace': unchanged,
    }


_PARTS: dict[str, Callable[[argparse.Namespace, Path, _Saved], Metrics]] = {
    'kill': _kills,
    'scale': _scale,
    'size': _size,
    'context': _map_and_context,
    'growth': _growth,
    'malformed': _malformed,
}
