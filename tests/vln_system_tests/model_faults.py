# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault of a model endpoint with how it has to end: the table behind tests and benchmark."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vln_core.context import PlanningContext
from vln_core.errors import PlannerError
from vln_core.system2.model_client import ModelClient
from vln_core.system2.model_errors import ModelError
from vln_core.system2.model_planner import ModelPlanner, ModelPlannerConfig
from vln_core.system2.model_profile import ModelProfile
from vln_system_tests.model_server import GOOD, ModelServer, Play, good

_GOOD = json.dumps(GOOD)
_HTML = '<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>'


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: What goes wrong.
        script: Answers of the server in order; the last is repeated.
        ends: 'record': a valid record at once; 'retried': a record after repeated requests;
            'repaired': a record after one repair round; 'failure': a clean planner error.
        kind: Of the ModelError where ``ends`` is 'failure'; '' for an unusable answer.
    """

    name: str
    script: tuple[Play, ...]
    ends: str
    kind: str = ''


def _error(status: int, message: str, **headers: str) -> Play:
    body = json.dumps({'error': {'message': message, 'type': 'x', 'code': None}})
    return Play(
        status=status, body=body, headers={k.replace('_', '-'): v for k, v in headers.items()}
    )


def _said(name: str, text: str, ends: str = 'record') -> Fault:
    script = (good(text), good()) if ends == 'repaired' else (good(text),)
    return Fault(name, script, ends)


FAULTS: tuple[Fault, ...] = (
    _said('plain', _GOOD),
    _said('fenced', f'```json\n{_GOOD}\n```'),
    _said('in prose', f'Here is my decision:\n{_GOOD}\nI hope that helps!'),
    _said('trailing commas', _GOOD.replace('"}', '",}').replace('[]', '[],')),
    _said('doubled braces', _GOOD.replace('{', '{{').replace('}', '}}')),
    _said('single quotes', _GOOD.replace('"', "'")),
    _said('cut off after the action', _GOOD[: _GOOD.index('"rationale"') + 16]),
    _said('cut off inside the action', _GOOD[: _GOOD.index('"f1"') + 2], 'repaired'),
    _said(
        'wrong types',
        _GOOD.replace('"progress": []', '"progress": {"0": "done"}, "objects": "x"'),
    ),
    _said('unknown action', '{"action": {"type": "fly", "height": 3}}', 'repaired'),
    _said('unknown viewpoint', _GOOD.replace('f1', 'f99'), 'repaired'),
    _said('missing view', '{"action": {"type": "go", "view": 31, "target": "door"}}', 'repaired'),
    _said('several objects', '{"example": 1}\n' + _GOOD.replace('f1', 'w0') + '\n' + _GOOD),
    _said('reasoning block', f'<think>maybe {{"action": "stop"}}?</think>\n{_GOOD}'),
    _said('bare keys and comments', '{action: {type: "goto", viewpoint: "f1"}, // go\n}'),
    _said('action as words', '{"action": "goto(f1)"}'),
    Fault('empty, then good', (good(''), good()), 'repaired'),
    Fault('empty twice', (good(''),), 'failure'),
    Fault('nonsense twice', (good('I cannot help with that.'),), 'failure'),
    Fault('HTML page with 200, then good', (Play(body=_HTML), good()), 'retried'),
    Fault('HTML page with 200 for ever', (Play(body=_HTML),), 'failure', 'html|empty|connection'),
    Fault('400 bad request', (_error(400, 'nonsense'),), 'failure', 'bad_request'),
    Fault(
        '400 no json_schema', (_error(400, 'response_format is not supported'), good()), 'retried'
    ),
    Fault(
        '400 no stream_options', (_error(400, 'unknown field stream_options'), good()), 'retried'
    ),
    Fault('401 wrong key', (_error(401, 'bad key'),), 'failure', 'auth'),
    Fault('403 forbidden', (_error(403, 'no access'),), 'failure', 'auth'),
    Fault('404 model', (_error(404, 'model not found'),), 'failure', 'not_found'),
    Fault('408 then good', (_error(408, 'timeout'), good()), 'retried'),
    Fault('413 then good', (_error(413, 'too large'), good()), 'retried'),
    Fault('413 for ever', (_error(413, 'too large'),), 'failure', 'too_large'),
    Fault(
        '429 with Retry-After', (_error(429, 'slow down', retry_after='0.2'), good()), 'retried'
    ),
    Fault('429 without', (_error(429, 'slow down'), good()), 'retried'),
    Fault('429 quota', (_error(429, 'insufficient_quota'),), 'failure', 'rate_limit'),
    Fault(
        '429 wait too long', (_error(429, 'later', retry_after='3600'),), 'failure', 'rate_limit'
    ),
    Fault('500 then good', (_error(500, 'oops'), good()), 'retried'),
    Fault('502 page then good', (Play(status=502, body=_HTML), good()), 'retried'),
    Fault('503 for ever', (_error(503, 'down'),), 'failure', 'server'),
    Fault('dropped at once', (Play(_GOOD, drop_after=0), good()), 'retried'),
    Fault('dropped half way', (Play(_GOOD, drop_after=300), good()), 'retried'),
    Fault('stalls half way, then good', (Play(_GOOD, stall_after=300), good()), 'retried'),
    Fault('stalls for ever', (Play(_GOOD, stall_after=300),), 'failure', 'timeout'),
    Fault('silent for ever', (Play(_GOOD, delay=60.0),), 'failure', 'timeout'),
)  # fmt: skip


def fault_profile(base_url: str, **more: object) -> ModelProfile:
    """Return a profile with short times against the scripted server."""
    values: dict[str, object] = {
        'model': 'scripted', 'base_url': base_url, 'key_variable': '', 'backoff': 0.02,
        'max_backoff': 1.0, 'max_retries': 2, 'stall_timeout': 0.8, 'call_timeout': 4.0,
        'picture_size_px': 256,
    }  # fmt: skip
    return ModelProfile(**{**values, **more})  # type: ignore[arg-type]


def play(fault: Fault, context: PlanningContext, **more: object) -> tuple[str, str, int]:
    """Play one fault through the real client and planner.

    Returns:
        (how it ended, kind of the model error or the error's words, requests that were sent).
    """
    with ModelServer(list(fault.script)) as server:
        client = ModelClient(fault_profile(server.base_url, **more))
        planner = ModelPlanner(client, ModelPlannerConfig(mode='ham'))
        try:
            record = planner.decide(context)
        except ModelError as error:
            return 'failure', error.kind, len(server.requests)
        except PlannerError as error:
            return 'failure', str(error), len(server.requests)
        if record.action.type != 'goto':
            return 'wrong action', record.action.type, len(server.requests)
        if client.usage.calls > 1:
            return 'repaired', '', len(server.requests)
        return ('record' if len(server.requests) == 1 else 'retried'), '', len(server.requests)


def ended_as_stated(fault: Fault, ended: str, kind: str) -> bool:
    """Tell whether a fault ended as its table row says."""
    if ended != fault.ends:
        return False
    return ended != 'failure' or not fault.kind or kind in fault.kind.split('|')
