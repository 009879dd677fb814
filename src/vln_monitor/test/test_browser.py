# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The page in headless Chromium, beside the real stack on a free-running simulation."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
from live_stack import (
    CHROMIUM_ARGUMENTS,
    Listener,
    Running,
    eventually,
    free_port,
    start_monitor,
    wait_for_page,
)

from vln_interfaces.msg import SafetyStatus

CHROMIUM = os.environ.get('VLN_CHROMIUM') or shutil.which('chromium') or ''
sync_api = pytest.importorskip(
    'playwright.sync_api', reason='needs playwright: pip install playwright (docs/monitor.md)'
)
pytest.importorskip('vln_sim_bridge', reason='needs the built workspace')
pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not CHROMIUM, reason='needs chromium: apt-get install chromium (docs/monitor.md)'
    ),
]
OPERATOR, VIEWER = 'operator-token-0123456789', 'viewer-token-0123456789ab'
INSTRUCTION = 'Leave the bedroom and stop at the refrigerator.'
# Told by the page itself, so that the driver of the browser does not count.
WATCH_STOP = """document.getElementById('stop').addEventListener(
    'pointerdown', () => { window.stoppedAt = Date.now() / 1000; }, { capture: true })"""


@dataclass
class Stack:
    """The running things."""

    folder: Path
    log: IO[bytes]
    listener: Listener
    port: int
    monitor: Running

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.port}/'

    def restart_monitor(self) -> None:
        self.monitor = start_monitor(self.log, self.port, self.folder)
        wait_for_page(self.port, self.monitor)


@pytest.fixture(scope='module')
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    from vln_cli.launch import launch_command

    folder = tmp_path_factory.mktemp('monitor')
    port = free_port()
    with (folder / 'log.txt').open('wb') as log:
        arguments = {'lockstep': 'false', 'scene': 'apartment:0'}
        simulation = Running(launch_command('sim.launch.xml', arguments), log)
        monitor = start_monitor(log, port, folder)
        listener = Listener()
        running = Stack(folder, log, listener, port, monitor)
        try:
            wait_for_page(port, monitor)
            is_ready = eventually(lambda: listener.safety.state == SafetyStatus.OK, 120.0)
            assert is_ready and simulation.is_alive, (folder / 'log.txt').read_text()[-3000:]
            yield running
        finally:
            listener.close()
            running.monitor.end()
            simulation.end()


@pytest.fixture(scope='module')
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_ARGUMENTS)
        )
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a page; they are closed at the end, without script errors."""
    pages: list[Any] = []
    errors: list[str] = []

    def run(url: str, **context: Any) -> Any:
        size = {'width': 1440, 'height': 980}
        page = browser.new_context(viewport=size, **context).new_page()
        page.set_default_timeout(60_000)
        page.on('pageerror', lambda error: errors.append(str(error)))
        page.goto(url)
        pages.append(page)
        return page

    yield run
    for page in pages:
        page.context.close()
    assert errors == []


@pytest.fixture
def at_rest(stack: Stack) -> None:
    """Whatever the test before left behind is over."""
    stack.listener.reset()
    is_ok = eventually(lambda: stack.listener.safety.state == SafetyStatus.OK, 30.0)
    assert is_ok, stack.listener.safety


def wait_for_text(page: Any, selector: str, text: str, timeout: float = 60.0) -> None:
    page.wait_for_function(
        '([selector, text]) => document.querySelector(selector).innerText.includes(text)',
        arg=[selector, text],
        timeout=timeout * 1000,
    )


def has_picture(page: Any) -> bool:
    """Whether the camera's canvas shows more than one colour."""
    return page.evaluate("""() => {
        const canvas = document.getElementById('camera');
        const { width, height } = canvas;
        const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4 * 97) seen.add(`${data.slice(i, i + 3)}`);
        return seen.size > 20; }""")


