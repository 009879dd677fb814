# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""System 1 by detector: target words -> a detection of the view -> the pixel to drive to."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vln_core import vocabulary
from vln_core.errors import ConfigError
from vln_core.observation import Detection, Panorama, View
from vln_core.outcome import Grounding, GroundingCode
from vln_core.perception.merging import visible_in
from vln_core.system1.contact import ContactConfig, core_pixel, doorway_floor, floor_contact

_WORD = re.compile(r'[a-z0-9]+')
_EMPTY_WORDS = frozenset(
    'a an the of to in on at by with and or near next this that your its into through past '
    'front left right side towards toward'.split()
)


@dataclass(frozen=True)
class PointerConfig:
    """When a detection is good enough, and how its pixel is chosen.

    Attributes:
        min_score: Least confidence.
        contact: Where the floor is looked for.
    """

    min_score: float = 0.25
    contact: ContactConfig = ContactConfig()

    def __post_init__(self) -> None:
        if not 0.0 <= self.min_score <= 1.0:
            raise ConfigError(f'pointer.min_score = {self.min_score} must lie in 0..1')


class DetectorPointer:
    """Implements :class:`vln_core.ports.Pointer` with the detections of the panorama."""

    def __init__(self, config: PointerConfig | None = None) -> None:
        self.config = config or PointerConfig()

    def ground(self, panorama: Panorama, view: int, target: str) -> Grounding:
        """Find the target among the detections of a view and choose its pixel; see the port."""
        if not 0 <= view < len(panorama.views):
            return Grounding(
                GroundingCode.UNKNOWN_VIEW,
                f'there is no view {view}; views are 0 to {len(panorama.views) - 1}',
            )
        seen = visible_in(panorama, panorama.views[view])
        found = best_match(seen, target)
        if found is None:
            names = ', '.join(sorted({detection.label for detection in seen})[:12]) or 'nothing'
            return Grounding(
                GroundingCode.NOT_IN_VIEW,
                f"view {view} shows no '{target}'; detected there: {names}",
            )
        if found.score < self.config.min_score:
            return Grounding(
                GroundingCode.LOW_CONFIDENCE,
                f"'{target}' in view {view} is only {found.score:.2f} certain, "
                f'{self.config.min_score:.2f} is asked for',
                found.box_xyxy,
                score=found.score,
            )
        picture = panorama.views[view]
        pixel = representative_pixel(picture, found, self.config.contact)
        if pixel is None:
            return Grounding(
                GroundingCode.NO_DEPTH,
                f"'{target}' in view {view} has no depth to drive by",
                found.box_xyxy,
                score=found.score,
            )
        return Grounding(
            GroundingCode.FOUND,
            f'{found.label} ({found.score:.2f}) at pixel {pixel[0]}, {pixel[1]}',
            found.box_xyxy,
            pixel,
            found.score,
        )


def representative_pixel(
    view: View, detection: Detection, config: ContactConfig, *, floor_z: float = 0.0
) -> tuple[int, int] | None:
    """Choose the pixel of a detection: opening, floor contact, mask median, box core (SPEC 5)."""
    distance = None
    if detection.position_odom is not None:
        camera_xy = view.odom_tform_camera[:2, 3]
        distance = float(np.linalg.norm(detection.position_odom[:2] - camera_xy))
    if detection.category == 'doorway':
        pixel = doorway_floor(
            view, detection.box_xyxy, config, floor_z=floor_z, frame_distance=distance
        )
    else:
        pixel = floor_contact(
            view, detection.box_xyxy, config, floor_z=floor_z, surface_distance=distance
        )
    if pixel is not None:
        return pixel
    u, v = detection.pixel_uv
    if 0 <= u < view.camera.width and 0 <= v < view.camera.height:
        depth = float(view.depth[v, u])
        if depth >= config.min_depth and not math.isnan(depth):  # far is a direction to go
            return int(u), int(v)
    return core_pixel(view, detection.box_xyxy, config)


def best_match(detections: Sequence[Detection], target: str) -> Detection | None:
    """Return the detection that fits the target's words best, or None.

    The category counts first, then words of the description that the label repeats ('red chair'
    prefers the label 'red chair' to 'chair'), then confidence, then the larger box.
    """
    category = target_category(target)
    words = _words(target)
    ranked = []
    for order, detection in enumerate(detections):
        shared = len(words & _words(detection.label))
        is_same = category is not None and detection.category == category
        is_named = category is None and shared > 0
        if is_same or is_named:
            left, top, right, bottom = detection.box_xyxy
            size = max(0.0, right - left) * max(0.0, bottom - top)
            ranked.append((shared, detection.score, size, -order, detection))
    return max(ranked, key=lambda entry: entry[:4])[4] if ranked else None


def target_category(target: str) -> str | None:
    """Return the canonical category that a description is about, or None.

    The longest known name counts, and of equally long ones the first: in 'chair next to the bed'
    the chair is meant, in 'kitchen table' the table.
    """
    words = _WORD.findall(target.lower())
    for size in range(min(4, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            category = vocabulary.canonical_object(' '.join(words[start : start + size]))
            if category is not None:
                return category
    return None


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _EMPTY_WORDS
