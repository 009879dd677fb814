# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Simulator on Open3D's ray caster: runs on every machine, no GPU, bit-identical on repeat."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import open3d as o3d
from numpy.typing import NDArray

from vln_core.geometry.transforms import camera_mount_tform, planar_tform
from vln_sim_bridge.collision import ClearanceMap, DiscBody
from vln_sim_bridge.meshes import TriangleSoup, load_soup
from vln_sim_bridge.noise import DepthNoise, OdometryNoise
from vln_sim_bridge.scene import Scene, load_scene
from vln_sim_bridge.simulator import Frame, Label, RobotState, SimulatorConfig

_BACKGROUND = np.array([110, 130, 150], np.uint8)
_LIGHT = np.array([0.35, 0.2, 0.9]) / np.linalg.norm([0.35, 0.2, 0.9])


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
        self._painter = Painter(soup)
        self._world = ray_scene(soup)
        self._rays = camera_rays(config)
        self._body = DiscBody(ClearanceMap.from_soup(soup, config.robot_height), config.robot_radius)
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
        self._body.place(x, y, yaw)
        self._depth_noise.reset()
        self._odometry.reset(self._body.x, self._body.y, self._body.yaw)

    def step(self, v: float, w: float, dt: float) -> RobotState:
        """Drive with v m/s and w rad/s for dt s; the disc-shaped body collides and slides."""
        before = self._pose()
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
        origin = world_tform_camera[:3, 3].astype(np.float32)
        rays = np.empty((len(self._rays), 6), np.float32)
        rays[:, :3] = origin
        rays[:, 3:] = self._rays @ world_tform_camera[:3, :3].T.astype(np.float32)
        hits = self._world.cast_rays(o3d.core.Tensor.from_numpy(rays), nthreads=1)
        # Directions have z = 1 in the optical frame, so that the ray parameter is the depth.
        depth = hits['t_hit'].numpy()
        triangle = hits['primitive_ids'].numpy()
        rgb, semantic = self._painter.paint(triangle, hits['primitive_uvs'].numpy())
        depth = np.where(depth <= self.config.max_depth, depth, np.float32(np.inf))
        shape = (self.config.height, self.config.width)
        return Frame(rgb.reshape(*shape, 3), depth.reshape(shape), semantic.reshape(shape))

    def geodesic_distance(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Return the length of the shortest walk for the body, metres; inf if there is none."""
        return self._body.geodesic_distance(start, goal)

    def close(self) -> None:
        """Nothing to free beyond memory."""

    def _pose(self) -> tuple[float, float, float]:
        return self._body.x, self._body.y, self._body.yaw


def labels_of(scene: Scene) -> dict[int, Label]:
    """Return the label table of a scene; the building itself is 0."""
    table = {0: Label(0, 'building', 'building')}
    table.update({item.id: Label(item.id, item.category, item.name) for item in scene.objects})
    return table


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


class Painter:
    """Looks up colour and semantic id of ray hits: nearest texel, shaded by the face's normal."""

    def __init__(self, soup: TriangleSoup) -> None:
        """Lay all textures out in one table and precompute what depends on the triangle only."""
        sizes = np.array([picture.shape[:2] for picture in soup.textures], np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes.prod(axis=1))])[:-1]
        table = np.concatenate([picture.reshape(-1, 3) for picture in soup.textures])
        self._texels = np.ascontiguousarray(table)
        # Row M stands for "no hit".
        count = len(soup)
        self._start = np.append(starts[soup.texture], 0).astype(np.int32)
        size = np.concatenate([sizes[soup.texture], [[1, 1]]])
        self._size = size.astype(np.int32)
        uv = soup.corner_uv.astype(np.float32) * size[:-1, None, ::-1].astype(np.float32)
        self._uv = np.zeros((count + 1, 3, 2), np.float32)
        self._uv[:count, 0] = uv[:, 0]
        self._uv[:count, 1:] = uv[:, 1:] - uv[:, :1]
        # Both sides of a face are lit alike: models do not agree on the order of corners.
        lambert = np.abs(soup.normals @ _LIGHT)
        shade = (0.55 + 0.45 * lambert)[:, None]
        self._gain = np.ones((count + 1, 3), np.float32)
        self._gain[:count] = soup.tint * shade
        self._owner = np.append(soup.owner, np.uint32(0)).astype(np.uint32)
        self._count = count

    def paint(
        self, triangle: NDArray[np.uint32], barycentric: NDArray[np.float32]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
        """Return (N, 3) uint8 colours and (N,) uint32 ids of ray hits.

        Args:
            triangle: (N,) row of the soup; anything beyond its end means no hit.
            barycentric: (N, 2) weights of the second and third corner.
        """
        row = np.minimum(triangle, np.uint32(self._count)).astype(np.int32)
        corner = self._uv[row]
        uv = corner[:, 0] + corner[:, 1] * barycentric[:, :1] + corner[:, 2] * barycentric[:, 1:]
        size = self._size[row]
        cells = np.floor(uv).astype(np.int32)
        column = cells[:, 0] % size[:, 1]
        # Texture coordinates count v upwards, pictures rows downwards.
        line = size[:, 0] - 1 - cells[:, 1] % size[:, 0]
        texel = self._texels[self._start[row] + line * size[:, 1] + column]
        rgb = (texel * self._gain[row]).astype(np.uint8)
        rgb[row == self._count] = _BACKGROUND
        return rgb, self._owner[row]
