# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmark of System 1's goals and the controller; run by ``./vln bench legs``.

Random pixel goals in furnished scenes with tilted, noisy cameras; time of the grid and of a replan
beside plain baselines. Faults of the safety process are in ``legs_faults.py``.
"""

from __future__ import annotations

import math
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import skfmm
from legs_campaign import Campaign, Piece, add
from numpy.typing import NDArray

from vln_core.control.fast_marching import PlannerConfig, plan
from vln_core.control.motion import MotionConfig, MotionController
from vln_core.control.traversability import OCCUPIED, TraversabilityConfig, TraversabilityGrid
from vln_core.errors import SceneError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import Panorama, View
from vln_core.outcome import MotionCode, MotionOutcome
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.simulator import CameraMount, Simulator, SimulatorConfig

TICK = 0.05
TICK_NS = 50_000_000
PROMISED_RADIUS = 1.0
"""Free floor around a placed robot, metres: what the camera cannot see is promised (README)."""


@dataclass
class GoalTally:
    """What became of the goals."""

    goals: int = 0
    collisions: int = 0
    accepted: int = 0
    reached: int = 0
    near: int = 0
    overdue: int = 0
    seconds_driven: float = 0.0
    refusals: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Walker:
    """A controller in a simulator, as in the nodes: control at 20 Hz, images at 10 Hz."""

    def __init__(self, simulator: Simulator, motion: MotionConfig | None = None) -> None:
        self.simulator = simulator
        config = simulator.config
        self.controller = MotionController(motion or MotionConfig(max_depth=config.max_depth))
        self.on_tick: Callable[[], None] = lambda: None
        mount = config.mount
        self._mount = transforms.camera_mount_tform(
            mount.x, mount.y, mount.z, roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw
        )
        self.tick = 0
        self._velocity = (0.0, 0.0)
        self._panoramas = 0

    @property
    def stamp(self) -> int:
        """Simulated time, ns."""
        return (self.tick + 1) * TICK_NS

    def _view(self, index: int, yaw: float) -> View:
        frame = self.simulator.render()
        pose = transforms.planar_tform(*self.simulator.odometry()) @ self._mount
        camera = self.simulator.config.camera
        return View(index, yaw, frame.rgb, frame.depth, camera, pose, self.stamp + index)

    @property
    def velocity(self) -> tuple[float, float]:
        """Of the wheels, m/s and rad/s."""
        return self._velocity

    def look_around(self, num_views: int = 8) -> Panorama:
        """Views on the spot; the pose is set, not driven, to spend the time on the goals."""
        state = self.simulator.state()
        base = transforms.planar_tform(*self.simulator.odometry())
        views = []
        for k in range(num_views):
            yaw = 2.0 * math.pi * k / num_views
            self.simulator.place(state.x, state.y, state.yaw + yaw)
            views.append(self._view(k, yaw))
        self.simulator.place(state.x, state.y, state.yaw)
        self._panoramas += 1
        return Panorama(self._panoramas, self.stamp, base, tuple(views))

    def drive(self, start: Callable[[], MotionOutcome | None]) -> MotionOutcome:
        """Run one goal to its end."""
        self._show()
        refused = start()
        if refused is not None:
            return refused
        while True:
            if self.tick % 2 == 0:
                self._show()
            command = self.controller.update(self.stamp, self.simulator.odometry(), self._velocity)
            if command.outcome is not None:
                return command.outcome
            # A base cannot stop at once: it brakes with what the controller was told of it.
            brake = self.controller.config.emergency_deceleration * TICK
            slowed = abs(self._velocity[0]) - brake
            v = command.v if abs(command.v) > slowed else math.copysign(slowed, self._velocity[0])
            self.simulator.step(v, command.w, TICK)
            self._velocity = (v, command.w)
            self.tick += 1
            self.on_tick()

    def _show(self) -> None:
        view = self._view(0, 0.0)
        self.controller.on_depth(view.depth, view.camera, view.odom_tform_camera, self.stamp)


def run_goals(
    scenes: Sequence[str],
    num_goals: int,
    seed: int,
    *,
    size: tuple[int, int] = (160, 120),
    noise: float = 0.003,
    dropout: float = 0.03,
    say: Callable[[str], None] = lambda text: None,
    campaign: Campaign | None = None,
) -> GoalTally:
    """Drive ``num_goals`` random pixel goals, spread over the scenes.

    Args:
        scenes: Names of scenes.
        num_goals: Goals in all, refused ones included.
        seed: Of every choice and of the noise.
        size: Width and height of the images, px.
        noise: Sigma of the depth at 1 m, metres; grows with the square.
        dropout: Fraction of pixels without depth.
        say: Told about progress.
        campaign: Keeps what is done; None: nothing is kept.
    """
    pieces = []
    for index, scene in enumerate(scenes):
        share = num_goals // len(scenes) + (index < num_goals % len(scenes))
        if share:
            key = f'goals {scene} {share} {seed} {size} {noise} {dropout}'
            run = partial(_run_scene, scene, share, seed, size, noise, dropout)
            pieces.append(Piece(key, GoalTally, run))
    tally = GoalTally()
    for scene, part in zip(scenes, (campaign or Campaign(None)).tallies(pieces)):
        add(tally, part)
        say(
            f'{scene}: {tally.goals} goals, {tally.collisions} collisions, '
            f'{tally.reached} of {tally.accepted} accepted reached'
        )
    return tally


def _run_scene(
    scene: str, share: int, seed: int, size: tuple[int, int], noise: float, dropout: float
) -> GoalTally:
    """A scene has the same goals in whatever campaign it is part of."""
    rng = np.random.default_rng((seed, zlib.crc32(scene.encode())))
    config = SimulatorConfig(
        width=size[0],
        height=size[1],
        mount=CameraMount(pitch=math.radians(rng.uniform(0.0, 25.0))),
        depth_noise=noise,
        depth_dropout=dropout,
        seed=seed,
    )
    simulator = make_simulator('raycast', scene, config)
    tally = GoalTally()
    try:
        _scene_goals(simulator, scene, share, rng, tally)
    finally:
        simulator.close()
    return tally


def _scene_goals(
    simulator: Simulator, scene: str, share: int, rng: np.random.Generator, tally: GoalTally
) -> None:
    walker = Walker(simulator)
    camera = simulator.config.camera
    done, legs = 0, 0
    while done < share:
        if legs % 6 == 0:
            _place(simulator, rng)
            walker.controller.reset()
        legs += 1
        panorama = walker.look_around()
        for _ in range(6):
            if done == share:
                return
            done += 1
            tally.goals += 1
            view = int(rng.integers(len(panorama.views)))
            pixel = (
                rng.uniform(-0.02, 1.02) * camera.width,
                rng.uniform(-0.02, 1.02) * camera.height,
            )
            mode = 'corridor' if rng.random() < 0.25 else 'plan'
            began = walker.tick
            before = simulator.state().num_collisions
            start = partial(
                walker.controller.start_pixel, panorama, view, pixel, simulator.odometry(), mode
            )
            outcome = walker.drive(start)
            if outcome.code.is_refusal:
                tally.refusals[outcome.code.name] += 1
                continue
            touched = simulator.state().num_collisions - before
            _score(walker, outcome, began, touched, tally, scene)
            break


def _score(
    walker: Walker,
    outcome: MotionOutcome,
    began: int,
    touched: int,
    tally: GoalTally,
    scene: str,
) -> None:
    state = walker.simulator.state()
    tally.accepted += 1
    tally.collisions += touched
    tally.seconds_driven += (walker.tick - began) * TICK
    tally.reached += outcome.reached
    tally.overdue += outcome.code is MotionCode.TIMEOUT
    if not outcome.reached:
        tally.failures[outcome.code.name] += 1
    if touched or not outcome.reached:
        tally.notes.append(
            f'{scene} goal {tally.goals}: {outcome.code.name}, {outcome.message}; at '
            f'({state.x:.2f}, {state.y:.2f}), contacts {touched}'
        )
    if outcome.goal_xy is not None:
        error = math.dist((state.x, state.y), outcome.goal_xy)
        tally.errors.append(error)
        tally.near += error <= 0.10


def _place(simulator: Simulator, rng: np.random.Generator) -> None:
    """Put the robot at a random place with the promised free floor, or at the scene's start."""
    floor = simulator.body.floor  # type: ignore[attr-defined]
    for promised in (PROMISED_RADIUS, 0.9, 0.8):
        cells = np.argwhere(floor.clearance >= promised)
        if len(cells):
            row, column = cells[int(rng.integers(len(cells)))].tolist()
            x, y = floor.point(row, column)
            simulator.place(x, y, rng.uniform(-math.pi, math.pi))
            return
    raise SceneError('the scene has no open floor to start from')


