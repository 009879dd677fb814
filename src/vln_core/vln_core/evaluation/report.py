# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Self-contained HTML report of episodes: every decision with views, box, pixel and outcome."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import jinja2
import numpy as np
from numpy.typing import NDArray

_TEMPLATE = Path(__file__).with_name('report.html.j2')
_VIEW_WIDTH_PX = 320
_BOX_COLOUR = (20, 220, 60)
_PIXEL_COLOUR = (230, 30, 60)


@dataclass(frozen=True, eq=False)
class DecisionReport:
    """One decision as a person wants to see it.

    Attributes:
        step: Decision waypoint.
        action: Compact text.
        analysis: What the planner thought of the progress.
        rationale: Why.
        outcome: Sentence.
        code: Name of the outcome's code.
        is_good: Whether the outcome is a success.
        views: (H, W, 3) RGB pictures in order.
        view: Index of the chosen view, or None.
        box_xyxy: Box of System 1 in the chosen view, px, or None.
        pixel_uv: Pixel driven to in the chosen view, or None.
        labels: (view, box, text) of detections to draw.
        refusals: Why earlier actions of the turn were refused.
        progress: (text, status) of each progress item at that moment.
    """

    step: int
    action: str
    analysis: str
    rationale: str
    outcome: str
    code: str
    is_good: bool
    views: Sequence[NDArray[np.uint8]] = ()
    view: int | None = None
    box_xyxy: tuple[float, float, float, float] | None = None
    pixel_uv: tuple[int, int] | None = None
    labels: Sequence[tuple[int, tuple[float, float, float, float], str]] = ()
    refusals: Sequence[str] = ()
    progress: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, eq=False)
class EpisodeReport:
    """One instruction from start to end."""

    instruction: str
    success: bool
    is_verified: bool
    distance: float | None
    collisions: int
    seconds: float
    reason: str
    decisions: Sequence[DecisionReport]
    plan: NDArray[np.uint8] | None = None
    map_image: NDArray[np.uint8] | None = None


def draw_view(decision: DecisionReport, index: int) -> NDArray[np.uint8]:
    """Return one view of a decision with detections, the chosen box and the chosen pixel drawn."""
    picture = np.ascontiguousarray(decision.views[index]).copy()
    scale = _VIEW_WIDTH_PX / picture.shape[1]
    if scale != 1.0:
        picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    for view, box, text in decision.labels:
        if view == index:
            left, top, right, bottom = (int(round(edge * scale)) for edge in box)
            cv2.rectangle(picture, (left, top), (right, bottom), (250, 200, 60), 1)
            cv2.putText(
                picture, text, (left + 2, max(top + 10, 10)), cv2.FONT_HERSHEY_SIMPLEX, 0.35,
                (255, 255, 255), 1, cv2.LINE_AA,
            )  # fmt: skip
    if index == decision.view:
        if decision.box_xyxy is not None:
            left, top, right, bottom = (int(round(edge * scale)) for edge in decision.box_xyxy)
            cv2.rectangle(picture, (left, top), (right, bottom), _BOX_COLOUR, 2)
        if decision.pixel_uv is not None:
            centre = (int(decision.pixel_uv[0] * scale), int(decision.pixel_uv[1] * scale))
            cv2.drawMarker(picture, centre, _PIXEL_COLOUR, cv2.MARKER_CROSS, 16, 2)
    return picture


def write_report(
    path: Path, title: str, facts: dict[str, str], episodes: Sequence[EpisodeReport]
) -> None:
    """Write one HTML file that needs nothing beside it.

    Args:
        path: File to write; its folder must exist.
        title: Heading.
        facts: What was run: scene, seed, planner, versions.
        episodes: In order.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATE.parent), autoescape=True, trim_blocks=True
    )
    environment.filters['jpeg'] = lambda image: _data_url(image, '.jpg')
    environment.filters['png'] = lambda image: _data_url(image, '.png')
    environment.globals['draw_view'] = draw_view
    text = environment.get_template(_TEMPLATE.name).render(
        title=title, facts=facts, episodes=episodes
    )
    path.write_text(text, encoding='utf-8')


def _data_url(image: NDArray[np.uint8], suffix: str) -> str:
    parameters = [cv2.IMWRITE_JPEG_QUALITY, 80] if suffix == '.jpg' else []
    done, data = cv2.imencode(suffix, np.ascontiguousarray(image[..., ::-1]), parameters)
    if not done:
        raise ValueError(f'picture of shape {image.shape} cannot be encoded as {suffix}')
    kind = 'jpeg' if suffix == '.jpg' else 'png'
    return f'data:image/{kind};base64,{base64.b64encode(data.tobytes()).decode()}'
