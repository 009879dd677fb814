# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""From the same pictures the navigator decides the same, in one process and over ROS."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from replay import RecordingEyes, RecordingLegs, ReplayEyes, ReplayLegs, decisions_of
from sensor_msgs.msg import CompressedImage

from vln_core import observation
from vln_core.context import ActionNote
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import planar_tform
from vln_core.memory.store import MemoryStore
from vln_core.navigator import Navigator
from vln_core.observation import View
from vln_core.perception.panorama import PanoramaBuilder
from vln_core.perception.simulated import SimulatedDetector
from vln_core.system1.pointer import DetectorPointer
from vln_core.system2.brain import make_brain
from vln_core.system2.record import DecisionRecord, Go
from vln_interfaces.msg import Panorama
from vln_nodes import conversions, qos
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


@pytest.fixture(scope='module')
def graph() -> Iterator[rclpy.node.Node]:
    """The memory and System 1 nodes, each with its thread, and a node to call them from."""
    parameters = ['-p', 'memory:memory.max_depth:=10.0']
    rclpy.init(args=['--ros-args', *parameters])
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


def blind_look(number: int) -> Panorama:
    """A look-around of one view that shows nothing; only what memory makes of it counts."""
    camera = PinholeCamera.from_hfov(8, 6, 1.7)
    tform = planar_tform(2.0 * number, 0.0, 0.0)
    depth = np.full((6, 8), np.nan, np.float32)
    view = View(0, 0.0, np.zeros((6, 8, 3), np.uint8), depth, camera, tform, number)
    look = observation.Panorama(number, number, tform, (view,), ())
    return conversions.panorama_msg(look, 'odom', 'camera_color_optical_frame')


def test_frames_on_the_way_reach_the_next_context(graph):
    caller = Caller(graph)
    panoramas = graph.create_publisher(Panorama, 'panorama', qos.PANORAMA)
    frames = graph.create_publisher(CompressedImage, 'way_frame', qos.EVENTS)
    memory = RosMemory(graph, caller, with_map_image=False)
    memory.episode_id = 'way'
    instruction = 'go to the bed and stop'
    memory.begin(instruction, make_brain('rules').parse(instruction))
    eyes = ReplayEyes([blind_look(1000), blind_look(1001)], panoramas.publish)
    memory.observe(eyes.look_around(()))
    memory.commit(DecisionRecord(action=Go(view=0, target='bed'), rationale='it is there'))
    deadline = time.monotonic() + 10.0
    while not frames.get_subscription_count() and time.monotonic() < deadline:
        time.sleep(0.05)
    for shade in (50, 100):
        frames.publish(conversions.jpeg_of_rgb(np.full((24, 32, 3), shade, np.uint8)))
    time.sleep(1.0)
    memory.conclude(ActionNote(0, 'go', 'it is there', 'reached', 0))
    memory.observe(eyes.look_around(()))
    shown = memory.context().window_frames
    assert [f.shape[:2] for f in shown] == [(6, 8), (24, 32), (24, 32)]
    assert [round(float(f.mean())) for f in shown[1:]] == pytest.approx([50, 100], abs=2)
    caller.close()
