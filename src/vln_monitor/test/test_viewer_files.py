# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The RViz file and the Foxglove layout show topics that exist, with types and QoS that fit."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

from vln_nodes import qos

ROOT = Path(__file__).resolve().parents[3]
TOPICS = {topic.name: topic for topic in qos.TOPICS}
# What each RViz display and Foxglove panel can show.
RVIZ_TYPES = {
    'Map': 'nav_msgs/OccupancyGrid',
    'Path': 'nav_msgs/Path',
    'Odometry': 'nav_msgs/Odometry',
    'MarkerArray': 'visualization_msgs/MarkerArray',
    'Image': 'sensor_msgs/Image',
    'PointCloud2': 'sensor_msgs/PointCloud2',
}
FOXGLOVE_3D = {*RVIZ_TYPES.values(), 'sensor_msgs/CameraInfo'}
SERVICES = {'/emergency_stop'}


def rviz_displays() -> list[dict[str, Any]]:
    content = yaml.safe_load((ROOT / 'config' / 'rviz' / 'vln.rviz').read_text())
    return content['Visualization Manager']['Displays']


def foxglove() -> dict[str, Any]:
    return json.loads((ROOT / 'config' / 'foxglove' / 'vln.json').read_text())


def test_rviz_topics_exist_with_type_and_qos() -> None:
    shown = set()
    for display in rviz_displays():
        kind = display['Class'].rpartition('/')[2]
        if kind == 'DepthCloud':
            for key in ('Color Image Topic', 'Depth Map Topic'):
                assert TOPICS[display[key]].type == 'sensor_msgs/Image'
                shown.add(display[key])
            continue
        if kind not in RVIZ_TYPES:
            assert 'Topic' not in display, f'type of {kind} is not known to this test'
            continue
        topic = TOPICS[display['Topic']['Value']]
        shown.add(topic.name)
        assert topic.type == RVIZ_TYPES[kind], topic.name
        # A subscriber that asks for more than the publisher offers receives nothing.
        if display['Topic']['Reliability Policy'] == 'Reliable':
            assert topic.profile.reliability == ReliabilityPolicy.RELIABLE, topic.name
        is_latched = topic.profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert (display['Topic']['Durability Policy'] == 'Transient Local') is is_latched
    drawable = {
        t.name for t in qos.TOPICS if t.type in RVIZ_TYPES.values() and 'sim/' not in t.name
    }
    assert shown == drawable, 'everything that RViz can show is in the file'


def foxglove_paths(config: Any) -> list[str]:
    """Return every topic, with or without a field, that a panel names."""
    found: list[str] = []
    if isinstance(config, dict):
        for key, value in config.items():
            if key in ('topicPath', 'imageTopic', 'calibrationTopic', 'topicToRender'):
                found.append(value)
            elif key == 'topics':
                found += value
            elif key == 'paths':
                found += [path['value'] for path in value]
            else:
                found += foxglove_paths(value)
    elif isinstance(config, list):
        for value in config:
            found += foxglove_paths(value)
    return found


def test_foxglove_topics_and_fields_exist() -> None:
    paths = foxglove_paths(foxglove()['configById'])
    shown = {path.lstrip('/').partition('.')[0] for path in paths}
    assert shown == set(TOPICS), 'everything that is published has a panel'
    for path in paths:
        name, _, fields = path.lstrip('/').partition('.')
        topic = TOPICS[name]
        package, _, kind = topic.type.partition('/')
        if not fields:
            continue  # the type is looked for by the test below
        value = getattr(importlib.import_module(f'{package}.msg'), kind)()
        for field in filter(None, fields.split('.')):
            assert hasattr(value, field), path
            value = getattr(value, field)


def test_foxglove_draws_what_it_can_draw() -> None:
    panels = foxglove()['configById']
    for topic in panels['3D!world']['topics']:
        assert TOPICS[topic.lstrip('/')].type in FOXGLOVE_3D, topic
    pictures = {'sensor_msgs/Image', 'sensor_msgs/CompressedImage'}
    for panel in (panel for key, panel in panels.items() if key.startswith('Image!')):
        assert TOPICS[panel['imageMode']['imageTopic'].lstrip('/')].type in pictures
    services = {p['serviceName'] for key, p in panels.items() if key.startswith('CallService')}
    assert services == SERVICES


def test_foxglove_layout_places_every_panel_once() -> None:
    content = foxglove()
    tabs = [panel for name, panel in content['configById'].items() if name.startswith('Tab!')]
    text = json.dumps([content['layout'], *tabs])
    placed = re.findall(r'"(\w+!\w+)"', text)
    assert sorted(placed) == sorted(content['configById'])


@pytest.mark.parametrize('topic', qos.TOPICS, ids=lambda topic: topic.name)
def test_topic_types_exist(topic: qos.Topic) -> None:
    package, _, kind = topic.type.partition('/')
    if package == 'vision_msgs':
        pytest.importorskip(package, reason='vision_msgs is optional and not installed')
    assert hasattr(importlib.import_module(f'{package}.msg'), kind)
