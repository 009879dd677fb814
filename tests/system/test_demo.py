# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln demo` is the only parent of its stack: however it ends early, nothing goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid

import pytest
from stack import PATIENCE, wait_until

from vln_cli.processes import marked_processes

_MARK = 'VLN_TEST_DEMO'


@pytest.mark.parametrize('number', [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_demo_ended_early_leaves_nothing(number, domain, tmp_path) -> None:
    mark = uuid.uuid4().hex
    environment = dict(os.environ, ROS_DOMAIN_ID=str(domain))
    environment[_MARK] = mark
    demo = subprocess.Popen(
        [sys.executable, '-m', 'vln_cli', 'demo', '--seed', '1', '--out', str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )

    def running() -> list[int]:
        return marked_processes(f'{_MARK}={mark}')

    try:
        log = tmp_path / 'stack.log'
        wait_until(lambda: log.exists() and '[light_nodes-' in log.read_text(), PATIENCE)
        demo.send_signal(number)
        output, _ = demo.communicate(timeout=40.0)
        assert demo.returncode == 130
        assert b'Traceback' not in output
        assert 'Traceback' not in log.read_text()
        wait_until(lambda: not running(), 10.0)
    finally:
        for pid in running():
            os.kill(pid, signal.SIGKILL)
