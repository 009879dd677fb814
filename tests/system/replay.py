# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A run that was recorded, and the eyes and legs that play it again to another navigator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from vln_core.navigator import EpisodeResult
from vln_core.observation import Panorama
from vln_core.outcome import MotionOutcome
from vln_core.ports import Eyes, Legs
from vln_interfaces.msg import Panorama as PanoramaMsg
from vln_nodes import conversions, memory_conversions


class RecordingEyes:
    """Passes every panorama through the form that it has on the wire, and keeps that."""

    def __init__(self, eyes: Eyes) -> None:
        self._eyes = eyes
        self.messages: list[PanoramaMsg] = []

    def look_around(self, landmarks: Sequence[str]) -> Panorama:
        panorama = self._eyes.look_around(landmarks)
        message = conversions.panorama_msg(panorama, 'odom', 'camera_color_optical_frame')
        self.messages.append(message)
        return conversions.panorama_of(message)


class RecordingLegs:
    """Keeps what was asked of the legs and what became of it."""

    def __init__(self, legs: Legs) -> None:
        self._legs = legs
        self.motions: list[tuple[Any, MotionOutcome]] = []

    def move_to_pixel(
        self, panorama: Panorama, view: int, pixel_uv: tuple[int, int]
    ) -> MotionOutcome:
        outcome = self._legs.move_to_pixel(panorama, view, pixel_uv)
        return self._keep(('pixel', view, *map(int, pixel_uv)), outcome)

    def move_along(self, route: Sequence[tuple[float, float]]) -> MotionOutcome:
        return self._keep(('along', *map(tuple, route)), self._legs.move_along(route))

    def spin(self, angle: float) -> MotionOutcome:
        return self._keep(('spin', angle), self._legs.spin(angle))

    def halt(self) -> None:
        self._legs.halt()

    def _keep(self, request: Any, outcome: MotionOutcome) -> MotionOutcome:
        self.motions.append((request, outcome))
        return outcome


class ReplayEyes:
    """Shows the recorded panoramas again, to everybody who listens to ``publish`` too."""

    def __init__(
        self, messages: Sequence[PanoramaMsg], publish: Callable[[PanoramaMsg], None]
    ) -> None:
        self._messages = iter(messages)
        self._publish = publish

    def look_around(self, landmarks: Sequence[str]) -> Panorama:
        message = next(self._messages)
        self._publish(message)
        return conversions.panorama_of(message)


class ReplayLegs:
    """Answers as the recorded legs did; another request than the recorded one is a failure."""

    def __init__(self, motions: Sequence[tuple[Any, MotionOutcome]]) -> None:
        self._motions = iter(motions)

    def move_to_pixel(
        self, panorama: Panorama, view: int, pixel_uv: tuple[int, int]
    ) -> MotionOutcome:
        return self._answer(('pixel', view, *map(int, pixel_uv)))

    def move_along(self, route: Sequence[tuple[float, float]]) -> MotionOutcome:
        return self._answer(('along', *map(tuple, route)))

    def spin(self, angle: float) -> MotionOutcome:
        return self._answer(('spin', angle))

    def halt(self) -> None:
        pass

    def _answer(self, request: Any) -> MotionOutcome:
        recorded, outcome = next(self._motions)
        assert is_equal(recorded, request), f'asked for {request}, recorded was {recorded}'
        return outcome


def is_equal(one: Any, other: Any) -> bool:
    """Compare nested tuples; numbers to 1e-9."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(is_equal, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, abs_tol=1e-9)
    return one == other


def decisions_of(result: EpisodeResult) -> list[tuple[Any, ...]]:
    """Return what was decided at each waypoint, why, and what came of it."""
    return [
        (
            trace.step,
            memory_conversions.record_json(trace.record),
            trace.pixel_uv and tuple(map(int, trace.pixel_uv)),
            trace.code,
            trace.outcome,
            trace.refusals,
        )
        for trace in result.decisions
    ]