def test_watch_instruct_and_stop_in_motion(stack: Stack, at_rest: None, open_page: Any) -> None:
    page = open_page(stack.url)
    wait_for_text(page, '#link', 'connected')
    assert eventually(lambda: has_picture(page), 30.0)
    # A function: the page's policy forbids to evaluate an expression more than once.
    page.wait_for_function("() => document.querySelectorAll('#nodes .dot.ok').length >= 6")

    page.fill('#instruct-text', INSTRUCTION)
    page.click('#instruct-send')
    wait_for_text(page, '#progress', 'refrigerator', 150.0)  # after the first look-around
    wait_for_text(page, '#commands', 'instruct: Leave the bedroom')
    page.evaluate(WATCH_STOP)
    assert eventually(lambda: stack.listener.is_moving, 120.0), 'the robot did not move'
    page.click('#stop')
    delay = stack.listener.zero_after(page.evaluate('window.stoppedAt'))
    assert delay < 0.25, f'zero velocity {delay:.3f} s after the click'
    assert stack.listener.safety.state == SafetyStatus.EMERGENCY_STOP
    wait_for_text(page, '#stop', 'STOPPED')
    wait_for_text(page, '#commands', 'STOP by HTTP')
    wait_for_text(page, '#state', 'ended')

    page.click('#release')
    assert eventually(lambda: stack.listener.safety.state == SafetyStatus.OK, 20.0)
    page.click('summary:has-text("Earlier instructions")')
    page.get_by_role('button', name=f'Use again: {INSTRUCTION}').click()
    assert page.input_value('#instruct-text') == INSTRUCTION


def test_approval_comes_before_motion(stack: Stack, at_rest: None, open_page: Any) -> None:
    page = open_page(stack.url)
    wait_for_text(page, '#link', 'connected')
    page.check('#approval')
    page.fill('#instruct-text', INSTRUCTION)
    page.press('#instruct-text', 'Enter')
    page.wait_for_selector('#approve:not([hidden])', timeout=180_000)
    assert 'drive' in page.inner_text('#approve-text')
    assert len(page.query_selector_all('#strip button')) >= 3
    eventually(lambda: not stack.listener.is_moving, 5.0)
    start = len(stack.listener.commands)
    page.wait_for_timeout(1500)
    assert not any(v or w for _, v, w in list(stack.listener.commands)[start:])
    page.click('#approve-yes')
    assert eventually(lambda: stack.listener.is_moving, 30.0)
    page.click('#pause')
    wait_for_text(page, '#state', 'paused')
    assert eventually(lambda: not stack.listener.is_moving, 2.0), 'a pause ends the motion'
    page.click('#pause')
    assert eventually(lambda: stack.listener.is_moving, 60.0), 'what was left of it is finished'
    page.click('#cancel')
    wait_for_text(page, '#state', 'ended')
    page.uncheck('#approval')
    wait_for_text(page, '#commands', 'approval of motions off')


def test_keyboard_drives_only_while_held(stack: Stack, at_rest: None, open_page: Any) -> None:
    page = open_page(stack.url)
    wait_for_text(page, '#people', 'nobody drives')
    page.focus('#pad')
    page.keyboard.down('ArrowLeft')
    assert eventually(lambda: stack.listener.is_moving, 20.0)
    wait_for_text(page, '#safety', 'teleop drives')
    page.keyboard.up('ArrowLeft')
    assert eventually(lambda: not stack.listener.is_moving, 1.0)

    page.keyboard.down('ArrowLeft')
    assert eventually(lambda: stack.listener.is_moving, 20.0)
    page.keyboard.press('Escape')
    assert eventually(lambda: stack.listener.safety.state == SafetyStatus.EMERGENCY_STOP, 3.0), (
        'Escape stops'
    )
    page.keyboard.up('ArrowLeft')
    page.click('#release')
    assert eventually(lambda: stack.listener.safety.state == SafetyStatus.OK, 20.0)


def test_a_lost_connection_stops_driving_and_comes_back(
    stack: Stack, at_rest: None, open_page: Any
) -> None:
    page = open_page(stack.url)
    wait_for_text(page, '#people', 'nobody drives')
    page.focus('#pad')
    page.keyboard.down('ArrowRight')
    assert eventually(lambda: stack.listener.is_moving, 20.0)
    stack.monitor.kill()
    assert eventually(lambda: not stack.listener.is_moving, 1.0), 'silence means zero'
    wait_for_text(page, '#link', 'connection lost')
    page.keyboard.up('ArrowRight')
    stack.restart_monitor()
    wait_for_text(page, '#link', 'connected')
    wait_for_text(page, '#safety', 'safety ok')


