# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The stop word: always heard, never mistaken for a route instruction."""

import pytest

from vln_core.system2.stop_word import is_stop_word


@pytest.mark.parametrize(
    'text',
    [
        'stop', 'Stop!', 'STOP STOP STOP', 'robot, please stop now', 'Halt.', 'emergency stop',
        'freeze', 'stop right there', 'stop it', 'please stop moving', "don't move", 'Don’t move!',
        'stand still', 'no, stop', 'abort', 'stop at once',
    ],
)  # fmt: skip
def test_is_heard(text):
    assert is_stop_word(text)


@pytest.mark.parametrize(
    'text',
    [
        '', '...', 'stop at the sofa', 'Go to the kitchen and stop.',
        'stop in front of the bus stop',
        'leave the bedroom', "don't stop", 'walk past the stop sign', 'now go there',
        'wait at the door',
        'stop when you see the fridge', 'here', 'stopping',
    ],
)  # fmt: skip
def test_is_no_stop_word(text):
    assert not is_stop_word(text)
