# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The functions that can stand in $(...)."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import yaml

from vln_launch import packages
from vln_launch.context import Context
from vln_launch.errors import SubstitutionError


def _var(context: Context, name: str, default: str | None = None) -> str:
    value = context.configurations.get(name, default)
    if value is None:
        known = ', '.join(sorted(context.configurations)) or 'none'
        raise SubstitutionError(f"launch configuration '{name}' does not exist; known: {known}")
    return value


def _env(context: Context, name: str, default: str | None = None) -> str:
    value = context.environment.get(name, default)
    if value is None:
        raise SubstitutionError(f"environment variable '{name}' does not exist")
    return value


def _optenv(context: Context, name: str, default: str = '') -> str:
    return context.environment.get(name, default)


def _find_exec(context: Context, name: str) -> str:
    found = shutil.which(name, path=context.environment.get('PATH'))
    if found is None:
        raise SubstitutionError(f"executable '{name}' not found on the PATH")
    return found


def truth(text: str) -> bool:
    """Return what a text means where upstream wants a truth value: YAML's words, or 1 and 0.

    Raises:
        SubstitutionError: It means neither.
    """
    try:
        value = {'1': True, '0': False}.get(text, yaml.safe_load(text))
    except yaml.YAMLError:
        value = None
    if not isinstance(value, bool):
        raise SubstitutionError(f"'{text}' is not a truth value; use true or false")
    return value


def _text(value: bool) -> str:
    return str(value).lower()


def _equals(left: str, right: str) -> bool:
    """Compare as truth values, as numbers or as text, whichever both sides are."""
    truths = ('true', 'false', '1', '0')
    if left.lower() in truths and right.lower() in truths:
        return (left.lower() in ('true', '1')) == (right.lower() in ('true', '1'))
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


# Name: (fewest arguments, most arguments, function).
FUNCTIONS: dict[str, tuple[int, float, Callable[..., str]]] = {
    'var': (1, 2, _var),
    'env': (1, 2, _env),
    'optenv': (1, 2, _optenv),
    'find-pkg-share': (1, 1, lambda _, name: str(packages.share_directory(name))),
    'find-pkg-prefix': (1, 1, lambda _, name: str(packages.prefix(name))),
    'exec-in-package': (2, 2, lambda _, name, package: packages.executable(package, name)),
    'find-exec': (1, 1, _find_exec),
    'dirname': (0, 0, lambda context: str(Path(context.file).parent)),
    'filename': (0, 0, lambda context: str(context.file)),
    'not': (1, 1, lambda _, value: _text(not truth(value))),
    'and': (2, 2, lambda _, left, right: _text(truth(left) & truth(right))),
    'or': (2, 2, lambda _, left, right: _text(truth(left) | truth(right))),
    'any': (0, math.inf, lambda _, *values: _text(any([truth(v) for v in values]))),
    'all': (0, math.inf, lambda _, *values: _text(all([truth(v) for v in values]))),
    'equals': (2, 2, lambda _, left, right: _text(_equals(left, right))),
    'not-equals': (2, 2, lambda _, left, right: _text(not _equals(left, right))),
}
# Functions of upstream that this runner leaves out, with what to do instead.
REFUSED = {
    'eval': 'use not, and, or, any, all, equals',
    'command': 'compute the value before launching and pass it as an argument',
    'anon': 'give the node a name',
    'param': 'use an argument',
}


def check(name: str, given: int) -> None:
    """Refuse unknown functions and wrong numbers of arguments.

    Raises:
        SubstitutionError: With what is known.
    """
    if name in REFUSED:
        raise SubstitutionError(f'$({name} ...) is not supported here; {REFUSED[name]}')
    if name not in FUNCTIONS:
        known = ', '.join(sorted(FUNCTIONS))
        raise SubstitutionError(f"unknown function '$({name} ...)'; known: {known}")
    fewest, most, _ = FUNCTIONS[name]
    if not fewest <= given <= most:
        wanted = str(fewest) if fewest == most else f'{fewest} to {most}'
        raise SubstitutionError(f'$({name} ...) takes {wanted} arguments, not {given}')


def evaluate(name: str, arguments: list[str], context: Context) -> str:
    """Return what a function gives for arguments that are already plain text.

    Raises:
        SubstitutionError: An argument has no sensible value.
    """
    return FUNCTIONS[name][2](context, *arguments)
