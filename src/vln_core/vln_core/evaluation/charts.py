# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Small charts as SVG text for self-contained reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

_WIDTH, _HEIGHT = 520, 260
_LEFT, _BOTTOM, _TOP = 56, 40, 14
_COLOURS = ('#1f6feb', '#b3261e', '#157a3c', '#8250df', '#b4690e', '#0a7d8c')


def _frame(body: str, title: str, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" '
        f'font-family="system-ui, sans-serif" font-size="12">{body}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = 'middle') -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def bars(values: Mapping[str, float], title: str, unit: str = '') -> str:
    """Return horizontal bars with their values, in the order given."""
    if not values:
        return ''
    row, left = 24, 150
    top = max(max(values.values()), 1e-9)
    parts = []
    for number, (name, value) in enumerate(values.items()):
        y = number * row + 6
        length = (_WIDTH - left - 80) * max(value, 0.0) / top
        parts.append(_text(left - 8, y + 13, name or 'success', 'end'))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="16" fill="{_COLOURS[0]}"/>'
        )
        parts.append(_text(left + length + 6, y + 13, f'{value:g}{unit}', 'start'))
    return _frame(''.join(parts), title, height=row * len(values) + 10)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    x_name: str,
    y_name: str,
    *,
    y_top: float | None = None,
) -> str:
    """Return curves over common axes that begin at 0; points that are not finite are left out.

    Args:
        series: Points (x, y) by name.
        title: For readers who do not see the picture.
        x_name: Under the axis.
        y_name: Beside the axis.
        y_top: Upper end of the y axis; None: the largest value.
    """
    kept = {
        name: [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        for name, points in series.items()
    }
    kept = {name: points for name, points in kept.items() if points}
    if not kept:
        return ''
    right = max(max(x for x, _ in points) for points in kept.values()) or 1.0
    upper = y_top or max(max(y for _, y in points) for points in kept.values()) or 1.0
    span, rise = _WIDTH - _LEFT - 12, _HEIGHT - _BOTTOM - _TOP
    parts = [
        f'<path d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - 12}" '
        'fill="none" stroke="#8a94a3"/>'
    ]
    for share in (0.0, 0.5, 1.0):
        x, y = _LEFT + share * span, _HEIGHT - _BOTTOM - share * rise
        parts.append(_text(x, _HEIGHT - _BOTTOM + 15, f'{share * right:.3g}'))
        parts.append(_text(_LEFT - 6, y + 4, f'{share * upper:.3g}', 'end'))
    parts.append(_text(_LEFT + span / 2, _HEIGHT - 6, x_name))
    parts.append(_text(_LEFT + 4, _TOP + 2, y_name, 'start'))
    for number, (name, points) in enumerate(kept.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = ' '.join(
            f'{_LEFT + span * x / right:.1f},{_HEIGHT - _BOTTOM - rise * min(y / upper, 1.0):.1f}'
            for x, y in points
        )
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(kept) > 1:
            parts.append(
                f'<text x="{_WIDTH - 16}" y="{_TOP + 14 + 15 * number}" text-anchor="end" '
                f'fill="{colour}">{escape(name)}</text>'
            )
    return _frame(''.join(parts), title)


def plan(
    driven: Sequence[Sequence[float]],
    reference: Sequence[Sequence[float]],
    decisions: Sequence[Sequence[float]] = (),
    size_px: int = 300,
) -> str:
    """Return a top-down map of a path beside the reference; only x and y are drawn, y up."""
    all_points: NDArray[np.float64] = np.array(
        [point[:2] for point in [*driven, *reference, *decisions]], float
    )
    if not len(all_points) or not np.isfinite(all_points).all():
        return ''
    low = all_points.min(axis=0) - 1.0
    extent = float(max((all_points.max(axis=0) + 1.0 - low).max(), 1e-6))

    def place(points: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
        return [
            (size_px * (p[0] - low[0]) / extent, size_px * (1.0 - (p[1] - low[1]) / extent))
            for p in points
        ]

    def curve(points: Sequence[Sequence[float]], style: str) -> str:
        path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in place(points))
        return f'<polyline points="{path}" fill="none" {style}/>'

    parts = [
        curve(reference, 'stroke="#157a3c" stroke-width="5" stroke-opacity="0.35"'),
        curve(driven, 'stroke="#1f6feb" stroke-width="2"'),
    ]
    for x, y in place(decisions):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1f6feb"/>')
    if reference:
        x, y = place(reference[-1:])[0]
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="none" stroke="#157a3c" '
            'stroke-width="2"/>'
        )
    if driven:
        x, y = place(driven[:1])[0]
        parts.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>')
    metre = size_px / extent
    parts.append(f'<path d="M8 {size_px - 8}h{metre:.1f}" stroke="#1d2430" stroke-width="2"/>')
    parts.append(_text(12 + metre, size_px - 5, '1 m', 'start'))
    return _frame(''.join(parts), 'Path on the floor plan', size_px, size_px)
