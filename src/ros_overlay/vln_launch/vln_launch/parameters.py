# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of nodes: from the text of a launch file to typed values in a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from vln_launch.context import Context
from vln_launch.document import Element
from vln_launch.errors import SubstitutionError
from vln_launch.functions import truth
from vln_launch.substitutions import parse, perform

SCALARS = (bool, int, float, str)
TYPES: dict[str, type] = {'bool': bool, 'int': int, 'float': float, 'str': str}
LISTS = {f'list_of_{name}': kind for name, kind in TYPES.items()}


def load_yaml(text: str, what: str) -> Any:
    """Read text as YAML.

    Raises:
        SubstitutionError: It is none.
    """
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SubstitutionError(f"{what} '{text}' is not valid YAML") from error


def typed_value(text: str, context: Context, type_name: str | None) -> Any:
    """Return the value of a parameter written as text with substitutions.

    As upstream, the type is what YAML makes of the text after the substitutions: 1 is an int,
    1.0 a float, true a bool, [1, 2] a list, everything else a string; quotes keep a string, and
    an explicit type overrides all that.

    Raises:
        SubstitutionError: The text does not give a value of a type that parameters can have.
    """
    if type_name in TYPES:
        return _of_type(perform(parse(text), context), type_name)
    if type_name is not None and type_name not in LISTS:
        known = ', '.join((*TYPES, *LISTS))
        raise SubstitutionError(f"unknown type '{type_name}'; known: {known}")
    # Before the substitutions: a list keeps its shape, whatever its members stand for.
    value = text
    try:
        value = yaml.safe_load(text) if text else ''
    except yaml.YAMLError:
        if '$(' not in text:
            raise SubstitutionError(f"value '{text}' is not valid YAML") from None
    if isinstance(value, list):
        members = [_member(item, context, type_name) for item in value]
        return _checked_list(members, text, LISTS.get(type_name or ''), type_name)
    if isinstance(value, str):
        had_substitution = any(not isinstance(part, str) for part in parse(value))
        value = perform(parse(value), context)
        if (had_substitution or type_name is not None) and value:
            value = load_yaml(value, 'value')
    return _checked(value, text, type_name)


def separated_values(text: str, separator: str, context: Context, type_name: str | None) -> Any:
    """Return the list that a text with a separator of its own stands for.

    Raises:
        SubstitutionError: The members are not of one type, or not of the given one.
    """
    member_type = (type_name or '').removeprefix('list_of_') if type_name in LISTS else None
    members = [typed_value(piece, context, member_type) for piece in text.split(separator)]
    return _checked_list(members, text, LISTS.get(type_name or ''), type_name)


def _of_type(text: str, type_name: str) -> Any:
    """Return the value of a text as Python reads a number, or YAML a truth value."""
    try:
        return truth(text) if type_name == 'bool' else TYPES[type_name](text)
    except ValueError:
        raise SubstitutionError(f"value '{text}' is not of type '{type_name}'") from None


def _member(item: Any, context: Context, type_name: str | None) -> Any:
    if not isinstance(item, str):
        return item
    template = parse(item)
    value = perform(template, context)
    if all(isinstance(part, str) for part in template):
        return value
    if type_name in LISTS:
        return _of_type(value, type_name.removeprefix('list_of_'))
    return load_yaml(value, 'list member') if value else value


def _checked(value: Any, text: str, type_name: str | None) -> Any:
    if isinstance(value, list):
        return _checked_list(value, text, LISTS.get(type_name or ''), type_name)
    if not isinstance(value, SCALARS):
        raise SubstitutionError(
            f"value '{text}' gives {type(value).__name__}, which no parameter can have; "
            'for a string add type="str"'
        )
    if type_name is not None:
        raise SubstitutionError(f"value '{text}' is not of type '{type_name}'")
    return value


def _checked_list(
    values: list[Any], text: str, kind: type | None, type_name: str | None
) -> list[Any]:
    kinds = {type(value) for value in values}
    if type_name is not None and kind is None:
        raise SubstitutionError(f"value '{text}' is a list and not of type '{type_name}'")
    if len(kinds) > 1 or not kinds <= set(SCALARS) or (kind and kinds - {kind}):
        wanted = type_name or 'one type: bool, int, float or str'
        raise SubstitutionError(f"the members of '{text}' are not of {wanted}")
    return values


def values(element: Element, context: Context, prefix: str = '') -> dict[str, Any]:
    """Return what a <param name=...> sets; nested ones are joined by dots.

    Raises:
        LaunchError: It has both or neither of a value and nested parameters.
    """
    if 'name' not in element.attributes:
        element.fail("attribute 'name' is missing")
    for name in ('from', 'allow_substs'):
        if name in element.attributes:
            element.fail(f"attribute '{name}' does not go together with 'name'")
    name = prefix + perform(parse(element.attributes['name']), context)
    text = element.attributes.get('value')
    if (text is None) == (not element.children):
        element.fail("either 'value' or nested <param> is needed, and not both")
    kind = element.attributes.get('type')
    if text is not None and element.attributes.get('value-sep'):
        return {name: separated_values(text, element.attributes['value-sep'], context, kind)}
    if text is not None:
        return {name: typed_value(text, context, kind)}
    if kind is not None:
        element.fail("'type' does not go together with nested <param>")
    result: dict[str, Any] = {}
    for child in element.children:
        result.update(values(child, context, name + '.'))
    return result


def file_text(element: Element, context: Context) -> tuple[Path, str | None]:
    """Return the file of a <param from=...>, and its text when substitutions are made in it.

    Raises:
        LaunchError: The file does not exist or is not YAML.
    """
    for name in ('name', 'value', 'type'):
        if name in element.attributes:
            element.fail(f"attribute '{name}' does not go together with 'from'")
    if element.children:
        element.fail("nested <param> does not go together with 'from'")
    path = Path(perform(parse(element.attributes['from']), context))
    if not path.is_file():
        element.fail(f"parameter file '{path}' does not exist", 'check the path')
    allow = perform(parse(element.attributes.get('allow_substs', 'false')), context)
    if not truth(allow):
        return path, None
    text = perform(parse(path.read_text(encoding='utf-8')), context)
    load_yaml(text, f'parameter file {path} after substitution:')
    return path, text


def dump(key: str, parameters: dict[str, Any]) -> str:
    """Return the YAML text of a parameter file for the nodes that key selects."""
    return yaml.dump({key: {'ros__parameters': parameters}}, default_flow_style=False)
