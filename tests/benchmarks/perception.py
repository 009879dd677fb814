# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Measures perception: against the truth of simulation, on real frames, and what it costs."""

from __future__ import annotations

import math
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vln_core import vocabulary
from vln_core.errors import SceneError
from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera, back_project_image, project
from vln_core.observation import Panorama, View
from vln_core.perception.grounding import GroundingConfig, ground_segments
from vln_core.perception.models import ModelConfig
from vln_core.perception.onnx_yolox import COCO, YoloxDetector
from vln_core.perception.panorama import PanoramaBuilder, num_views
from vln_core.perception.simulated import SimulatedDetector, SimulatedDetectorConfig
from vln_core.vocabulary import OBJECTS
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.noise import DepthNoise
from vln_sim_bridge.simulator import SimulatorConfig

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get('VLN_DATA') or ROOT.parent / 'shared' / 'data')
KITCHEN = PinholeCamera(640, 480, 585.0, 585.0, 320.0, 240.0)
# Kinect: sigma of 1.5 mm at 1 m that grows with the square of depth, lost pixels, holes at edges.
NOISE = {'depth_noise': 0.0015, 'depth_dropout': 0.02, 'depth_edge_holes': True}
_GROUNDING = GroundingConfig(max_depth=10.0)
_NEAR = 5.0


@dataclass
class Truth:
    """What one or more scenes gave.

    Attributes:
        errors: Distance of each position grounded in noisy depth from the middle of the box
            around all noise-free visible points of the object, metres.
        num_near: Objects visible within 5 m of a place.
        missed: Of those the ones that the panorama of the noise-free detector does not have.
    """

    errors: list[float] = field(default_factory=list)
    num_near: int = 0
    missed: list[str] = field(default_factory=list)


def measure_scene(kind: str, scene: str, places: int, seed: int, into: Truth) -> None:
    """Look around at random free places of a scene and compare with its truth."""
    config = SimulatorConfig(seed=seed)
    simulator = make_simulator(kind, scene, config)
    rng = np.random.default_rng((seed, *scene.encode()))
    noise = DepthNoise(replace(config, **NOISE))
    try:
        for _ in range(places):
            pose = free_pose(simulator, rng)
            looks = look_around(simulator, pose)
            categories = {label.id: label.category for label in simulator.labels.values()}
            _add_errors(looks, categories, noise, into)
            _add_found(f'{scene} at {pose[0]:.2f}, {pose[1]:.2f}', looks, categories, into)
    finally:
        simulator.close()


def free_pose(simulator: Any, rng: np.random.Generator) -> tuple[float, float, float]:
    """Put the robot at a random free place and return where."""
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


def look_around(simulator: Any, pose: tuple[float, float, float]) -> list[tuple[View, Any]]:
    """Return views and semantic images all around a place."""
    mount, camera = simulator.config.mount, simulator.config.camera
    base_tform_camera = transforms.camera_mount_tform(
        mount.x, mount.y, mount.z, pitch=mount.pitch, yaw=mount.yaw, roll=mount.roll
    )
    count = num_views(camera.hfov)
    looks = []
    for k in range(count):
        yaw = 2.0 * math.pi * k / count
        simulator.place(pose[0], pose[1], pose[2] + yaw)
        frame = simulator.render()
        tform = transforms.planar_tform(pose[0], pose[1], pose[2] + yaw) @ base_tform_camera
        view = View(k, yaw, frame.rgb, frame.depth, camera, tform, k + 1)
        looks.append((view, frame.semantic))
    return looks


def detector_of(looks: list[tuple[View, Any]], categories: dict[int, str]) -> SimulatedDetector:
    """Return the noise-free detector of these views."""
    semantic_of = {view.stamp: semantic for view, semantic in looks}
    return SimulatedDetector(categories, lambda view: semantic_of[view.stamp])


def _add_errors(
    looks: list[tuple[View, Any]], categories: dict[int, str], noise: DepthNoise, into: Truth
) -> None:
    detector = detector_of(looks, categories)
    for view, _ in looks:
        segments = detector.detect(view, list(OBJECTS))
        noisy = replace(view, depth=noise.apply(view.depth))
        for segment, found in zip(segments, ground_segments(noisy, segments, _GROUNDING)):
            points = visible_points(view, segment.mask)
            if found.position_odom is not None and len(points):
                middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
                into.errors.append(float(np.linalg.norm(found.position_odom - middle)))


def visible_points(view: View, mask: Any) -> Any:
    """Return all points (N, 3) of a mask within the greatest depth, odometry frame."""
    points = back_project_image(view.depth, view.camera)[mask]
    points = points[np.isfinite(points[:, 2]) & (points[:, 2] <= _GROUNDING.max_depth)]
    return transforms.apply(view.odom_tform_camera, points)


def _add_found(
    where: str, looks: list[tuple[View, Any]], categories: dict[int, str], into: Truth
) -> None:
    builder = PanoramaBuilder(detector_of(looks, categories), _GROUNDING)
    builder.begin()
    for view, _ in looks:
        builder.add(view, [])
    panorama = builder.finish(np.eye(4))
    least = SimulatedDetectorConfig().min_pixels_px
    points_of: dict[int, list[Any]] = defaultdict(list)
    for view, semantic in looks:
        for number in np.unique(semantic):
            mask = semantic == number
            if number and vocabulary.canonical_object(categories[int(number)]):
                points = visible_points(view, mask)
                if np.count_nonzero(mask) >= least and len(points) >= least:
                    points_of[int(number)].append(points)
    eye = looks[0][0].odom_tform_camera[:2, 3]
    for number, parts in points_of.items():
        points = np.concatenate(parts)
        if np.median(np.hypot(*(points[:, :2] - eye).T)) > _NEAR:
            continue
        into.num_near += 1
        if not _has(panorama, vocabulary.category_of(categories[number]), points):
            into.missed.append(f'{categories[number]} of {where}')


