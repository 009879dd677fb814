# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From <node> and <executable> to the command line, environment and policy of a process."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from vln_launch import names, packages
from vln_launch.context import Context
from vln_launch.document import Element
from vln_launch.errors import SubstitutionError
from vln_launch.functions import truth
from vln_launch.parameters import dump, file_text, values
from vln_launch.substitutions import parse, perform

OUTPUTS = ('screen', 'log', 'both', 'own_log', 'full')


@dataclass(frozen=True)
class ParameterText:
    """A command line argument that stands for a parameter file which is yet to be written."""

    text: str


@dataclass
class ProcessPlan:
    """Everything about one process that is known before it starts."""

    label: str
    """What its output is prefixed with: executable and number."""
    arguments: list[str | ParameterText]
    environment: dict[str, str]
    cwd: str | None = None
    node_name: str | None = None
    """Full name of the node, where the launch file gives both parts of it."""
    output: str = 'log'
    shell: bool = False
    emulate_tty: bool = False
    respawn: bool = False
    respawn_delay: float = 0.0
    respawn_max_retries: int = -1
    shutdown_on_exit: bool = False
    sigterm_timeout: float | None = None
    sigkill_timeout: float | None = None
    _written: list[str] | None = field(default=None, repr=False)

    def command(self, folder: Path) -> list[str]:
        """Return the command line, writing the parameter files into a folder the first time."""
        if self._written is None:
            words = []
            for number, word in enumerate(self.arguments):
                if isinstance(word, ParameterText):
                    path = folder / f'launch_params_{self.label}_{number}.yaml'
                    path.write_text(word.text, encoding='utf-8')
                    word = str(path)
                words.append(word)
            self._written = words
        return self._written


def split_command_line(text: str, context: Context) -> list[str]:
    """Split a command line into words as upstream does.

    The text between substitutions is split like a shell's; what a substitution gives is never
    split.
    """
    words: list[str] = []
    word: list[str] = []

    def finish() -> None:
        words.append(''.join(word))
        word.clear()

    for part in parse(text):
        if not isinstance(part, str):
            word.append(part.perform(context))
            continue
        tokens = shlex.split(part)
        if not tokens:
            if part:
                finish()
            continue
        if part[0].isspace() and word:
            finish()
        word.append(tokens[0])
        if len(tokens) > 1:
            finish()
            words.extend(tokens[1:-1])
            word.append(tokens[-1])
        if part[-1].isspace():
            finish()
    if word:
        finish()
    return words


def plan_executable(element: Element, context: Context, number: int) -> ProcessPlan:
    """Return the plan of an <executable>."""
    words = split_command_line(element.attributes['cmd'], context)
    if not words:
        element.fail("'cmd' is empty")
    return _plan(element, context, list(words), 'name', number)


def plan_node(element: Element, context: Context, number: int) -> ProcessPlan:
    """Return the plan of a <node>; its words are in upstream's order."""
    get = _getter(element, context)
    executable = get('exec')
    package = get('pkg')
    words: list[str | ParameterText] = [
        packages.executable(package, executable) if package is not None else executable
    ]
    words += split_command_line(element.attributes.get('args', ''), context)
    if 'ros_args' in element.attributes:
        words += ['--ros-args', *split_command_line(element.attributes['ros_args'], context)]
    words.append('--ros-args')
    name = get('name')
    if name is not None:
        _refuse(element, names.node_name_problem(name))
        words += ['-r', f'__node:={name}']
    namespace = names.join(context.namespace, get('namespace'))
    if namespace is not None:
        _refuse(element, names.namespace_problem(namespace))
        words += ['-r', f'__ns:={namespace}']
    full_name = names.join(namespace, name) if namespace is not None and name else None
    for key, value in context.parameters:
        words += ['-p', f'{key}:={value}']
    for param in element.named('param'):
        words += ['--params-file', _parameter_word(param, context, full_name or '/**')]
    remaps = [
        (_value(r, 'from', context), _value(r, 'to', context)) for r in element.named('remap')
    ]
    for source, target in (*context.remaps, *remaps):
        words += ['-r', f'{source}:={target}']
    plan = _plan(element, context, words, 'exec_name', number)
    plan.node_name = full_name
    return plan


def _parameter_word(element: Element, context: Context, key: str) -> str | ParameterText:
    try:
        if 'from' not in element.attributes:
            return ParameterText(dump(key, values(element, context)))
        path, text = file_text(element, context)
        return str(path) if text is None else ParameterText(text)
    except SubstitutionError as error:
        element.fail(str(error))


def _plan(
    element: Element,
    context: Context,
    words: list[str | ParameterText],
    label_attribute: str,
    number: int,
) -> ProcessPlan:
    get = _getter(element, context)
    prefix = shlex.split(get('launch-prefix') or context.configurations.get('launch-prefix', ''))
    words = [*prefix, *words]
    label = get(label_attribute) or os.path.basename(str(words[0]))
    environment = dict(context.environment)
    for child in element.named('env'):
        environment[_value(child, 'name', context)] = _value(child, 'value', context)
    on_exit = get('on_exit')
    if on_exit not in (None, 'shutdown'):
        element.fail(f"on_exit='{on_exit}' is unknown", "the only value is 'shutdown'")
    output = context.environment.get('OVERRIDE_LAUNCH_PROCESS_OUTPUT') or get('output') or 'log'
    if output not in OUTPUTS:
        element.fail(f"output='{output}' is unknown", f'known: {", ".join(OUTPUTS)}')
    retries = get('respawn_max_retries')
    try:
        max_retries = -1 if retries is None else int(retries)
    except ValueError:
        element.fail(f"respawn_max_retries='{retries}' is not a whole number")
    return ProcessPlan(
        label=f'{label}-{number}',
        arguments=words,
        environment=environment,
        cwd=get('cwd'),
        output=output,
        shell=_truth(element, get, 'shell'),
        emulate_tty=_truth(element, get, 'emulate_tty'),
        respawn=_truth(element, get, 'respawn'),
        respawn_delay=_number(element, get, 'respawn_delay') or 0.0,
        respawn_max_retries=max_retries,
        shutdown_on_exit=on_exit == 'shutdown',
        sigterm_timeout=_number(element, get, 'sigterm_timeout'),
        sigkill_timeout=_number(element, get, 'sigkill_timeout'),
    )


def _value(element: Element, name: str, context: Context) -> str:
    try:
        return perform(parse(element.attributes[name]), context)
    except SubstitutionError as error:
        element.fail(f"attribute '{name}': {error}")


def _getter(element: Element, context: Context):  # noqa: ANN202 (a closure)
    def get(name: str) -> str | None:
        return _value(element, name, context) if name in element.attributes else None

    return get


def _truth(element: Element, get, name: str) -> bool:  # noqa: ANN001
    text = get(name)
    try:
        return text is not None and truth(text)
    except SubstitutionError as error:
        element.fail(f"attribute '{name}': {error}")


def _number(element: Element, get, name: str) -> float | None:  # noqa: ANN001
    text = get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0.0:
        element.fail(f"{name}='{text}' is not a number of seconds from 0 up")
    return value


def _refuse(element: Element, problem: str) -> None:
    if problem:
        element.fail(problem)
