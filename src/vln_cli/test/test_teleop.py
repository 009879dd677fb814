# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The keyboard as a dead-man's switch."""

import math

import pytest

from vln_cli.teleop import Keyboard, TeleopConfig


@pytest.fixture
def keyboard():
    return Keyboard(TeleopConfig(max_linear=0.4, max_angular=1.0))


def test_released_key_stops(keyboard):
    keyboard.press('i', 0.0)
    assert keyboard.velocity(0.5) == (pytest.approx(0.2), 0.0)
    assert keyboard.velocity(0.61) == (0.0, 0.0)


def test_repeating_key_stops_soon_after_its_last_repetition(keyboard):
    keyboard.press('j', 0.0)
    for tick in range(5):
        keyboard.press('j', 0.5 + 0.03 * tick)
    assert keyboard.velocity(0.7) == (0.0, pytest.approx(0.5))
    assert keyboard.velocity(0.5 + 0.12 + 0.21) == (0.0, 0.0)


@pytest.mark.parametrize('key', ['k', ' ', 'A', '7'])
def test_any_other_key_stops_at_once(keyboard, key):
    keyboard.press('i', 0.0)
    assert keyboard.press(key, 0.1)
    assert keyboard.velocity(0.1) == (0.0, 0.0)


@pytest.mark.parametrize('key', ['\x03', '\x1b'])
def test_leaving_stops(keyboard, key):
    keyboard.press('i', 0.0)
    assert not keyboard.press(key, 0.1)
    assert keyboard.velocity(0.1) == (0.0, 0.0)


def test_speeds_stay_within_the_limits(keyboard):
    for _ in range(50):
        keyboard.press('q', 0.0)
    keyboard.press('u', 0.0)
    assert keyboard.velocity(0.0) == (pytest.approx(0.4), pytest.approx(1.0))


@pytest.mark.parametrize('value', [0.0, -1.0, math.nan, math.inf])
def test_limits_are_checked(value):
    with pytest.raises(ValueError, match='max_linear'):
        TeleopConfig(max_linear=value)
