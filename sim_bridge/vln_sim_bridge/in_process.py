# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The whole loop in one process: the navigator's ports over a simulator, without ROS.

Used for evaluation at scale. The same perception, memory, planner, controller and safety code runs
here as in the nodes; only the wires are missing. Time is simulated: it passes while the robot
moves and stands still while anybody thinks.
"""

from __future__ import annotations

import argparse
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vln_core.control.motion import MotionConfig, MotionController
from vln_core.geometry import transforms
from vln_core.memory.store import MemoryConfig, MemoryStore
from vln_core.navigator import (
    CancelToken,
    EpisodeResult,
    Navigator,
    NavigatorConfig,
    NavigatorEvent,
)
from vln_core.observation import Panorama, View
from vln_core.outcome import EpisodeCode, MotionCode, MotionOutcome
from vln_core.perception.grounding import GroundingConfig
from vln_core.perception.panorama import PanoramaBuilder, num_views
from vln_core.perception.simulated import SimulatedDetector, SimulatedDetectorConfig
from vln_core.ports import Brain
from vln_core.system1.pointer import DetectorPointer
from vln_core.system2.brain import make_brain
from vln_sim_bridge.episodes import Episode, load_episodes
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.scene_cache import resolve_scene
from vln_sim_bridge.simulator import Frame, Simulator, SimulatorConfig

TICK = 0.05
"""Control period, seconds; images come every second tick."""

_TICK_NS = 50_000_000


class SimulatedRobot:
    """A simulator with the controller on it: implements the ports Legs and Camera."""

    def __init__(self, simulator: Simulator, motion: MotionConfig | None = None) -> None:
        self.simulator = simulator
        self.controller = MotionController(motion or MotionConfig())
        self.path_xy: list[tuple[float, float]] = []
        self._base_tform_camera = _mount(simulator.config)
        self._tick = 0
        self._velocity = (0.0, 0.0)
        self._frame: Frame | None = None
        self._frame_tick = -1
        self._way_second = -1
        self.on_way_frame: Callable[[NDArray[np.uint8]], None] | None = None
        """Told the first picture of every second, as the memory node is."""

    @property
    def stamp(self) -> int:
        """Simulated time, nanoseconds; starts at one tick, as 0 means 'latest' to TF."""
        return (self._tick + 1) * _TICK_NS

    @property
    def pose_odom(self) -> tuple[float, float, float]:
        """(x, y, yaw) of base_link in odom."""
        return self.simulator.odometry()

    def semantic_of(self, view: View) -> NDArray[np.uint32]:
        """Return the semantic image that belongs to the view taken last."""
        if self._frame is None or view.stamp != self.stamp:
            raise RuntimeError('the semantic image of an older view is gone; detect at once')
        return self._frame.semantic

    def capture(self, index: int, yaw: float) -> View:
        """Return the view from where the robot stands (port Camera)."""
        frame = self._render()
        return View(
            index=index,
            yaw=yaw,
            rgb=frame.rgb,
            depth=quantise_depth(frame.depth),
            camera=self.simulator.config.camera,
            odom_tform_camera=self._odom_tform_camera(),
            stamp=self.stamp,
        )

    def move_to_pixel(
        self, panorama: Panorama, view: int, pixel_uv: tuple[int, int]
    ) -> MotionOutcome:
        """Port Legs."""
        return self._drive(
            lambda: self.controller.start_pixel(panorama, view, pixel_uv, self.pose_odom)
        )

    def move_along(self, route: Sequence[tuple[float, float]]) -> MotionOutcome:
        """Port Legs."""
        return self._drive(lambda: self.controller.start_route(list(route)))

    def spin(self, angle: float) -> MotionOutcome:
        """Port Legs."""
        return self._drive(lambda: self.controller.start_spin(angle))

    def halt(self) -> None:
        """Port Legs."""
        self.controller.cancel()
        self._velocity = (0.0, 0.0)

    def _drive(self, start: Callable[[], MotionOutcome | None]) -> MotionOutcome:
        self._show_depth()
        refused = start()
        if refused is not None:
            return refused
        while True:
            if self._tick % 2 == 0:
                self._show_depth()
            command = self.controller.update(self.stamp, self.pose_odom, self._velocity)
            if command.outcome is not None and self._tick % 2 == 0:
                self._velocity = (0.0, 0.0)
                return command.outcome
            self.simulator.step(command.v, command.w, TICK)
            self._velocity = (command.v, command.w)
            self._tick += 1
            state = self.simulator.state()
            self.path_xy.append((state.x, state.y))

    def _show_depth(self) -> None:
        frame = self._render()
        second = self.stamp // 10**9
        if second != self._way_second and self.on_way_frame is not None:
            self._way_second = second
            self.on_way_frame(frame.rgb.copy())
        self.controller.on_depth(
            frame.depth, self.simulator.config.camera, self._odom_tform_camera(), self.stamp
        )

    def _render(self) -> Frame:
        if self._frame is None or self._frame_tick != self._tick:
            self._frame = self.simulator.render()
            self._frame_tick = self._tick
        return self._frame

    def _odom_tform_camera(self) -> NDArray[np.float64]:
        return transforms.planar_tform(*self.pose_odom) @ self._base_tform_camera


class SimulatedEyes:
    """Port Eyes: turns the robot and builds the panorama."""

    def __init__(self, robot: SimulatedRobot, builder: PanoramaBuilder, count: int = 0) -> None:
        """Take ``count`` views a panorama; 0: as many as the field of view asks for."""
        self._robot = robot
        self._builder = builder
        self._num_views = count or num_views(robot.simulator.config.hfov)

    def look_around(self, landmarks: Sequence[str]) -> Panorama:
        """Take N views, the last turn bringing the robot back to its heading."""
        odom_tform_base = transforms.planar_tform(*self._robot.pose_odom)
        step = 2.0 * math.pi / self._num_views
        self._builder.begin()
        note = ''
        for index in range(self._num_views):
            self._builder.add(self._robot.capture(index, index * step), landmarks)
            outcome = self._robot.spin(step)
            if outcome.code is not MotionCode.REACHED:
                note = f'the turn after view {index} failed: {outcome.message}'
                break
        return self._builder.finish(odom_tform_base, is_complete=not note, note=note)


@dataclass(frozen=True)
class RunConfig:
    """Settings of an in-process run; every part brings its own defaults.

    ``num_views`` is the number of views of a panorama; 0: as many as the field of view asks for.
    """

    simulator: SimulatorConfig = SimulatorConfig()
    motion: MotionConfig = MotionConfig()
    memory: MemoryConfig = MemoryConfig()
    navigator: NavigatorConfig = NavigatorConfig()
    detector: SimulatedDetectorConfig = SimulatedDetectorConfig()
    grounding: GroundingConfig = GroundingConfig(max_depth=10.0)
    planner: str = 'rules'
    num_views: int = 0


@dataclass(frozen=True, eq=False)
class EpisodeRun:
    """Result of one episode with the truth that evaluation needs.

    Attributes:
        episode: What was asked.
        result: What the navigator says.
        distance: Geodesic distance from the final position to the goal, metres; may be inf.
        success: Within ``success_radius`` and stopped with verification.
        collisions: Touches counted by the simulator.
        path_xy: (N, 2) driven path in the world, metres.
        seconds: Wall time.
        memory: The store, for pictures.
    """

    episode: Episode
    result: EpisodeResult
    distance: float
    success: bool
    collisions: int
    path_xy: NDArray[np.float64]
    seconds: float
    memory: MemoryStore


def run_episode(
    simulator: Simulator,
    episode: Episode,
    config: RunConfig,
    *,
    brain: Brain | None = None,
    success_radius: float = 3.0,
    on_event: Callable[[NavigatorEvent], None] | None = None,
    cancel: CancelToken | None = None,
) -> EpisodeRun:
    """Run one episode through the same Navigator as on a robot.

    Args:
        simulator: With the episode's scene loaded.
        episode: Instruction, start and goal.
        config: Settings.
        brain: System 2; made from ``config.planner`` if not given.
        success_radius: Geodesic distance that counts as success, metres.
        on_event: Progress of the navigator.
        cancel: To end it from another thread.
    """
    started = time.monotonic()
    simulator.place(*episode.start)
    robot = SimulatedRobot(simulator, config.motion)
    categories = {label.id: label.category for label in simulator.labels.values()}
    detector = SimulatedDetector(categories, robot.semantic_of, config.detector)
    memory = MemoryStore(config.memory)
    robot.on_way_frame = memory.add_way_frame
    navigator = Navigator(
        SimulatedEyes(robot, PanoramaBuilder(detector, config.grounding), config.num_views),
        memory,
        brain or make_brain(config.planner),
        DetectorPointer(),
        robot,
        config.navigator,
        on_event=on_event,
    )
    result = navigator.run(episode.instruction, cancel)
    state = simulator.state()
    distance = simulator.geodesic_distance((state.x, state.y), episode.goal)
    stopped = result.code is EpisodeCode.STOPPED_VERIFIED
    path = np.array(robot.path_xy or [(state.x, state.y)])
    return EpisodeRun(
        episode=episode,
        result=result,
        distance=distance,
        success=stopped and distance <= success_radius,
        collisions=state.num_collisions,
        path_xy=path,
        seconds=time.monotonic() - started,
        memory=memory,
    )


def quantise_depth(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return depth as it arrives over the wire: whole millimetres, special values kept."""
    return np.where(np.isfinite(depth), np.round(depth * 1000.0) / 1000.0, depth).astype(
        np.float32
    )


