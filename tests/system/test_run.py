# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped launch file takes a robot where the words say, and ends without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from vln_interfaces.msg import SafetyStatus
from vln_sim_bridge.episodes import load_episodes
from vln_sim_bridge.scene_cache import resolve_scene

SCENE = 'apartment:1'
SUCCESS_RADIUS = 3.0
GONE = 5.0


def first_episode():
    return load_episodes(resolve_scene(SCENE))[0]


@pytest.mark.parametrize('sim', ['raycast', pytest.param('habitat', marks=pytest.mark.habitat)])
def test_instruction_in_lockstep(sim, start_stack, watch):
    episode = first_episode()
    stack = start_stack(sim=sim, scene=SCENE)
    watcher = watch(stack)
    watcher.wait_ready()
    assert watcher.place(*episode.start) == ''
    result = watcher.follow(episode.instruction, timeout=240.0)
    assert result.is_verified, result.error_msg
    assert watcher.distance_to(*episode.goal) <= SUCCESS_RADIUS
    assert watcher.num_collisions == 0
    assert len(watcher.decisions) == result.num_decisions
    stack.signal(signal.SIGINT)
    assert stack.seconds_until_gone() <= GONE
    assert stack.wait_end(1.0) == 0
    assert 'Traceback' not in stack.output
    assert not stack.segments_left()


def run_stop(domain, *arguments):
    """Run ``./vln stop`` in the domain of a stack."""
    return subprocess.run(
        [sys.executable, '-m', 'vln_cli', 'stop', *arguments],
        env=dict(os.environ, ROS_DOMAIN_ID=str(domain)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_namespace_and_stop_from_a_terminal(start_stack, watch):
    """Two robots can share a domain: everything but the clock is below the name."""
    stack = start_stack(scene=SCENE, namespace='robot1')
    watcher = watch(stack, 'robot1')
    watcher.wait_ready()
    watcher.start(first_episode().instruction)
    watcher.wait_motion()
    outside = [name for name in watcher.topics() if not name.startswith('/robot1/')]
    assert set(outside) <= {'/clock', '/parameter_events', '/rosout'}
    other = run_stop(stack.domain, '--namespace', 'robot2', '--timeout', '1')
    assert other.returncode == 1
    assert 'not confirmed' in other.stderr
    assert watcher.status.state != SafetyStatus.EMERGENCY_STOP
    stopped = run_stop(stack.domain, '--namespace', 'robot1')
    assert (stopped.returncode, stopped.stdout) == (0, 'stopped until released\n')
    assert watcher.status.state == SafetyStatus.EMERGENCY_STOP
    assert watcher.commands[-1][1:] == (0.0, 0.0)
    released = run_stop(stack.domain, '--namespace', 'robot1', '--release')
    assert (released.returncode, released.stdout) == (0, 'released\n')
    assert watcher.status.state != SafetyStatus.EMERGENCY_STOP
    stack.signal(signal.SIGINT)
    assert stack.seconds_until_gone() <= GONE


@pytest.mark.slow
def test_instruction_in_real_time(start_stack, watch):
    """Free running; on a machine with two cores to spare."""
    episode = first_episode()
    stack = start_stack(scene=SCENE, lockstep='false')
    watcher = watch(stack)
    watcher.wait_ready()
    assert watcher.place(*episode.start) == ''
    result = watcher.follow(episode.instruction, timeout=240.0)
    assert result.is_verified, result.error_msg
    assert watcher.distance_to(*episode.goal) <= SUCCESS_RADIUS
    assert watcher.num_collisions == 0
