# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Text with $(...) in it: parsing and evaluation.

The grammar is upstream's: one space stands between arguments; they may be quoted with ' or ", and
contain substitutions, in quotes those whose arguments have no quotes of their own; a backslash
takes away the meaning of the next character, and a dollar sign without a bracket has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vln_launch import functions
from vln_launch.context import Context
from vln_launch.errors import SubstitutionError

IDENTIFIER = re.compile(r'[A-Za-z][A-Za-z0-9_-]*')
QUOTES = '\'"'

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
        SubstitutionError: A bracket or quote is not closed, or a function is unknown.
    """
    template, _ = _parse_text(text, 0, '')
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


def _parse_text(text: str, position: int, quote: str) -> tuple[Template, int]:
    """Parse up to, not including, the closing quote; '' reads to the end."""
    parts: Template = []
    plain = ''
    while position < len(text) and text[position] != quote:
        if text.startswith('$(', position):
            parts += [plain] if plain else []
            plain = ''
            substitution, position = _parse_substitution(text, position + 2, quote)
            parts.append(substitution)
        elif text[position] == '\\' and position + 1 < len(text):
            plain += text[position + 1]
            position += 2
        else:
            plain += text[position]
            position += 1
    if quote and position >= len(text):
        raise SubstitutionError(f'the quote {quote} is not closed in {text!r}')
    if plain or not parts:
        parts.append(plain)
    return parts, position


def _parse_substitution(text: str, position: int, quote: str) -> tuple[Substitution, int]:
    """Parse from after the opening bracket to after the closing one.

    Args:
        text: All of it.
        position: Where to begin.
        quote: In which quotes it stands: arguments in there have no quotes of their own.
    """
    match = IDENTIFIER.match(text, position)
    if not match:
        raise SubstitutionError(f"no function name after '$(' in '{text}'")
    position = match.end()
    arguments: list[tuple[str | Substitution, ...]] = []
    while text[position : position + 1] == ' ':
        first = text[position + 1 : position + 2]
        if not quote and first and first in QUOTES:
            argument, position = _parse_text(text, position + 2, first)
            position += 1
        else:
            argument, position = _parse_word(text, position + 1, quote)
        arguments.append(tuple(argument))
    if position >= len(text):
        raise SubstitutionError(f"'$(' is not closed in '{text}'")
    if text[position] != ')':
        raise SubstitutionError(
            f"unexpected '{text[position]}' after '$({match.group()} ...' in '{text}'; one space "
            'stands between arguments, and quotes around a whole one'
        )
    return Substitution(match.group(), tuple(arguments)), position + 1


def _parse_word(text: str, position: int, quote: str) -> tuple[Template, int]:
    """Parse an argument without quotes, up to the space or bracket behind it."""
    parts: Template = []
    plain = ''
    stops = (quote or QUOTES) + ' ()'
    while position < len(text):
        character, following = text[position], text[position + 1 : position + 2]
        if text.startswith('$(', position):
            parts += [plain] if plain else []
            plain = ''
            substitution, position = _parse_substitution(text, position + 2, quote)
            parts.append(substitution)
        elif character == '\\' and following and following != ' ':
            plain += following
            position += 2
        elif character in stops:
            break
        else:
            plain += character
            position += 1
    parts += [plain] if plain else []
    if not parts:
        raise SubstitutionError(f"an argument is missing, or a space too much, in '{text}'")
    return parts, position
