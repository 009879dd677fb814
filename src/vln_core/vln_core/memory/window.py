# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Working memory W: the last K completed waypoint transitions, verbatim (SPEC 3.3)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vln_core.context import ActionNote
from vln_core.memory.config import MemoryConfig
from vln_core.observation import Panorama
from vln_core.system2.record import DecisionRecord, describe_action


@dataclass
class Transition:
    """From the look-around at a waypoint to the arrival at the next.

    Attributes:
        step: Number of the waypoint.
        frames: Views of its panorama, (H, W, 3) RGB each.
        num_views: How many views it has.
        seen: Category to count of its detections.
        decisions: Words of the decisions taken there.
        outcomes: What became of them.
        way: Frames seen on the way; not kept on disk.
        num_offered: Frames that there were on the way.
        stride: Of those every so many-th is kept.
        is_under_way: Whether a decision was taken whose outcome is not known yet.
    """

    step: int
    frames: tuple[NDArray[np.uint8], ...]
    num_views: int
    seen: dict[str, int]
    decisions: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    way: list[NDArray[np.uint8]] = field(default_factory=list)
    num_offered: int = 0
    stride: int = 1
    is_under_way: bool = False


class WorkingWindow:
    """Frames and words of the last K transitions; older ones leave for good."""

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self.transitions: list[Transition] = []

    def open(self, step: int, panorama: Panorama, seen: dict[str, int]) -> None:
        """Begin the transition of a new waypoint; the one before it is complete now."""
        frames = tuple(view.rgb for view in panorama.views)
        self.transitions.append(Transition(step, frames, len(frames), seen))
        if self._config.window >= 0:
            del self.transitions[: max(0, len(self.transitions) - self._config.window - 1)]

    def decide(self, record: DecisionRecord) -> None:
        """Note the decision at the current waypoint."""
        if self.transitions:
            self._depart(self.transitions[-1])
            reason = f' because {record.rationale}' if record.rationale else ''
            self.transitions[-1].decisions.append(f'{describe_action(record.action)}{reason}')

    def conclude(self, note: ActionNote) -> None:
        """Note what became of the action."""
        if self.transitions:
            self.transitions[-1].is_under_way = False
            self.transitions[-1].outcomes.append(f'{note.outcome} (code {note.code})')

    @staticmethod
    def _depart(transition: Transition) -> None:
        # What an action that was refused at once saw is no way.
        transition.way.clear()
        transition.num_offered, transition.stride = 0, 1
        transition.is_under_way = True

    def add_way_frame(self, rgb: NDArray[np.uint8]) -> None:
        """Offer a frame seen on the way, at even intervals; at most ``way_frames`` are kept.

        However long the way, they lie spread over it: where there are too many, every second one
        goes, and from then on every second one comes. Without a motion under way nothing is kept.
        """
        limit = self._config.way_frames
        if not self.transitions or not self.transitions[-1].is_under_way or limit < 1:
            return
        transition = self.transitions[-1]
        transition.num_offered += 1
        if transition.num_offered % transition.stride:
            return
        transition.way.append(rgb)
        while len(transition.way) > limit:
            transition.way = transition.way[1::2]
            transition.stride *= 2

    @property
    def completed(self) -> list[Transition]:
        """Transitions before the current waypoint, oldest first."""
        return self.transitions[:-1]

    def text(self) -> str:
        """Return the words of the completed transitions."""
        lines = []
        for transition in self.completed:
            seen = (
                ', '.join(f'{n} x{c}' if c > 1 else n for n, c in transition.seen.items())
                or 'nothing'
            )
            lines.append(f'w{transition.step}: saw {seen}')
            lines += [f'  decided {d}' for d in transition.decisions]
            lines += [f'  outcome {o}' for o in transition.outcomes]
        return '\n'.join(lines)

    def frames(self) -> tuple[NDArray[np.uint8], ...]:
        """Return the pictures of the completed transitions, oldest first."""
        return tuple(f for t in self.completed for f in (*t.frames, *t.way))
