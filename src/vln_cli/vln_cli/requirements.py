# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the requirement files, for a Python that has no packaging library."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass

from vln_cli.paths import REQUIREMENTS

_FILES = ('build.txt', 'core.txt', 'test.txt', 'language.txt', 'language_models.txt')
_OPTIONAL = ('language.txt', 'language_models.txt')
_LINE = re.compile(r'^([A-Za-z0-9][A-Za-z0-9._-]*)\s*([^;\s]*)\s*(?:;\s*(.*))?$')
_MARKER = re.compile(r'platform_machine (==|!=) "(\w+)"')


@dataclass(frozen=True)
class Requirement:
    """One line of a requirement file."""

    name: str
    specifier: str
    is_optional: bool = False

    @property
    def key(self) -> str:
        """The name in the spelling that all spellings of it share (PEP 503)."""
        return re.sub(r'[-_.]+', '-', self.name).lower()

    @property
    def text(self) -> str:
        """The line as pip takes it."""
        return f'{self.name}{self.specifier}'

    def allows(self, version: str) -> bool:
        """Tell whether a release satisfies the specifier (of ==, >=, <, and commas)."""
        have = _numbers(version)
        for clause in filter(None, self.specifier.split(',')):
            match = re.match(r'(==|>=|<)(.+)', clause)
            if match is None:
                raise ValueError(f'cannot read "{clause}" of {self.text}')
            operator, wanted = match[1], _numbers(match[2])
            width = max(len(have), len(wanted))
            left = have + (0,) * (width - len(have))
            right = wanted + (0,) * (width - len(wanted))
            is_met = {'==': left == right, '>=': left >= right, '<': left < right}[operator]
            if not is_met:
                return False
        return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r'\d+', version.split('+')[0].split('.post')[0]))


def parse_requirements(text: str, *, is_optional: bool = False) -> list[Requirement]:
    """Read the lines that apply to this machine.

    Raises:
        ValueError: A line is not understood.
    """
    found = []
    for line in text.replace('\\\n', ' ').splitlines():
        line = re.sub(r'--hash=\S+', '', line.split('#')[0]).strip()
        if not line:
            continue
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f'cannot read the requirement "{line}"')
        marker = _MARKER.match(match[3] or '')
        if match[3] and marker is None:
            raise ValueError(f'cannot read the condition of "{line}"')
        if marker and (platform.machine() == marker[2]) != (marker[1] == '=='):
            continue
        found.append(Requirement(match[1], match[2], is_optional))
    return found


def read_requirements(*, wheels: bool) -> list[Requirement]:
    """Return all requirements of this kind of machine.

    Args:
        wheels: True where ROS comes as wheels, too.

    Returns:
        The requirements, each package once.
    """
    files = (('ros_wheels.txt',) if wheels else ()) + _FILES
    found: dict[str, Requirement] = {}
    for file in files:
        text = (REQUIREMENTS / file).read_text()
        for requirement in parse_requirements(text, is_optional=file in _OPTIONAL):
            found.setdefault(requirement.key, requirement)
    return list(found.values())
