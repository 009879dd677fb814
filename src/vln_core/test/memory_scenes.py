# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Two rooms of boxes with a door between them, rendered exactly, for the tests of the memory."""

from __future__ import annotations

import math

import numpy as np

from vln_core.context import ActionNote, ClauseKind, ProgressItem
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import camera_mount_tform, planar_tform, wrap_angle
from vln_core.observation import Detection, Panorama, View
from vln_core.system2.record import DecisionRecord, Go, WorldNotes

CAMERA = PinholeCamera.from_hfov(160, 120, math.radians(100))
MOUNT = camera_mount_tform(0.1, 0.0, 1.0, pitch=0.15)

# Rooms [0, 5] x [0, 8] and [5, 10] x [0, 8]; the door is at x = 5, y in [3, 3.9].
WALLS = [
    ((-1, -1, -0.2), (11, 9, 0.0)),
    ((-0.1, 0, 0), (0, 8, 2.5)),
    ((10, 0, 0), (10.1, 8, 2.5)),
    ((0, -0.1, 0), (10, 0, 2.5)),
    ((0, 8, 0), (10, 8.1, 2.5)),
    ((4.95, 0, 0), (5.05, 3.0, 2.5)),
    ((4.95, 3.9, 0), (5.05, 8, 2.5)),
    ((4.95, 3.0, 2.1), (5.05, 3.9, 2.5)),
]
FURNITURE = [((1, 1, 0), (2.5, 1.8, 0.5)), ((8, 1, 0), (8.6, 1.6, 1.8))]
BOXES = np.array(WALLS + FURNITURE, float)

OBJECTS = [
    ('bed', (1.75, 1.4)),
    ('lamp', (0.5, 7.2)),
    ('chair', (3.5, 6.8)),
    ('chair', (3.5, 7.6)),
    ('refrigerator', (8.3, 1.3)),
    ('dining table', (7.5, 6.0)),
    ('sofa', (9.3, 4.5)),
]

ITEMS = (
    ProgressItem(0, 'leave the bedroom', ClauseKind.EXIT, rooms=('bedroom',)),
    ProgressItem(1, 'walk past the sofa', ClauseKind.PASS, landmarks=('sofa',)),
    ProgressItem(2, 'stop at the fridge', ClauseKind.STOP, landmarks=('refrigerator',)),
)
INSTRUCTION = 'leave the bedroom, walk past the sofa and stop at the fridge'


def render(odom_tform_camera, camera=CAMERA, boxes=BOXES, max_range=10.0):
    """Return (H, W) float32 depth of the boxes by the slab method; +inf beyond ``max_range``."""
    u, v = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
    rays = np.stack(
        [(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, np.ones(u.shape)], -1
    )
    rays = rays.reshape(-1, 3) @ odom_tform_camera[:3, :3].T
    eye = odom_tform_camera[:3, 3]
    best = np.full(len(rays), np.inf)
    with np.errstate(divide='ignore', invalid='ignore'):
        for low, high in boxes:
            a, b = (low - eye) / rays, (high - eye) / rays
            near = np.nanmax(np.minimum(a, b), axis=1)
            far = np.nanmin(np.maximum(a, b), axis=1)
            hit = (near <= far) & (near > 1e-6)
            best[hit] = np.minimum(best[hit], near[hit])
    best[best > max_range] = np.inf
    return best.reshape(u.shape).astype(np.float32)


def view(index, x, y, yaw, num_views=4, boxes=BOXES):
    tform = planar_tform(x, y, yaw + 2 * math.pi * index / num_views) @ MOUNT
    rgb = np.full((CAMERA.height, CAMERA.width, 3), 40 + 50 * index, np.uint8)
    rgb[:, : CAMERA.width // 2, 1] = 200
    depth = render(tform, boxes=boxes)
    return View(index, 2 * math.pi * index / num_views, rgb, depth, CAMERA, tform, 1000 + index)


def detections_of(views, base_x, base_y, yaw, objects, sigma=0.0, rng=None, reach=6.0):
    result = []
    for v in views:
        for name, (x, y) in objects:
            bearing = math.atan2(y - base_y, x - base_x)
            in_view = abs(wrap_angle(bearing - yaw - v.yaw)) < math.radians(48)
            if not in_view or math.hypot(x - base_x, y - base_y) > reach:
                continue
            # Rooms are told apart by the wall at x = 5; good enough for a script.
            if (x < 5) != (base_x < 5):
                continue
            noise = np.zeros(3) if rng is None else rng.normal(0, sigma, 3)
            result.append(detection(name, (x, y, 0.4) + noise, view=v.index, bearing=bearing))
    return tuple(result)


def detection(
    name,
    position=(1.0, 1.0, 0.4),
    view=0,
    score=0.9,
    bearing=0.0,
    extent=(0.4, 0.4, 0.8),
    label='',
):
    return Detection(
        view,
        label or name,
        name,
        score,
        (20.0, 20.0, 60.0, 90.0),
        (40, 55),
        bearing,
        np.asarray(position, float),
        np.eye(3) * 0.01,
        np.asarray(extent, float),
    )


def panorama(number, x, y, yaw=0.0, objects=OBJECTS, sigma=0.0, rng=None, boxes=BOXES):
    views = tuple(view(k, x, y, yaw, boxes=boxes) for k in range(4))
    found = detections_of(views, x, y, yaw, objects, sigma, rng)
    return Panorama(number, number * 1000, planar_tform(x, y, yaw), views, found)


def blind_panorama(number, x, y, yaw=0.0, found=()):
    """A panorama whose depth is unknown everywhere: geometry comes from detections alone."""
    tiny = PinholeCamera.from_hfov(8, 6, math.radians(100))
    tform = planar_tform(x, y, yaw)
    only = View(
        0,
        0.0,
        np.zeros((6, 8, 3), np.uint8),
        np.full((6, 8), np.nan, np.float32),
        tiny,
        tform @ MOUNT,
        number,
    )
    return Panorama(number, number, tform, (only,), tuple(found))


def decide(action=None, notes=None, rationale='because'):
    return DecisionRecord(
        action=action or Go(view=0, target='door'),
        notes=notes or WorldNotes(),
        rationale=rationale,
    )


def note(step, action='go(view 0, "door")', code=0):
    return ActionNote(step, action, 'because', 'reached' if code == 0 else 'refused', code)


WALK = ((1.5, 6.5, 0.0), (3.0, 5.0, -0.7), (4.4, 3.6, -0.5), (6.0, 3.45, 0.0), (7.5, 3.2, -0.6))


def drive(store, poses=WALK, seed=0):
    """Observe, commit and conclude along a walk with noisy detections."""
    rng = np.random.default_rng(seed)
    for k, (x, y, yaw) in enumerate(poses):
        store.observe(panorama(k, x, y, yaw, sigma=0.03, rng=rng))
        store.commit(decide(notes=WorldNotes(place_name=f'spot {k}')))
        store.conclude(note(k))
