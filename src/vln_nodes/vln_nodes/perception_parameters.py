# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the perception node."""

from __future__ import annotations

from dataclasses import dataclass, field

from vln_core.errors import ConfigError
from vln_core.perception.factory import DETECTORS
from vln_core.perception.grounding import GroundingConfig
from vln_core.perception.models import ModelConfig
from vln_core.perception.simulated import SimulatedDetectorConfig
from vln_nodes.camera_intake import IntakeParameters
from vln_nodes.parameters import parameter


@dataclass(frozen=True)
class PerceptionParameters:
    """Parameters of the perception node."""

    detector: str = parameter('simulated', f'Back end of the detector: {", ".join(DETECTORS)}.')
    lockstep: bool = parameter(False, 'Strict lock-step with the simulator: reliable sensors.')
    cameras: tuple[str, ...] = parameter(
        ('camera',),
        'Namespaces of the cameras. One looks around by turning the robot; several are fixed and '
        'give one view each without turning.',
    )
    odom_frame: str = parameter('odom', 'Odometry frame.')
    base_frame: str = parameter('base_link', 'Body frame of the robot.')
    image_timeout: float = parameter(3.0, 'Longest wait for an image, s.', minimum=0.05)
    tf_timeout: float = parameter(1.0, 'Longest wait for TF at the image stamp, s.', minimum=0.0)
    sync_slop: float = parameter(
        0.03, 'Largest difference of stamps of colour and depth, s.', minimum=0.0
    )
    cloud_voxel: float = parameter(
        0.05, 'Edge of a voxel of the published cloud, m.', minimum=0.005
    )
    intake: IntakeParameters = field(default_factory=IntakeParameters)
    models: ModelConfig = field(default_factory=ModelConfig)
    grounding: GroundingConfig = field(default_factory=GroundingConfig)
    simulated: SimulatedDetectorConfig = field(default_factory=SimulatedDetectorConfig)

    def __post_init__(self) -> None:
        if self.detector not in DETECTORS:
            known = ', '.join(DETECTORS)
            raise ConfigError(f"no detector '{self.detector}': choose one of {known}")
        if not self.cameras or len(set(self.cameras)) != len(self.cameras):
            raise ConfigError(f'cameras = {list(self.cameras)}: name each camera once')
        if self.detector == 'simulated' and len(self.cameras) > 1:
            raise ConfigError(
                "the detector 'simulated' knows one camera: choose another for several"
            )
