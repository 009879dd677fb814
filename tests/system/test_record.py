# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A bag that was recorded from a run decides the same again, and shows what would be different."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rclpy.serialization import serialize_message
from replay import RecordingEyes, RecordingLegs
from stack import wait_until

from vln_core.memory.store import MemoryStore
from vln_core.navigator import Navigator, NavigatorConfig, NavigatorEvent
from vln_core.perception.panorama import PanoramaBuilder
from vln_core.perception.simulated import SimulatedDetector
from vln_core.system1.pointer import DetectorPointer
from vln_core.system2.brain import make_brain
from vln_nodes import episode_replay, memory_conversions, recorded_episode
from vln_nodes.bag_reader import Bag
from vln_nodes.bag_writer import BagWriter, qos_entry
from vln_sim_bridge.episodes import load_episodes
from vln_sim_bridge.in_process import RunConfig, SimulatedEyes, SimulatedRobot
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.scene_cache import resolve_scene

SCENE = 'apartment:1'
TASK = 'Search the rooms for the sofa and stop beside it.'
# A short one to its end: each waypoint costs seconds of rendering.
EPISODES = (0,)
MAX_WAYPOINTS = 4
TYPES = {
    '/panorama': 'vln_interfaces/msg/Panorama',
    '/decisions': 'vln_interfaces/msg/DecisionRecord',
    '/world_graph': 'vln_interfaces/msg/WorldGraph',
}


class _WrittenEyes(RecordingEyes):
    """Writes each panorama into a bag before anybody decides on it."""

    def __init__(self, eyes: Any, write: Any) -> None:
        super().__init__(eyes)
        self._write = write

    def look_around(self, landmarks: Sequence[str]) -> Any:
        panorama = super().look_around(landmarks)
        self._write('/panorama', self.messages[-1])
        return panorama


class _WrittenMemory(MemoryStore):
    """Writes the graph as the memory node publishes it."""

    write: Any = None

    def conclude(self, note: Any) -> None:
        super().conclude(note)
        graph = self.snapshot()
        message = memory_conversions.graph_msg(graph, len(graph.waypoints) - 1)
        message.header.stamp = self.stamp
        self.write('/world_graph', message)


@pytest.fixture(scope='module')
def bag(tmp_path_factory) -> Path:
    """Episodes driven in one process, in a bag."""
    folder = tmp_path_factory.mktemp('bags') / 'run'
    writer = BagWriter(folder)
    for topic, kind in TYPES.items():
        writer.add_topic(topic, kind, qos_entry(depth=5, is_reliable=True, is_latched=True))
    clock = iter(range(1, 10**9))

    def write(topic: str, message: Any) -> None:
        writer.write(topic, next(clock), serialize_message(message))

    scene = resolve_scene(SCENE)
    config = RunConfig()
    simulator = make_simulator('raycast', scene, config.simulator)
    categories = {label.id: label.category for label in simulator.labels.values()}
    for number in EPISODES:
        episode = load_episodes(scene)[number]
        simulator.place(*episode.start)
        robot = SimulatedRobot(simulator, config.motion)
        detector = SimulatedDetector(categories, robot.semantic_of, config.detector)
        eyes = _WrittenEyes(
            SimulatedEyes(robot, PanoramaBuilder(detector, config.grounding)), write
        )
        memory = _WrittenMemory(config.memory)
        memory.write = write

        def on_event(
            event: NavigatorEvent, name: str = f'episode_{number}', memory: Any = memory
        ) -> None:
            if event.trace is not None:
                message = memory_conversions.decision_msg(
                    event.trace, episode_id=name, planner='rules'
                )
                memory.stamp = message.header.stamp
                write('/decisions', message)

        navigator = Navigator(
            eyes, memory, make_brain('rules'), DetectorPointer(), RecordingLegs(robot),
            NavigatorConfig(max_waypoints=MAX_WAYPOINTS),
            on_event=on_event,
        )  # fmt: skip
        navigator.run(episode.instruction)
    simulator.close()
    writer.describe(
        recorded_episode.PARAMETERS,
        {
            'memory': json.dumps({'memory.max_depth': config.memory.max_depth}),
            'system2': json.dumps({'navigator.max_waypoints': MAX_WAYPOINTS}),
        },
    )
    writer.close()
    return folder


def _settings(bag: Path) -> episode_replay.Settings:
    return episode_replay.Settings.of(recorded_episode.recorded_parameters(Bag(bag)))


