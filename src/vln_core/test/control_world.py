# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A world of upright boxes on a floor with exact depth and exact contact, for controller tests."""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np

from vln_core.control.motion import Command, MotionConfig, MotionController
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Panorama, View
from vln_core.outcome import MotionOutcome

TICK_NS = 50_000_000


def wall_ring(x0: float, y0: float, x1: float, y1: float, height: float = 2.5) -> list[tuple]:
    """Four walls, 0.1 m thick, outside of the rectangle; boxes are (lower, upper corner)."""
    t = 0.1
    return [
        ((x0 - t, y0 - t, 0.0), (x1 + t, y0, height)),
        ((x0 - t, y1, 0.0), (x1 + t, y1 + t, height)),
        ((x0 - t, y0, 0.0), (x0, y1, height)),
        ((x1, y0, 0.0), (x1 + t, y1, height)),
    ]


@numba.njit(cache=True)
def _render(rays, tform, corners, holes):
    height, width, _ = rays.shape
    depth = np.full((height, width), np.inf)
    ray = np.empty(3)
    for v in range(height):
        for u in range(width):
            for axis in range(3):
                ray[axis] = (
                    tform[axis, 0] * rays[v, u, 0]
                    + tform[axis, 1] * rays[v, u, 1]
                    + tform[axis, 2] * rays[v, u, 2]
                )
            nearest = np.inf
            if ray[2] < -1e-9:
                nearest = -tform[2, 3] / ray[2]
                x, y = tform[0, 3] + nearest * ray[0], tform[1, 3] + nearest * ray[1]
                for k in range(len(holes)):
                    if holes[k, 0] <= x <= holes[k, 2] and holes[k, 1] <= y <= holes[k, 3]:
                        nearest = -(tform[2, 3] + 2.0) / ray[2]
                        break
            for k in range(len(corners)):
                enter, leave = 0.0, nearest
                for axis in range(3):
                    direction = ray[axis] if abs(ray[axis]) > 1e-12 else 1e-12
                    a = (corners[k, axis] - tform[axis, 3]) / direction
                    b = (corners[k, axis + 3] - tform[axis, 3]) / direction
                    enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
                if 0.0 < enter <= leave:
                    nearest = enter
            depth[v, u] = nearest
    return depth


