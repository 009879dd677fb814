# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Tolerant reading of decision records: a model's words -> DecisionRecord, or one clear error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from vln_core.errors import RecordError
from vln_core.system2.loose_json import LooseObject, find_objects
from vln_core.system2.record import (
    Backtrack,
    DecisionRecord,
    Go,
    Goto,
    MoveTo,
    ObjectNote,
    ProgressUpdate,
    Stop,
    WorldNotes,
)

_ACTIONS: dict[str, type[BaseModel]] = {
    'go': Go, 'move_to': MoveTo, 'goto': Goto, 'backtrack': Backtrack, 'stop': Stop,
}  # fmt: skip
_SAME = {
    'moveto': 'move_to', 'move to': 'move_to', 'go_to': 'goto', 'go to': 'goto',
    'navigate': 'goto', 'select': 'goto', 'explore': 'go', 'forward': 'go',
    'backtrack_to': 'backtrack', 'return': 'backtrack', 'finish': 'stop', 'done': 'stop',
    'end': 'stop',
}  # fmt: skip
_STATUS = {
    'complete': 'done', 'completed': 'done', 'finished': 'done', 'in_progress': 'active',
    'in progress': 'active', 'current': 'active', 'skip': 'skipped', 'fail': 'failed',
}  # fmt: skip
_NAMES = {
    'thought': 'analysis', 'thoughts': 'analysis', 'reasoning': 'analysis',
    'progress_analysis': 'analysis', 'reason': 'rationale', 'explanation': 'rationale',
    'world_notes': 'notes', 'decision': 'action',
}  # fmt: skip


def parse_record(text: str) -> DecisionRecord:
    """Return the decision record that a model's reply holds.

    Args:
        text: The reply as it came.

    Returns:
        The last valid record of the reply: models like to repeat an example before they answer.

    Raises:
        RecordError: There is none; the message says what to write instead.
    """
    objects = find_objects(text)
    if not objects:
        raise RecordError(_nothing(text))
    problems: list[str] = []
    for found in reversed(objects):
        try:
            return record_of(found)
        except RecordError as error:
            problems.append(str(error))
    raise RecordError(problems[0])


def _nothing(text: str) -> str:
    start = text.strip()[:60]
    if not start:
        return 'the reply is empty; answer with one JSON object of the record'
    if start.lower().startswith(('<!doctype', '<html')):
        return 'the reply is an HTML page, not a record; check the base URL of the model'
    return f'the reply holds no JSON object (it begins "{start}"); answer with one JSON object'


def record_of(found: LooseObject) -> DecisionRecord:
    """Return the record that one object means.

    Raises:
        RecordError: Something is missing or wrong; names the member.
    """
    value = {_NAMES.get(str(k).lower(), str(k).lower()): v for k, v in found.value.items()}
    if (
        len(value) == 1
        and isinstance(next(iter(value.values())), Mapping)
        and 'action' not in value
    ):
        inner = next(iter(value.values()))
        if 'action' in inner:
            value = dict(inner)
    if 'action' in found.cut_path:
        raise RecordError('the reply was cut off inside "action"; answer again, shorter')
    if found.is_cut and 'action' not in value:
        raise RecordError('the reply was cut off before "action"; answer again, shorter')
    action = read_action(value.get('action'), value)
    return DecisionRecord(
        analysis=_text(value.get('analysis'), 2000),
        action=action,
        notes=_notes(value.get('notes'), value),
        rationale=_text(value.get('rationale'), 2000),
    )


def read_action(raw: Any, around: Mapping[str, Any]) -> Go | MoveTo | Goto | Backtrack | Stop:
    """Return the action; its parameters may stand beside its name.

    Raises:
        RecordError: The action is missing, unknown or lacks a parameter.
    """
    if isinstance(raw, str):
        return _action_from_words(raw, around)
    if not isinstance(raw, Mapping):
        kinds = ', '.join(_ACTIONS)
        raise RecordError(f'"action" is missing; give one object with "type": one of {kinds}')
    members = {str(k).lower(): v for k, v in raw.items()}
    name = members.get('type') or members.get('name') or members.get('action')
    parameters = members.get('parameters') or members.get('arguments') or members.get('args')
    if isinstance(parameters, Mapping):
        members.update({str(k).lower(): v for k, v in parameters.items()})
    if name is None and len(members) == 1:
        name, inner = next(iter(members.items()))
        if isinstance(inner, Mapping):
            members = dict(inner)
    return make_action(str(name), members)


def _action_from_words(raw: str, around: Mapping[str, Any]) -> Any:
    """Read 'stop', or 'go' with parameters beside it, or 'go(view 2, "sofa")'."""
    match = re.fullmatch(r'\s*([A-Za-z_ ]+?)\s*(?:\((.*)\))?\s*', raw, flags=re.DOTALL)
    if match is None:
        raise RecordError(f'action "{raw[:60]}" is not understood; give an object with "type"')
    name, inside = match.group(1), match.group(2)
    members = {str(k).lower(): v for k, v in around.items()}
    parameters = members.get('parameters') or members.get('arguments')
    if isinstance(parameters, Mapping):
        members.update({str(k).lower(): v for k, v in parameters.items()})
    if inside:
        members.update(_parameters(_kind(name), inside))
    return make_action(name, members)


