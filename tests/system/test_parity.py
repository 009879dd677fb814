# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From the same pictures the navigator decides the same, in one process and over ROS."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from replay import RecordingEyes, RecordingLegs, ReplayEyes, ReplayLegs, decisions_of

from vln_core.memory.store import MemoryStore
from vln_core.navigator import Navigator
from vln_core.perception.panorama import PanoramaBuilder
from vln_core.perception.simulated import SimulatedDetector
from vln_core.system1.pointer import DetectorPointer
from vln_core.system2.brain import make_brain
from vln_interfaces.msg import Panorama
from vln_nodes import qos
from vln_nodes.adapters import RosMemory, RosPointer
from vln_nodes.calls import Caller
from vln_nodes.memory_node import MemoryNode
from vln_nodes.system1_node import System1Node
from vln_sim_bridge.episodes import load_episodes
from vln_sim_bridge.in_process import RunConfig, SimulatedEyes, SimulatedRobot
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.scene_cache import resolve_scene

SCENE = 'apartment:1'
# One through a doorway, one that only a search finds, with turns back.
EPISODES = (0, 2)


@pytest.fixture(scope='module')
def recorded():
    """Episodes driven in one process, with what they saw and what became of each motion."""
    folder = resolve_scene(SCENE)
    config = RunConfig()
    simulator = make_simulator('raycast', folder, config.simulator)
    categories = {label.id: label.category for label in simulator.labels.values()}
    runs = []
    for number in EPISODES:
        episode = load_episodes(folder)[number]
        simulator.place(*episode.start)
        robot = SimulatedRobot(simulator, config.motion)
        detector = SimulatedDetector(categories, robot.semantic_of, config.detector)
        eyes = RecordingEyes(SimulatedEyes(robot, PanoramaBuilder(detector, config.grounding)))
        legs = RecordingLegs(robot)
        memory = MemoryStore(config.memory)
        navigator = Navigator(eyes, memory, make_brain('rules'), DetectorPointer(), legs)
        runs.append((episode.instruction, navigator.run(episode.instruction), eyes, legs))
    simulator.close()
    return runs


@pytest.fixture
def graph(domain) -> Iterator[rclpy.node.Node]:
    """The memory and System 1 nodes, each with its thread, and a node to call them from."""
    parameters = ['-p', 'memory:memory.max_depth:=10.0']
    rclpy.init(args=['--ros-args', *parameters], domain_id=domain)
    nodes = [MemoryNode(), System1Node(), rclpy.create_node('caller')]
    is_closing = threading.Event()

    def spin(executor: SingleThreadedExecutor) -> None:
        while not is_closing.is_set():
            executor.spin_once(timeout_sec=0.1)

    threads = []
    for node in nodes:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        threads.append(threading.Thread(target=spin, args=(executor,)))
        threads[-1].start()
    yield nodes[-1]
    is_closing.set()
    for thread in threads:
        thread.join()
    for node in nodes[:2]:
        node.close()
    for node in nodes:
        node.destroy_node()
    rclpy.try_shutdown()


def test_same_decisions_over_ros(recorded, graph):
    caller = Caller(graph)
    publisher = graph.create_publisher(Panorama, 'panorama', qos.PANORAMA)
    memory = RosMemory(graph, caller, with_map_image=False)
    pointer = RosPointer(graph, caller)
    for number, (instruction, result, eyes, legs) in enumerate(recorded):
        memory.episode_id = f'parity_{number}'
        navigator = Navigator(
            ReplayEyes(eyes.messages, publisher.publish),
            memory,
            make_brain('rules'),
            pointer,
            ReplayLegs(legs.motions),
        )
        replayed = navigator.run(instruction)
        assert decisions_of(replayed) == decisions_of(result)
        assert (replayed.code, replayed.message) == (result.code, result.message)
        assert len(eyes.messages) > 1
    caller.close()
