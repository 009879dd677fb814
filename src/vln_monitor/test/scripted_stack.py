# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that writes down what it is asked, and a page to talk to the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientWebSocketResponse, WSMsgType
from aiohttp.test_utils import TestClient, TestServer

from vln_monitor.access import Access, Tokens
from vln_monitor.audit import CommandLog
from vln_monitor.hub import Hub
from vln_monitor.robot import Answer
from vln_monitor.server import Facts, make_app
from vln_monitor.session import Desk

OPERATOR = 'operator-token-0123456789'
VIEWER = 'viewer-token-0123456789ab'
TOKENS = Tokens(OPERATOR, VIEWER)


class ScriptedRobot:
    """Implements :class:`vln_monitor.robot.Robot`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.is_following = False
        self.stop_answer = Answer(True, 'stopped until released')

    def names(self) -> list[str]:
        return [call[0] for call in self.calls]

    def _note(self, *call: Any, answer: Answer | None = None) -> Future[Answer]:
        self.calls.append(call)
        future: Future[Answer] = Future()
        future.set_result(answer or Answer(True, 'done'))
        return future

    def stop(self) -> Future[Answer]:
        return self._note('stop', answer=self.stop_answer)

    def release(self) -> Future[Answer]:
        return self._note('release')

    def instruct(self, text: str, who: str) -> Future[Answer]:
        return self._note('instruct', text, who)

    def cancel(self) -> Future[Answer]:
        return self._note('cancel')

    def pause(self, is_paused: bool) -> Future[Answer]:
        return self._note('pause', is_paused)

    def require_approval(self, is_required: bool) -> Future[Answer]:
        return self._note('require_approval', is_required)

    def approve(self, is_approved: bool) -> Future[Answer]:
        return self._note('approve', is_approved)

    def drive(self, linear: float, angular: float, speed: float) -> None:
        self.calls.append(('drive', linear, angular, speed))

    def let_go(self) -> None:
        self.calls.append(('let_go',))


class Bench:
    """A running server with its robot."""

    def __init__(self, client: TestClient, desk: Desk, robot: ScriptedRobot) -> None:
        self.client = client
        self.desk = desk
        self.robot = robot

    @property
    def origin(self) -> str:
        return f'http://{self.client.host}:{self.client.port}'

    async def page(self, token: str = '') -> PageEnd:
        headers = {'Origin': self.origin}
        if token:
            headers['Authorization'] = f'Bearer {token}'
        return PageEnd(await self.client.ws_connect('/ws', headers=headers))

    async def until(self, is_met: Callable[[], bool], timeout: float = 3.0) -> None:
        async with asyncio.timeout(timeout) if hasattr(asyncio, 'timeout') else _forever():
            while not is_met():
                await asyncio.sleep(0.01)


@asynccontextmanager
async def _forever() -> AsyncIterator[None]:
    yield  # Python 3.10: the time-out of the test itself has to do


class PageEnd:
    """A page's side of a WebSocket."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, **message: Any) -> None:
        await self.socket.send_str(json.dumps(message))

    async def receive(self, kind: str, timeout: float = 3.0, **wanted: Any) -> dict[str, Any]:
        """Return the next text message of a kind that holds the wanted values or keys."""

        async def find() -> dict[str, Any]:
            while True:
                message = await self.socket.receive()
                assert message.type in (WSMsgType.TEXT, WSMsgType.BINARY), message
                if message.type is WSMsgType.BINARY:
                    continue
                content = json.loads(message.data)
                if content['type'] == kind and all(
                    key in content and value in (..., content[key])
                    for key, value in wanted.items()
                ):
                    return content

        return await asyncio.wait_for(find(), timeout)

    async def receive_binary(self, timeout: float = 3.0) -> bytes:
        async def find() -> bytes:
            while True:
                message = await self.socket.receive()
                assert message.type in (WSMsgType.TEXT, WSMsgType.BINARY), message
                if message.type is WSMsgType.BINARY:
                    return message.data

        return await asyncio.wait_for(find(), timeout)


@asynccontextmanager
async def bench(tokens: Tokens | None = None, **facts: Any) -> AsyncIterator[Bench]:
    """Serve the page on a free port of this machine."""
    loop = asyncio.get_running_loop()
    robot = ScriptedRobot()
    hub = Hub(loop.time)
    hub.start(loop)
    desk = Desk(robot, hub, CommandLog(None))
    app = make_app(desk, Access(tokens or Tokens()), Facts(**facts))
    async with TestClient(TestServer(app, host='127.0.0.1')) as client:
        yield Bench(client, desk, robot)
