# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Measures perception: against the truth of simulation, on real frames, and what it costs."""

from __future__ import annotations

import math
import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_core.observation import View
from vln_core.perception.grounding import GroundingConfig, ground_segments
from vln_core.perception.models import ModelConfig
from vln_core.perception.onnx_yolox import COCO, YoloxDetector
from vln_core.perception.simulated import SimulatedDetector
from vln_core.vocabulary import OBJECTS
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.simulator import SimulatorConfig

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get('VLN_DATA') or ROOT.parent / 'shared' / 'data')
KITCHEN = PinholeCamera(640, 480, 585.0, 585.0, 320.0, 240.0)
# Kinect: sigma of 1.5 mm at 1 m that grows with the square of depth, lost pixels, holes at edges.
NOISE = {'depth_noise': 0.0015, 'depth_dropout': 0.02, 'depth_edge_holes': True}


def simulated_errors(
    scenes: list[str], places: int, seed: int, simulator: str, say: Callable[[str], None]
) -> tuple[list[float], list[float]]:
    """Return distances of grounded objects from the centre of their visible true surface, m.

    The truth is the noise-free surface: the middle of the box of the object's visible pixels at
    its median depth. Second: milliseconds of grounding a view.
    """
    errors: list[float] = []
    times: list[float] = []
    for scene in scenes:
        rng = np.random.default_rng((seed, len(errors)))
        clean = make_simulator(simulator, scene, SimulatorConfig(seed=seed))
        noisy = make_simulator(simulator, scene, SimulatorConfig(seed=seed, **NOISE))
        try:
            for _ in range(places):
                pose = _free_pose(clean, rng)
                noisy.place(*pose)
                errors += _errors_at(clean, noisy, pose, times)
        finally:
            clean.close()
            noisy.close()
        say(f'{scene}: {len(errors)} objects so far')
    return errors, times


def _free_pose(simulator: Any, rng: np.random.Generator) -> tuple[float, float, float]:
    from vln_core.errors import SceneError

    low, high = (np.asarray(corner) for corner in simulator.scene.bounds)
    for _ in range(1000):
        x, y = rng.uniform(low, high)
        try:
            simulator.place(float(x), float(y), float(rng.uniform(-math.pi, math.pi)))
        except SceneError:
            continue
        state = simulator.state()
        return state.x, state.y, state.yaw
    raise SceneError(f'{simulator.scene.name}: no free place was found')


def _errors_at(
    clean: Any, noisy: Any, pose: tuple[float, float, float], times: list[float]
) -> list[float]:
    true, seen = clean.render(), noisy.render()
    camera, mount = clean.config.camera, clean.config.mount
    tform = transforms.planar_tform(*pose) @ transforms.camera_mount_tform(
        mount.x, mount.y, mount.z, pitch=mount.pitch, yaw=mount.yaw, roll=mount.roll
    )
    categories = {label.id: label.category for label in clean.labels.values()}
    view = View(0, 0.0, seen.rgb, seen.depth, camera, tform, 1)
    truth = View(0, 0.0, true.rgb, true.depth, camera, tform, 1)
    detector = SimulatedDetector(categories, lambda _: true.semantic)
    segments = detector.detect(view, list(OBJECTS))
    config = GroundingConfig(max_depth=10.0)
    began = time.perf_counter()
    found = ground_segments(view, segments, config)
    times.append(1000.0 * (time.perf_counter() - began))
    errors = []
    for segment, detection in zip(segments, found):
        target = _surface_middle(truth, segment.mask)
        if detection.position_odom is not None and target is not None:
            errors.append(float(np.linalg.norm(detection.position_odom - target)))
    return errors


def _surface_middle(view: View, mask: Any) -> Any:
    """Return the middle of the visible surface by noise-free depth, independent of grounding."""
    rows, columns = np.nonzero(mask & np.isfinite(view.depth) & (view.depth <= 10.0))
    if not len(rows):
        return None
    all_rows, all_columns = np.nonzero(mask)
    depth = float(np.median(view.depth[rows, columns]))
    camera = view.camera
    u = 0.5 * (all_columns.min() + all_columns.max())
    v = 0.5 * (all_rows.min() + all_rows.max())
    ray = np.array([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1.0])
    return transforms.apply(view.odom_tform_camera, (depth * ray)[None])[0]


def kitchen_views(limit: int) -> list[View]:
    """Return the first real frames with their poses; [] without the data."""
    views = []
    for path in sorted((DATA / 'red_kitchen').glob('*.color.jpg'))[:limit]:
        stem = str(path)[: -len('.color.jpg')]
        raw = cv2.imread(stem + '.depth.png', cv2.IMREAD_UNCHANGED)
        depth = raw.astype(np.float32) / 1000.0
        depth[(raw == 0) | (raw == 65535)] = np.nan
        rgb = np.ascontiguousarray(cv2.imread(str(path))[..., ::-1])
        pose = np.loadtxt(stem + '.pose.txt')
        views.append(View(0, 0.0, rgb, depth, KITCHEN, pose, len(views) + 1))
    return views


def kitchen_spread(limit: int) -> tuple[list[float], list[float]]:
    """Return the median spread (m) of each object seen in five frames, and ms a view.

    Sightings of one category within 0.5 m of a running mean are one object.
    """
    weights = DATA / 'models' / 'yolox_nano.onnx'
    views = kitchen_views(limit)
    if not views or not weights.is_file():
        return [], []
    detector = YoloxDetector(ModelConfig(path=str(weights), num_threads=1))
    objects: dict[str, list[list[Any]]] = defaultdict(list)
    times = []
    for view in views:
        segments = detector.detect(view, COCO)
        began = time.perf_counter()
        found = ground_segments(view, segments, GroundingConfig())
        times.append(1000.0 * (time.perf_counter() - began))
        for detection in found:
            if detection.position_odom is not None:
                _join(objects[detection.category], detection.position_odom)
    spreads = []
    for groups in objects.values():
        for group in groups:
            if len(group) >= 5:
                points = np.array(group)
                middle = np.median(points, axis=0)
                spreads.append(float(np.median(np.linalg.norm(points - middle, axis=1))))
    return spreads, times


def _join(groups: list[list[Any]], position: Any) -> None:
    for group in groups:
        if np.linalg.norm(np.mean(group, axis=0) - position) < 0.5:
            group.append(position)
            return
    groups.append([position])