def _mount(config: SimulatorConfig) -> NDArray[np.float64]:
    mount = config.mount
    return transforms.camera_mount_tform(
        mount.x, mount.y, mount.z, roll=mount.roll, pitch=mount.pitch, yaw=mount.yaw
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run episodes of one scene and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--scene', default='apartment:0', help='apartment:SEED, small_house, folder'
    )
    parser.add_argument('--sim', default='raycast', choices=['raycast', 'habitat'])
    parser.add_argument('--episode', type=int, nargs='*', help='numbers of episodes; default: all')
    parser.add_argument('--planner', default='rules', help='mode of System 2')
    parser.add_argument('--verbose', action='store_true', help='print every decision')
    parser.add_argument('--map', type=Path, help='folder for the map image after each episode')
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.WARNING)
    config = RunConfig(planner=options.planner)
    folder = resolve_scene(options.scene)
    simulator = make_simulator(options.sim, folder, config.simulator)
    episodes = load_episodes(folder)
    successes = 0
    numbers = options.episode if options.episode else range(len(episodes))
    for number in numbers:
        run = run_episode(
            simulator, episodes[number], config, on_event=_print_event if options.verbose else None
        )
        successes += run.success
        _print_line(number, run)
        if options.map:
            _save_map(options.map, options.scene, number, run)
    print(f'{successes} of {len(numbers)} succeeded')  # noqa: T201
    simulator.close()
    return 0


