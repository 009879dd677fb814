# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a camera, each in a sentence that says what to do; '' is well."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.errors import PerceptionError
from vln_core.geometry.camera import PinholeCamera

_FAR = 100.0
# Colour -> hue, and hue with red and blue swapped, degrees.
HUES = {
    'red': (0.0, 240.0),
    'orange': (30.0, 210.0),
    'yellow': (60.0, 180.0),
    'blue': (240.0, 0.0),
}
_HUE_SLACK = 25.0


def depth_unit_problem(depth: NDArray[np.float32], encoding: str) -> str:
    """Return what is wrong with the unit of a depth image in metres; '' if it is plausible."""
    few = depth[::4, ::4]
    finite = few[np.isfinite(few)]
    if finite.size < 0.02 * few.size:
        return ''
    median = float(np.median(finite))
    if encoding == '32FC1' and median > _FAR:
        return (
            f'depth of encoding 32FC1 has a median of {median:.0f} m: it seems to be millimetres; '
            'publish metres, or 16UC1 for millimetres (REP-118)'
        )
    if encoding != '32FC1' and median < 0.05:
        return (
            f'depth of encoding {encoding} has a median of {1000 * median:.0f} mm: it seems to be '
            'metres or centimetres; publish millimetres (REP-118)'
        )
    if encoding != '32FC1' and median > 20.0:
        return (
            f'depth of encoding {encoding} has a median of {median:.1f} m: its unit seems to be '
            'finer than a millimetre; set the depth unit of the driver to 1 mm'
        )
    return ''


def mount_problem(base_tform_camera: NDArray[np.float64], frame: str) -> str:
    """Return what is wrong with the optical frame on the robot; '' if it looks outward."""
    up = float(base_tform_camera[2, 2])
    if up > 0.8:
        return (
            f'the z axis of {frame} points up, not into the picture: it seems to be a body frame '
            '(x forward); publish pictures in an optical frame (REP-103: z forward, x right)'
        )
    if up < -0.95:
        return (
            f'the z axis of {frame} points straight down, not outward: no way could be seen; '
            'correct its mount in TF (REP-103 optical: z forward, x right, y down)'
        )
    return ''


def inward_problem(base_tform_camera: NDArray[np.float64], frame: str) -> str:
    """Return why a camera seems to look through its own robot; '' if it does not.

    A camera at the back that looks forward over the body is usual, one at the front that looks
    backward is not.
    """
    x, y = base_tform_camera[:2, 3]
    heading = math.atan2(base_tform_camera[1, 2], base_tform_camera[0, 2])
    if x > 0.1 and abs(y) < x and abs(heading) > math.radians(120.0):
        return (
            f'{frame} is mounted {x:.2f} m before the middle of the robot and looks back over it '
            f'({math.degrees(heading):.0f} deg): correct its mount in TF, z must look outward'
        )
    return ''


