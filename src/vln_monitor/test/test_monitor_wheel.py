# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One driver, and a dead man's switch."""

from __future__ import annotations

import math

import pytest

from vln_monitor.wheel import Teleop, TeleopLimits, Wheel, WheelTaken


def test_one_driver_at_a_time() -> None:
    wheel = Wheel()
    assert wheel.take(1, 'Ada') is None
    assert wheel.take(1, 'Ada') is None
    with pytest.raises(WheelTaken, match='Ada'):
        wheel.take(2, 'Bo')
    assert wheel.take(2, 'Bo', force=True) == 1
    assert not wheel.leave(1)
    assert (wheel.driver, wheel.name) == (2, 'Bo')
    assert wheel.leave(2)
    assert (wheel.driver, wheel.name) == (None, '')


def test_limits_hold() -> None:
    teleop = Teleop(TeleopLimits(0.5, 1.0, 0.25))
    teleop.hold(1.0, -1.0, 0.5, now=0.0)
    assert teleop.tick(0.05) == (0.25, -0.5)
    teleop.hold(9.0, math.nan, 7.0, now=0.1)
    assert teleop.tick(0.1) == (0.5, 0.0)
    teleop.hold(1.0, 1.0, math.nan, now=0.2)
    assert teleop.tick(0.2) == (0.0, 0.0)


def test_silence_means_zero_and_then_nothing() -> None:
    teleop = Teleop(TeleopLimits(timeout=0.25))
    assert teleop.tick(0.0) is None
    teleop.hold(1.0, 0.0, 1.0, now=1.0)
    assert teleop.tick(1.24) == (0.5, 0.0)
    zeros = [teleop.tick(1.25 + 0.05 * index) for index in range(Teleop.NUM_ZEROS)]
    assert zeros == [(0.0, 0.0)] * Teleop.NUM_ZEROS
    assert teleop.tick(2.0) is None


def test_letting_go_is_at_once() -> None:
    teleop = Teleop(TeleopLimits())
    assert not teleop.let_go()
    teleop.hold(1.0, 0.0, 1.0, now=0.0)
    assert teleop.let_go()
    assert teleop.tick(0.01) == (0.0, 0.0)
