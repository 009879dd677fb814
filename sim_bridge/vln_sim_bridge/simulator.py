# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What every simulator offers: one robot with an RGB-D camera in one scene.

World coordinates are ROS (x, y on the floor, z up, metres). Habitat's (x, y up, z) is only inside
its back end: ``habitat = (x, z, -y)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vln_core.geometry.camera import PinholeCamera
from vln_sim_bridge.scene import Label, Scene


@dataclass(frozen=True)
class CameraMount:
    """Where the camera sits on the robot, in base_link.

    Attributes:
        x: Forward of base_link, m.
        y: Left of base_link, m.
        z: Height above the floor, m.
        roll: Turn about the line of sight, rad.
        pitch: Tilt, rad; > 0 looks down.
        yaw: Turn about the vertical, rad; > 0 looks left.
    """

    x: float = 0.0
    y: float = 0.0
    z: float = 1.0
    roll: float = 0.0
    pitch: float = 0.15
    yaw: float = 0.0


@dataclass(frozen=True)
class SimulatorConfig:
    """Camera, body and noise of the simulated robot."""

    width: int = 320
    height: int = 240
    hfov: float = 1.7453292519943295
    mount: CameraMount = CameraMount()
    robot_radius: float = 0.2
    robot_height: float = 1.2
    max_depth: float = 10.0
    depth_noise: float = 0.0  # sigma at 1 m, metres; grows with the square of depth
    depth_dropout: float = 0.0  # fraction of pixels without reading
    depth_edge_holes: bool = False  # no reading right behind a nearer edge
    odometry_noise: float = 0.0  # relative error of odometry increments
    seed: int = 0

    @property
    def camera(self) -> PinholeCamera:
        """Intrinsics of all images."""
        return PinholeCamera.from_hfov(self.width, self.height, self.hfov)


@dataclass(frozen=True, eq=False)
class Frame:
    """Images of one instant.

    Attributes:
        rgb: (H, W, 3) uint8, red first.
        depth: (H, W) float32 metres along the optical axis, NaN = no reading, +inf = far.
        semantic: (H, W) uint32 ids of the label table; 0 is the building itself.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    semantic: NDArray[np.uint32]


@dataclass(frozen=True)
class RobotState:
    """True pose of base_link in the world and whether the last step touched something."""

    x: float
    y: float
    yaw: float
    collided: bool
    num_collisions: int


class Simulator(Protocol):
    """One robot in one scene; deterministic for equal calls and seeds."""

    config: SimulatorConfig
    scene: Scene
    labels: Mapping[int, Label]

    def place(self, x: float, y: float, yaw: float) -> None:
        """Put the robot there at rest.

        Raises:
            SceneError: The body would be inside something; nothing was changed.
        """
        ...

    def step(self, v: float, w: float, dt: float) -> RobotState:
        """Drive with v m/s and w rad/s for dt s; the disc-shaped body collides and slides."""
        ...

    def state(self) -> RobotState:
        """Return the true state."""
        ...

    def odometry(self) -> tuple[float, float, float]:
        """Return (x, y, yaw) of base_link in odom: starts at the true pose, drifts with noise."""
        ...

    def render(self) -> Frame:
        """Take the images at the current pose; noise is drawn from the seeded generator."""
        ...

    def geodesic_distance(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Return the length of the shortest walk for the body, metres; inf if there is none."""
        ...

    def close(self) -> None:
        """Free everything; the object is unusable afterwards."""
        ...