def floor_problem(
    base_tform_camera: NDArray[np.float64], camera: PinholeCamera, reach: float = 3.0
) -> str:
    """Return why the floor cannot be seen within ``reach`` metres of the camera; '' if it can."""
    height = float(base_tform_camera[2, 3])
    columns = np.array([0.0, camera.width / 2.0, camera.width - 1.0])
    rows = np.array([0.0, camera.height / 2.0, camera.height - 1.0])
    u, v = (axis.ravel() for axis in np.meshgrid(columns, rows))
    rays = np.stack([(u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, np.ones_like(u)])
    down = base_tform_camera[:3, :3] @ rays
    with np.errstate(divide='ignore', invalid='ignore'):
        distance = height / -down[2] * np.hypot(down[0], down[1])
    nearest = float(np.min(distance[down[2] < -1e-6], initial=math.inf))
    if height > 0.02 and nearest <= reach:
        return ''
    if height <= 0.02:
        return (
            f'the camera is {height:.2f} m above the floor by TF; publish its true mount '
            '(base_link on the floor -> optical frame)'
        )
    return (
        f'the camera, {height:.2f} m high, sees no floor within {reach:g} m: tilt it down or '
        'correct its mount in TF'
    )


def stamp_problem(stamp: int, now: int, max_age: float) -> str:
    """Return what is wrong with a stamp that arrives at ``now`` (both ns); '' if it is fresh.

    Args:
        stamp: Of the picture.
        now: The node's ROS clock.
        max_age: Oldest picture that is used, s; as much is allowed into the future.
    """
    age = (now - stamp) * 1e-9
    if abs(age) > 1e7:
        return (
            f'pictures are stamped {stamp * 1e-9:.1f} s, but the clock of this node says '
            f'{now * 1e-9:.1f} s: simulated and wall clock are mixed; set use_sim_time alike on '
            'all nodes'
        )
    if age > max_age:
        return (
            f'pictures are {age:.2f} s old when they arrive (limit {max_age:g} s): synchronise '
            'the clocks of the machines (chrony), or relieve the network'
        )
    if age < -max_age:
        return (
            f'pictures are stamped {-age:.2f} s in the future: synchronise the clocks of the '
            'machines (chrony)'
        )
    return ''


def size_problem(
    color: tuple[int, int], depth: tuple[int, int], color_frame: str, depth_frame: str
) -> str:
    """Return why depth does not lie on colour (width, height px each); '' if it does."""
    if color_frame != depth_frame and depth_frame:
        return (
            f'depth comes in frame {depth_frame}, colour in {color_frame}: it is not registered '
            'to colour; switch on depth registration (align_depth) in the driver'
        )
    if color != depth:
        return (
            f'depth of {depth[0]} x {depth[1]} px is not registered to colour of {color[0]} x '
            f'{color[1]} px; switch on depth registration (align_depth) in the driver'
        )
    return ''


def hue_problem(rgb: NDArray[np.uint8], hue: str) -> str:
    """Return what is wrong with the order of the channels, shown a thing of known hue.

    Args:
        rgb: (H, W, 3) picture, red first as the stack believes; the thing fills the middle.
        hue: Its colour, one of :data:`HUES`.

    Returns:
        '' if the colour is right; else that red and blue are swapped, or that nothing can be
        said because the middle has another colour.

    Raises:
        PerceptionError: ``hue`` is none that swapped channels would change.
    """
    if hue not in HUES:
        raise PerceptionError(f"hue '{hue}': show a thing that is {', '.join(HUES)}")
    height, width = rgb.shape[:2]
    middle = rgb[height // 3 : -(-2 * height // 3), width // 3 : -(-2 * width // 3)]
    hsv = cv2.cvtColor(np.ascontiguousarray(middle), cv2.COLOR_RGB2HSV)
    vivid = (hsv[..., 1] > 90) & (hsv[..., 2] > 50)
    if np.count_nonzero(vivid) < 0.2 * vivid.size:
        return f'nothing vivid in the middle of the picture: hold a {hue} thing before the camera'
    angles = np.deg2rad(2.0 * hsv[..., 0][vivid].astype(np.float64))
    seen = math.degrees(math.atan2(np.sin(angles).mean(), np.cos(angles).mean())) % 360.0
    expected, swapped = HUES[hue]
    if _hue_gap(seen, expected) <= _HUE_SLACK:
        return ''
    if _hue_gap(seen, swapped) <= _HUE_SLACK:
        return (
            f'the {hue} thing arrives with hue {seen:.0f} deg instead of {expected:.0f}: red and '
            "blue are swapped; correct the driver's encoding (rgb8, bgr8), or set "
            'intake.swap_red_blue'
        )
    return (
        f'the middle of the picture has hue {seen:.0f} deg, a {hue} thing would have '
        f'{expected:.0f}, or {swapped:.0f} with channels swapped: nothing can be said'
    )


def _hue_gap(a: float, b: float) -> float:
    return abs((a - b + 180.0) % 360.0 - 180.0)
