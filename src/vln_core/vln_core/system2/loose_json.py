# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON objects that a language model meant, out of what it wrote."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

MAX_CHARACTERS = 200_000
# What is left of a reply without its reasoning; far more than the longest record.
_MAX_ANSWER = 24_000
_MAX_OBJECTS = 32
_MAX_FENCES = 8
# No reply needs more: each bounds what nonsense can cost.
_MAX_STARTS = 64
_MAX_DEPTH = 32
_MAX_ENDS = 40
_REASONING = re.compile(
    r'<(/?)(?:think|thinking|reasoning|thought|scratchpad)\b[^<>]*>', re.IGNORECASE
)
_FENCE = re.compile(r'```[a-zA-Z0-9_-]*\s*\n?(.*?)(?:```|\Z)', re.DOTALL)
_QUOTES = str.maketrans({'“': '"', '”': '"', '„': '"', '’': "'", '‘': "'"})


@dataclass(frozen=True)
class LooseObject:
    """An object found in a text.

    Attributes:
        value: Its members.
        cut_path: Keys of the members that were still open where the text broke off; empty for a
            complete object. A member that was being written is left out of ``value``.
    """

    value: dict[str, Any]
    cut_path: tuple[str, ...] = ()
    is_cut: bool = False


def find_objects(text: str) -> list[LooseObject]:
    """Return every JSON object of a text, in order; [] if there is none.

    Reasoning blocks are skipped, also one that broke off; fences, prose around it, doubled
    braces, comments, trailing commas, single quotes, Python constants, bare keys and a missing
    end are understood.
    """
    plain = without_reasoning(text)
    found = _objects_of(plain[-_MAX_ANSWER:])
    if not found and len(plain) > _MAX_ANSWER:
        found = _objects_of(plain[:_MAX_ANSWER])
    return found


def without_reasoning(text: str) -> str:
    """Return the text outside reasoning blocks; one may lack its begin, or its end."""
    kept: list[str] = []
    start, is_open = 0, False
    text = text[-MAX_CHARACTERS:]
    for tag in _REASONING.finditer(text):
        if not tag.group(1):
            if not is_open:
                kept.append(text[start : tag.start()])
            is_open = True
            continue
        if not is_open:
            kept.clear()  # it began before the reply did
        start, is_open = tag.end(), False
    return ' '.join(kept if is_open else [*kept, text[start:]]).strip()


def _objects_of(answer: str) -> list[LooseObject]:
    fenced = [m.group(1) for m in _FENCE.finditer(answer)][-_MAX_FENCES:]
    return [f for source in fenced for f in _objects_in(source)] or _objects_in(answer)


def _objects_in(text: str) -> list[LooseObject]:
    found: list[LooseObject] = []
    position = 0
    for _ in range(_MAX_STARTS):
        if len(found) == _MAX_OBJECTS:
            break
        start = text.find('{', position)
        if start < 0:
            return found
        end = _matching_brace(text, start)
        if end is None:
            cut = _read_cut(text[start:])
            if cut is not None:
                found.append(cut)
            return found
        value = _read(text[start:end])
        if value is None:
            position = start + 1
            continue
        found.append(LooseObject(value))
        position = end
    return found


def _matching_brace(text: str, start: int) -> int | None:
    """Return the index after the brace that closes the one at ``start``, or None."""
    depth, quote, escaped = 0, '', False
    for index in range(start, len(text)):
        char = text[index]
        if quote:
            if escaped:
                escaped = False
            elif char == '\\':
                escaped = True
            elif char == quote:
                quote = ''
            continue
        if char == '"' or char == "'" and _opens_string(text, index):
            quote = char
        elif char == '{':
            depth += 1
        elif char == '}':
            depth -= 1
            if depth == 0:
                return index + 1
    return None


def _opens_string(text: str, index: int) -> bool:
    """Tell a single quote that opens a string from an apostrophe."""
    before = text[:index].rstrip()[-1:]
    return before in ('{', '[', ',', ':')


