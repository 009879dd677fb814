# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln doctor --robot` on a robot that is well, here the simulator, and on one that is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stack import wait_until

from vln_cli.paths import ROOT

_PARAMETERS = ROOT / 'config' / 'params' / 'simulation.yaml'


def _doctor(stack, folder: Path, *words: str) -> tuple[int, dict[str, dict[str, str]], str]:
    report = folder / 'report.md'
    command = [sys.executable, '-m', 'vln_cli.doctor_robot', 'use_sim_time:=true', '--json',
               '--report', str(report), *words]  # fmt: skip
    environment = dict(os.environ, ROS_DOMAIN_ID=str(stack.domain))
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout, done.stderr
    return (
        done.returncode,
        {row['what']: row for row in json.loads(done.stdout)},
        report.read_text(),
    )


def _start(start_stack, **arguments: object):
    stack = start_stack(
        'components/bridge.launch.xml', lockstep='false', params_file=_PARAMETERS,
        scene='apartment:1', **arguments,
    )  # fmt: skip
    wait_until(lambda: 'process started' in stack.output, 60.0, stack)
    return stack


@pytest.mark.slow
def test_a_robot_that_is_well_and_what_is_asked_wrongly(start_stack, tmp_path) -> None:
    stack = _start(start_stack)
    wait_until(lambda: stack.is_alive, 1.0)
    for _ in range(3):  # the scene may have to be made first
        code, rows, report = _doctor(stack, tmp_path, '--move')
        if rows['odom']['state'] != 'missing':
            break
    bad = {what: row for what, row in rows.items() if row['state'] in ('missing', 'wrong')}
    assert not bad
    assert code == 0
    assert rows['depth registration']['seen'].endswith('(0, 0) px')
    assert rows['camera mount']['seen'].startswith('1.00 m high')
    assert rows['velocity time-out']['state'] == 'ok'
    assert '| velocity time-out | ok |' in report

    code, rows, _ = _doctor(
        stack, tmp_path, 'enable_stamped_cmd_vel:=false', 'color_topic:=no/camera'
    )
    assert code == 1
    assert rows['velocity']['fix'] == 'enable_stamped_cmd_vel:=true'
    assert rows['color']['state'] == 'missing'
    assert 'remap' in rows['color']['fix']
    assert rows['velocity time-out']['seen'] == 'not tried'
