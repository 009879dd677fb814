# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped launch file takes a robot where the words say, and ends without a trace."""

from __future__ import annotations

import signal

import pytest

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


def test_namespace(start_stack, watch):
    """Two robots can share a domain: everything but the clock is below the name."""
    stack = start_stack(scene=SCENE, namespace='robot1')
    watcher = watch(stack, 'robot1')
    watcher.wait_ready()
    watcher.start(first_episode().instruction)
    watcher.wait_motion()
    outside = [name for name in watcher.topics() if not name.startswith('/robot1/')]
    assert set(outside) <= {'/clock', '/parameter_events', '/rosout'}
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
