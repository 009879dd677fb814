# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the safety node."""

from __future__ import annotations

from dataclasses import dataclass, field

from vln_core.control.body_band import BodyBandConfig
from vln_core.control.safety_config import SafetyConfig
from vln_nodes.parameters import parameter

_NODES = ('perception', 'memory', 'system1', 'system2', 'controller')


@dataclass(frozen=True)
class SafetyParameters:
    """Parameters of the safety node."""

    lockstep: bool = parameter(False, 'Strict lock-step with the simulator.')
    control_period: float = parameter(0.05, 'Period of cmd_vel, s.', minimum=0.01, maximum=0.2)
    image_period: float = parameter(0.1, 'Period of images in lock-step, s.', minimum=0.01)
    enable_stamped_cmd_vel: bool = parameter(True, 'cmd_vel is TwistStamped; else Twist.')
    odom_frame: str = parameter('odom', 'Odometry frame.')
    base_frame: str = parameter('base_link', 'Body frame of the robot.')
    rectify: bool = parameter(
        True, 'Remove the lens distortion of depth; false where the topic is rectified already.'
    )
    realtime_priority: int = parameter(
        5,
        'Priority among real-time threads, where the system grants it; 0: ordinary.',
        minimum=0,
        maximum=90,
    )
    band: BodyBandConfig = field(default_factory=BodyBandConfig)
    # The base must have its zero 0.25 s after the last good sample and 1 s after a node.
    gate: SafetyConfig = field(
        default_factory=lambda: SafetyConfig(
            input_timeout=0.2, node_timeout=0.8, required_nodes=_NODES
        )
    )
