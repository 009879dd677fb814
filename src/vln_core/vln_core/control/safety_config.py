# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""States and limits of the safety gate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from vln_core.errors import ConfigError


class SafetyState(IntEnum):
    """Constants of vln_interfaces/SafetyStatus."""

    OK = 0
    EMERGENCY_STOP = 1
    STALE_DEPTH = 2
    STALE_ODOMETRY = 3
    STALE_TF = 4
    STALE_COMMAND = 5
    NODE_LOST = 6
    COLLISION_STOP = 7
    CLOCK_JUMP = 8
    STARTING = 9


@dataclass(frozen=True)
class SafetyConfig:
    """Limits of the base and of patience.

    Attributes:
        input_timeout: Age of depth, odometry, TF or command after their last good sample, s.
        node_timeout: Silence of a node of the stack, s; zero must be out 1 s after its loss.
        required_nodes: Names that must send heartbeats before anything moves.
        max_speed: m/s, either way.
        max_turn_rate: rad/s.
        max_acceleration: m/s^2, for speeding up; slowing down is up to the emergency one.
        max_turn_acceleration: rad/s^2.
        emergency_deceleration: m/s^2.
        emergency_turn_deceleration: rad/s^2.
        is_fault_ramped: Brake with the emergency deceleration on faults; else zero at once, and
            the base brakes as hard as it can.
        max_reverse_speed: m/s, where no camera looks.
        radius: Of the body, metres; without meaning where a footprint is given.
        footprint: Outline of a body that is not round, x1, y1, x2, y2, ... in base_link, metres.
        stop_distance: Kept between the body and the nearest thing in the way, metres.
        latency: From a picture to the wheels, s.
        max_clock_jump: Step of a message stamp against the steady clock, s.
        max_sample_delay: Difference between a sample's stamp and the node's clock, either way,
            from which the sample is no good, s.
        clock_hold: How long the robot stands after a jump, s.
    """

    input_timeout: float = 0.25
    node_timeout: float = 0.8
    required_nodes: tuple[str, ...] = ()
    max_speed: float = 0.6
    max_turn_rate: float = 1.2
    max_acceleration: float = 1.0
    max_turn_acceleration: float = 4.0
    emergency_deceleration: float = 1.5
    emergency_turn_deceleration: float = 6.0
    is_fault_ramped: bool = False
    max_reverse_speed: float = 0.2
    radius: float = 0.20
    footprint: tuple[float, ...] = ()
    stop_distance: float = 0.03
    latency: float = 0.15
    max_clock_jump: float = 1.0
    max_sample_delay: float = 0.5
    clock_hold: float = 0.5

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if isinstance(value, float) and not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f'safety.{name} = {value} must be a positive number')
        if self.emergency_deceleration < self.max_acceleration:
            raise ConfigError('safety.emergency_deceleration must not be below max_acceleration')
