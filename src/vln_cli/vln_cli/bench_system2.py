# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln bench system2``: faults of the endpoint, instruction cuts, overhead, size of prompts."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vln_cli import paths
from vln_cli.measured import tell

NAMES = ('sofa', 'bed', 'doorway', 'table', 'chair', 'lamp', 'plant', 'sink')
METRICS = (
    'faults_played', 'faults_ended_as_stated', 'fgr2r_boundary_f1', 'overhead_ms_p95',
    'prompt_text_tokens_max',
)  # fmt: skip
MODES = ('ham', 'agentic', 'mcgpt', 'fused')


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; the last line with ``--json`` is ``{"name", "metrics"}``."""
    options = _parser().parse_args(list(argv))
    for folder in (paths.ROOT / 'tests', paths.ROOT / 'src' / 'vln_core' / 'test'):
        sys.path.insert(0, str(folder))
    curves: dict[str, list[float]] = {}
    metrics: dict[str, Any] = {}
    metrics.update(_faults(options))
    metrics['fgr2r_boundary_f1'] = _boundaries(options)
    metrics.update(_overhead(options, curves))
    tell('system2', metrics, METRICS, as_json=options.json, output=options.output)
    if not options.json:
        _plot(curves, options.output)
    is_good = metrics['faults_ended_as_stated'] == metrics['faults_played']
    return 0 if is_good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='vln bench system2', description='Measure System 2.')
    parser.add_argument('--json', action='store_true', help='print one JSON object as last line')
    parser.add_argument('--seed', type=int, default=0, help='of the random contexts (0)')
    parser.add_argument('--decisions', type=int, default=200, help='decisions to time, per mode')
    parser.add_argument('--output', type=Path, default=Path('runs/bench'), help='folder for plots')
    return parser


def _say(options: argparse.Namespace, text: str) -> None:
    print(text, file=sys.stderr if options.json else sys.stdout, flush=True)


def _faults(options: argparse.Namespace) -> dict[str, int]:
    """Play every fault through the real client and count those that end as stated."""
    from vln_system_tests.model_faults import FAULTS, ended_as_stated, play

    # The first request loads the SDK, which on a busy machine would pass for a stall.
    play(FAULTS[0], _context(options.seed, 0), stall_timeout=30.0, call_timeout=60.0)
    good = 0
    for fault in FAULTS:
        ended, kind, _ = play(fault, _context(options.seed, 0))
        is_good = ended_as_stated(fault, ended, kind)
        good += is_good
        if not is_good:
            _say(options, f'fault "{fault.name}" ended as {ended} {kind}, stated: {fault.ends}')
    return {'faults_played': len(FAULTS), 'faults_ended_as_stated': good}


def _boundaries(options: argparse.Namespace) -> float | None:
    from vln_core.system2.segmentation import boundary_f1

    root = Path(os.environ.get('VLN_DATA', paths.ROOT.parent / 'shared' / 'data'))
    path = root / 'matterport' / 'FGR2R_val_seen.json'
    if not path.is_file():
        _say(options, f'no {path}; name the folder in VLN_DATA to score the cuts')
        return None
    return round(boundary_f1(json.loads(path.read_text(encoding='utf-8'))), 4)


class _Instant:
    """Answers at once, so that what is timed is the stack's own work."""

    def __init__(self) -> None:
        self.largest = 0

    def begin_episode(self, name: str) -> None:
        """Nothing is counted."""

    def chat(self, messages: list[Any], *, tools: Any = (), schema: Any = None) -> Any:
        """Return an answer that is valid at every step."""
        from vln_core.memory.tokens import text_tokens
        from vln_core.system2.messages import Reply

        self.largest = max(self.largest, sum(text_tokens(m.text) for m in messages))
        if len(tools) == 4:
            return Reply('{"tool": "stop", "arguments": {}}')
        return Reply('{"action": {"type": "stop"}, "viewpoint": "STOP", "rationale": "r"}')


