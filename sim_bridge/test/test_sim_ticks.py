# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time and the time-out of commands."""

from __future__ import annotations

import math

import pytest

from vln_core.errors import ConfigError
from vln_sim_bridge.ticks import Command, CommandGate, Ticks


def test_images_every_second_tick_and_time_never_zero():
    ticks = Ticks(20.0, 10.0)
    seen = []
    for _ in range(6):
        seen.append((ticks.stamp, ticks.has_images))
        ticks.advance()
    assert seen[0][0] > 0
    assert [stamp - seen[0][0] for stamp, _ in seen] == [k * 50_000_000 for k in range(6)]
    assert [images for _, images in seen] == [True, False] * 3


@pytest.mark.parametrize('advanced', [0, 1])
def test_a_jump_lands_on_a_later_image_tick(advanced):
    ticks = Ticks(20.0, 10.0)
    for _ in range(advanced):
        ticks.advance()
    before = ticks.stamp
    ticks.jump_to_images()
    assert ticks.has_images
    assert ticks.stamp > before


@pytest.mark.parametrize('rates', [(20.0, 7.0), (20.0, 0.0), (10.0, 20.0), (math.nan, 10.0)])
def test_rates_must_fit(rates):
    with pytest.raises(ConfigError):
        Ticks(*rates)


def test_commands_time_out_on_either_clock():
    gate = CommandGate()
    assert gate.velocity(0.0, 0) == (0.0, 0.0)
    assert gate.put(Command(0.3, 0.1, steady=10.0, stamp=1_000_000_000))
    assert gate.velocity(10.4, 1_400_000_000) == (0.3, 0.1)
    assert gate.velocity(10.6, 1_100_000_000) == (0.0, 0.0)
    assert gate.velocity(10.1, 1_600_000_000) == (0.0, 0.0)
    gate.clear()
    assert gate.velocity(10.0, 1_000_000_000) == (0.0, 0.0)


@pytest.mark.parametrize('v', [math.nan, math.inf])
def test_nonsense_stops_the_robot(v):
    gate = CommandGate()
    gate.put(Command(0.3, 0.0, 10.0, 0))
    assert not gate.put(Command(v, 0.0, 10.0, 0))
    assert gate.velocity(10.0, 0) == (0.0, 0.0)
