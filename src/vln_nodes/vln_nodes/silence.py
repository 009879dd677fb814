# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Why nothing arrives on a topic: nobody sends, another type, or QoS that does not fit."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)

_OTHER_TRANSPORTS = {
    '': ('/compressed', '/compressedDepth'),
    '/compressed': ('',),
    '/compressedDepth': ('',),
}


def silence_of(node: Node, topic: str, kind: Any, profile: QoSProfile) -> str:
    """Return for people why a subscription of ``node`` hears nothing.

    Args:
        node: The subscriber.
        topic: As subscribed, relative.
        kind: Message class.
        profile: QoS asked for.
    """
    name = node.resolve_topic_name(topic)
    offers = node.get_publishers_info_by_topic(name)
    if not offers:
        return _nobody(node, name)
    wanted = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
    fitting = [offer for offer in offers if offer.topic_type == wanted]
    if not fitting:
        return f'{name} carries {offers[0].topic_type}, not {wanted}: remap it to the right topic'
    for offer in fitting:
        verdict, _ = qos_check_compatible(offer.qos_profile, profile)
        if verdict == QoSCompatibility.ERROR:
            return (
                f'QoS mismatch on {name}: {offer.node_name} offers {_words(offer.qos_profile)}, '
                f'this node asks for {_words(profile)}, so nothing is delivered; change the QoS '
                'of the driver (its parameter qos_overrides, or its own), and set lockstep in '
                'simulation only'
            )
    return (
        f'{name} is published by {fitting[0].node_name} with fitting QoS, but nothing arrives: is '
        'the camera streaming, and do its pictures fit the shared memory of the DDS profile '
        '(config/dds)?'
    )


def _nobody(node: Node, name: str) -> str:
    for suffix, others in _OTHER_TRANSPORTS.items():
        if not name.endswith(suffix):
            continue
        stem = name[: len(name) - len(suffix)]
        found = [stem + other for other in others if node.count_publishers(stem + other)]
        if found and (suffix or not name.endswith(('/compressed', '/compressedDepth'))):
            return (
                f'nobody publishes {name}, but {found[0]} is there: set intake.color_transport or '
                'intake.depth_transport to it'
            )
    return f'nobody publishes {name}: start the camera driver, or remap the topic to it'


def _words(profile: QoSProfile) -> str:
    reliable = profile.reliability == ReliabilityPolicy.RELIABLE
    latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    return (
        f'{"reliable" if reliable else "best effort"}, '
        f'{"transient local" if latched else "volatile"}'
    )
