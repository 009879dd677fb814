# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Resolving a launch file, with what it includes, to the list of processes to start."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from vln_launch import commands, names, substitutions
from vln_launch.commands import ProcessPlan
from vln_launch.context import Context
from vln_launch.document import Element, load, walk
from vln_launch.errors import LaunchError, SubstitutionError
from vln_launch.functions import truth
from vln_launch.parameters import typed_value

logger = logging.getLogger('launch')

MAX_INCLUDE_DEPTH = 20


@dataclass(frozen=True)
class Argument:
    """A declared launch argument."""

    name: str
    description: str
    default: str | None
    """Written as ros2 launch --show-args does; None when the argument is required."""
    is_conditional: bool


def absolute(path: Path) -> Path:
    """Return a path from the root, without '..' in it."""
    return Path(os.path.abspath(path))


def resolve(
    path: Path, arguments: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> list[ProcessPlan]:
    """Return the processes that a launch file describes, in order of starting.

    Args:
        path: The launch file.
        arguments: Values given by the user; each name must be declared in the file or in one
            that it includes.
        environment: Of the processes; this process's own by default.

    Raises:
        LaunchError: Anything is wrong; the text is one line with file, line and tag.
    """
    resolver = _Resolver(path, os.environ if environment is None else environment)
    declared = [argument.name for argument in declared_arguments(path)]
    for name in arguments:
        if name not in declared:
            raise LaunchError(
                f"{path}: launch argument '{name}' does not exist; "
                f'known: {", ".join(sorted(declared)) or "none"}'
            )
    resolver.context.configurations.update(arguments)
    resolver.run_file(path, depth=0)
    _warn_of_equal_names(resolver.plans)
    return resolver.plans


def declared_arguments(path: Path) -> list[Argument]:
    """Return the arguments of a launch file and of what it includes, each name once.

    Raises:
        LaunchError: A file is missing or malformed.
    """
    found: dict[str, Argument] = {}
    for element in _declarations(path, Context(absolute(path), os.environ), 0):
        name = substitutions.unescape(element.attributes['name'])
        if name not in found:
            found[name] = _argument(element, name)
    return list(found.values())


def _declarations(path: Path, context: Context, depth: int) -> Iterator[Element]:
    """Yield the <arg> declarations of a file and of the files it names without arguments."""
    root = load(path)
    _check_syntax(root)
    for element in walk(root):
        if element.tag == 'arg' and element not in _include_arguments(root):
            yield element
            default = element.attributes.get('default')
            try:
                if default is not None:
                    context.configurations.setdefault(
                        element.attributes['name'], _perform(default, context)
                    )
            except SubstitutionError:
                pass  # it matters only where an included file's name depends on it
        elif element.tag == 'include' and depth < MAX_INCLUDE_DEPTH:
            try:
                with context.inside(absolute(path)):
                    included = Path(_perform(element.attributes['file'], context))
            except SubstitutionError:
                continue
            if included.is_file() and included.suffix == '.xml':
                with context.scope(), context.inside(absolute(included)):
                    yield from _declarations(included, context, depth + 1)


def _include_arguments(root: Element) -> list[Element]:
    return [
        child for element in walk(root) if element.tag == 'include' for child in element.children
    ]


def _argument(element: Element, name: str) -> Argument:
    description = substitutions.unescape(element.attributes.get('description', ''))
    choices = [substitutions.unescape(c.attributes['value']) for c in element.named('choice')]
    if not description:
        description = f'One of: {choices}' if choices else 'no description given'
    elif choices:
        stop = '' if description.endswith('.') else '.'
        description = f'{description}{stop} Valid choices are: {choices}'
    default = element.attributes.get('default')
    return Argument(
        name,
        description,
        None if default is None else substitutions.describe(substitutions.parse(default)),
        'if' in element.attributes or 'unless' in element.attributes,
    )


def _perform(text: str, context: Context) -> str:
    return substitutions.perform(substitutions.parse(text), context)


def _check_syntax(root: Element) -> None:
    """Parse every attribute, also of what a condition leaves out.

    Raises:
        LaunchError: A substitution is malformed or unknown.
    """
    for element in walk(root):
        for name, text in element.attributes.items():
            if name == 'description' or (element.tag == 'choice'):
                continue
            try:
                substitutions.parse(text)
            except SubstitutionError as error:
                element.fail(f"attribute '{name}': {error}")


def _warn_of_equal_names(plans: list[ProcessPlan]) -> None:
    seen: set[str] = set()
    for plan in plans:
        if plan.node_name in seen:
            logger.warning('there are several nodes with the name %s', plan.node_name)
        if plan.node_name is not None:
            seen.add(plan.node_name)


class _Resolver:
    """Walks the elements as upstream executes its actions."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self.context = Context(absolute(path), environment)
        self.plans: list[ProcessPlan] = []

    def run_file(self, path: Path, depth: int) -> None:
        root = load(path)
        _check_syntax(root)
        with self.context.inside(absolute(path)):
            self._run_all(root.children, depth)

    def _run_all(self, elements: list[Element], depth: int) -> None:
        for element in elements:
            try:
                if self._is_wanted(element):
                    self._run(element, depth)
            except SubstitutionError as error:
                element.fail(str(error))

    def _is_wanted(self, element: Element) -> bool:
        for name in ('if', 'unless'):
            if name in element.attributes:
                text = self._get(element, name).strip().lower()
                if text not in ('true', '1', 'false', '0'):
                    element.fail(f"{name}='{text}' is not a condition", 'use true or false')
                return (text in ('true', '1')) == (name == 'if')
        return True

    def _get(self, element: Element, name: str) -> str:
        try:
            return _perform(element.attributes[name], self.context)
        except SubstitutionError as error:
            element.fail(f"attribute '{name}': {error}")

    def _run(self, element: Element, depth: int) -> None:
        handler = {
            'arg': self._arg,
            'group': lambda e: self._group(e, depth),
            'include': lambda e: self._include(e, depth),
            'node': lambda e: self._add(commands.plan_node, e),
            'executable': lambda e: self._add(commands.plan_executable, e),
            'push_ros_namespace': self._push_namespace,
            'push-ros-namespace': self._push_namespace,
            'let': lambda e: self._set(self.context.configurations, e),
            'set_env': lambda e: self._set(self.context.environment, e),
            'unset_env': lambda e: self.context.environment.pop(self._get(e, 'name'), None),
            'set_remap': lambda e: self.context.remaps.append(
                (self._get(e, 'from'), self._get(e, 'to'))
            ),
            'set_parameter': self._set_parameter,
            'log': lambda e: logger.info(self._get(e, 'message')),
        }[element.tag]
        handler(element)

    def _add(self, plan, element: Element) -> None:  # noqa: ANN001
        self.plans.append(plan(element, self.context, len(self.plans) + 1))

    def _set(self, table: dict[str, str], element: Element) -> None:
        table[self._get(element, 'name')] = self._get(element, 'value')

    def _set_parameter(self, element: Element) -> None:
        value = typed_value(element.attributes['value'], self.context, None)
        text = tuple(value) if isinstance(value, list) else value
        self.context.parameters.append((self._get(element, 'name'), str(text)))

    def _arg(self, element: Element) -> None:
        name = substitutions.unescape(element.attributes['name'])
        configurations = self.context.configurations
        if name not in configurations:
            if 'default' not in element.attributes:
                element.fail(
                    f"launch argument '{name}' is required and was not given",
                    f'add {name}:=VALUE',
                )
            configurations[name] = self._get(element, 'default')
        choices = [substitutions.unescape(c.attributes['value']) for c in element.named('choice')]
        if choices and configurations[name] not in choices:
            element.fail(
                f"argument '{name}' has the value '{configurations[name]}'",
                f'choose one of: {", ".join(choices)}',
            )

    def _group(self, element: Element, depth: int) -> None:
        is_scoped = self._truth(element, 'scoped')
        is_forwarding = self._truth(element, 'forwarding')
        kept = [(self._get(k, 'name'), self._get(k, 'value')) for k in element.named('keep')]
        actions = [child for child in element.children if child.tag != 'keep']
        with self.context.scope() if is_scoped else nullcontext():
            if is_scoped and not is_forwarding:
                self.context.reset()
            self.context.configurations.update(kept)
            self._run_all(actions, depth)

    def _truth(self, element: Element, name: str) -> bool:
        try:
            return name not in element.attributes or truth(self._get(element, name))
        except SubstitutionError as error:
            element.fail(f"attribute '{name}': {error}")

    def _include(self, element: Element, depth: int) -> None:
        path = Path(self._get(element, 'file'))
        if not path.is_file():
            element.fail(f"included file '{path}' does not exist", 'check the path')
        if path.suffix != '.xml':
            element.fail(f"included file '{path}' is not XML", 'only *.launch.xml is supported')
        if depth >= MAX_INCLUDE_DEPTH:
            element.fail('files include each other without end')
        declared = [argument.name for argument in declared_arguments(path)]
        for child in element.children:
            # As upstream, $(dirname) in here is already that of the included file.
            with self.context.inside(absolute(path)):
                name, value = self._get(child, 'name'), self._get(child, 'value')
            if name not in declared:
                child.fail(
                    f"'{path.name}' has no argument '{name}'",
                    f'known: {", ".join(sorted(declared)) or "none"}',
                )
            self.context.configurations[name] = value
        self.run_file(path, depth + 1)

    def _push_namespace(self, element: Element) -> None:
        namespace = names.join(self.context.namespace, self._get(element, 'namespace'))
        problem = names.namespace_problem(namespace)
        if problem:
            element.fail(problem)
        self.context.namespace = namespace