# -- time ---------------------------------------------------------------------------------------


def numpy_grid(
    depth: NDArray[np.float32], camera: PinholeCamera, tform: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Plain vectorised baseline: back-project every pixel, bin those in the body band."""
    rows, columns = np.indices(depth.shape)
    z = depth.ravel()
    x = (columns.ravel() - camera.cx) / camera.fx * z
    y = (rows.ravel() - camera.cy) / camera.fy * z
    points = np.stack([x, y, z], axis=1) @ tform[:3, :3].T + tform[:3, 3]
    cells = np.floor((points[:, :2] - tform[:2, 3] + 5.0) / 0.05)
    good = np.isfinite(points).all(axis=1) & (points[:, 2] > 0.06) & (points[:, 2] < 1.2)
    good &= (cells >= 0).all(axis=1) & (cells < 200).all(axis=1)
    flat = cells[good, 1].astype(np.int64) * 200 + cells[good, 0].astype(np.int64)
    return np.bincount(flat, minlength=200 * 200).reshape(200, 200)


def time_grid(scene: str, seed: int, rounds: int = 200) -> dict[str, float]:
    """Time the fusion of 640 x 480 images, every pixel, beside the baseline on the same images."""
    config = SimulatorConfig(
        width=640, height=480, depth_noise=0.003, depth_dropout=0.03, seed=seed
    )
    simulator = make_simulator('raycast', scene, config)
    walker = Walker(simulator)
    views = list(walker.look_around(10).views)
    simulator.close()
    grid = TraversabilityGrid(TraversabilityConfig())
    ours: list[float] = []
    plain: list[float] = []
    for k in range(rounds + 10):
        view = views[k % len(views)]
        began = time.perf_counter()
        # Stamps of a 10 Hz camera: how long a thing has stood there costs time to find out.
        grid.integrate(view.depth, view.camera, view.odom_tform_camera, k * 100_000_000)
        middle = time.perf_counter()
        if k % 5 == 0:
            numpy_grid(view.depth, view.camera, view.odom_tform_camera)
            plain.append(time.perf_counter() - middle)
        if k >= 10:
            ours.append(middle - began)
    return {
        'grid_update_ms_p50': 1e3 * float(np.percentile(ours, 50)),
        'grid_update_ms_p95': 1e3 * float(np.percentile(ours, 95)),
        'grid_update_over_numpy_ratio': float(np.median(ours) / np.median(plain)),
    }


def skfmm_full(grid: TraversabilityGrid, goal_xy: tuple[float, float]) -> None:
    """Plain baseline: arrival time over the whole grid, everything but obstacles free."""
    clearance = grid.distance_field(grid.state < OCCUPIED)
    row, column = (int(value) for value in grid.cells_rc(np.array([goal_xy]))[0])
    phi = np.ones(clearance.shape)
    phi[row, column] = -1.0
    speed = np.clip(clearance, 0.05, 0.6)
    skfmm.travel_time(np.ma.MaskedArray(phi, clearance < 0.2), speed, dx=grid.config.cell)


def time_replan(scenes: Sequence[str], seed: int, rounds: int = 200) -> dict[str, float]:
    """Time whole replans (clearance, marching, smoothing) on grids of real look-arounds."""
    rng = np.random.default_rng(seed)
    ours: list[float] = []
    plain: list[float] = []
    planner = PlannerConfig()
    for scene in scenes:
        simulator = make_simulator('raycast', scene, SimulatorConfig(width=320, height=240))
        walker = Walker(simulator)
        walker.controller.observe_panorama(walker.look_around(12))
        grid = walker.controller.grid
        x, y, _ = simulator.odometry()
        simulator.close()
        free = np.argwhere(grid.distance_field() > planner.hard_clearance)
        for k in range(max(1, rounds // len(scenes))):
            goal = grid.points_xy(free[int(rng.integers(len(free)))][None])[0]
            target = (float(goal[0]), float(goal[1]))
            began = time.perf_counter()
            plan(grid, (x, y), target, planner, max_length=30.0)
            middle = time.perf_counter()
            if k > 2:
                ours.append(middle - began)
            if k % 3 == 0:
                skfmm_full(grid, target)
                plain.append(time.perf_counter() - middle)
    return {
        'replan_ms_p50': 1e3 * float(np.percentile(ours, 50)),
        'replan_ms_p95': 1e3 * float(np.percentile(ours, 95)),
        'replan_over_skfmm_ratio': float(np.median(ours) / np.median(plain)),
    }