def _overhead(
    options: argparse.Namespace, curves: dict[str, list[float]]
) -> dict[str, float | int]:
    """Time context, rendering and validation of decisions beside the model's own time.

    Processor time of the deciding thread: other work of the machine does not count.
    """
    from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig

    examples = _examples()
    times: list[float] = []
    largest = 0
    for mode in MODES:
        model = _Instant()
        planner = ModelPlanner(model, ModelPlannerConfig(mode=mode), examples)
        store = _store()
        own: list[float] = []
        for step in range(options.decisions):
            store.observe(_panorama(options.seed, step))
            began = time.thread_time()
            planner.decide(store.context(with_map_image=mode != 'mcgpt'))
            own.append((time.thread_time() - began) * 1e3)
        # The largest prompts come from contexts with long texts, which a store cuts by itself.
        for step in range(0, options.decisions, 10):
            planner.decide(_context(options.seed, step))
        # The first one loads libraries and fonts, once a process.
        curves[mode] = own[1:]
        times += own[1:]
        largest = max(largest, model.largest)
        _say(
            options, f'{mode}: median {statistics.median(own):.1f} ms, longest {max(own[1:]):.1f}'
        )
    times.sort()
    return {
        'overhead_ms_p95': round(times[int(0.95 * (len(times) - 1))], 2),
        'prompt_text_tokens_max': largest,
    }


def _examples() -> Any:
    from vln_core.memory.encoders import make_encoder
    from vln_core.system2.demonstrations import DemonstrationStore, load_demonstrations
    from vln_core.system2.prompting import config_folder

    found = load_demonstrations(config_folder('demonstrations'))
    return DemonstrationStore(found, make_encoder('words'))


def _store() -> Any:
    """Return a memory in which an episode has begun."""
    from vln_core.memory.store import MemoryConfig, MemoryStore
    from vln_core.system2.instructions import parse_instruction

    store = MemoryStore(MemoryConfig(max_waypoints=10_000))
    instruction = 'Leave the bedroom, turn left, pass the sofa and stop at the sink'
    store.begin(instruction, parse_instruction(instruction))
    return store


def _context(seed: int, step: int) -> Any:
    """Return a context of 12 views that grows with the step, as in a long episode."""
    import numpy as np
    from system2_contexts import context, detection, opening, thing, views

    rng = np.random.default_rng([seed, step])
    track = tuple((0.5 * k, 0.1 * (k % 7), 0.0) for k in range(min(step, 38) + 1))
    pose = track[-1]
    count = min(120, 10 + 2 * step)
    objects = tuple(
        thing(k, NAMES[k % 8], *rng.uniform(-10, 10, 2).tolist()) for k in range(1, count)
    )
    openings = tuple(opening(k, *rng.uniform(-9, 9, 2).tolist(), pose) for k in range(1, 15))
    seen = tuple(
        detection(k % 12, NAMES[k % 8], *rng.uniform(-6, 6, 2).tolist()) for k in range(60)
    )
    made = context(
        'Leave the bedroom, turn left, pass the sofa and stop at the sink',
        track=track, objects=objects, openings=openings, detections=seen,
        memory_text='place 3: kitchen with a sink, a stove and a table. ' * 60,
        window_text='w4 to w5: went past the sofa. ' * 20,
    )  # fmt: skip
    from dataclasses import replace

    return replace(made, panorama=replace(made.panorama, views=views(12)))


def _panorama(seed: int, step: int) -> Any:
    """Return what 12 views show at a step of a walk through a flat with 120 things."""
    import numpy as np
    from system2_contexts import detection, views

    from vln_core.observation import Panorama

    things = np.random.default_rng(seed).uniform((0.0, -8.0), (20.0, 8.0), (120, 2))
    base = np.eye(4)
    base[:2, 3] = 0.5 * (step % 40), 2.0 * np.sin(0.2 * step)
    near = np.argsort(np.hypot(*(things - base[:2, 3]).T), kind='stable')[:60]
    seen = tuple(detection(int(k) % 12, NAMES[k % len(NAMES)], *things[k].tolist()) for k in near)
    return Panorama(step, step + 1, base, views(12), seen)


def _plot(curves: dict[str, list[float]], folder: Path) -> None:
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(figsize=(7, 4))
    for mode, values in curves.items():
        axes.plot(values, label=mode)
    axes.set_xlabel('decision')
    axes.set_ylabel('own time, ms')
    axes.legend()
    figure.tight_layout()
    figure.savefig(folder / 'system2_overhead.png', dpi=110)
    plt.close(figure)
    print(f'plots: {folder}')
