# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Renders prompts from the files in config/prompts: one engine for every mode."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from vln_core.context import ObjectState, PlanningContext
from vln_core.errors import ConfigError
from vln_core.memory.tokens import text_tokens
from vln_core.system2.situation import wrap

if TYPE_CHECKING:
    from vln_core.memory.topological import ObjectCluster

_VERSION = re.compile(r'\{#\s*version:\s*(\d+)\s*#\}')
_FENCE = re.compile(r'<\s*/?\s*data\b[^>]*>?', re.IGNORECASE)
# Characters that each part may take; together they keep a prompt below 6,000 tokens of text.
LIMITS = {
    'instruction': 2400, 'progress': 2600, 'views': 4200, 'memory': 3600, 'window': 1200,
    'viewpoints': 2400, 'history': 2400, 'demonstration': 3000, 'refusals': 1200,
    'topology': 6000,
}  # fmt: skip
MAX_TEXT_TOKENS = 6000
# A cluster of which nothing is so near to a viewpoint does not describe it, metres.
_NEAR = 3.0


def prompts_folder(folder: Path | None = None) -> Path:
    """Return the folder of prompt files: the given one, the checkout's or the installed one.

    Raises:
        ConfigError: None of them exists.
    """
    return config_folder('prompts', folder)


def config_folder(name: str, folder: Path | None = None) -> Path:
    """Return config/``name`` of the checkout or of the installed package ``vln_bringup``.

    Raises:
        ConfigError: It exists nowhere.
    """
    if folder is not None:
        if folder.is_dir():
            return folder
        raise ConfigError(f'there is no folder {folder} with {name}')
    places = [parent / 'config' / name for parent in Path(__file__).resolve().parents]
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    places += [Path(p) / 'share' / 'vln_bringup' / 'config' / name for p in prefixes if p]
    for place in places:
        if place.is_dir():
            return place
    raise ConfigError(
        f'no config/{name} was found beside the package or in AMENT_PREFIX_PATH; source the '
        'workspace or name the folder'
    )


class PromptLibrary:
    """The prompt files of one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Find the folder; files are read when they are rendered."""
        self.folder = prompts_folder(folder)
        self._engine = jinja2.Environment(
            loader=jinja2.FileSystemLoader(self.folder),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )

    def render(self, name: str, **values: Any) -> str:
        """Return the text of a prompt file.

        Raises:
            ConfigError: The file is missing, broken or lacks a value.
        """
        try:
            return self._engine.get_template(name).render(**values).strip()
        except jinja2.TemplateError as error:
            raise ConfigError(f'prompt {self.folder / name}: {error}') from error

    def version(self, name: str) -> int:
        """Return the version that a prompt file states in its first line.

        Raises:
            ConfigError: It is missing, or states none.
        """
        try:
            text = (self.folder / name).read_text(encoding='utf-8')
        except OSError as error:
            raise ConfigError(f'prompt {self.folder / name} cannot be read: {error}') from error
        match = _VERSION.match(text)
        if match is None:
            raise ConfigError(f'prompt {name} must begin with a line like {{# version: 1 #}}')
        return int(match.group(1))


def fenced(text: str, limit: int) -> str:
    """Return text that cannot leave its <data> fence, cut to ``limit`` characters."""
    plain = _FENCE.sub('[removed]', text)
    if not plain.replace('\n', '').isprintable():
        plain = ''.join(c for c in plain if c in '\n\t' or c.isprintable())
    if len(plain) <= limit:
        return plain
    return plain[: limit - 20].rsplit('\n', 1)[0] + '\n... (cut)'


def _cut_lines(lines: Sequence[str], limit: int, *, keep_last: bool = False) -> str:
    """Return as many whole lines as fit, from the end or from the start."""
    kept: list[str] = []
    used = 0
    for line in reversed(lines) if keep_last else lines:
        if used + len(line) + 1 > limit - 30:
            kept.append(f'... ({len(lines) - len(kept)} more)')
            break
        kept.append(line)
        used += len(line) + 1
    return '\n'.join(reversed(kept) if keep_last else kept)


def bearing_words(angle: float) -> str:
    """Return a relative bearing as people say it, e.g. '45 deg left'."""
    degrees = round(math.degrees(wrap(angle)))
    if abs(degrees) <= 5:
        return 'ahead'
    if abs(degrees) >= 175:
        return 'behind'
    return f'{abs(degrees)} deg {"left" if degrees > 0 else "right"}'


def views_text(context: PlanningContext) -> str:
    """Return one line a view: index, bearing and the nearest detections."""
    lines = []
    base = context.panorama.odom_tform_base
    here = base[:2, 3]
    budget = LIMITS['views'] // max(1, len(context.panorama.views))
    for view in context.panorama.views:
        seen = []
        for found in context.panorama.detections:
            if found.view != view.index:
                continue
            if found.position_odom is None:
                seen.append((99.0, f'{found.category} (distance unknown)'))
                continue
            gap = math.hypot(*(found.position_odom[:2] - here))
            seen.append((gap, f'{found.category} {gap:.1f} m'))
        told = ', '.join(words for _, words in sorted(seen)) or 'nothing detected'
        line = f'view {view.index} ({bearing_words(view.yaw)}): {told}'
        lines.append(line[: budget - 1])
    if not context.panorama.is_complete:
        lines.append(f'incomplete: {context.panorama.note}')
    return '\n'.join(lines)


