# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Motions that lead nowhere are noticed, each in its own way, and none goes on for ever."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from vln_core.control.recovery import RecoveryConfig, RecoveryMonitor
from vln_core.outcome import MotionCode

DT = 0.05
CONFIG = RecoveryConfig()
Pose = tuple[float, float, float]
# Time -> pose, command, way left, is_blocked.
Motion = Callable[[float], tuple[Pose, tuple[float, float], float | None, bool]]


def failure_of(motion: Motion, seconds: float = 120.0) -> tuple[MotionCode, str, float] | None:
    """Return what fails, why and when, or None."""
    monitor = RecoveryMonitor(CONFIG)
    for tick in range(int(seconds / DT)):
        failed = monitor.step(DT, *motion(tick * DT))
        if failed is not None:
            return *failed, (tick + 1) * DT
    return None


def driving(t: float) -> tuple[Pose, tuple[float, float], float, bool]:
    return (0.3 * t, 0.0, 0.0), (0.3, 0.0), 100.0 - 0.3 * t, False


def test_a_robot_that_comes_nearer_goes_on() -> None:
    assert failure_of(driving) is None


def test_blocked_is_told_after_its_time_and_a_short_stop_is_forgiven() -> None:
    def stands(t: float) -> tuple[Pose, tuple[float, float], float, bool]:
        return (0.0, 0.0, 0.0), (0.0, 0.0), 2.0, True

    code, _, when = failure_of(stands)
    assert code is MotionCode.BLOCKED
    assert when == pytest.approx(CONFIG.blocked_timeout, abs=0.11)

    def stands_now_and_then(t: float) -> tuple[Pose, tuple[float, float], float, bool]:
        pose, command, left, _ = driving(t)
        return pose, command, left, t % 8.0 < 0.9 * CONFIG.blocked_timeout

    assert failure_of(stands_now_and_then) is None


@pytest.mark.parametrize('command', [(0.3, 0.0), (0.0, 0.8)])
def test_wheels_without_motion_are_stuck(command: tuple[float, float]) -> None:
    code, _, when = failure_of(lambda t: ((0.0, 0.0, 0.0), command, 2.0, False))
    assert code is MotionCode.STUCK
    assert when == pytest.approx(CONFIG.stuck_timeout, abs=0.11)


def test_a_turn_by_order_may_be_stuck_but_never_aimless() -> None:
    def turns(t: float) -> tuple[Pose, tuple[float, float], None, bool]:
        return (0.0, 0.0, 0.8 * t), (0.0, 0.8), None, False

    assert failure_of(turns) is None
    code, _, _ = failure_of(lambda t: ((0.0, 0.0, 0.0), (0.0, 0.8), None, False))
    assert code is MotionCode.STUCK


def test_turning_round_and_round_is_oscillating() -> None:
    rate = 1.0
    code, text, when = failure_of(lambda t: ((0.0, 0.0, rate * t), (0.0, rate), 2.0, False))
    assert code is MotionCode.OSCILLATING
    assert 'round and round' in text
    assert when == pytest.approx(CONFIG.max_spin / rate, abs=0.2)


def test_turning_to_and_fro_is_oscillating() -> None:
    def wags(t: float) -> tuple[Pose, tuple[float, float], float, bool]:
        return (0.0, 0.0, 0.3 * math.sin(4.0 * t)), (0.0, 1.2 * math.cos(4.0 * t)), 2.0, False

    code, text, when = failure_of(wags)
    assert code is MotionCode.OSCILLATING
    assert 'to and fro' in text
    assert when < CONFIG.progress_timeout


def test_circles_that_lead_nowhere_end() -> None:
    """Slow circles: the wheels move the robot, and it is never nearer."""

    def circles(t: float) -> tuple[Pose, tuple[float, float], float, bool]:
        return (math.sin(0.2 * t), math.cos(0.2 * t), -0.2 * t), (0.2, -0.2), 2.0, False

    code, _, when = failure_of(circles)
    assert code is MotionCode.BLOCKED
    assert when == pytest.approx(CONFIG.progress_timeout, abs=0.2)


def test_progress_starts_the_patience_anew() -> None:
    """A quarter turn to and fro at every corner of a long way is no failure."""

    def winds(t: float) -> tuple[Pose, tuple[float, float], float, bool]:
        return (0.1 * t, 0.0, 0.5 * math.sin(t)), (0.1, 0.5 * math.cos(t)), 50.0 - 0.1 * t, False

    assert failure_of(winds) is None


def test_waiting_for_somebody_who_moves_ends_too() -> None:
    monitor = RecoveryMonitor(CONFIG)
    ticks = 0
    while (failed := monitor.wait(DT, (0.0, 0.0, 0.1 * ticks))) is None:
        ticks += 1
        assert ticks * DT < 2.0 * CONFIG.progress_timeout
    assert failed[0] is MotionCode.BLOCKED
    assert 'somebody' in failed[1]
