# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Somebody crosses the robot's way at walking speed; nobody may be touched by a moving robot."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from legs import TICK, Walker

from vln_core.control.motion import MotionConfig
from vln_core.control.movers import MoverConfig
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.moving import MovingObstacle
from vln_sim_bridge.raycast import RaycastSimulator
from vln_sim_bridge.simulator import CameraMount, SimulatorConfig

PERSON_RADIUS = 0.25
# Slower than this the robot stands: less than its base can measure.
STANDING = 0.02
_SHARE_OF_WAY = (0.35, 0.8)


def among_people() -> MotionConfig:
    """Limits of a robot among people: the usual ones, and a look to both sides before it drives.

    A camera of 100 degrees never sees somebody who walks into the robot's side while it drives.
    """
    return MotionConfig(movers=MoverConfig(glance=1.0))


@dataclass
class CrossingTally:
    """What happened when somebody crossed.

    Attributes:
        runs: Crossings.
        touched: Contacts that began while the robot moved, or in which it pushed on.
        touched_standing: Contacts with a robot that stood already: the person ran into it.
        nearest: Least distance between the bodies while the robot moved, one a run, metres.
        ends: How the motions ended, by code.
        passed: Ends of those runs in which the person walked by once.
        notes: What to look at.
    """

    runs: int = 0
    touched: int = 0
    touched_standing: int = 0
    nearest: list[float] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def run_crossings(
    scene: str,
    num_runs: int,
    seed: int,
    *,
    motion: MotionConfig | None = None,
) -> CrossingTally:
    """Drive ``num_runs`` straight ways of 1.5 to 3.5 m while a person walks across.

    The person starts so that both would be at the crossing at the same time, give or take half a
    second. It walks to and fro whatever the robot does; in every second run it walks on to the end
    of its way and stands there. Its way is clear of walls and furniture.

    Args:
        scene: Name of a scene.
        num_runs: Crossings.
        seed: Of every choice.
        motion: Limits of the robot.
    """
    tally = CrossingTally()
    config = SimulatorConfig(
        width=160, height=120, mount=CameraMount(pitch=math.radians(15.0)), seed=seed
    )
    rng = np.random.default_rng((seed, 77))
    simulator = make_simulator('raycast', scene, config)
    try:
        for _ in range(num_runs):
            _cross(simulator, rng, tally, motion or among_people())
    finally:
        simulator.close()
    return tally


def _cross(
    simulator: RaycastSimulator,
    rng: np.random.Generator,
    tally: CrossingTally,
    motion: MotionConfig,
) -> None:
    start, goal, walk = _plan(simulator, rng, motion)
    simulator.clear_moving_obstacles()
    simulator.place(*start)
    walker = Walker(simulator, motion)
    walker.controller.observe_panorama(walker.look_around())
    stays = tally.runs % 2 == 1
    points = walk[0][:3] if stays else walk[0]
    person = MovingObstacle(points, walk[1], PERSON_RADIUS, stays=stays)
    simulator.add_moving_obstacle(person)
    simulator.place(*start)  # both begin now
    reach = PERSON_RADIUS + simulator.config.robot_radius
    nearest, touch, is_touching = math.inf, '', False
    last = start[:2]

    def watch() -> None:
        nonlocal nearest, touch, is_touching, last
        state = simulator.state()
        here, (px, py) = (state.x, state.y), simulator.moving_positions()[0]
        # The commanded speed too: in contact the simulator holds the body, which is no standing.
        speed = max(math.dist(last, here) / TICK, abs(walker.velocity[0]))
        closing = ((here[0] - last[0]) * (px - last[0]) + (here[1] - last[1]) * (py - last[1])) > 0
        last = here
        apart = math.dist(here, (px, py)) - reach
        if speed > STANDING:
            nearest = min(nearest, apart)
        if apart <= 0.0:
            # Judged where a contact begins; within one, only a robot that pushes on is at fault.
            is_fault = speed > STANDING and (closing or not is_touching)
            touch = 'moving' if is_fault or touch == 'moving' else 'standing'
        is_touching = apart <= 0.0

    walker.on_tick = watch
    outcome = walker.drive(lambda: walker.controller.start_route([goal], start))
    tally.runs += 1
    tally.touched += touch == 'moving'
    tally.touched_standing += touch == 'standing'
    tally.nearest.append(nearest)
    tally.ends[outcome.code.name] += 1
    if stays:
        tally.passed[outcome.code.name] += 1
    if touch == 'moving':
        tally.notes.append(f'run {tally.runs}: from {start} to {goal}, {person}')


def _plan(
    simulator: RaycastSimulator, rng: np.random.Generator, motion: MotionConfig
) -> tuple[tuple, tuple, tuple]:
    """Return start pose, goal and (points, speed) of a person whose ways are free of the scene."""
    floor = simulator.body.floor
    cells = np.argwhere(floor.clearance >= 0.5)
    if len(cells) == 0:
        raise RuntimeError('the scene has no open floor for a crossing')
    for _ in range(20_000):
        x, y = floor.point(*cells[int(rng.integers(len(cells)))].tolist())
        yaw, length = rng.uniform(-math.pi, math.pi), rng.uniform(1.5, 3.5)
        forward = np.array([math.cos(yaw), math.sin(yaw)])
        goal = np.array([x, y]) + length * forward
        where = rng.uniform(*_SHARE_OF_WAY) * length
        slant = yaw + rng.uniform(math.radians(60), math.radians(120))
        half = rng.choice([-1.0, 1.0]) * rng.uniform(0.8, 2.0)
        across = half * np.array([math.cos(slant), math.sin(slant)])
        crossing = np.array([x, y]) + where * forward
        ends = (crossing - across, crossing + across)
        if not (_is_clear(floor, (x, y), goal, 0.4) and _is_clear(floor, *ends, 0.3)):
            continue
        speed = rng.uniform(0.8, 1.4)
        ramp = motion.follower.max_speed / motion.follower.max_acceleration
        moment = where / motion.follower.max_speed + 0.5 * ramp + rng.uniform(-0.5, 0.5)
        way = _way(ends, speed * moment)
        if math.dist(way[0], (x, y)) > 1.0:
            return (x, y, yaw), tuple(goal.tolist()), (way, speed)
    raise RuntimeError('the scene has no room for a crossing')


def _way(ends: tuple, before: float) -> tuple:
    """Return points of a walk to and fro that is in the middle after ``before`` metres."""
    length = math.dist(*ends)
    folded = math.fmod(before + 0.5 * length, 2.0 * length)  # metres back from the second end
    is_outward = folded <= length
    share = folded / length if is_outward else 2.0 - folded / length
    start = ends[1] + share * (ends[0] - ends[1])
    order = ends if is_outward else ends[::-1]
    points = [start, order[1], order[0]] + [order[1], order[0]] * 8
    return tuple(tuple(point.tolist()) for point in points)


def _is_clear(floor: object, a: object, b: object, clearance: float) -> bool:
    points = np.linspace(np.asarray(a), np.asarray(b), 40)
    return all(floor.at(*point) >= clearance for point in points.tolist())
