# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP and WebSocket server of the page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from vln_monitor.access import Access, Role, is_own_host, is_own_origin
from vln_monitor.messages import MAX_MESSAGE_BYTES
from vln_monitor.session import Desk, Page

STATIC = Path(__file__).with_name('static')
COOKIE = 'vln_monitor'
_MAX_BODY_BYTES = 4096
# A driver sends 20 messages a second; what sends many more is broken or hostile.
_MAX_MESSAGES = 200
_HEARTBEAT = 5.0
_logger = logging.getLogger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Facts:
    """What the page must know of the server."""

    stop_port: int | None = None
    max_clients: int = 32
    has_tls: bool = False
    max_linear: float = 0.5
    max_angular: float = 1.0


def make_app(desk: Desk, access: Access, facts: Facts) -> web.Application:
    """Return the application of the page."""
    server = _Server(desk, access, facts)
    app = web.Application(middlewares=[_guard(access, facts)], client_max_size=_MAX_BODY_BYTES)
    app.add_routes(
        [
            web.get('/', server.index),
            web.get('/healthz', server.healthz),
            web.get('/api/session', server.session),
            web.post('/api/login', server.login),
            web.post('/api/logout', server.logout),
            web.post('/api/stop', server.stop),
            web.get('/ws', server.socket),
            web.static('/static', STATIC),
        ]
    )
    app.on_shutdown.append(server.close)
    return app


def make_stop_app(desk: Desk, access: Access, facts: Facts) -> web.Application:
    """Return the application of the second listener: the stop, and nothing else.

    It runs on an event loop of its own, so that it works while the page's hangs.
    """

    async def stop(request: web.Request) -> web.Response:
        role = _role(request, access)
        if role is None:
            return _refusal(401, 'no valid token')
        waiting = desk.robot.stop()
        answer = await desk.settle(waiting)
        desk.log.add('page', role.value, request.remote or '', 'STOP by own port', answer.text)
        return web.json_response({'stop': answer.ok, 'text': answer.text})

    app = web.Application(
        middlewares=[_guard(access, facts, is_other_port=True)], client_max_size=_MAX_BODY_BYTES
    )
    app.add_routes([web.post('/api/stop', stop)])
    return app


def _guard(access: Access, facts: Facts, *, is_other_port: bool = False) -> Any:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        origin = request.headers.get('Origin', '')
        if not is_own_host(request.host, is_open=access.is_open):
            return _refusal(403, 'this name is not served without a token; use localhost')
        if not is_own_origin(origin, request.host, is_other_port=is_other_port):
            return _refusal(403, 'requests of other sites are refused')
        response = await handler(request)
        if not response.prepared:
            response.headers.update(_headers(request, facts))
        return response

    return guard


def _headers(request: web.Request, facts: Facts) -> dict[str, str]:
    connect = "'self'"
    if facts.stop_port is not None:
        scheme = 'https' if facts.has_tls else 'http'
        connect += f' {scheme}://{request.url.host}:{facts.stop_port}'
    headers = {
        'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; "
        f"img-src 'self' blob: data:; connect-src {connect}; manifest-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-cache',
    }
    if facts.has_tls:
        headers['Strict-Transport-Security'] = 'max-age=31536000'
    return headers


def _refusal(status: int, text: str) -> web.Response:
    return web.json_response({'error': text}, status=status)


def _role(request: web.Request, access: Access) -> Role | None:
    origin = request.headers.get('Origin', '')
    is_reading = request.method in ('GET', 'HEAD') and 'Upgrade' not in request.headers
    return access.role_of(
        authorization=request.headers.get('Authorization', ''),
        cookie=request.cookies.get(COOKIE, ''),
        origin=origin or ('same' if is_reading else ''),
    )


