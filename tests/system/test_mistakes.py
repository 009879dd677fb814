# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong gets one clear line and an exit code, or a reason in the result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from stack import PATIENCE

from vln_cli.commands import COMMANDS
from vln_cli.documents import stale
from vln_cli.domains import has_stack
from vln_cli.paths import ROOT
from vln_interfaces.action import Navigate
from vln_nodes.base import claim_name

SCENE = 'apartment:1'


def lines_with(stack, words: str) -> list[str]:
    """Lines of the stack's own words; the launch repeats command lines of what has died."""
    return [
        line
        for line in stack.output.splitlines()
        if words in line and 'process has died' not in line
    ]


def test_unknown_argument(start_stack):
    stack = start_stack(scnee=SCENE)
    assert stack.wait_end(PATIENCE) != 0
    assert 'scnee' in stack.output
    assert 'process started' not in stack.output
    assert 'Traceback' not in stack.output


def test_missing_scene(start_stack, tmp_path):
    stack = start_stack(scene=tmp_path / 'nowhere')
    assert stack.wait_end(PATIENCE) != 0
    assert len(lines_with(stack, 'nowhere')) == 1
    assert 'Traceback' not in stack.output


def test_start_inside_a_wall(start_stack, tmp_path):
    text = (ROOT / 'config' / 'params' / 'simulation.yaml').read_text()
    file = tmp_path / 'wall.yaml'
    file.write_text(
        text.replace(
            '/**/sim_bridge:\n  ros__parameters:\n',
            '/**/sim_bridge:\n  ros__parameters:\n    start_pose: [-50.0, -50.0, 0.0]\n',
        )
    )
    stack = start_stack(scene=SCENE, params_file=file)
    assert stack.wait_end(PATIENCE) != 0
    assert len(lines_with(stack, '-50')) == 1
    assert 'Traceback' not in stack.output


@pytest.mark.slow
def test_second_stack_is_refused(start_stack, watch):
    first = start_stack(scene=SCENE)
    watcher = watch(first)
    watcher.wait_ready()
    second = start_stack(scene=SCENE)
    assert second.wait_end(PATIENCE) != 0
    assert lines_with(second, 'runs already in ROS domain')
    assert 'Traceback' not in second.output
    # The first one is none the worse for it, and says what it cannot do.
    assert first.is_alive
    assert watcher.place(-50.0, -50.0, 0.0) != ''
    assert watcher.follow('   ', timeout=PATIENCE).error_code == Navigate.Result.BAD_INSTRUCTION


def test_commands_see_a_node_of_any_namespace(domain, monkeypatch):
    """Nodes and commands must look into one folder, or a demo instructs another one's robot."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    assert not has_stack(domain)
    with claim_name('/robot1/safety'):
        assert has_stack(domain)
    assert not has_stack(domain)


def test_camera_without_intrinsics(start_stack, watch, domain):
    """The robot stands, and whoever gives an instruction reads why."""
    stack = start_stack('robot.launch.xml')
    watcher = watch(stack)
    script = Path(__file__).with_name('blind_robot.py')
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    with subprocess.Popen([sys.executable, script], env=environment) as robot:
        try:
            watcher.wait_navigate()
            result = watcher.follow('Go to the kitchen.', timeout=PATIENCE)
        finally:
            robot.kill()
    assert result.error_code == Navigate.Result.PERCEPTION_FAILED
    assert 'intrinsics' in result.error_msg or 'calibrat' in result.error_msg, result.error_msg
    assert all(v == 0.0 and w == 0.0 for _, v, w in watcher.commands)
    assert 'Traceback' not in stack.output


@pytest.mark.slow
def test_unknown_label(start_stack, watch):
    """It explores and gives up with the reason."""
    stack = start_stack(scene=SCENE)
    watcher = watch(stack)
    watcher.wait_ready()
    result = watcher.follow('Find the unicorn and stop next to it.', timeout=1500.0)
    assert result.error_code == Navigate.Result.GAVE_UP
    assert not result.is_verified
    assert 'unicorn' in result.error_msg
    assert result.distance_driven > 2.0
    assert watcher.num_collisions == 0


@pytest.mark.parametrize('name', sorted(COMMANDS))
def test_help(name):
    process = subprocess.run(
        [ROOT / 'vln', name, '--help'],
        env={**os.environ, 'VLN_INSIDE': str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.lower().startswith('usage')
    assert process.stderr == ''


def test_go_without_a_stack(domain):
    process = subprocess.run(
        [ROOT / 'vln', 'go', '--wait', '1', 'Go to the kitchen.'],
        env={**os.environ, 'VLN_INSIDE': str(ROOT), 'ROS_DOMAIN_ID': str(domain)},
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert process.returncode == 3
    assert process.stderr.startswith('vln: no stack answers')
    assert process.stderr.count('\n') == 1


def test_documents_are_fresh():
    assert [str(page) for page in stale()] == []
