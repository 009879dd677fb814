# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""ROS parameters from configuration dataclasses, and typed configurations back.

A field's description is its line in the class docstring (``Attributes:``), or ``description`` of
its metadata; ``min``, ``max`` and ``unit`` of the metadata become the parameter's range. A field
that is itself a dataclass becomes a group: ``motion.max_speed``.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from vln_core.errors import ConfigError

T = TypeVar('T')
_FLOAT_MAX = 1.7976931348623157e308
_INT_MAX = 2**63 - 1
# Declared by rclpy, by QoS overrides or by every node, not by a configuration.
_FOREIGN = re.compile(r'use_sim_time$|managed$|qos_overrides\.|start_type_description_service$')


@dataclasses.dataclass(frozen=True)
class Row:
    """One parameter: full name, default in parameter form, description, range."""

    name: str
    default: Any
    description: str
    minimum: float | None = None
    maximum: float | None = None


def parameter(
    default: Any,
    description: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """Return a dataclass field that describes itself; units belong into the description."""
    metadata = {'description': description, 'min': minimum, 'max': maximum}
    if dataclasses.is_dataclass(default) or isinstance(default, list):
        return dataclasses.field(default_factory=lambda: default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def rows(config: Any, prefix: str = '', given: frozenset[str] = frozenset()) -> Iterator[Row]:
    """Yield every parameter of a configuration object, in the order of its fields.

    Args:
        config: An instance of a dataclass.
        prefix: Of the names.
        given: Fields left out, because an object further up gives them to all of its parts.
    """
    documented = _documented(type(config))
    # A group gives nothing: system2's group "model" has a parameter "model.model".
    names = frozenset(
        field.name
        for field in dataclasses.fields(config)
        if not dataclasses.is_dataclass(getattr(config, field.name))
    )
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name in given:
            continue
        if dataclasses.is_dataclass(value):
            yield from rows(value, f'{prefix}{field.name}.', given | names)
        elif field.init:
            meta = field.metadata
            text = meta.get('description') or documented.get(field.name, '')
            yield Row(
                prefix + field.name, _plain(value), text, meta.get('min'), meta.get('max')
            )  # fmt: skip


def load(node: Node, defaults: T) -> T:
    """Declare every field of ``defaults`` on ``node`` and return the configuration as set.

    Raises:
        ConfigError: A value has the wrong type or is out of range, or a parameter was given that
            the node does not have; the message names it.
    """
    known = list(rows(defaults))
    _refuse_unknown(node, [row.name for row in known])
    values = {row.name: _declare(node, row) for row in known}
    try:
        return _rebuild(defaults, values, '')
    except (TypeError, ValueError) as error:
        raise ConfigError(f'parameters of {node.get_name()}: {error}') from error


def from_values(defaults: T, values: Mapping[str, Any]) -> T:
    """Return a configuration from parameters by name, without a node.

    Names that the configuration does not have are left out: they belong to another version.

    Raises:
        ConfigError: A value does not fit.
    """
    known = {row.name for row in rows(defaults)}
    given = {name: value for name, value in values.items() if name in known}
    try:
        return typing.cast(T, _rebuild(defaults, given, ''))
    except (TypeError, ValueError) as error:
        raise ConfigError(f'parameters of {type(defaults).__name__}: {error}') from error


def markdown_table(node_name: str, config: Any) -> str:
    """Return the parameter table of one node for the README."""
    lines = [
        f'### {node_name}',
        '',
        '| parameter | default | range | meaning |',
        '|---|---|---|---|',
    ]
    for row in rows(config):
        text = row.description.replace('|', '\\|')
        lines.append(f'| `{row.name}` | `{row.default!r}` | {_range_text(row)} | {text} |')
    return '\n'.join(lines) + '\n'


def _range_text(row: Row) -> str:
    if row.minimum is None and row.maximum is None:
        return ''
    low = '' if row.minimum is None else f'{row.minimum:g}'
    high = '' if row.maximum is None else f'{row.maximum:g}'
    return f'{low} .. {high}'.strip()


def _declare(node: Node, row: Row) -> Any:
    descriptor = ParameterDescriptor(
        description=row.description, read_only=True, dynamic_typing=row.default == []
    )
    if row.minimum is not None or row.maximum is not None:
        if isinstance(row.default, float):
            low = -_FLOAT_MAX if row.minimum is None else float(row.minimum)
            high = _FLOAT_MAX if row.maximum is None else float(row.maximum)
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        elif isinstance(row.default, int):
            low = -_INT_MAX if row.minimum is None else int(row.minimum)
            high = _INT_MAX if row.maximum is None else int(row.maximum)
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=1)]
    try:
        return node.declare_parameter(row.name, row.default, descriptor).value
    except InvalidParameterTypeException as error:
        raise ConfigError(
            f'parameter {row.name} of {node.get_name()} must be of type '
            f'{type(row.default).__name__}, like {row.default!r} ({error})'
        ) from error
    except InvalidParameterValueException as error:
        raise ConfigError(
            f'parameter {row.name} of {node.get_name()} is out of its range '
            f'{_range_text(row)} ({error})'
        ) from error


def _refuse_unknown(node: Node, known: list[str]) -> None:
    """A misspelt parameter would silently leave its default in force."""
    for name in getattr(node, '_parameter_overrides', {}):
        if name in known or _FOREIGN.match(name) or node.has_parameter(name):
            continue
        close = difflib.get_close_matches(name, known, n=1)
        hint = f'; did you mean {close[0]}?' if close else ''
        raise ConfigError(f'{node.get_name()} has no parameter {name}{hint}')


def _rebuild(defaults: Any, values: dict[str, Any], prefix: str) -> Any:
    changes = {}
    for field in dataclasses.fields(defaults):
        default = getattr(defaults, field.name)
        if dataclasses.is_dataclass(default):
            changes[field.name] = _rebuild(default, values, f'{prefix}{field.name}.')
        elif prefix + field.name in values:
            changes[field.name] = _typed(default, values[prefix + field.name])
    return dataclasses.replace(defaults, **changes)


def _plain(value: Any) -> Any:
    """Return ``value`` in a form that a parameter can hold."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, frozenset, set)):
        return sorted(value) if isinstance(value, (frozenset, set)) else list(value)
    if value is None:
        raise ConfigError('a field that is a parameter needs a default other than None')
    return value


def _typed(default: Any, value: Any) -> Any:
    """Return a parameter's value as the type of the field."""
    if isinstance(default, Enum):
        return type(default)(value)
    if isinstance(default, (tuple, frozenset, set)):
        return type(default)(value if value is not None else ())
    return value


def _documented(cls: type) -> dict[str, str]:
    """Return what the ``Attributes:`` section of a Google docstring says about each field."""
    section = re.search(r'^Attributes:\n((?:[ \t]+.*\n?|\n)+)', inspect.getdoc(cls) or '', re.M)
    if section is None:
        return {}
    found = re.findall(r'^ {4}(\w+): (.*(?:\n {5,}.*)*)', typing.cast(str, section.group(1)), re.M)
    return {name: ' '.join(text.split()) for name, text in found}