def test_everything_decides_the_same(bag: Path) -> None:
    episodes = recorded_episode.episodes_of(Bag(bag))
    assert len(episodes) == len(EPISODES)
    for episode in episodes:
        result = episode_replay.replay_episode(episode, _settings(bag))
        assert result.differences == []
        assert result.note == ''
        assert result.num_decisions == len(episode.decisions) > 1
        assert result.num_compared['planner'] == len(episode.decisions)
        assert result.num_compared['memory'] >= 1


def test_a_different_decision_is_shown_where_it_is(bag: Path) -> None:
    episode = recorded_episode.episodes_of(Bag(bag))[0]
    changed = next(d for d in episode.decisions if d.action == 'goto' or d.action == 'go')
    content = json.loads(changed.record_json)
    content['rationale'] = 'because somebody said so'
    changed.record_json = json.dumps(content)
    result = episode_replay.replay_episode(episode, _settings(bag))
    found = [d for d in result.differences if d.part == 'planner']
    assert [d.step for d in found][:1] == [changed.step]
    assert 'somebody said so' in found[0].recorded
    assert 'somebody said so' not in found[0].now


def test_another_pixel_is_shown(bag: Path) -> None:
    num_changed, differences = 0, []
    for episode in recorded_episode.episodes_of(Bag(bag)):
        for decision in episode.decisions:
            if decision.action == 'go' and decision.u_px >= 0:
                decision.u_px += 3
                num_changed += 1
        result = episode_replay.replay_episode(episode, _settings(bag), ['grounding'])
        assert result.num_compared['planner'] == result.num_compared['memory'] == 0
        differences += result.differences
    assert {difference.part for difference in differences} == {'grounding'}
    assert len(differences) == num_changed > 0


def test_a_model_is_answered_by_the_record(bag: Path) -> None:
    episode = recorded_episode.episodes_of(Bag(bag))[0]
    for number, decision in enumerate(episode.decisions):
        reply = {
            'text': decision.record_json, 'tool_calls': [], 'finish': 'stop', 'prompt_tokens': 9,
            'reply_tokens': 9, 'model': 'scripted', 'seconds': 0.1,
        }  # fmt: skip
        episode.replies.append(
            json.dumps({'number': number, 'prompt': '', 'reply': reply, 'error': ''})
        )
    values = recorded_episode.recorded_parameters(Bag(bag))
    values['system2'].update(
        {'planner': 'ham', 'model.model': 'scripted', 'model.base_url': 'http://localhost:1'}
    )
    settings = episode_replay.Settings.of(values)
    same = episode_replay.replay_episode(episode, settings, ['planner'])
    assert same.num_compared['planner'] == len(episode.decisions)
    assert [d.recorded.split(';')[0] for d in same.differences] == []
    episode.replies.pop()
    short = episode_replay.replay_episode(episode, settings, ['planner'])
    assert [d.step for d in short.differences] == [episode.decisions[-1].step]
    assert 'no decision' in short.differences[0].now


def test_what_was_not_recorded_is_said(bag: Path) -> None:
    episode = recorded_episode.episodes_of(Bag(bag))[0]
    first = episode.decisions[0].panorama_id
    del episode.panoramas[first]
    result = episode_replay.replay_episode(episode, _settings(bag))
    assert f'[{first}]' in result.note
    assert result.num_decisions == 0


@pytest.mark.slow
def test_a_recorded_run_replays_to_the_same_decisions(start_stack, watch, tmp_path) -> None:
    stack = start_stack(scene=SCENE, seed=5)
    watcher = watch(stack)
    watcher.wait_ready()
    environment = dict(os.environ, ROS_DOMAIN_ID=str(stack.domain))
    folder = tmp_path / 'bag'
    command = [sys.executable, '-m', 'vln_nodes.record_node', '--ros-args', '-p']
    with subprocess.Popen([*command, f"folder:='{folder}'"], env=environment) as recorder:
        try:
            wait_until(lambda: (folder / 'bag_0.mcap').exists(), 60.0, stack)
            watcher.follow(TASK, 500.0)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(30.0) == 0
        finally:
            recorder.kill()
    stack.end()
    settings = episode_replay.Settings.of(recorded_episode.recorded_parameters(Bag(folder)))
    (episode,) = recorded_episode.episodes_of(Bag(folder))
    result = episode_replay.replay_episode(episode, settings)
    assert result.differences == []
    assert result.num_decisions == len(watcher.decisions) > 1