def progress_text(context: PlanningContext) -> str:
    """Return one line an item: index, status, kind, words, evidence."""
    lines = []
    for item in context.progress.items:
        line = f'{item.index} [{item.status.value}] {item.kind.value}: {item.text[:120]}'
        if item.evidence is not None and not item.status.is_open:
            line += f' (waypoint {item.evidence.waypoint}: {item.evidence.reason[:80]})'
        lines.append(line)
    current = context.progress.current
    if current is not None:
        lines.append(f'present subgoal: item {current.index}')
    return _cut_lines(lines, LIMITS['progress'])


def viewpoints_text(context: PlanningContext) -> str:
    """Return one line a viewpoint, the nearest unvisited first."""
    reachable = [v for v in context.graph.viewpoints if math.isfinite(v.path_length)]
    order = sorted(reachable, key=lambda v: (v.is_visited, v.path_length, v.id))
    lines = []
    for view in order:
        if view.is_visited and view.path_length < 0.1:
            continue
        sort = 'visited' if view.is_visited else f'unexplored, {view.unknown_area:.0f} m2 unknown'
        lines.append(
            f'{view.id}: {sort}, {view.path_length:.1f} m, {bearing_words(view.bearing)}'
            + (f', {view.caption[:80]}' if view.caption else '')
        )
    return _cut_lines(lines, LIMITS['viewpoints'])


def history_text(context: PlanningContext) -> str:
    """Return one line a past action, the newest last."""
    lines = [
        f'{n.step}: {n.action} because {n.rationale[:100]} -> {n.outcome[:100]}'
        for n in context.history
    ]
    return _cut_lines(lines, LIMITS['history'], keep_last=True)


def topology_text(context: PlanningContext) -> str:
    """Return the memory topological map as text (MC-GPT III-C): clusters, then viewpoints.

    What the present panorama shows and depth could not place sits where the robot stands.
    """
    from vln_core.memory.topological import build_topology

    placed = {o.id: o for o in context.graph.objects}
    known = {o.category for o in placed.values()}
    here = (float(context.pose[0]), float(context.pose[1]))
    found = {d.category for d in context.panorama.detections if d.position_odom is None}
    clusters = build_topology(context.graph, (), dict.fromkeys(found - known, here)).clusters
    lines = []
    for cluster in clusters:
        names = [f'{placed[number].category} {number}' for number in cluster.objects]
        names += [f'{name} (no position)' for name, _ in cluster.categories if name not in known]
        lines.append(f'cluster {cluster.id}: {{{", ".join(names[:14])}}}')
    lines.append('Navigable viewpoints:')
    spots = [_spots(cluster, placed, here) for cluster in clusters]
    for view in sorted(
        context.graph.viewpoints, key=lambda v: (v.is_visited, v.path_length, v.id)
    ):
        if not math.isfinite(view.path_length):
            continue
        near = sorted(
            cluster.id
            for cluster, those in zip(clusters, spots, strict=True)
            if any(math.hypot(x - view.x, y - view.y) < _NEAR for x, y in those)
        )
        relation = f'near cluster {", ".join(map(str, near))}' if near else 'near no cluster'
        visited = 'visited' if view.is_visited else 'unvisited'
        caption = view.caption[:80] or 'no caption'
        lines.append(
            f'<{view.id}, {caption}, {visited}, {view.path_length:.1f} m, '
            f'{bearing_words(view.bearing)}, {relation}>'
        )
    return _cut_lines(lines, LIMITS['topology'])


def _spots(
    cluster: ObjectCluster, placed: Mapping[int, ObjectState], here: tuple[float, float]
) -> list[tuple[float, float]]:
    """Return where the things of a cluster are; one without any position is around the robot."""
    spots = [placed[number].position[:2] for number in cluster.objects]
    return [(float(x), float(y)) for x, y in spots] or [here]


def values_of(
    context: PlanningContext, demonstration: str, *, is_text_map: bool
) -> dict[str, Any]:
    """Return the values of a user prompt, each within its limit and fenced."""
    parts: dict[str, Callable[[], str]] = {
        'progress': lambda: progress_text(context),
        'views': lambda: views_text(context),
        'memory': lambda: context.memory_text,
        'window': lambda: context.window_text,
        'viewpoints': lambda: viewpoints_text(context),
        'history': lambda: history_text(context),
        'demonstration': lambda: demonstration,
        'refusals': lambda: '\n'.join(context.refusals),
    }
    if is_text_map:
        parts = {k: parts[k] for k in ('history', 'demonstration', 'refusals')}
        parts['topology'] = lambda: topology_text(context)
    values: dict[str, Any] = {k: fenced(make(), LIMITS[k]) for k, make in parts.items()}
    values['instruction'] = context.instruction[: LIMITS['instruction']]
    values['step'] = context.step
    values['waypoints_left'] = context.waypoints_left
    return values


def check_size(texts: Sequence[str]) -> int:
    """Return the text tokens of a prompt.

    Raises:
        ConfigError: It is longer than a prompt may be, because a prompt file grew too long.
    """
    total = sum(text_tokens(text) for text in texts)
    if total > MAX_TEXT_TOKENS:
        raise ConfigError(
            f'the prompt has {total} tokens of text, more than {MAX_TEXT_TOKENS}; '
            'shorten the files'
        )
    return total
