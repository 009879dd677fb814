# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Bags: written by MCAP, read by somebody else, split, bounded, and left readable by a crash."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest
import rclpy
from geometry_msgs.msg import TwistStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from vln_core.errors import ConfigError
from vln_interfaces.msg import DecisionRecord, Panorama
from vln_nodes import qos
from vln_nodes.bag_reader import Bag, BagError
from vln_nodes.bag_writer import (
    BagFull,
    BagLimits,
    BagWriter,
    message_definition,
    qos_entry,
    type_hash,
)
from vln_nodes.play_node import Player
from vln_nodes.record_node import PARAMETERS, RecordNode, trace_topics

SECOND = 1_000_000_000
QOS = qos_entry(depth=7, is_reliable=True, is_latched=True)


def _writer(folder: Path, limits: BagLimits | None = None) -> BagWriter:
    writer = BagWriter(folder, limits, 'kilted')
    writer.add_topic('/words', 'std_msgs/msg/String', QOS)
    writer.add_topic('/decisions', 'vln_interfaces/msg/DecisionRecord', QOS)
    return writer


def _words(text: str) -> bytes:
    return serialize_message(String(data=text))


def test_rosbags_reads_it(tmp_path: Path) -> None:
    highlevel = pytest.importorskip('rosbags.highlevel', reason='pip install rosbags')
    writer = _writer(tmp_path / 'bag')
    decision = DecisionRecord(action_text='go(view 2, "sofa")', step=3, refusals=['a', 'b'])
    writer.write('/words', 5 * SECOND, _words('hello'))
    writer.write('/decisions', 6 * SECOND, serialize_message(decision))
    writer.close()
    with highlevel.AnyReader([tmp_path / 'bag']) as reader:
        assert reader.message_count == 2
        assert (reader.start_time, reader.end_time) == (5 * SECOND, 6 * SECOND + 1)
        found = {
            connection.topic: (time_ns, reader.deserialize(data, connection.msgtype))
            for connection, time_ns, data in reader.messages()
        }
        profile = reader.connections[0].ext.offered_qos_profiles[0]
    assert found['/words'][0] == 5 * SECOND
    assert found['/words'][1].data == 'hello'
    # Its definition was read from the file: rosbags does not know this stack.
    assert found['/decisions'][1].action_text == decision.action_text
    assert list(found['/decisions'][1].refusals) == ['a', 'b']
    assert (profile.depth, profile.durability.name) == (7, 'TRANSIENT_LOCAL')


def test_definitions_hold_everything_once() -> None:
    text = message_definition('vln_interfaces/msg/Panorama')
    for name in ('View', 'Detection'):
        assert text.count(f'MSG: vln_interfaces/{name}\n') == 1
    for name in ('std_msgs/Header', 'builtin_interfaces/Time', 'sensor_msgs/CameraInfo'):
        assert text.count(f'MSG: {name}\n') == 1
    assert type_hash('std_msgs/msg/String').startswith('RIHS01_')
    with pytest.raises(ConfigError, match='not installed'):
        message_definition('no_such_package/msg/Thing')


def test_files_are_split_and_read_in_order(tmp_path: Path) -> None:
    writer = _writer(tmp_path / 'bag', BagLimits(split_duration=10.0))
    for number in range(125):
        writer.write('/words', number * SECOND, _words(str(number)))
    writer.close()
    assert len(list((tmp_path / 'bag').glob('*.mcap'))) == 13
    texts = [recorded.message().data for recorded in Bag(tmp_path / 'bag').messages()]
    assert texts == [str(number) for number in range(125)]


def _fill(writer: BagWriter, count: int) -> int:
    noise = random.Random(3)
    for number in range(count):
        # Noise, which no compression makes smaller.
        text = f'{number}:' + ''.join(noise.choices('abcdefghijklmnopqrstuvwxyz', k=200_000))
        writer.write('/words', number, _words(text))
    return count


def test_recording_ends_at_the_limit(tmp_path: Path) -> None:
    writer = _writer(tmp_path / 'bag', BagLimits(split_size=2_000_000, max_size=5_000_000))
    with pytest.raises(BagFull, match='5 MB'):
        _fill(writer, 100)
    writer.close()
    assert 4_000_000 < writer.size < 7_000_000
    assert next(Bag(tmp_path / 'bag').messages()).message().data.startswith('0:')


def test_the_newest_is_kept(tmp_path: Path) -> None:
    limits = BagLimits(split_size=2_000_000, max_size=6_000_000, keeps_newest=True)
    writer = _writer(tmp_path / 'bag', limits)
    _fill(writer, 100)
    writer.close()
    assert writer.size < 8_000_000
    numbers = [int(m.message().data.split(':')[0]) for m in Bag(tmp_path / 'bag').messages()]
    assert numbers == list(range(numbers[0], 100))
    assert numbers[0] > 10
    with pytest.raises(ConfigError, match='twice'):
        BagLimits(split_size=2, max_size=3, keeps_newest=True)


