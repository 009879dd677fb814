# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a campaign: a table of faults tried and survived, as HTML and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

from vln_cli.chaos_findings import Findings

_PAGE = """<!doctype html><meta charset="utf-8"><title>Chaos</title>
<style>body{font:15px system-ui;margin:2em;max-width:70em}table{border-collapse:collapse}
td,th{padding:.25em .7em;border-bottom:1px solid #ccc;text-align:left}.bad{color:#b00020}
svg{border:1px solid #ccc;margin:.5em 0}</style>
<h1>{{ 'Every invariant held' if not m.violations else 'Invariants were broken' }}</h1>
<p>Seed {{ m.seed }}, {{ m.minutes }} minutes, {{ m.faults_tried }} faults of {{ m.fault_kinds }}
kinds, {{ m.faults_survived }} survived; the stack was started {{ m.stack_starts }} times.</p>
{% for text in general %}<p class="bad">{{ text }}</p>{% endfor %}
<table><tr><th>fault</th><th>tried</th><th>while driving</th><th>survived</th>
<th>longest until zero</th><th>what did not hold</th></tr>
{% for row in rows %}<tr><td>{{ row.name }}</td><td>{{ row.tried }}</td><td>{{ row.moving }}</td>
<td>{{ row.survived }}</td><td>{{ row.reaction }}</td><td class="bad">{{ row.text }}</td></tr>
{% endfor %}</table>
<h2>Resident memory</h2>{% for curve in curves %}<p>{{ curve.name }}: {{ curve.last }} MB</p>
<svg width="620" height="120">
<polyline fill="none" stroke="#26c" points="{{ curve.points }}"/></svg>
{% endfor %}"""


def summary_of(findings: Findings, seed: int) -> dict[str, Any]:
    """Return the figures of a campaign, as ``--json`` prints them."""
    reactions = sorted(t.reaction for t in findings.tried if t.reaction and t.was_moving)
    metrics = {
        'seed': seed,
        'minutes': round(findings.seconds / 60.0, 2),
        'faults_tried': len(findings.tried),
        'fault_kinds': len({t.name for t in findings.tried}),
        'faults_survived': sum(not t.violations for t in findings.tried),
        'violations': findings.num_violations,
        'stop_ms_p50': _quantile(reactions, 0.5),
        'stop_ms_max': _quantile(reactions, 1.0),
        'stack_starts': findings.starts,
        'instructions': findings.outcomes,
        **_growth(findings),
    }
    return {'name': 'chaos', 'metrics': metrics}


def _growth(findings: Findings) -> dict[str, Any]:
    from vln_cli.chaos_watch import slope

    result = {}
    for name, points in findings.memory.items():
        rate, error = slope([p for p in points if p[0] > 60.0])
        if error != float('inf'):
            result[f'{name}_mb_per_hour'] = [round(v * 3600 / 1e6, 1) for v in (rate, error)]
    rate, error = slope(findings.latencies)
    if error != float('inf'):
        result['answer_ms_per_hour'] = [round(v * 3600 * 1e3, 1) for v in (rate, error)]
    return result


def _quantile(values: list[float], share: float) -> float | None:
    return round(1e3 * values[int(share * (len(values) - 1))]) if values else None


def write_report(folder: Path, findings: Findings, summary: dict[str, Any]) -> None:
    """Write ``report.html`` and ``report.json``."""
    rows = _rows(findings)
    data = {**summary, 'faults': rows, 'general': findings.general}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'report.json').write_text(json.dumps(data, indent=1) + '\n', encoding='utf-8')
    page = jinja2.Environment(autoescape=True).from_string(_PAGE)
    text = page.render(
        m=summary['metrics'], rows=rows, general=findings.general, curves=_curves(findings)
    )
    (folder / 'report.html').write_text(text, encoding='utf-8')


def _rows(findings: Findings) -> list[dict[str, Any]]:
    names = sorted({(t.group, t.name) for t in findings.tried})
    rows = []
    for group, name in names:
        all_of_it = [t for t in findings.tried if t.name == name]
        reactions = [t.reaction for t in all_of_it if t.reaction is not None and t.was_moving]
        rows.append(
            {
                'group': group,
                'name': name,
                'tried': len(all_of_it),
                'moving': sum(t.was_moving for t in all_of_it),
                'survived': sum(not t.violations for t in all_of_it),
                'reaction': f'{max(reactions):.2f} s' if reactions else '',
                'text': '; '.join(v for t in all_of_it for v in t.violations),
            }
        )
    return rows


def _curves(findings: Findings) -> list[dict[str, Any]]:
    curves = []
    for name, points in sorted(findings.memory.items()):
        top, end = max(b for _, b in points), max(max(t for t, _ in points), 1.0)
        line = ' '.join(f'{10 + 600 * t / end:.0f},{115 - 105 * b / top:.0f}' for t, b in points)
        curves.append({'name': name, 'points': line, 'last': round(points[-1][1] / 1e6)})
    return curves