def test_two_browsers_and_one_driver(stack: Stack, at_rest: None, open_page: Any) -> None:
    first, second = open_page(stack.url), open_page(stack.url)
    for page, name in ((first, 'Ada'), (second, 'Bo')):
        wait_for_text(page, '#link', 'connected')
        page.fill('#name', name)
        page.press('#name', 'Tab')
    first.click('#wheel')
    wait_for_text(first, '#people', 'you drive')
    wait_for_text(second, '#people', 'Ada drives')
    second.fill('#instruct-text', INSTRUCTION)
    second.click('#instruct-send')
    wait_for_text(second, '#alert', 'Ada is driving')
    second.click('#wheel')
    wait_for_text(first, '#alert', 'Bo took over')
    wait_for_text(first, '#people', 'Bo drives')
    first.click('#stop')
    wait_for_text(second, '#stop', 'STOPPED')
    second.click('#release')
    wait_for_text(first, '#stop', 'STOP')
    assert eventually(lambda: stack.listener.safety.state == SafetyStatus.OK, 20.0)
    second.context.close()
    wait_for_text(first, '#people', 'nobody drives')


# -- beyond this machine: TLS and tokens --------------------------------------------------------


@pytest.fixture(scope='module')
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A monitor of another namespace that the network can reach; its address."""
    if shutil.which('openssl') is None:
        pytest.skip('needs openssl to make a certificate')
    folder = tmp_path_factory.mktemp('guarded')
    subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj',
         '/CN=localhost', '-keyout', folder / 'key.pem', '-out', folder / 'cert.pem'],
        check=True,
        capture_output=True,
    )  # fmt: skip
    port = free_port()
    with (folder / 'log.txt').open('wb') as log:
        monitor = start_monitor(
            log, port, folder, '-r', '__ns:=/guarded', '-p', 'host:=0.0.0.0',
            '-p', f'tls_certificate:={folder / "cert.pem"}',
            '-p', f'tls_key:={folder / "key.pem"}',
            VLN_MONITOR_TOKEN=OPERATOR, VLN_MONITOR_VIEWER_TOKEN=VIEWER,
        )  # fmt: skip
        try:
            served = b'the page is at'
            assert eventually(lambda: served in (folder / 'log.txt').read_bytes(), 60.0)
            yield f'https://127.0.0.1:{port}/'
            text = (folder / 'commands.jsonl').read_text() + (folder / 'log.txt').read_text()
            assert OPERATOR not in text and VIEWER not in text, 'a secret was logged'
        finally:
            monitor.end()


def test_without_token_there_is_only_the_login(guarded: str, open_page: Any) -> None:
    page = open_page(guarded, ignore_https_errors=True)
    page.wait_for_selector('#login[open]')
    wait_for_text(page, '#link', 'not logged in')
    assert not has_picture(page)


def test_wrong_token_is_refused_and_the_right_one_is_not(guarded: str, open_page: Any) -> None:
    page = open_page(guarded, ignore_https_errors=True)
    page.fill('#token', 'wrong-token-0123456789')
    page.click('#login button')
    wait_for_text(page, '#login-error', 'wrong token')
    page.fill('#token', OPERATOR)
    page.press('#token', 'Enter')
    wait_for_text(page, '#link', 'connected')
    assert page.is_visible('#instruct-text')
    page.reload()
    wait_for_text(page, '#link', 'connected')


def test_viewer_sees_no_controls_but_the_stop(guarded: str, open_page: Any) -> None:
    page = open_page(guarded, ignore_https_errors=True)
    page.fill('#token', VIEWER)
    page.click('#login button')
    wait_for_text(page, '#link', 'connected')
    assert not page.is_visible('#instruct-text') and not page.is_visible('#pad')
    page.click('#stop')
    # No safety node lives in this namespace: the page must say that nothing confirmed the stop.
    wait_for_text(page, '#alert', 'STOP NOT CONFIRMED')


def test_beyond_loopback_without_token_does_not_start(tmp_path: Path) -> None:
    with (tmp_path / 'log.txt').open('wb') as log:
        monitor = start_monitor(
            log, free_port(), tmp_path, '-r', '__ns:=/exposed', '-p', 'host:=0.0.0.0'
        )
        assert monitor.wait(60.0) == 2
    lines = (tmp_path / 'log.txt').read_text().strip().splitlines()
    assert len(lines) == 1 and 'VLN_MONITOR_TOKEN' in lines[0], lines
