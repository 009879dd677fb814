# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to use the page: on a phone, by touch, by gamepad, by keyboard alone, by screen reader."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from live_stack import CHROMIUM_ARGUMENTS, eventually, free_port, start_monitor, wait_for_page
from rclpy.executors import SingleThreadedExecutor

from vln_interfaces.msg import VelocityCommand
from vln_nodes import qos

CHROMIUM = os.environ.get('VLN_CHROMIUM') or shutil.which('chromium') or ''
sync_api = pytest.importorskip(
    'playwright.sync_api', reason='needs playwright: pip install playwright (docs/monitor.md)'
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(200),
    pytest.mark.skipif(
        not CHROMIUM, reason='needs chromium: apt-get install chromium (docs/monitor.md)'
    ),
]
PHONE = {
    'viewport': {'width': 390, 'height': 844}, 'has_touch': True, 'is_mobile': True,
    'device_scale_factor': 3,
}  # fmt: skip
DESK = {'viewport': {'width': 1440, 'height': 980}}
TOP_SPEED, TOP_TURN = 0.5, 1.0
FAKE_GAMEPAD = """
    window.fakePad = { connected: true, axes: [0, 0, 0, 0],
                       buttons: Array.from({ length: 17 }, () => ({ pressed: false })) };
    navigator.getGamepads = () => [window.fakePad];"""