def _read(text: str) -> dict[str, Any] | None:
    for candidate in _readings(text):
        try:
            value = json.loads(candidate, parse_constant=_no_constant, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    try:
        value = ast.literal_eval(_as_python(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return value if isinstance(value, dict) and _is_plain(value) else None


def _no_constant(name: str) -> None:
    raise ValueError(f'{name} is no JSON value')


def _readings(text: str) -> list[str]:
    """Return the text and its corrections, the least corrected first."""
    straight = text.translate(_QUOTES)
    single = re.sub(r'^\{\s*\{(.*)\}\s*\}$', r'{\1}', straight, flags=re.DOTALL)
    halved = straight.replace('{{', '{').replace('}}', '}') if '{{' in straight else straight
    out = [text]
    for base in (straight, single, halved):
        tidy = _without_comments(base)
        tidy = re.sub(r',(\s*[}\]])', r'\1', tidy)
        keyed = re.sub(r'([{,]\s*)([A-Za-z_]\w*)(\s*:)', r'\1"\2"\3', tidy)
        constants = re.sub(r':\s*(True|False|None)\b', _json_constant, keyed)
        out += [base, tidy, keyed, constants]
    return list(dict.fromkeys(out))


def _without_comments(text: str) -> str:
    """Drop // and /* */ comments outside strings."""
    pattern = r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/'
    return re.sub(pattern, lambda m: m.group(1) or '', text, flags=re.DOTALL)


def _json_constant(match: re.Match[str]) -> str:
    return ': ' + {'True': 'true', 'False': 'false', 'None': 'null'}[match.group(1)]


def _as_python(text: str) -> str:
    if text.count('{') > 200 or len(text) > 20_000:
        raise ValueError('too large for a literal')
    text = re.sub(r'^\{\s*\{(.*)\}\s*\}$', r'{\1}', text.translate(_QUOTES), flags=re.DOTALL)
    text = re.sub(r'([{,]\s*)([A-Za-z_]\w*)(\s*:)', r"\1'\2'\3", text)
    for name, value in (('true', 'True'), ('false', 'False'), ('null', 'None')):
        text = re.sub(rf'([:\[,]\s*){name}\b', rf'\1{value}', text)
    return text


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return all(_is_plain(v) for v in value)
    return value is None or isinstance(value, (str, int, float, bool))


def _read_cut(text: str) -> LooseObject | None:
    """Read an object whose end is missing: everything before the member being written."""
    text = text.translate(_QUOTES)
    if text.startswith('{{'):
        text = text.replace('{{', '{').replace('}}', '}')
    stack, commas, quote, escaped = [], [], '', False
    for index, char in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif char == '\\':
                escaped = True
            elif char == quote:
                quote = ''
            continue
        if char == '"':
            quote = char
        elif char in '{[':
            stack.append(char)
            if len(stack) > _MAX_DEPTH:
                return None
            commas.append((index + 1, tuple(stack)))
        elif char in '}]' and stack:
            stack.pop()
        elif char == ',' and stack:
            commas.append((index, tuple(stack)))
    for index, open_brackets in reversed(commas[-_MAX_ENDS:]):
        closing = ''.join('}' if b == '{' else ']' for b in reversed(open_brackets))
        value = _read(text[:index] + closing)
        if value is not None:
            return LooseObject(value, _open_keys(text[:index], len(open_brackets)), is_cut=True)
    return None


def _open_keys(text: str, depth: int) -> tuple[str, ...]:
    """Return the keys on the way to where a text broke off."""
    keys: list[str] = []
    level = 0
    last = ''
    for match in re.finditer(r'"((?:\\.|[^"\\])*)"(\s*:)?|[{}\[\]]', text):
        token = match.group()
        if token in '{[' and len(token) == 1:
            level += 1
            keys.append(last)
        elif token in '}]' and len(token) == 1:
            level -= 1
            if keys:
                keys.pop()
        elif match.group(2):
            last = match.group(1)
    return tuple(k for k in keys[1:depth] if k)