def test_a_killed_writer_leaves_what_it_had_written(tmp_path: Path) -> None:
    writer = _writer(tmp_path / 'bag')
    _fill(writer, 30)
    writer._stream.flush()  # what the system would have written of a process that was killed
    found = [m.message().data for m in Bag(tmp_path / 'bag').messages()]
    assert len(found) > 5
    assert found[0].startswith('0:')


def test_no_bag_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(BagError, match='no bag'):
        Bag(tmp_path)
    (tmp_path / 'bag').mkdir()
    with pytest.raises(ConfigError, match='exists.*choose another folder'):
        BagWriter(tmp_path / 'bag')
    (tmp_path / 'file').write_text('')
    with pytest.raises(ConfigError, match='no bag can be begun'):
        BagWriter(tmp_path / 'file' / 'bag')


def test_trace_topics_leave_live_pictures_out() -> None:
    names = trace_topics(with_pictures=False)
    assert {'panorama', 'decisions', 'world_graph', 'model_calls', 'clock', 'tf'} <= set(names)
    assert not any(name.startswith('camera/') for name in names)
    assert 'camera/depth/image_raw' in trace_topics(with_pictures=True)


def _spin(nodes: list[rclpy.node.Node], until, timeout: float = 30.0) -> None:
    executor = SingleThreadedExecutor()
    for node in nodes:
        executor.add_node(node)
    deadline = time.monotonic() + timeout
    while not until() and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.05)
    for node in nodes:
        executor.remove_node(node)
    executor.shutdown()
    assert until()


def test_record_from_the_graph_and_play_it_back(tmp_path: Path) -> None:
    folder = tmp_path / 'bag'
    rclpy.init(args=['--ros-args', '-p', f"folder:='{folder}'", '-p', "topics:=['words']"])
    try:
        source = rclpy.create_node('source')
        panorama = source.create_publisher(Panorama, 'panorama', qos.PANORAMA)
        words = source.create_publisher(String, 'words', 10)
        unwanted = source.create_publisher(String, 'unwanted', 10)
        panorama.publish(Panorama(id=4))  # before there is a recorder
        recorder = RecordNode()
        _spin([recorder, source], lambda: words.get_subscription_count() == 1)
        for number in range(5):
            words.publish(String(data=str(number)))
        unwanted.publish(String(data='no'))
        _spin([recorder, source], lambda: recorder._writer._files[-1].counts['/words'] == 5)
        recorder._note('memory', [], [])
        recorder.close()
        recorder.destroy_node()
        source.destroy_node()
        bag = Bag(folder)
        by_topic: dict[str, list[object]] = {}
        for recorded in bag.messages():
            by_topic.setdefault(recorded.topic, []).append(recorded.message())
        assert [m.data for m in by_topic['/words']] == list('01234')
        assert [m.id for m in by_topic['/panorama']] == [4]
        assert '/unwanted' not in by_topic
        assert '/panorama' in bag.latched() and '/words' not in bag.latched()
        assert bag.metadata(PARAMETERS) == {'memory': '{}'}

        player_node, listener = rclpy.create_node('player'), rclpy.create_node('listener')
        heard: list[str] = []
        clocks: list[object] = []
        listener.create_subscription(String, 'words', lambda m: heard.append(m.data), 10)
        listener.create_subscription(Clock, '/clock', clocks.append, 10)
        player = Player(player_node, folder)
        _spin([listener], lambda: player._publishers['/words'].get_subscription_count() == 1)
        thread = threading.Thread(target=player.play, args=(threading.Event(),))
        thread.start()
        _spin([listener], lambda: len(heard) == 5)
        thread.join()
        assert heard == list('01234')
        assert clocks
        player_node.destroy_node()
        listener.destroy_node()
    finally:
        rclpy.try_shutdown()


def test_velocities_are_not_played(tmp_path: Path) -> None:
    writer = _writer(tmp_path / 'bag')
    writer.add_topic('/cmd_vel', 'geometry_msgs/msg/TwistStamped', QOS)
    writer.write('/cmd_vel', 1, serialize_message(TwistStamped()))
    writer.write('/words', 2, _words('a'))
    writer.close()
    rclpy.init(args=[])
    try:
        node = rclpy.create_node('player')
        player = Player(node, tmp_path / 'bag')
        assert player.left_out == ['/cmd_vel']
        assert '/cmd_vel' not in player._publishers
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