def _print_line(number: int, run: EpisodeRun) -> None:
    mark = 'ok  ' if run.success else 'FAIL'
    print(  # noqa: T201
        f'{mark} {number:2d} {run.distance:5.2f} m  {len(run.result.decisions):2d} decisions  '
        f'{run.collisions} collisions  {run.seconds:5.1f} s  {run.result.code.name}: '
        f'{run.result.message[:100]}  | {run.episode.instruction}',
        flush=True,
    )


def _print_event(event: NavigatorEvent) -> None:
    if event.trace is None or event.trace.record is None:
        return
    record = event.trace.record
    x, y, yaw = event.trace.context.pose
    print(  # noqa: T201
        f'  {event.step:2d} ({x:.1f}, {y:.1f}, {math.degrees(yaw):.0f} deg) {record.analysis}\n'
        f'     {record.action!r}: {record.rationale}\n     -> {event.text}',
        flush=True,
    )


def _save_map(folder: Path, scene: str, number: int, run: EpisodeRun) -> None:
    import cv2

    folder.mkdir(parents=True, exist_ok=True)
    picture = run.memory.map_image(512).pixels
    name = f'{scene.replace(":", "_").replace("/", "_")}_{number}.png'
    cv2.imwrite(str(folder / name), picture[..., ::-1])


if __name__ == '__main__':
    raise SystemExit(main())
