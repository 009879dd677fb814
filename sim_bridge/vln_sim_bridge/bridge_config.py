# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the sim_bridge node."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vln_core.errors import ConfigError
from vln_nodes.parameters import parameter
from vln_sim_bridge.make import KINDS
from vln_sim_bridge.moving import MovingObstacle
from vln_sim_bridge.simulator import CameraMount, SimulatorConfig

_DEFAULT = SimulatorConfig()
_ENCODINGS = ('32FC1', '16UC1')


@dataclass(frozen=True)
class BridgeConfig:
    """What is simulated, how it looks, and how time passes."""

    sim: str = parameter('raycast', 'Simulator: raycast or habitat.')
    scene: str = parameter('apartment:0', 'apartment:SEED, small_house, or a scene folder.')
    start_pose: tuple[float, ...] = parameter(
        (), 'Start x, y (m), yaw (rad) in the world; empty: the start of the scene.'
    )
    seed: int = parameter(0, 'Seed of all noise.', minimum=0)
    lockstep: bool = parameter(
        False, 'A cmd_vel with the stamp of the current tick releases exactly one tick.'
    )
    real_time_factor: float = parameter(
        1.0, 'Simulated seconds a second when not in lock-step; 0: as fast as possible.', minimum=0
    )
    control_rate: float = parameter(
        20.0, 'Ticks a simulated second, Hz.', minimum=1.0, maximum=1000.0
    )
    image_rate: float = parameter(
        10.0, 'Images a simulated second, Hz; divides control_rate.', minimum=0.1, maximum=1000.0
    )
    enable_stamped_cmd_vel: bool = parameter(True, 'cmd_vel is TwistStamped; else Twist.')
    depth_encoding: str = parameter('32FC1', '32FC1 (m, +inf far) or 16UC1 (mm, 0 invalid).')
    width: int = parameter(_DEFAULT.width, 'Columns of the images, px.', minimum=16, maximum=4096)
    height: int = parameter(_DEFAULT.height, 'Rows of the images, px.', minimum=16, maximum=4096)
    hfov: float = parameter(
        _DEFAULT.hfov, 'Horizontal field of view, rad.', minimum=0.1, maximum=3.0
    )
    max_depth: float = parameter(
        _DEFAULT.max_depth, 'Farthest reading of the depth camera, m.', minimum=0.5, maximum=100.0
    )
    camera: CameraMount = parameter(CameraMount(), 'Pose of the camera in base_link.')
    robot_radius: float = parameter(
        _DEFAULT.robot_radius, 'Radius of the disc-shaped body, m.', minimum=0.05, maximum=1.0
    )
    robot_height: float = parameter(
        _DEFAULT.robot_height, 'Height of the body, m.', minimum=0.1, maximum=2.5
    )
    depth_noise: float = parameter(
        0.0, 'Sigma of depth at 1 m, m; grows with the square.', minimum=0.0, maximum=0.1
    )
    depth_dropout: float = parameter(
        0.0, 'Fraction of depth pixels without reading.', minimum=0.0, maximum=1.0
    )
    depth_edge_holes: bool = parameter(False, 'No depth right behind a nearer edge.')
    odometry_noise: float = parameter(
        0.0, 'Relative error of odometry increments.', minimum=0.0, maximum=0.5
    )

    moving_obstacle: tuple[float, ...] = parameter(
        (),
        'Somebody who walks up and down (raycast only): speed (m/s), radius (m), x1, y1, x2, y2, '
        '... (m); empty: nobody.',
    )

    def __post_init__(self) -> None:
        if self.sim not in KINDS:
            raise ConfigError(f"parameter sim is '{self.sim}': choose one of {', '.join(KINDS)}")
        if self.depth_encoding not in _ENCODINGS:
            raise ConfigError(
                f"parameter depth_encoding is '{self.depth_encoding}': choose one of "
                f'{", ".join(_ENCODINGS)}'
            )
        if self.lockstep and not self.enable_stamped_cmd_vel:
            raise ConfigError(
                'lockstep needs the stamp of every command: set enable_stamped_cmd_vel to true'
            )
        if self.moving_obstacle:
            if self.sim != 'raycast':
                raise ConfigError('moving_obstacle needs sim:=raycast')
            MovingObstacle.from_numbers(self.moving_obstacle)
        if self.start_pose and (
            len(self.start_pose) != 3 or not all(map(math.isfinite, self.start_pose))
        ):
            raise ConfigError(f'start_pose {list(self.start_pose)} is not x, y, yaw')

    @property
    def simulator(self) -> SimulatorConfig:
        """Settings of the simulator itself."""
        return SimulatorConfig(
            width=self.width,
            height=self.height,
            hfov=self.hfov,
            mount=self.camera,
            robot_radius=self.robot_radius,
            robot_height=self.robot_height,
            max_depth=self.max_depth,
            depth_noise=self.depth_noise,
            depth_dropout=self.depth_dropout,
            depth_edge_holes=self.depth_edge_holes,
            odometry_noise=self.odometry_noise,
            seed=self.seed,
        )
