# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the controller node."""

from __future__ import annotations

from dataclasses import dataclass, field

from vln_core.control.motion import MotionConfig
from vln_core.errors import ConfigError
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class ControllerParameters:
    """Parameters of the controller node."""

    lockstep: bool = parameter(False, 'Strict lock-step with the simulator.')
    control_period: float = parameter(0.05, 'Control period, s.', minimum=0.01, maximum=0.5)
    image_period: float = parameter(0.1, 'Period of images in lock-step, s.', minimum=0.01)
    odom_frame: str = parameter('odom', 'Odometry frame.')
    base_frame: str = parameter('base_link', 'Body frame of the robot.')
    tf_timeout: float = parameter(0.25, 'Longest wait for TF at the image stamp, s.', minimum=0.0)
    rectify: bool = parameter(
        True, 'Remove the lens distortion of depth; false where the topic is rectified already.'
    )
    odom_timeout: float = parameter(0.25, 'Age of odometry at which the robot stands, s.')
    ready_timeout: float = parameter(10.0, 'Longest wait of a goal for sensors and safety, s.')
    safety_timeout: float = parameter(1.0, 'Silence of the safety node that ends a goal, s.')
    grid_period: float = parameter(0.5, 'Period of the published traversability grid, s.')
    max_jump: float = parameter(0.5, 'Odometry step that means the robot was carried, m.')
    mode: str = parameter(
        'plan',
        "'plan': around obstacles; 'corridor': straight or refused; 'nav2': Nav2 drives, its "
        'velocity topic remapped to nav2/cmd_vel.',
    )
    nav2_action: str = parameter('navigate_to_pose', "Action of Nav2 in mode 'nav2'.")
    motion: MotionConfig = field(default_factory=MotionConfig)

    def __post_init__(self) -> None:
        if self.mode not in ('plan', 'corridor', 'nav2'):
            raise ConfigError(f"mode '{self.mode}' is none: plan, corridor or nav2")
        if self.mode == 'nav2' and self.lockstep:
            raise ConfigError("mode 'nav2' does not run in lock-step: set lockstep to false")