def _kind(name: str) -> str:
    plain = name.strip().lower()
    return _SAME.get(plain, plain)


def _parameters(kind: str, inside: str) -> dict[str, Any]:
    parts = [p.strip() for p in inside.split(',') if p.strip()]
    fields = list(_ACTIONS[kind].model_fields)[1:] if kind in _ACTIONS else []
    members: dict[str, Any] = {}
    for field, part in zip(fields, parts, strict=False):
        part = re.sub(rf'^{field}\s*[=: ]\s*', '', part)
        members[field] = part.strip('"\' ')
    return members


def make_action(name: str, members: Mapping[str, Any]) -> Go | MoveTo | Goto | Backtrack | Stop:
    """Return the action of that name with its parameters from ``members``.

    Raises:
        RecordError: Unknown name, or a parameter is missing or out of range.
    """
    kind = _kind(name)
    model = _ACTIONS.get(kind)
    if model is None:
        raise RecordError(f'action "{name[:40]}" is unknown; choose one of {", ".join(_ACTIONS)}')
    values: dict[str, Any] = {'type': kind}
    for field in list(model.model_fields)[1:]:
        if field in members and members[field] is not None:
            values[field] = _coerce(field, members[field])
    if kind == 'go' and 'target' not in values and 'description' in members:
        values['target'] = _text(members['description'], 200)
    try:
        return model(**values)  # type: ignore[return-value]
    except ValidationError as error:
        raise RecordError(f'action {kind}: {_first(error)}') from error


def _coerce(field: str, value: Any) -> Any:
    if field in ('view', 'waypoint', 'object_id'):
        if isinstance(value, bool):
            return str(value)  # pydantic would take true for 1
        if isinstance(value, str):
            match = re.fullmatch(r'[^\d-]*(\d{1,9})\D*', value.strip())
            return int(match.group(1)) if match else value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value
    if field in ('u', 'v') and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    if field == 'target':
        return _text(value, 200)
    if field == 'viewpoint':
        return str(value).strip()[:32]
    return value


def _first(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return '; '.join(
        f'"{".".join(str(p) for p in d["loc"])}" {d["msg"].lower()}' for d in details[:3]
    )


def _text(value: Any, limit: int) -> str:
    if value is None:
        return ''
    if isinstance(value, str):
        return value[:limit]
    if isinstance(value, (list, tuple)):
        return '; '.join(_text(v, limit) for v in value)[:limit]
    if isinstance(value, Mapping):
        return '; '.join(f'{k}: {_text(v, limit)}' for k, v in value.items())[:limit]
    return str(value)[:limit]


def _notes(raw: Any, around: Mapping[str, Any]) -> WorldNotes:
    """Read the notes; an unusable note is dropped, an unusable progress update is an error."""
    if isinstance(raw, str):
        raw = {'place_description': raw}
    members = {str(k).lower(): v for k, v in raw.items()} if isinstance(raw, Mapping) else {}
    if 'progress' not in members and 'progress' in around:
        members['progress'] = around['progress']
    return WorldNotes(
        place_name=_text(members.get('place_name'), 80),
        room_type=_text(members.get('room_type'), 80),
        place_description=_text(members.get('place_description'), 2000),
        objects=_objects(members.get('objects')),
        progress=_progress(members.get('progress')),
        failure=_text(members.get('failure'), 500),
    )


def _objects(raw: Any) -> tuple[ObjectNote, ...]:
    notes: list[ObjectNote] = []
    for entry in raw if isinstance(raw, (list, tuple)) else ():
        if isinstance(entry, str) and entry.strip():
            notes.append(ObjectNote(category=entry.strip()[:80]))
        elif isinstance(entry, Mapping):
            name = _text(entry.get('category') or entry.get('name'), 80).strip()
            attributes = entry.get('attributes')
            words = attributes if isinstance(attributes, (list, tuple)) else ()
            if name:
                notes.append(
                    ObjectNote(
                        category=name,
                        description=_text(entry.get('description'), 300),
                        attributes=tuple(_text(w, 80) for w in words)[:16],
                    )
                )
    return tuple(notes[:64])


def _progress(raw: Any) -> tuple[ProgressUpdate, ...]:
    if isinstance(raw, Mapping):
        if 'index' in raw:
            raw = [raw]
        else:
            raw = [{'index': k, 'status': v} for k, v in raw.items()]
    updates: list[ProgressUpdate] = []
    for entry in raw if isinstance(raw, (list, tuple)) else ():
        if not isinstance(entry, Mapping):
            continue
        status = _text(entry.get('status'), 20).strip().lower()
        status = _STATUS.get(status, status)
        if status == 'pending':
            continue
        try:
            updates.append(
                ProgressUpdate(
                    index=_coerce('view', entry.get('index', entry.get('item'))),
                    status=status,  # type: ignore[arg-type]
                    reason=_text(entry.get('reason'), 500),
                )
            )
        except ValidationError as error:
            raise RecordError(f'progress update {dict(entry)}: {_first(error)}') from error
    return tuple(updates[:64])
