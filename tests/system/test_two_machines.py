# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Body and brain on two machines: two network namespaces with a link between them that is cut.

Needs the right to make namespaces (root); everything goes over UDP, as between real machines.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vln_cli.launch import launch_command
from vln_cli.paths import ROOT

SCENE = 'apartment:1'
SAFE = 1.0
"""SPEC: any node lost means zero within 1 s."""
_PROFILE = ROOT / 'config' / 'dds' / 'fastdds_network.xml'
_PARAMETERS = ROOT / 'config' / 'params' / 'simulation.yaml'
_logger = logging.getLogger(__name__)
_TAG = f'vln{os.getpid() % 10000}'


def _ip(*words: str) -> None:
    subprocess.run(['ip', *words], check=True, capture_output=True, text=True)


def _missing_right() -> str:
    if not shutil.which('ip'):
        return 'the program ip is missing (package iproute2)'
    try:
        _ip('netns', 'add', f'{_TAG}-try')
        _ip('netns', 'del', f'{_TAG}-try')
    except subprocess.CalledProcessError as error:
        return f'network namespaces cannot be made here: {error.stderr.strip()}'
    return ''


@pytest.fixture
def link() -> Iterator[tuple[str, str]]:
    """Two namespaces, each with one end of a cable; their names."""
    problem = _missing_right()
    if problem:
        pytest.skip(f'NOT TESTED, two machines with a cut link: {problem}')
    names = (f'{_TAG}-robot', f'{_TAG}-desk')
    try:
        for name in names:
            _ip('netns', 'add', name)
        _ip('link', 'add', f'{_TAG}a', 'netns', names[0], 'type', 'veth',
            'peer', 'name', f'{_TAG}b', 'netns', names[1])  # fmt: skip
        for number, (name, device) in enumerate(zip(names, 'ab', strict=True), 1):
            inside = ('-n', name)
            _ip(*inside, 'addr', 'add', f'10.199.7.{number}/24', 'dev', f'{_TAG}{device}')
            for one in ('lo', f'{_TAG}{device}'):
                _ip(*inside, 'link', 'set', one, 'up', 'multicast', 'on')
            _ip(*inside, 'route', 'add', '224.0.0.0/4', 'dev', f'{_TAG}{device}')
        yield names
    finally:
        for name in names:
            subprocess.run(['ip', 'netns', 'del', name], check=False, capture_output=True)


@pytest.fixture
def start(tmp_path: Path, domain: int) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a command in a namespace; everything is ended with the test."""
    processes: list[subprocess.Popen[bytes]] = []
    environment = dict(
        os.environ, ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE='SUBNET',
        FASTDDS_DEFAULT_PROFILES_FILE=str(_PROFILE), ROS_LOG_DIR=str(tmp_path),
    )  # fmt: skip

    def begin(namespace: str, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        log = (tmp_path / f'{name}.log').open('wb')
        processes.append(
            subprocess.Popen(
                ['ip', 'netns', 'exec', namespace, *command],
                env=environment, stdout=log, stderr=subprocess.STDOUT,
            )
        )  # fmt: skip
        return processes[-1]

    yield begin
    for process in reversed(processes):
        process.send_signal(signal.SIGINT)
    for process in processes:
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(is_met: Callable[[], bool], timeout: float, tell: Callable[[], str]) -> None:
    deadline = time.monotonic() + timeout
    while not is_met():
        assert time.monotonic() < deadline, f'not within {timeout:.0f} s:\n{tell()}'
        time.sleep(0.1)


def _time(fact: dict[str, object]) -> float:
    return float(str(fact['time']))


def _bytes_over(namespace: str) -> int:
    files = f'cat /sys/class/net/{_TAG}a/statistics/[rt]x_bytes'
    command = ['ip', 'netns', 'exec', namespace, 'sh', '-c', files]
    return sum(map(int, subprocess.run(command, capture_output=True, check=True).stdout.split()))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_cut_link_stops_the_robot(link, start, tmp_path) -> None:
    robot, desk = link
    bridge = launch_command(
        'components/bridge.launch.xml',
        {'lockstep': 'false', 'scene': SCENE, 'params_file': str(_PARAMETERS)},
    )
    common = {'use_sim_time': 'true', 'params_file': str(_PARAMETERS),
              'dds_profile': str(_PROFILE), 'managed': 'false'}  # fmt: skip
    start(robot, 'bridge', bridge)
    start(robot, 'body', launch_command('robot.launch.xml', {**common, 'here': 'body'}))
    start(desk, 'brain', launch_command('robot.launch.xml', {**common, 'here': 'brain'}))
    watch = Path(__file__).with_name('link_watch.py')
    facts = tmp_path / 'facts.jsonl'
    start(robot, 'watch', [sys.executable, str(watch), str(facts), f'{_TAG}a'])

    def tell() -> str:
        return '\n'.join(f'{f.name}: {f.read_text()[-800:]}' for f in tmp_path.glob('*.log'))

    def seen(kind: str) -> list[dict[str, object]]:
        lines = facts.read_text().splitlines() if facts.exists() else []
        return [fact for fact in map(json.loads, lines) if fact['kind'] == kind]

    _wait_for(lambda: bool(seen('ready')), 240.0, tell)
    first, since = _bytes_over(robot), time.monotonic()
    _wait_for(lambda: bool(seen('cut')), 240.0, tell)
    rate = (_bytes_over(robot) - first) / (time.monotonic() - since) / 1e6
    _logger.info('over the link: %.1f MB/s', rate)
    time.sleep(4.0)
    (cut,) = (_time(fact) for fact in seen('cut'))
    moving = [_time(fact) - cut for fact in seen('moving')]
    stopped = max(moving, default=0.0)
    _logger.info('the last motion was commanded %.2f s after the cut', stopped)
    # Heartbeats are 0.2 s apart and scheduling of this machine comes on top.
    assert stopped <= SAFE + 0.3
    assert 'NODE_LOST' in (tmp_path / 'body.log').read_text()
