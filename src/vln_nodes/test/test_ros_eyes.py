# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the look-around asks of perception when a turn fails."""

from types import SimpleNamespace

import pytest

from vln_core.errors import PerceptionError
from vln_core.outcome import MotionCode, MotionOutcome
from vln_nodes.adapters import RosEyes


class Legs:
    """Turns that end as told, then well."""

    def __init__(self, *codes):
        self.codes = list(codes)

    def spin(self, angle):
        code = self.codes.pop(0) if self.codes else MotionCode.REACHED
        return MotionOutcome(code, code.name)


class Eyes(RosEyes):
    """The real look-around; captures are noted instead of sent."""

    def __init__(self, legs):
        self._legs, self.asked = legs, []

    def _take(self, index, count, yaw, landmarks):
        self.asked.append((index, count))
        return SimpleNamespace(hfov=1.745, panorama_id=7)

    def _panorama(self, panorama_id):
        return panorama_id


def test_all_turns_give_all_views():
    eyes = Eyes(Legs())
    assert eyes.look_around([]) == 7
    assert eyes.asked == [(0, 0), (1, 4), (2, 4), (3, 4)]


def test_a_turn_that_is_stuck_ends_the_look_around_with_what_was_seen():
    eyes = Eyes(Legs(MotionCode.REACHED, MotionCode.STUCK))
    assert eyes.look_around([]) == 7
    # index = num_views = views taken: publish them as an incomplete panorama
    assert eyes.asked == [(0, 0), (1, 4), (2, 2)]


def test_the_last_turn_only_restores_the_heading():
    reached = [MotionCode.REACHED] * 3
    eyes = Eyes(Legs(*reached, MotionCode.STUCK))
    assert eyes.look_around([]) == 7
    assert eyes.asked[-1] == (3, 4)


@pytest.mark.parametrize('code', [MotionCode.EMERGENCY_STOP, MotionCode.STALE_INPUT])
def test_an_emergency_stop_is_no_reason_to_go_on(code):
    with pytest.raises(PerceptionError, match=r'turn 1 .*' + code.name):
        Eyes(Legs(code)).look_around([])