class BoxWorld:
    """Boxes, holes in the floor, and a disc-shaped robot with a camera."""

    def __init__(
        self,
        boxes: list[tuple],
        pose: tuple[float, float, float] = (0.0, 0.0, 0.0),
        *,
        camera: PinholeCamera | None = None,
        mount: np.ndarray | None = None,
        holes: list[tuple[float, float, float, float]] = (),
        noise: float = 0.0,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.boxes = [(np.array(low, float), np.array(high, float)) for low, high in boxes]
        self.holes = list(holes)
        self.pose = pose
        self.camera = camera or PinholeCamera.from_hfov(96, 72, math.radians(100))
        self.mount = transforms.camera_mount_tform(0.0, 0.0, 1.0, pitch=0.15)
        if mount is not None:
            self.mount = mount
        self.noise, self.dropout = noise, dropout
        self.rng = np.random.default_rng(seed)
        self.radius, self.height, self.step_height = 0.2, 1.2, 0.06
        self.num_contacts = 0
        self.max_depth = 10.0
        u, v = np.meshgrid(np.arange(self.camera.width), np.arange(self.camera.height))
        self._rays = np.stack(
            [
                (u - self.camera.cx) / self.camera.fx,
                (v - self.camera.cy) / self.camera.fy,
                np.ones(u.shape),
            ],
            axis=-1,
        )

    @property
    def odom_tform_camera(self) -> np.ndarray:
        return transforms.planar_tform(*self.pose) @ self.mount

    def depth(self) -> np.ndarray:
        """(H, W) float32 depth, +inf where nothing is hit within range."""
        depth = _render(
            self._rays,
            self.odom_tform_camera,
            self._corners(),
            np.array(self.holes).reshape(-1, 4),
        )
        if self.noise:
            depth = depth + self.noise * np.minimum(depth, 20.0) ** 2 * self.rng.standard_normal(
                depth.shape
            )
        depth = np.where(depth > self.max_depth, np.inf, depth)
        if self.dropout:
            depth = np.where(self.rng.random(depth.shape) < self.dropout, np.nan, depth)
        return depth.astype(np.float32)

    def _corners(self) -> np.ndarray:
        return np.array([np.concatenate(box) for box in self.boxes]).reshape(-1, 6)

    def clearance(self, x: float, y: float) -> float:
        """Distance of the body's centre from the nearest box in the body band or hole, metres."""
        least = math.inf
        for low, high in self.boxes:
            if high[2] <= self.step_height or low[2] >= self.height:
                continue
            dx = max(low[0] - x, 0.0, x - high[0])
            dy = max(low[1] - y, 0.0, y - high[1])
            least = min(least, math.hypot(dx, dy))
        for x0, y0, x1, y1 in self.holes:
            least = min(least, math.hypot(max(x0 - x, 0.0, x - x1), max(y0 - y, 0.0, y - y1)))
        return least

    def step(self, v: float, w: float, dt: float = 0.05) -> bool:
        """Drive; a move that would touch is not made and counts. Returns whether it moved."""
        x, y, yaw = self.pose
        middle = yaw + 0.5 * w * dt
        nx, ny = x + v * dt * math.cos(middle), y + v * dt * math.sin(middle)
        yaw = transforms.wrap_angle(yaw + w * dt)
        if self.clearance(nx, ny) < self.radius and self.clearance(nx, ny) < self.clearance(x, y):
            self.num_contacts += 1
            self.pose = (x, y, yaw)
            return False
        self.pose = (nx, ny, yaw)
        return True


class Driver:
    """A controller in a box world: ticks at 20 Hz, images at 10 Hz."""

    def __init__(self, world: BoxWorld, config: MotionConfig | None = None) -> None:
        self.world = world
        self.controller = MotionController(config)
        self.tick = 0
        self.velocity = (0.0, 0.0)
        self.is_blind = False
        self.is_jammed = False
        self.on_tick: Callable[[Driver], None] | None = None
        self.log: list[tuple[tuple[float, float, float], Command]] = []

    @property
    def stamp(self) -> int:
        return (self.tick + 1) * TICK_NS

    def look(self) -> None:
        """Give the controller a depth image."""
        self.controller.on_depth(
            self.world.depth(), self.world.camera, self.world.odom_tform_camera, self.stamp
        )

    def panorama(self, num_views: int = 8) -> Panorama:
        """Views all around, without turning the robot."""
        x, y, yaw = self.world.pose
        views = []
        for k in range(num_views):
            self.world.pose = (x, y, yaw + 2.0 * math.pi * k / num_views)
            views.append(
                View(
                    index=k,
                    yaw=2.0 * math.pi * k / num_views,
                    rgb=np.zeros((self.world.camera.height, self.world.camera.width, 3), np.uint8),
                    depth=self.world.depth(),
                    camera=self.world.camera,
                    odom_tform_camera=self.world.odom_tform_camera,
                    stamp=self.stamp + k,
                )
            )
        self.world.pose = (x, y, yaw)
        base = transforms.planar_tform(x, y, yaw)
        return Panorama(id=self.tick, stamp=self.stamp, odom_tform_base=base, views=tuple(views))

    def run(
        self, start: Callable[[], MotionOutcome | None], max_ticks: int = 4000
    ) -> MotionOutcome:
        """Start a goal and drive it to its end."""
        if not self.is_blind:
            self.look()
        refused = start()
        if refused is not None:
            return refused
        for _ in range(max_ticks):
            if self.on_tick is not None:
                self.on_tick(self)
            if self.tick % 2 == 0 and not self.is_blind:
                self.look()
            command = self.controller.update(self.stamp, self.world.pose, self.velocity)
            self.log.append((self.world.pose, command))
            if command.outcome is not None:
                return command.outcome
            if not self.is_jammed:
                self.world.step(command.v, command.w)
            self.velocity = (command.v, command.w)
            self.tick += 1
        raise AssertionError('the goal never ended')

    def pixel_of(self, view: View, point_odom: tuple[float, float, float]) -> tuple[int, int]:
        """Pixel of a view that shows a point."""
        local = transforms.inverse(view.odom_tform_camera) @ np.array([*point_odom, 1.0])
        camera = view.camera
        return (
            round(camera.fx * local[0] / local[2] + camera.cx),
            round(camera.fy * local[1] / local[2] + camera.cy),
        )
