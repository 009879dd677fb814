# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The memory node: services, latched topics, corrections of map -> odom, a restart."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.executors import SingleThreadedExecutor
from tf2_msgs.msg import TFMessage

sys.path.insert(0, str(Path(__file__).parents[2] / 'vln_core' / 'test'))
from memory_scenes import INSTRUCTION, ITEMS, WALK, decide, panorama

from vln_core.errors import ConfigError
from vln_core.geometry.transforms import planar_tform
from vln_core.memory.config import MemoryConfig
from vln_interfaces import msg, srv
from vln_nodes import conversions, memory_conversions, memory_node, qos

_NUMBERS = itertools.count()


class Peers:
    """The nodes around the memory: who shows panoramas, localises the robot, and asks."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('peers')
        self.panoramas = self.node.create_publisher(msg.Panorama, 'panorama', qos.PANORAMA)
        self.tf = self.node.create_publisher(TFMessage, '/tf', 10)
        self.graphs: list[msg.WorldGraph] = []
        self.node.create_subscription(
            msg.WorldGraph, 'world_graph', self.graphs.append, qos.LATCHED
        )

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, f'memory/{name}')
        assert client.wait_for_service(10.0)
        future = client.call_async(kind.Request(**fields))
        for _ in range(200):
            if future.done():
                return future.result()
            rclpy.spin_once(self.node, timeout_sec=0.05)
        raise AssertionError(f'no answer of memory/{name}')

    def begin(self) -> None:
        items = [memory_conversions.progress_item_msg(item) for item in ITEMS]
        assert not self.call(
            srv.BeginEpisode, 'begin', instruction=INSTRUCTION, items=items
        ).error_msg

    def observe(self, number: int, map_tform_odom: Any) -> Any:
        """Show the panorama of a place of the walk, localised so."""
        look = panorama(number + 1, *WALK[number])
        pose = conversions.pose_msg(map_tform_odom)
        entry = TransformStamped(child_frame_id='odom')
        entry.header.frame_id = 'map'
        entry.transform.rotation = pose.orientation
        entry.transform.translation.x = pose.position.x
        entry.transform.translation.y = pose.position.y
        for stamp in (look.stamp - 100, look.stamp + 100):
            entry.header.stamp = conversions.stamp_msg(stamp)
            self.tf.publish(TFMessage(transforms=[entry]))
        self.panoramas.publish(conversions.panorama_msg(look, 'odom', 'optical'))
        return self.call(srv.Observe, 'observe', panorama_id=look.id)

    def graph(self) -> msg.WorldGraph:
        """Return the newest graph, with the frame that the memory lives in."""
        for _ in range(10):
            rclpy.spin_once(self.node, timeout_sec=0.05)
        return self.graphs[-1]


@pytest.fixture
def start() -> Iterator[Any]:
    """Return a context that runs the memory node in a thread."""

    @contextlib.contextmanager
    def run(journal: Path) -> Iterator[Peers]:
        values = f'-r __ns:=/memory{next(_NUMBERS)} -p encoder:=words -p global_frame:=map '
        rclpy.init(args=['--ros-args', *values.split(), '-p', f'journal:={journal}'])
        node = memory_node.MemoryNode()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        stop = threading.Event()

        def spin() -> None:
            while not stop.is_set():
                executor.spin_once(timeout_sec=0.1)

        thread = threading.Thread(target=spin, daemon=True)
        thread.start()
        peers = Peers()
        try:
            yield peers
        finally:
            stop.set()
            thread.join(5.0)
            node.close()
            node.destroy_node()
            peers.node.destroy_node()
            rclpy.shutdown()

    yield run


def test_a_localised_robot_is_corrected_and_a_restart_goes_on(start, tmp_path):
    drift = planar_tform(0.3, -0.2, 0.05)
    with start(tmp_path / 'memory.db') as peers:
        refused = peers.call(srv.GetContext, 'context')
        assert refused.error_code == refused.NO_EPISODE and 'begin' in refused.error_msg
        peers.begin()
        assert peers.observe(0, np.eye(4)).error_msg == ''
        record = decide().model_dump_json()
        assert peers.call(srv.Commit, 'commit', record_json=record).error_msg == ''
        assert peers.call(srv.Commit, 'commit', record_json='{}').error_code == 602
        before = peers.graph()
        assert before.header.frame_id == 'map'
        assert peers.observe(1, drift).waypoint == 1
        after = peers.graph()
    moved = drift @ np.array([*WALK[0][:2], 0.0, 1.0])
    first = after.waypoints[0].pose
    assert (first.x, first.y) == pytest.approx(tuple(moved[:2]), abs=1e-6)
    assert after.waypoints[0].place == before.waypoints[0].place, 'no place is broken'
    with start(tmp_path / 'memory.db') as peers:
        assert peers.observe(1, drift).waypoint == 1, 'known again'
        said = peers.call(srv.GetContext, 'context')
        assert said.error_msg == '' and said.step == 1 and said.instruction == INSTRUCTION
        assert len(peers.graph().waypoints) == 2


def test_without_localisation_nothing_is_taken_in(start, tmp_path):
    with start(tmp_path / 'memory.db') as peers:
        peers.begin()
        peers.tf.publish = lambda _: None
        answer = peers.observe(0, np.eye(4))
        assert answer.error_code == answer.NO_TF and 'map <- odom' in answer.error_msg


def test_a_lifelong_memory_on_disk_needs_a_map():
    lifelong = MemoryConfig(lifelong=True)
    with pytest.raises(ConfigError, match="set global_frame to 'map'"):
        memory_node.MemoryParameters(journal='m.db', memory=lifelong)
    assert memory_node.MemoryParameters(journal='m.db', global_frame='map', memory=lifelong)
    assert memory_node.MemoryParameters(memory=lifelong)