# Interactive elements that a screen reader would call by no name.
NAMELESS = """() => [...document.querySelectorAll('button, input, textarea, [tabindex="0"]')]
    .filter((e) => !e.closest('[aria-hidden="true"]') && e.offsetParent !== null)
    .filter((e) => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')
                     || e.labels?.[0]?.innerText.trim() || e.innerText?.trim()))
    .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope='module')
def velocities() -> Iterator[list[tuple[float, float]]]:
    """What the page asks the safety process for, as it comes."""
    rclpy.init()
    node = rclpy.create_node('test_ways')
    heard: list[tuple[float, float]] = []
    node.create_subscription(
        VelocityCommand, 'teleop/velocity_command',
        lambda m: heard.append((m.twist.linear.x, m.twist.angular.z)), qos.COMMAND,
    )  # fmt: skip
    executor, stop = SingleThreadedExecutor(), threading.Event()
    executor.add_node(node)

    def spin() -> None:
        while not stop.is_set():
            executor.spin_once(timeout_sec=0.05)

    thread = threading.Thread(target=spin)
    thread.start()
    yield heard
    stop.set()
    thread.join()
    node.destroy_node()
    rclpy.try_shutdown()


@pytest.fixture(scope='module')
def open_page(
    velocities: list[tuple[float, float]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Any]]:
    """A function that opens the page of a monitor without a stack; one page at a time."""
    folder, port = tmp_path_factory.mktemp('ways'), free_port()
    with (folder / 'log.txt').open('wb') as log, sync_api.sync_playwright() as playwright:
        monitor = start_monitor(log, port, Path(folder))
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_ARGUMENTS)
        )
        contexts: list[Any] = []

        def run(script: str = '', **options: Any) -> Any:
            for context in contexts:
                context.close()
            contexts[:] = [browser.new_context(**options)]
            page = contexts[0].new_page()
            page.set_default_timeout(30_000)
            if script:
                page.add_init_script(script)
            page.goto(f'http://127.0.0.1:{port}/')
            page.wait_for_function(
                "() => document.getElementById('people').innerText == 'nobody drives'"
            )
            velocities.clear()
            return page

        try:
            wait_for_page(port, monitor)
            yield run
        finally:
            browser.close()
            monitor.end()


def stands(velocities: list[tuple[float, float]]) -> bool:
    return bool(velocities) and velocities[-1] == (0.0, 0.0)


def test_phone_shows_all_in_one_column_with_the_stop_in_reach(
    open_page: Any, velocities: list[tuple[float, float]]
) -> None:
    page = open_page(**PHONE)
    assert page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')
    for place in ('0', 'document.body.scrollHeight'):
        page.evaluate(f'window.scrollTo(0, {place})')
        box = page.locator('#stop').bounding_box()
        assert 0 <= box['y'] and box['y'] + box['height'] <= PHONE['viewport']['height']
        assert box['height'] >= 44 and box['width'] >= 200, 'too small for a thumb'


def test_touch_drives_only_while_the_finger_is_down(
    open_page: Any, velocities: list[tuple[float, float]]
) -> None:
    page = open_page(**PHONE)
    page.locator('#pad').scroll_into_view_if_needed()
    box = page.locator('#pad').bounding_box()
    touch = {'x': box['x'] + box['width'] / 2, 'y': box['y'] + 0.15 * box['height']}
    session = page.context.new_cdp_session(page)
    session.send('Input.dispatchTouchEvent', {'type': 'touchStart', 'touchPoints': [touch]})
    assert eventually(lambda: any(v > 0.1 for v, _ in list(velocities)), 5.0)
    session.send('Input.dispatchTouchEvent', {'type': 'touchEnd', 'touchPoints': []})
    assert eventually(lambda: stands(velocities), 1.0)
    assert max(v for v, _ in velocities) <= 0.5 * TOP_SPEED + 1e-6, 'the slider stands at 50 %'


def test_gamepad_drives_only_with_its_dead_man_and_within_the_limit(
    open_page: Any, velocities: list[tuple[float, float]]
) -> None:
    page = open_page(FAKE_GAMEPAD, **DESK)
    page.locator('#speed').fill('20')
    page.evaluate('window.fakePad.axes = [-1, -1, 0, 0]')
    page.wait_for_timeout(400)
    assert not any(v or w for v, w in velocities), 'nobody holds the shoulder button'
    page.evaluate('window.fakePad.buttons[5].pressed = true')
    assert eventually(lambda: any(v > 0.0 and w > 0.0 for v, w in list(velocities)), 5.0)
    page.evaluate('window.fakePad.buttons[5].pressed = false')
    assert eventually(lambda: stands(velocities), 1.0)
    assert max(v for v, _ in velocities) == pytest.approx(0.2 * TOP_SPEED, abs=1e-6)
    assert max(w for _, w in velocities) == pytest.approx(0.2 * TOP_TURN, abs=1e-6)


def test_every_control_has_a_name_and_every_part_is_a_landmark(open_page: Any) -> None:
    page = open_page(**DESK)
    assert page.evaluate(NAMELESS) == []
    for role, name in (
        ('button', 'STOP'), ('button', 'Go'), ('button', 'Pause'), ('button', 'Cancel'),
        ('textbox', 'What the robot shall do'), ('checkbox', 'Ask before moving'),
        ('slider', 'Speed limit'), ('application', 'Drive pad'), ('img', 'Live camera'),
        ('img', 'Map with path'),
        *(('region', part) for part in ('Camera', 'Map', 'Instruction', 'Decisions', 'Health',
                                        'Commands', 'Drive by hand')),
    ):  # fmt: skip
        assert page.get_by_role(role, name=name).count() >= 1, f'no {role} called {name}'
    assert page.locator('#live').get_attribute('aria-live') == 'polite'
    assert page.locator('#alert').get_attribute('role') == 'alert'
    assert page.locator('html').get_attribute('lang') == 'en'


def test_tab_reaches_every_control(open_page: Any) -> None:
    page = open_page(**DESK)
    reached = set()
    for _ in range(60):
        page.keyboard.press('Tab')
        reached.add(page.evaluate('document.activeElement?.id'))
    wanted = {'stop', 'wheel', 'pad', 'speed', 'map', 'instruct-text', 'instruct-send', 'pause',
              'approval', 'decisions', 'commands', 'name'}  # fmt: skip
    assert wanted <= reached, wanted - reached