class _Server:
    def __init__(self, desk: Desk, access: Access, facts: Facts) -> None:
        self._desk = desk
        self._access = access
        self._facts = facts
        self._sockets: set[web.WebSocketResponse] = set()

    async def index(self, _: web.Request) -> web.FileResponse:
        return web.FileResponse(STATIC / 'index.html')

    async def healthz(self, _: web.Request) -> web.Response:
        return web.json_response({'ok': True})

    async def session(self, request: web.Request) -> web.Response:
        role = _role(request, self._access)
        return web.json_response(
            {
                'role': role.value if role else None,
                'needs_token': not self._access.is_open,
                'stop_port': self._facts.stop_port,
                'max_linear': self._facts.max_linear,
                'max_angular': self._facts.max_angular,
            }
        )

    async def login(self, request: web.Request) -> web.Response:
        address = request.remote or ''
        if self._access.is_blocked(address):
            return _refusal(429, 'too many wrong tokens; wait a minute')
        try:
            body = await request.json() if request.content_type == 'application/json' else None
        except (json.JSONDecodeError, UnicodeDecodeError):
            body = None
        if not isinstance(body, dict) or not isinstance(body.get('token'), str):
            return _refusal(400, 'send {"token": "..."} as application/json')
        role = self._access.role_of_token(body['token'])
        if role is None:
            self._access.note_failure(address)
            self._desk.log.add('unknown', 'none', address, 'log in', 'refused: wrong token')
            return _refusal(401, 'wrong token')
        self._desk.log.add('page', role.value, address, 'log in', 'accepted')
        response = web.json_response({'role': role.value})
        response.set_cookie(
            COOKIE,
            self._access.new_session(role),
            httponly=True,
            samesite='Strict',
            secure=self._facts.has_tls,
            path='/',
        )
        return response

    async def logout(self, _: web.Request) -> web.Response:
        response = web.json_response({'role': None})
        response.del_cookie(COOKIE, path='/')
        return response

    async def stop(self, request: web.Request) -> web.Response:
        role = _role(request, self._access)
        if role is None:
            return _refusal(401, 'no valid token')
        answer = await self._desk.stop('page', role.value, request.remote or '', 'HTTP')
        return web.json_response({'stop': answer.ok, 'text': answer.text})

    async def socket(self, request: web.Request) -> web.StreamResponse:
        role = _role(request, self._access)
        if role is None:
            return _refusal(401, 'no valid token')
        if len(self._desk.pages) >= self._facts.max_clients:
            return _refusal(503, 'too many pages are open')
        # Pictures are compressed already, and compressing costs more than it saves here.
        socket = web.WebSocketResponse(
            heartbeat=_HEARTBEAT, max_msg_size=MAX_MESSAGE_BYTES, compress=False
        )
        await socket.prepare(request)
        self._sockets.add(socket)
        page = Page(self._desk, role, request.remote or '')
        sender = asyncio.get_running_loop().create_task(self._send(page, socket))
        try:
            await self._receive(page, socket)
        finally:
            sender.cancel()
            self._sockets.discard(socket)
            page.close()
        return socket

    async def _send(self, page: Page, socket: web.WebSocketResponse) -> None:
        try:
            await page.outbox.run(socket)
        except (asyncio.TimeoutError, ConnectionError, RuntimeError):
            # Not listening any more: end the connection, and with it whatever the page drives.
            with contextlib.suppress(Exception):
                await asyncio.wait_for(socket.close(), 1.0)

    async def _receive(self, page: Page, socket: web.WebSocketResponse) -> None:
        second, count = 0, 0
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            now = int(time.monotonic())
            second, count = (now, 1) if now != second else (second, count + 1)
            if count > _MAX_MESSAGES:
                _logger.warning('%s sends too much: closed', page.name)
                await socket.close(code=1008, message=b'too many messages')
                break
            page.receive(message.data)

    async def close(self, _: web.Application) -> None:
        """Say goodbye to all pages."""
        for socket in tuple(self._sockets):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(socket.close(code=1001, message=b'the server ends'), 1.0)
