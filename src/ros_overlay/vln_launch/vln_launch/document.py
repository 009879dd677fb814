# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files as trees of elements that remember their lines, checked for known names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from vln_launch.errors import LaunchError


@dataclass
class Element:
    """One tag of a launch file."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ''

    def named(self, tag: str) -> list[Element]:
        """Return the children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def fail(self, problem: str, fix: str = '') -> NoReturn:
        """Raise a LaunchError that points at this element."""
        raise LaunchError(
            f'{self.file}:{self.line}: <{self.tag}>: {problem}' + (fix and f'; {fix}')
        )


@dataclass(frozen=True)
class Rule:
    """Which attributes and nested tags an element takes."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


_PROCESS = (
    'cwd',
    'emulate_tty',
    'launch-prefix',
    'name',
    'on_exit',
    'output',
    'respawn',
    'respawn_delay',
    'respawn_max_retries',
    'sigkill_timeout',
    'sigterm_timeout',
    'shell',
)
ACTIONS: dict[str, Rule] = {
    'arg': Rule(('name',), ('default', 'description'), ('choice',)),
    'executable': Rule(('cmd',), _PROCESS, ('env',)),
    'group': Rule((), ('scoped', 'forwarding'), ('keep',)),
    'include': Rule(('file',), (), ('arg',)),
    'let': Rule(('name', 'value')),
    'log': Rule(('message',)),
    'node': Rule(
        ('exec',),
        (*_PROCESS, 'pkg', 'namespace', 'exec_name', 'args', 'ros_args'),
        ('env', 'param', 'remap'),
    ),
    'push_ros_namespace': Rule(('namespace',)),
    'push-ros-namespace': Rule(('namespace',)),
    'set_env': Rule(('name', 'value')),
    'set_parameter': Rule(('name', 'value')),
    'set_remap': Rule(('from', 'to')),
    'unset_env': Rule(('name',)),
}
CONDITIONS = ('if', 'unless')
PARTS: dict[str, Rule] = {
    'choice': Rule(('value',)),
    'env': Rule(('name', 'value')),
    'keep': Rule(('name', 'value')),
    'param': Rule((), ('name', 'value', 'value-sep', 'type', 'from', 'allow_substs'), ('param',)),
    'remap': Rule(('from', 'to')),
}
INCLUDE_ARGUMENT = Rule(('name', 'value'))


def load(path: Path) -> Element:
    """Read a launch file and check the names of its tags and attributes.

    Raises:
        LaunchError: It is missing, is not XML, or uses something this runner does not know.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LaunchError(f'{path}: cannot read the launch file: {error.strerror}') from error
    root = _parse(data, path)
    if root.tag != 'launch':
        root.fail('the outermost tag must be <launch>')
    _check_attributes(root, Rule((), ('version', 'deprecated')), with_conditions=False)
    for child in root.children:
        _check_action(child)
    return root


def walk(element: Element) -> Iterator[Element]:
    """Yield an element and everything below it, in the order of the file."""
    yield element
    for child in element.children:
        yield from walk(child)


def _parse(data: bytes, path: Path) -> Element:
    parser = expat.ParserCreate()
    stack: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, path, parser.CurrentLineNumber)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def text(content: str) -> None:
        stack[-1].text += content

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: stack.pop()
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise LaunchError(f'{path}:{error.lineno}: not well-formed XML: {error}') from error
    return roots[0]


def _check_action(element: Element) -> None:
    if element.tag not in ACTIONS:
        element.fail('unknown tag', f'known here: {", ".join(sorted(ACTIONS))}')
    rule = ACTIONS[element.tag]
    _check_attributes(element, rule)
    for child in element.children:
        if element.tag == 'group' and child.tag not in rule.children:
            _check_action(child)
        else:
            _check_part(child, element, rule)


def _check_part(element: Element, parent: Element, rule: Rule) -> None:
    if element.tag not in rule.children:
        allowed = ', '.join(rule.children) or 'nothing'
        element.fail(f'not allowed inside <{parent.tag}>', f'allowed there: {allowed}')
    own = INCLUDE_ARGUMENT if parent.tag == 'include' else PARTS[element.tag]
    _check_attributes(element, own, with_conditions=False)
    for child in element.children:
        _check_part(child, element, own)


def _check_attributes(element: Element, rule: Rule, with_conditions: bool = True) -> None:
    known = (*rule.required, *rule.optional, *(CONDITIONS if with_conditions else ()))
    for name in element.attributes:
        if name not in known:
            element.fail(f"unknown attribute '{name}'", f'known: {", ".join(sorted(known))}')
    for name in rule.required:
        if name not in element.attributes:
            element.fail(f"attribute '{name}' is missing")
    if all(name in element.attributes for name in CONDITIONS):
        element.fail("'if' and 'unless' exclude each other", 'use one of them')
    if element.text.strip():
        element.fail(f'unexpected text {element.text.strip()[:40]!r}', 'use attributes')
