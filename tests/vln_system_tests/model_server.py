# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A scripted OpenAI-compatible HTTP server that plays faults; only for tests and benchmarks."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = {
    'analysis': 'the opening is ahead',
    'action': {'type': 'goto', 'viewpoint': 'f1'},
    'notes': {'progress': []},
    'rationale': 'it is unexplored',
}


@dataclass
class Play:
    """One answer of the script.

    Attributes:
        text: Words of the assistant.
        status: HTTP status.
        body: Raw body instead of a chat completion.
        headers: Extra headers.
        tool_calls: (name, arguments as JSON text) of native tool calls.
        finish: Finish reason.
        delay: Seconds before anything is sent.
        stall_after: Bytes of the body after which the server falls silent, -1: never.
        drop_after: Bytes of the body after which the connection is closed, -1: never.
    """

    text: str = ''
    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    tool_calls: tuple[tuple[str, str], ...] = ()
    finish: str = 'stop'
    delay: float = 0.0
    stall_after: int = -1
    drop_after: int = -1


def good(text: str | None = None) -> Play:
    """Return an answer with a valid record."""
    return Play(text if text is not None else json.dumps(GOOD))


class ModelServer:
    """Serves a list of plays in order, then the last one again and again.

    Args:
        script: Plays, or a function from the request (parsed JSON) to a play.
    """

    def __init__(self, script: list[Play] | Callable[[dict[str, Any]], Play]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._script = script
        self._lock = threading.Lock()
        self._closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                server._answer(self)

        self._http = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._http.daemon_threads = True
        self.base_url = f'http://127.0.0.1:{self._http.server_address[1]}/v1'
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def _next(self, request: dict[str, Any]) -> Play:
        with self._lock:
            self.requests.append(request)
            if callable(self._script):
                return self._script(request)
            return self._script[min(len(self.requests), len(self._script)) - 1]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get('content-length', 0))
        request = json.loads(handler.rfile.read(length) or b'{}')
        self.headers.append({k.lower(): v for k, v in handler.headers.items()})
        play = self._next(request)
        if play.delay:
            self._closing.wait(play.delay)
        is_stream = bool(request.get('stream')) and play.status == 200 and play.body is None
        body = play.body
        if body is None:
            body = _stream(play) if is_stream else json.dumps(_completion(play))
        data = body.encode()
        kind = 'text/event-stream' if is_stream else 'application/json'
        if play.body is not None and play.body.lstrip().startswith('<'):
            kind = 'text/html'
        try:
            handler.send_response(play.status)
            handler.send_header('content-type', kind)
            handler.send_header('content-length', str(len(data)))
            for name, value in play.headers.items():
                handler.send_header(name, value)
            handler.end_headers()
            self._write(handler, data, play)
        except OSError:
            handler.close_connection = True

    def _write(self, handler: BaseHTTPRequestHandler, data: bytes, play: Play) -> None:
        if play.drop_after >= 0:
            handler.wfile.write(data[: play.drop_after])
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        if play.stall_after >= 0:
            handler.wfile.write(data[: play.stall_after])
            handler.wfile.flush()
            self._closing.wait(60.0)
            handler.close_connection = True
            return
        handler.wfile.write(data)


def _calls(play: Play) -> list[dict[str, Any]]:
    return [
        {'id': f'call_{k}', 'type': 'function', 'index': k,
         'function': {'name': name, 'arguments': arguments}}
        for k, (name, arguments) in enumerate(play.tool_calls)
    ]  # fmt: skip


def _completion(play: Play) -> dict[str, Any]:
    message: dict[str, Any] = {'role': 'assistant', 'content': play.text}
    if play.tool_calls:
        message['tool_calls'] = _calls(play)
    return {
        'id': 'c1', 'object': 'chat.completion', 'created': int(time.time()), 'model': 'scripted',
        'choices': [{'index': 0, 'message': message, 'finish_reason': play.finish}],
        'usage': {'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 120},
    }  # fmt: skip


def _stream(play: Play) -> str:
    pieces: list[dict[str, Any]] = [{'role': 'assistant', 'content': ''}]
    pieces += [{'content': play.text[k : k + 24]} for k in range(0, len(play.text), 24)]
    if play.tool_calls:
        pieces.append({'tool_calls': _calls(play)})
    lines = []
    for piece in pieces:
        lines.append(_event([{'index': 0, 'delta': piece, 'finish_reason': None}]))
    lines.append(_event([{'index': 0, 'delta': {}, 'finish_reason': play.finish}]))
    lines.append(_event([], {'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 120}))
    return ''.join(lines) + 'data: [DONE]\n\n'


def _event(choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> str:
    value = {
        'id': 'c1', 'object': 'chat.completion.chunk', 'created': 1, 'model': 'scripted',
        'choices': choices, 'usage': usage,
    }  # fmt: skip
    return f'data: {json.dumps(value)}\n\n'
