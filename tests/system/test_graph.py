# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The topic table of the README, and with it RViz and Foxglove, against the running graph."""

from __future__ import annotations

import importlib.util

import rclpy
from rclpy.qos import DurabilityPolicy
from stack import PATIENCE, wait_until

from vln_nodes import qos

# Not the stack's own: of ROS, of TF, of the simulated clock.
FOREIGN = {'rosout', 'parameter_events', 'clock', 'tf', 'tf_static'}
# Published by programs beside the stack.
BESIDE = {'teleop/velocity_command', 'emergency_stop', 'operator_words'}


def _is_offered(topic: qos.Topic) -> bool:
    """Return whether the stack itself publishes a topic on this machine."""
    package = topic.type.partition('/')[0]
    is_installed = package != 'vision_msgs' or importlib.util.find_spec(package) is not None
    return topic.name not in BESIDE and is_installed


def test_every_topic_of_the_table_is_there_as_it_says(start_stack, watch) -> None:
    stack = start_stack(scene='apartment:1')
    watcher = watch(stack)
    watcher.wait_navigate()
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=stack.domain)
    node = rclpy.create_node('looker', context=context)
    wanted = {topic.name: topic for topic in qos.TOPICS if _is_offered(topic)}

    def published() -> dict[str, list[str]]:
        return {
            name.lstrip('/'): types
            for name, types in node.get_topic_names_and_types()
            if node.count_publishers(name)
        }

    try:
        wait_until(lambda: set(wanted) <= set(published()), PATIENCE, stack)
        found = published()
        for name, topic in wanted.items():
            package, _, kind = topic.type.partition('/')
            assert found[name] == [f'{package}/msg/{kind}'], name
            for info in node.get_publishers_info_by_topic(f'/{name}'):
                # In lock-step sensor topics are reliable; RViz and Foxglove take either.
                is_latched = info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
                expected = topic.profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
                assert is_latched is expected, name
        extra = {name for name in found if '/_' not in name} - set(wanted) - FOREIGN
        assert not extra, f'published, but not in the table of vln_nodes/qos.py: {sorted(extra)}'
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)