def _has(panorama: Panorama, category: str, points: Any) -> bool:
    """Tell whether a detection of the category lies in the box around the points, or nearly."""
    low, high = points.min(axis=0) - 0.15, points.max(axis=0) + 0.15
    return any(
        found.category == category
        and found.position_odom is not None
        and bool(np.all((found.position_odom >= low) & (found.position_odom <= high)))
        for found in panorama.detections
    )


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


def kitchen_spread(limit: int) -> list[float]:
    """Return the median spread (m) of each object seen in five or more frames.

    Sightings of one category within 0.5 m of a running mean are one object.
    """
    weights = DATA / 'models' / 'yolox_nano.onnx'
    views = kitchen_views(limit)
    if not views or not weights.is_file():
        return []
    detector = YoloxDetector(ModelConfig(path=str(weights), num_threads=1))
    objects: dict[str, list[list[Any]]] = defaultdict(list)
    for view in views:
        segments = detector.detect(view, COCO)
        for detection in ground_segments(view, segments, GroundingConfig()):
            if detection.position_odom is not None:
                _join(objects[detection.category], detection.position_odom)
    spreads = []
    for groups in objects.values():
        for group in groups:
            if len(group) >= 5:
                points = np.array(group)
                middle = np.median(points, axis=0)
                spreads.append(float(np.median(np.linalg.norm(points - middle, axis=1))))
    return spreads


def _join(groups: list[list[Any]], position: Any) -> None:
    for group in groups:
        if np.linalg.norm(np.mean(group, axis=0) - position) < 0.5:
            group.append(position)
            return
    groups.append([position])


def reprojection_errors(views: list[View], later: int, reach: float = math.inf) -> list[float]:
    """Return the median difference (m) of depth up to ``reach`` m moved ``later`` frames on.

    Points that the other view hides, or that moved, differ by more than 10 cm and do not count;
    pairs with fewer than 1,000 common points are left out.
    """
    errors = []
    for one, other in zip(views, views[later:]):
        points = back_project_image(one.depth, one.camera, 4).reshape(-1, 3)
        points = points[np.isfinite(points[:, 2]) & (points[:, 2] <= reach)]
        other_tform_one = transforms.inverse(other.odom_tform_camera) @ one.odom_tform_camera
        moved = transforms.apply(other_tform_one, points)
        with np.errstate(invalid='ignore'):
            pixels = np.rint(project(moved, other.camera))
            inside = np.all((pixels >= 0) & (pixels < [640, 480]), axis=1)
        u, v = pixels[inside].astype(int).T
        gaps = np.abs(other.depth[v, u] - moved[inside, 2])
        gaps = gaps[np.isfinite(gaps) & (gaps < 0.1)]
        if len(gaps) >= 1000:
            errors.append(float(np.median(gaps)))
    return errors


def view_costs(scenes: list[str], places: int, seed: int) -> list[float]:
    """Return processor milliseconds of intake and grounding for each view of 640 x 480 px.

    From the messages rgb8 and 16UC1 to grounded detections with masks; the detector not counted.
    """
    import rclpy

    from vln_nodes import conversions
    from vln_nodes.awaiting import Changed
    from vln_nodes.camera_intake import CameraIntake, IntakeParameters

    cv2.setNumThreads(1)
    rclpy.init()
    node = rclpy.create_node('bench_cost')
    changed = Changed(node)
    intake = CameraIntake(
        node, changed, IntakeParameters(), slop=0, is_lockstep=True, is_simulated=False
    )
    times: list[float] = []
    try:
        for scene in scenes:
            config = SimulatorConfig(width=640, height=480, seed=seed, **NOISE)
            simulator = make_simulator('raycast', scene, config)
            intake.info = conversions.info_of_camera(config.camera, 0, 'optical')
            categories = {label.id: label.category for label in simulator.labels.values()}
            rng = np.random.default_rng((seed, *scene.encode()))
            for _ in range(places):
                looks = look_around(simulator, free_pose(simulator, rng))
                times += [_cost(intake, view, detector_of(looks, categories)) for view, _ in looks]
            simulator.close()
    finally:
        changed.close()
        node.destroy_node()
        rclpy.try_shutdown()
    return times[1:]  # the first one compiles


def _cost(intake: Any, view: View, detector: SimulatedDetector) -> float:
    from vln_core.perception.intake import sharpness
    from vln_nodes import conversions

    segments = detector.detect(view, list(OBJECTS))
    raw = np.nan_to_num(view.depth * 1000.0, nan=0.0, posinf=0.0).astype(np.uint16)
    depth = conversions.image_of_rgb(np.zeros((1, 1, 3), np.uint8), 1, 'optical')
    depth.height, depth.width, depth.encoding, depth.step = 480, 640, '16UC1', 1280
    depth.data = type(depth.data)('B', raw.tobytes())
    frame = {'color': conversions.image_of_rgb(view.rgb, 1, 'optical'), 'depth': depth}
    began = time.thread_time()
    rgb, metres = intake.convert(frame, None)
    sharpness(rgb)
    ground_segments(replace(view, rgb=rgb, depth=metres), segments, _GROUNDING)
    return 1000.0 * (time.thread_time() - began)
