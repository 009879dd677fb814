# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""``./vln check-grounding``: which box convention does the configured model speak?

Draws one known target on pictures of several shapes, asks the model for it, and reads the answer
in every convention of the table: the one that lands on the target in every picture is the model's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import PerceptionError, VlnError
from vln_core.system1.answers import parse_answer
from vln_core.system1.conventions import (
    CONVENTIONS,
    SentPicture,
    convention_of,
    prepare,
    to_original,
)
from vln_core.system1.mllm_pointer import MllmPointerConfig, endpoint, jpeg_of, prompt

SHAPES = ((640, 480), (480, 640), (1280, 400), (500, 500), (350, 900))
TARGETS = (
    ('red circle', (220, 30, 30)),
    ('blue square', (30, 60, 220)),
    ('green triangle', (20, 160, 60)),
)
GOOD_ERROR = 0.03
"""Largest mean error that counts as fitting, as a fraction of the picture's diagonal."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One picture with its true box and what the model wrote."""

    sent: SentPicture
    box: tuple[float, float, float, float]
    text: str


def draw(
    width: int, height: int, seed: int
) -> tuple[NDArray[np.uint8], str, tuple[float, float, float, float]]:
    """Return a (H, W, 3) picture, the words for its target, and the target's box in px."""
    rng = np.random.default_rng(seed)
    picture = np.full((height, width, 3), 225, np.uint8)
    cv2.rectangle(picture, (0, int(0.7 * height)), (width, height), (180, 165, 150), -1)
    name, colour = TARGETS[seed % len(TARGETS)]
    size = int(rng.uniform(0.14, 0.2) * min(width, height))
    u = int(rng.uniform(0.08, 0.88) * (width - size))
    v = int(rng.uniform(0.08, 0.88) * (height - size))
    if name.endswith('circle'):
        cv2.circle(picture, (u + size // 2, v + size // 2), size // 2, colour, -1)
    elif name.endswith('square'):
        cv2.rectangle(picture, (u, v), (u + size, v + size), colour, -1)
    else:
        corners = np.array([[u, v + size], [u + size, v + size], [u + size // 2, v]], np.int32)
        cv2.fillPoly(picture, [corners], colour)
    return picture, name, (float(u), float(v), float(u + size), float(v + size))


def error_of(trial: Trial, name: str) -> float | None:
    """Return how far the answer lies from the truth, as a fraction of the diagonal.

    None where the answer cannot be read in this convention.
    """
    convention = CONVENTIONS[name]
    answer = parse_answer(trial.text, is_point=convention.is_point)
    if answer is None or not answer.numbers:
        return None
    try:
        box = np.array(to_original(answer.numbers, convention, trial.sent))
    except PerceptionError:
        return None
    truth = np.array(trial.box)
    if convention.is_point:
        truth = np.tile((truth[:2] + truth[2:]) / 2.0, 2)
    return float(np.abs(box - truth).mean() / np.hypot(*trial.sent.original_size))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check; 0 if the model's declared convention fits best."""
    defaults = MllmPointerConfig()
    parser = argparse.ArgumentParser(prog='vln check-grounding', description=__doc__)
    parser.add_argument('--base-url', default=defaults.base_url, help='OpenAI-compatible endpoint')
    parser.add_argument('--model', default=defaults.model, help='name of the model')
    parser.add_argument('--key-variable', default=defaults.key_variable,
                        help='environment variable that holds the key')  # fmt: skip
    parser.add_argument('--convention', default='', help='overrides the table of models')
    parser.add_argument('--max-side', type=int, default=640, help='longest side as sent, px')
    parser.add_argument('--seed', type=int, default=0, help='of where targets are drawn')
    parser.add_argument('--json', action='store_true', help='one JSON object as the last line')
    args = parser.parse_args(argv)
    try:
        config = MllmPointerConfig(
            base_url=args.base_url, model=args.model, key_variable=args.key_variable,
            convention=args.convention, max_side_px=args.max_side,
        )  # fmt: skip
        trials = _ask_all(config, args.seed)
    except VlnError as error:
        print(f'check-grounding: {error}', file=sys.stderr)
        return 2
    return _report(config, trials, as_json=args.json)


def _ask_all(config: MllmPointerConfig, seed: int) -> list[Trial]:
    ask = endpoint(config)
    convention = convention_of(config.model, config.convention)
    trials = []
    for k, (width, height) in enumerate(SHAPES):
        rgb, name, box = draw(width, height, seed + k)
        sent = prepare(rgb, config.max_side_px, pad_square=config.pad_square)
        text = ask(jpeg_of(sent, config.jpeg_quality), prompt(name, convention, sent))
        trials.append(Trial(sent, box, text))
    return trials


def _report(config: MllmPointerConfig, trials: list[Trial], *, as_json: bool) -> int:
    declared = convention_of(config.model, config.convention).name
    rows: list[dict[str, Any]] = []
    for name in CONVENTIONS:
        errors = [error_of(trial, name) for trial in trials]
        read = [error for error in errors if error is not None]
        mean = float(np.mean(read)) if read else None
        fits = len(read) == len(trials) and mean is not None and mean <= GOOD_ERROR
        rows.append({'convention': name, 'read': len(read), 'mean_error': mean, 'fits': fits})
    rows.sort(
        key=lambda row: (-row['read'], 9.0 if row['mean_error'] is None else row['mean_error'])
    )
    fitting = [row['convention'] for row in rows if row['fits']]
    print(f'{config.model} at {config.base_url}: {len(trials)} pictures, declared {declared}')
    print(f'{"convention":20} {"answers read":>12} {"mean error":>11}  fits')
    for row in rows:
        error = '-' if row['mean_error'] is None else f'{100.0 * row["mean_error"]:.2f} %'
        print(
            f'{row["convention"]:20} {row["read"]:>12} {error:>11}  {"yes" if row["fits"] else ""}'
        )
    is_good = declared in fitting
    if is_good:
        print(f'{declared} fits: nothing to do')
    elif fitting:
        print(f"{declared} does NOT fit; set the parameter convention to '{fitting[0]}'")
    else:
        print('no convention fits: the model does not ground, or answers in another form')
        for trial in trials[:2]:
            print(f'  it wrote: {trial.text.strip()[:160]}')
    if as_json:
        print(json.dumps({'model': config.model, 'declared': declared, 'fits': is_good,
                          'fitting': fitting, 'conventions': rows}))  # fmt: skip
    return 0 if is_good else 1


if __name__ == '__main__':
    sys.exit(main())
