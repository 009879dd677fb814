# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Simulator on Open3D's ray caster: runs on every machine, no GPU, bit-identical on repeat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import open3d as o3d
from numpy.typing import NDArray

from vln_core.errors import SceneError
from vln_core.geometry.transforms import camera_mount_tform, planar_tform
from vln_sim_bridge import painting
from vln_sim_bridge.collision import ClearanceMap, DiscBody
from vln_sim_bridge.meshes import TriangleSoup, load_soup
from vln_sim_bridge.moving import MovingObstacle
from vln_sim_bridge.noise import DepthNoise, OdometryNoise
from vln_sim_bridge.scene import Label, Scene, labels_of, load_scene
from vln_sim_bridge.simulator import Frame, RobotState, SimulatorConfig

_COAT = np.array([200, 60, 60], np.float32)


class RaycastSimulator:
    """One robot in one scene, drawn by casting a ray for each pixel."""

    def __init__(self, scene: Scene | str | Path, config: SimulatorConfig) -> None:
        """Load a scene (folder or loaded) and put the robot at its start.

        Raises:
            SceneError: The scene is broken, or the body does not fit at the start.
        """
        self.config = config
        self.scene = scene if isinstance(scene, Scene) else load_scene(scene)
        self.labels: Mapping[int, Label] = labels_of(self.scene)
        soup = load_soup(self.scene)
        self._painter = painting.Painter(soup)
        self._world = ray_scene(soup)
        self._rays = camera_rays(config)
        self._moving: dict[int, MovingObstacle] = {}
        self._time = 0.0
        self._body = DiscBody(
            ClearanceMap.from_soup(soup, config.robot_height), config.robot_radius
        )
        self._depth_noise = DepthNoise(config)
        self._odometry = OdometryNoise(config)
        mount = config.mount
        self._base_tform_camera = camera_mount_tform(
            mount.x, mount.y, mount.z, roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw
        )
        self.place(*self.scene.start)

    @property
    def body(self) -> DiscBody:
        """The robot's body on its clearance map."""
        return self._body

    def place(self, x: float, y: float, yaw: float) -> None:
        """Put the robot there at rest; odometry and random streams start again.

        Raises:
            SceneError: The body would be inside something; nothing was changed.
        """
        self._show_moving(0.0)
        try:
            self._body.place(x, y, yaw)
        except SceneError:
            self._show_moving(self._time)
            raise
        self._time = 0.0
        self._depth_noise.reset()
        self._odometry.reset(self._body.x, self._body.y, self._body.yaw)

    def step(self, v: float, w: float, dt: float) -> RobotState:
        """Drive with v m/s and w rad/s for dt s; the disc-shaped body collides and slides."""
        before = self._pose()
        self._time += dt
        self._show_moving(self._time)
        self._body.step(v, w, dt)
        self._odometry.advance(before, self._pose())
        return self.state()

    def state(self) -> RobotState:
        """Return the true state."""
        body = self._body
        return RobotState(body.x, body.y, body.yaw, body.collided, body.num_collisions)

    def odometry(self) -> tuple[float, float, float]:
        """Return (x, y, yaw) of base_link in odom, metres and rad."""
        return self._odometry.x, self._odometry.y, self._odometry.yaw

    def render(self) -> Frame:
        """Take the images at the current pose."""
        world_tform_camera = planar_tform(*self._pose()) @ self._base_tform_camera
        frame = self.render_at(world_tform_camera)
        return Frame(frame.rgb, self._depth_noise.apply(frame.depth), frame.semantic)

    def render_at(self, world_tform_camera: NDArray[np.float64]) -> Frame:
        """Take noise-free images from any (4, 4) pose of the optical frame in the world."""
        rays = np.empty((len(self._rays), 6), np.float32)
        painting.fill_rays(
            self._rays,
            np.ascontiguousarray(world_tform_camera[:3, :3], dtype=np.float32),
            world_tform_camera[:3, 3].astype(np.float32),
            rays,
        )
        hits = self._world.cast_rays(o3d.core.Tensor.from_numpy(rays), nthreads=1)
        rgb, semantic = self._painter.paint(
            hits['primitive_ids'].numpy(), hits['primitive_uvs'].numpy()
        )
        # Directions have z = 1 in the optical frame, so that the ray parameter is the depth.
        depth = hits['t_hit'].numpy()
        for number, obstacle in self._moving.items():
            centre = np.array(obstacle.position(self._time), np.float32)
            painting.draw_cylinder(
                rays,
                centre,
                np.float32(obstacle.radius),
                np.float32(obstacle.height),
                _COAT,
                np.uint32(number),
                depth,
                rgb,
                semantic,
            )
        depth = np.where(depth <= self.config.max_depth, depth, np.float32(np.inf))
        shape = (self.config.height, self.config.width)
        return Frame(rgb.reshape(*shape, 3), depth.reshape(shape), semantic.reshape(shape))

    def add_moving_obstacle(self, obstacle: MovingObstacle) -> int:
        """Let somebody walk through the scene, starting now; return the semantic id.

        It is drawn, it blocks the body, and running into the body counts as a collision. Every
        placement of the robot sends it back to where it started; walking distances ignore it.
        """
        number = max(self.labels) + 1
        self._moving[number] = obstacle
        label = Label(number, 'person', f'person_{len(self._moving)}')
        self.labels = {**self.labels, number: label}
        self._show_moving(self._time)
        return number

    def clear_moving_obstacles(self) -> None:
        """Everybody who walks leaves; their labels stay."""
        self._moving.clear()
        self._show_moving(self._time)

    def moving_positions(self) -> list[tuple[float, float]]:
        """Return the world (x, y) of everybody who walks, now, metres."""
        return [obstacle.position(self._time) for obstacle in self._moving.values()]

    def _show_moving(self, time: float) -> None:
        self._body.discs = [(*o.position(time), o.radius) for o in self._moving.values()]

    def geodesic_distance(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Return the length of the shortest walk for the body, metres; inf if there is none."""
        return self._body.geodesic_distance(start, goal)

    def close(self) -> None:
        """Nothing to free beyond memory."""

    def _pose(self) -> tuple[float, float, float]:
        return self._body.x, self._body.y, self._body.yaw


def camera_rays(config: SimulatorConfig) -> NDArray[np.float32]:
    """Return (H * W, 3) directions in the optical frame with z = 1, row by row."""
    camera = config.camera
    u, v = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
    x = (u - camera.cx) / camera.fx
    y = (v - camera.cy) / camera.fy
    return np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3).astype(np.float32)


def ray_scene(soup: TriangleSoup) -> o3d.t.geometry.RaycastingScene:
    """Return the ray caster over all triangles; its primitive ids are rows of the soup."""
    vertices = np.ascontiguousarray(soup.corners.reshape(-1, 3), dtype=np.float32)
    faces = np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3)
    world = o3d.t.geometry.RaycastingScene(nthreads=1)
    world.add_triangles(o3d.core.Tensor.from_numpy(vertices), o3d.core.Tensor.from_numpy(faces))
    return world
