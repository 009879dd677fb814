# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Text with $(...) in it: parsing and evaluation.

The grammar is upstream's: arguments are separated by spaces, may be quoted with ' or ", may
contain substitutions, and a backslash takes away the meaning of the next character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vln_launch import functions
from vln_launch.context import Context
from vln_launch.errors import SubstitutionError

IDENTIFIER = re.compile(r'[A-Za-z][A-Za-z0-9_-]*')

Template = list['str | Substitution']


@dataclass(frozen=True)
class Substitution:
    """One $(name argument ...)."""

    name: str
    arguments: tuple[tuple[str | Substitution, ...], ...]

    def perform(self, context: Context) -> str:
        """Return the text it stands for.

        Raises:
            SubstitutionError: It cannot be evaluated.
        """
        arguments = [perform(list(argument), context) for argument in self.arguments]
        return functions.evaluate(self.name, arguments, context)

    def describe(self) -> str:
        """Return how ros2 launch --show-args writes it."""
        shown = ' + '.join(describe(list(argument)) for argument in self.arguments[:1])
        names = {
            'var': 'LaunchConfig({})',
            'env': 'EnvVar({})',
            'optenv': 'EnvVar({})',
            'find-pkg-share': 'FindPackageShare(pkg={})',
            'find-pkg-prefix': 'FindPackagePrefix(pkg={})',
            'dirname': 'ThisLaunchFileDir()',
            'filename': 'ThisLaunchFile()',
        }
        if self.name in names:
            return names[self.name].format(shown)
        words = ' '.join(describe(list(argument)) for argument in self.arguments)
        return f'{self.name.title().replace("-", "")}Substitution({words})'


def describe(template: Template) -> str:
    """Return how ros2 launch --show-args writes a default value."""
    return ' + '.join(f"'{p}'" if isinstance(p, str) else p.describe() for p in template)


def perform(template: Template, context: Context) -> str:
    """Return the text of a template in a context."""
    return ''.join(p if isinstance(p, str) else p.perform(context) for p in template)


def parse(text: str) -> Template:
    """Split text into plain parts and substitutions.

    Raises:
        SubstitutionError: A bracket or quote is not closed, a function is unknown, or a dollar
            sign stands alone.
    """
    template, _ = _parse_until(text, 0, '')
    for part in _substitutions(template):
        functions.check(part.name, len(part.arguments))
    return template


def unescape(text: str) -> str:
    """Remove the backslashes that protect characters."""
    return re.sub(r'\\(.)', r'\1', text)


def _substitutions(template: Template) -> Iterator[Substitution]:
    for part in template:
        if isinstance(part, Substitution):
            yield part
            for argument in part.arguments:
                yield from _substitutions(list(argument))


def _parse_until(text: str, position: int, stops: str) -> tuple[Template, int]:
    """Parse up to, not including, one of the stop characters; '' reads to the end."""
    parts: Template = []
    plain = ''
    while position < len(text) and text[position] not in stops:
        character = text[position]
        if character == '\\' and position + 1 < len(text):
            plain += text[position + 1]
            position += 2
        elif text.startswith('$(', position):
            if plain:
                parts.append(plain)
                plain = ''
            substitution, position = _parse_substitution(text, position + 2)
            parts.append(substitution)
        elif character == '$':
            raise SubstitutionError(f"a lone '$' in '{text}'; write it as '\\$'")
        else:
            plain += character
            position += 1
    if plain or not parts:
        parts.append(plain)
    return parts, position


def _parse_substitution(text: str, position: int) -> tuple[Substitution, int]:
    """Parse from after the opening bracket to after the closing one."""
    match = IDENTIFIER.match(text, position)
    if not match:
        raise SubstitutionError(f"no function name after '$(' in '{text}'")
    position = match.end()
    arguments: list[tuple[str | Substitution, ...]] = []
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if position >= len(text):
            raise SubstitutionError(f"'$(' is not closed in '{text}'")
        if text[position] == ')':
            return Substitution(match.group(), tuple(arguments)), position + 1
        if text[position] in '\'"':
            quote = text[position]
            template, position = _parse_until(text, position + 1, quote)
            if position >= len(text):
                raise SubstitutionError(f'the quote {quote} is not closed in {text!r}')
            position += 1
        else:
            template, position = _parse_until(text, position, ' \t\n)')
        arguments.append(tuple(template))
