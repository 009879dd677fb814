# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The server with a scripted robot: roles, tokens, one driver, the stop, slow and broken pages."""

from __future__ import annotations

import asyncio
import functools
import json
import time
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import WSServerHandshakeError, web
from scripted_stack import OPERATOR, TOKENS, VIEWER, ScriptedRobot, bench

from vln_core.errors import ConfigError
from vln_monitor.access import Access, Tokens
from vln_monitor.audit import CommandLog
from vln_monitor.hub import Hub
from vln_monitor.robot import Answer
from vln_monitor.server import Facts, make_stop_app
from vln_monitor.serving import ServerThread, tls_context
from vln_monitor.session import Desk


def run_async(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a coroutine as test, with a bound."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 30.0))

    return run


# -- access -------------------------------------------------------------------------------------


@run_async
async def test_page_is_served_with_its_protection() -> None:
    async with bench() as it:
        response = await it.client.get('/')
        assert response.status == 200
        assert "script-src 'self'" in response.headers['Content-Security-Policy']
        text = await response.text()
        assert 'http://' not in text and 'https://' not in text, 'works without the internet'
        for name in ('app.js', 'style.css', 'icon.svg'):
            assert (await it.client.get(f'/static/{name}')).status == 200
        assert (await it.client.get('/static/../config.py')).status == 404


@run_async
async def test_without_token_nothing_is_told() -> None:
    async with bench(TOKENS) as it:
        assert (await (await it.client.get('/api/session')).json())['role'] is None
        assert (await it.client.post('/api/stop')).status == 401
        with pytest.raises(WSServerHandshakeError):
            await it.page()
        with pytest.raises(WSServerHandshakeError):
            await it.page('wrong-token-0123456789')
        assert it.robot.calls == []


@run_async
async def test_login_gives_a_session() -> None:
    async with bench(TOKENS) as it:
        headers = {'Origin': it.origin}
        wrong = await it.client.post('/api/login', json={'token': 'x' * 20}, headers=headers)
        assert wrong.status == 401
        right = await it.client.post('/api/login', json={'token': VIEWER}, headers=headers)
        assert (await right.json())['role'] == 'viewer'
        cookie = right.headers['Set-Cookie']
        assert 'HttpOnly' in cookie and 'SameSite=Strict' in cookie
        assert (await (await it.client.get('/api/session')).json())['role'] == 'viewer'
        # The cookie alone, as another site's form would send it, does nothing.
        assert (await it.client.post('/api/stop')).status == 401
        assert (await it.client.post('/api/stop', headers=headers)).status == 200
        text = json.dumps(list(it.desk.log.recent))
        assert VIEWER not in text and OPERATOR not in text and 'wrong token' in text


@run_async
async def test_login_is_slowed_after_many_guesses() -> None:
    async with bench(TOKENS) as it:
        codes = [
            (await it.client.post('/api/login', json={'token': f'{i:020}'})).status
            for i in range(11)
        ]
        assert codes == [401] * 10 + [429]


@run_async
async def test_other_sites_are_kept_out() -> None:
    async with bench() as it:
        foreign = {'Origin': 'http://evil.example'}
        assert (await it.client.post('/api/stop', headers=foreign)).status == 403
        with pytest.raises(WSServerHandshakeError):
            await it.client.ws_connect('/ws', headers=foreign)
        rebound = {'Host': 'evil.example', 'Origin': 'http://evil.example'}
        assert (await it.client.get('/', headers=rebound)).status == 403
        assert it.robot.calls == []


# -- roles --------------------------------------------------------------------------------------


@run_async
async def test_viewer_may_watch_and_stop_only() -> None:
    async with bench(TOKENS) as it:
        page = await it.page(VIEWER)
        assert (await page.receive('notice', welcome=...))['role'] == 'viewer'
        for message in (
            {'type': 'instruct', 'text': 'go'},
            {'type': 'wheel', 'take': True},
            {'type': 'release'},
            {'type': 'cancel'},
            {'type': 'pause', 'on': True},
            {'type': 'approve', 'yes': True},
            {'type': 'require_approval', 'on': False},
            {'type': 'drive', 'linear': 1.0, 'angular': 0.0},
        ):
            await page.send(**message)
            assert 'viewer' in (await page.receive('notice', error=...))['error']
        assert it.robot.calls == []
        await page.send(type='stop')
        assert (await page.receive('notice', stop=...))['stop'] is True
        assert it.robot.names() == ['stop']


@run_async
async def test_operator_commands_arrive_and_are_logged() -> None:
    async with bench(TOKENS) as it:
        page = await it.page(OPERATOR)
        await page.send(type='hello', name='Ada')
        await page.send(type='instruct', text='  leave the\n bedroom ')
        await page.receive('notice', info='done')
        await page.send(type='require_approval', on=True)
        await page.send(type='approve', yes=False)
        await page.send(type='pause', on=True)
        await page.send(type='cancel')
        await page.send(type='release')
        await it.until(lambda: len(it.robot.calls) == 6)
        assert it.robot.calls == [
            ('instruct', 'leave the bedroom', 'Ada'),
            ('require_approval', True),
            ('approve', False),
            ('pause', True),
            ('cancel',),
            ('release',),
        ]
        await it.until(lambda: len(it.desk.log.recent) >= 7)
        assert all(entry['who'] == 'Ada' and entry['time'] for entry in it.desk.log.recent)


# -- one driver ---------------------------------------------------------------------------------


@run_async
async def test_one_driver_and_taking_over() -> None:
    async with bench() as it:
        first, second = await it.page(), await it.page()
        await first.send(type='drive', linear=1.0, angular=0.0, speed=0.5)
        await it.until(lambda: ('drive', 1.0, 0.0, 0.5) in it.robot.calls)
        await second.send(type='drive', linear=-1.0, angular=0.0)
        await second.send(type='drive', linear=-1.0, angular=0.0)
        assert 'is driving' in (await second.receive('notice', error=...))['error']
        await second.send(type='instruct', text='go')
        assert 'is driving' in (await second.receive('notice', error=...))['error']
        await second.send(type='wheel', take=True, force=True)
        assert 'took over' in (await first.receive('notice', error=...))['error']
        assert it.robot.names()[-1] == 'let_go', 'the robot stands when the driver changes'
        # The first page still holds its switch: nothing more comes through.
        await first.send(type='drive', linear=1.0, angular=0.0)
        await second.send(type='let_go')
        await second.send(type='drive', linear=0.0, angular=1.0)
        await it.until(lambda: ('drive', 0.0, 1.0, 1.0) in it.robot.calls)
        assert it.robot.names().count('drive') == 2


@run_async
async def test_a_lost_driver_means_zero() -> None:
    async with bench() as it:
        page, watcher = await it.page(), await it.page()
        await page.send(type='drive', linear=1.0, angular=0.0)
        await it.until(lambda: 'drive' in it.robot.names())
        page.socket._response.connection.transport.abort()  # as a broken network does
        await it.until(lambda: it.robot.names()[-1] == 'let_go')
        await watcher.receive('people', driver=None)


@run_async
async def test_driving_pauses_the_instruction() -> None:
    async with bench() as it:
        it.robot.is_following = True
        page = await it.page()
        for _ in range(3):
            await page.send(type='drive', linear=1.0, angular=0.0)
        await it.until(lambda: it.robot.names().count('drive') == 3)
        assert it.robot.calls.count(('pause', True)) == 1


# -- stop ---------------------------------------------------------------------------------------


@run_async
async def test_stop_by_http_needs_no_page() -> None:
    async with bench() as it:
        answer = await (await it.client.post('/api/stop')).json()
        assert answer == {'stop': True, 'text': 'stopped until released'}
        assert it.robot.names() == ['stop']
        assert it.desk.log.recent[-1]['what'] == 'STOP by HTTP'


@run_async
async def test_an_unconfirmed_stop_says_so() -> None:
    async with bench() as it:
        it.robot.stop_answer = Answer(False, 'sent, but not confirmed')
        assert (await (await it.client.post('/api/stop')).json())['stop'] is False


def test_stop_works_while_the_page_server_hangs() -> None:
    robot = ScriptedRobot()
    desk = Desk(robot, Hub(lambda: 0.0), CommandLog(None))
    port = _free_port()
    main = ServerThread(web.Application, '127.0.0.1', port, None)
    own = ServerThread(
        lambda: make_stop_app(desk, Access(Tokens()), Facts()), '127.0.0.1', port + 1, None
    )
    try:
        main.loop.call_soon_threadsafe(time.sleep, 3.0)
        request = urllib.request.Request(f'http://127.0.0.1:{port + 1}/api/stop', method='POST')
        with urllib.request.urlopen(request, timeout=2.0) as response:
            assert json.load(response)['stop'] is True
        assert robot.names() == ['stop']
    finally:
        own.close()
        main.close()


# -- messages and slow pages --------------------------------------------------------------------


@pytest.mark.parametrize(
    'text',
    [
        'no json',
        '[]',
        '{"type": "fly"}',
        '{"type": "stop", "extra": 1}',
        '{"type": "drive", "linear": 2.0, "angular": 0.0}',
        '{"type": "drive", "linear": NaN, "angular": 0.0}',
        '{"type": "instruct", "text": ""}',
        '{"type": "hello", "name": "a\\u0000b"}',
    ],
)
@run_async
async def test_what_does_not_fit_the_schema_is_refused(text: str) -> None:
    async with bench() as it:
        page = await it.page()
        await page.socket.send_str(text)
        assert 'refused' in (await page.receive('notice', error=...))['error']
        assert it.robot.calls == []


@run_async
async def test_too_long_messages_end_the_connection() -> None:
    async with bench() as it:
        page = await it.page()
        await page.send(type='instruct', text='x' * 20_000)
        with pytest.raises(AssertionError):
            await page.receive('never')
        await it.until(lambda: not it.desk.pages)


@run_async
async def test_a_flood_ends_the_connection() -> None:
    async with bench() as it:
        page = await it.page()
        for _ in range(900):
            await page.send(type='painted')
        with pytest.raises(AssertionError):
            await page.receive('never', timeout=5.0)


@run_async
async def test_too_many_pages_are_refused() -> None:
    async with bench(max_clients=1) as it:
        await it.page()
        with pytest.raises(WSServerHandshakeError):
            await it.page()


@run_async
async def test_latest_picture_wins() -> None:
    async with bench() as it:
        page = await it.page()
        it.desk.hub.post_binary('camera', {'n': 0}, b'0')
        await asyncio.sleep(0.05)
        await page.send(type='show', camera=True)
        await asyncio.sleep(0.05)
        for number in range(1, 6):
            it.desk.hub.post_binary('camera', {'n': number}, b'x')
            await asyncio.sleep(0.01)
        assert b'"n":1' in await page.receive_binary()
        await page.send(type='painted')
        assert b'"n":5' in await page.receive_binary(), 'what came meanwhile was dropped'


@run_async
async def test_late_pages_see_what_was_shown_before() -> None:
    async with bench() as it:
        it.desk.hub.post('progress', {'items': [1]})
        await asyncio.sleep(0.05)
        page = await it.page()
        assert (await page.receive('progress'))['items'] == [1]


def test_a_taken_port_is_said_in_one_line() -> None:
    port = _free_port()
    first = ServerThread(web.Application, '127.0.0.1', port, None)
    with pytest.raises(ConfigError, match=f'port {port}'):
        ServerThread(web.Application, '127.0.0.1', port, None)
    first.close()


def test_unreadable_certificates_are_named() -> None:
    assert tls_context('', '') is None
    with pytest.raises(ConfigError, match=r'nowhere\.pem'):
        tls_context('nowhere.pem', 'key.pem')


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return min(one.getsockname()[1], 65000)
