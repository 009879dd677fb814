# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters from dataclasses: what is declared, what is refused, what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from vln_core.errors import ConfigError
from vln_nodes import parameters
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class Inner:
    """Part.

    Attributes:
        gain: A factor that needs
            two lines.
        words: Some words.
    """

    gain: float = 2.0
    words: tuple[str, ...] = ('a', 'b')

    def __post_init__(self) -> None:
        if self.gain > 50.0:
            raise ConfigError('inner: gain must not exceed 50')


@dataclass(frozen=True)
class Outer:
    """Whole."""

    speed: float = parameter(0.5, 'Speed, m/s.', minimum=0.0, maximum=1.0)
    count: int = parameter(3, 'How many.', minimum=1)
    is_on: bool = parameter(True, 'Whether.')
    inner: Inner = field(default_factory=Inner)


@pytest.fixture
def make(ros: None) -> Iterator:
    nodes = []

    def build(**overrides: object) -> Node:
        values = [Parameter(name.replace('__', '.'), value=v) for name, v in overrides.items()]
        nodes.append(rclpy.create_node('thing', parameter_overrides=values))
        return nodes[-1]

    yield build
    for node in nodes:
        node.destroy_node()


def test_defaults_come_back(make) -> None:
    assert parameters.load(make(), Outer()) == Outer()


def test_overrides_come_back_typed(make) -> None:
    node = make(speed=0.25, count=7, is_on=False, inner__gain=3.0, inner__words=['x'])
    assert parameters.load(node, Outer()) == Outer(0.25, 7, False, Inner(3.0, ('x',)))


def test_descriptions_and_ranges_are_declared(make) -> None:
    node = make()
    parameters.load(node, Outer())
    speed = node.describe_parameter('speed')
    assert speed.description == 'Speed, m/s.' and speed.read_only
    assert (speed.floating_point_range[0].from_value, speed.floating_point_range[0].to_value) == (
        0,
        1,
    )
    assert node.describe_parameter('inner.gain').description == 'A factor that needs two lines.'


@pytest.mark.parametrize(
    ('overrides', 'message'),
    [
        ({'speed': 1.5}, 'speed of thing is out of its range'),
        ({'speed': 'fast'}, 'speed of thing must be of type float'),
        ({'count': 0}, 'count of thing is out of its range'),
        ({'sped': 0.5}, 'no parameter sped; did you mean speed'),
        ({'inner__gain': 60.0}, 'gain must not exceed 50'),
    ],
)
def test_bad_values_say_what_is_wrong(make, overrides: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parameters.load(make(**overrides), Outer())


def test_table_lists_every_parameter() -> None:
    table = parameters.markdown_table('thing', Outer())
    assert '| `speed` | `0.5` | 0 .. 1 | Speed, m/s. |' in table
    assert '`inner.words`' in table
