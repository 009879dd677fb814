# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What is right and wrong with a robot, from what a probe has heard of it. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vln_core.geometry.camera import PinholeCamera, back_project_image
from vln_core.geometry.transforms import apply
from vln_core.perception import camera_checks
from vln_core.perception.models import install_line, missing_modules

OK, MISSING, WRONG, NOTE = 'ok', 'missing', 'wrong', 'note'
MIN_RATE = {'color': 5.0, 'depth': 8.0, 'odom': 15.0}
"""Hz. Safety calls depth and odometry stale after 0.2 s."""
MAX_AGE = 0.2
MAX_TILT_ERROR = math.radians(1.5)
MAX_HEIGHT_ERROR = 0.03
COMMAND_TIMEOUT = 0.5
_RMEM = 8_000_000
_FLOOR_BANDS = (0.25, 0.06, 0.04)
_SHIFT_X, _SHIFT_Y = 12, 6


@dataclass(frozen=True)
class Check:
    """One line of a report: what was looked at, how it is, what was seen, what to do."""

    what: str
    state: str
    seen: str
    fix: str = ''


@dataclass
class Stream:
    """What came on one topic.

    Attributes:
        topic: Full name.
        arrivals: Steady times of arrival, seconds.
        stamps: Of the headers, ns.
        ages: Age on arrival by the ROS clock, seconds.
        frame_id: Of the last header.
        last: Last message.
        types: Types that the topic has in the graph.
        reliabilities: Of its publishers.
    """

    topic: str
    arrivals: list[float] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    frame_id: str = ''
    last: Any = None
    types: list[str] = field(default_factory=list)
    reliabilities: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Messages a second, Hz; 0.0 with fewer than two."""
        if len(self.arrivals) < 2:
            return 0.0
        return (len(self.arrivals) - 1) / max(1e-6, self.arrivals[-1] - self.arrivals[0])


def check_stream(name: str, stream: Stream, expected_type: str) -> list[Check]:
    """Check that something comes, of the right type, often enough and freshly stamped."""
    if not stream.arrivals:
        fix = f'remap it: {name}_topic:=...' if not stream.types else 'is its QoS of this world?'
        seen = f'nothing on {stream.topic}'
        if stream.types and expected_type not in stream.types:
            seen, fix = f'{stream.topic} is {stream.types[0]}', f'it must be {expected_type}'
        return [Check(name, MISSING, seen, fix)]
    rate, least = stream.rate, MIN_RATE.get(name, 0.0)
    gaps = np.diff(stream.arrivals)
    longest = float(gaps.max()) if gaps.size else 0.0
    seen = f'{stream.topic}: {rate:.1f} Hz, longest gap {longest:.2f} s'
    seen += f', {", ".join(sorted(set(stream.reliabilities)))}' if stream.reliabilities else ''
    state, fix = OK, ''
    if rate < least:
        state = WRONG
        fix = f'{least:g} Hz or more are needed; look at driver, USB and network'
    checks = [Check(name, state, seen, fix)]
    if stream.stamps:
        checks.append(_check_stamps(name, stream))
    return checks


def _check_stamps(name: str, stream: Stream) -> Check:
    what = f'{name}: stamps'
    if any(stamp == 0 for stamp in stream.stamps):
        return Check(what, WRONG, 'zero', 'the driver must stamp with the time of exposure')
    if any(
        later < earlier for earlier, later in zip(stream.stamps, stream.stamps[1:], strict=False)
    ):
        return Check(
            what, WRONG, 'they go back', 'two publishers on one topic, or a bag in a loop'
        )
    if len(set(stream.stamps)) < len(stream.stamps) / 2:
        return Check(what, WRONG, 'the same again and again', 'the driver repeats a picture')
    age = float(np.median(stream.ages))
    worst = float(np.percentile(np.abs(stream.ages), 95))
    problem = camera_checks.stamp_problem(0, int(age * 1e9), MAX_AGE)
    seen = f'{1000 * age:.0f} ms old on arrival (95 %: {1000 * worst:.0f} ms)'
    return Check(what, WRONG if problem else OK, seen, problem)


def check_pairs(color: Stream, depth: Stream, slop: float = 0.03) -> list[Check]:
    """Check that each colour picture has a depth picture of its instant."""
    if not color.stamps or not depth.stamps:
        return []
    stamps = np.asarray(depth.stamps)
    gaps = [float(np.min(np.abs(stamps - stamp))) * 1e-9 for stamp in color.stamps[1:-1]]
    if not gaps:
        return []
    share = float(np.mean(np.asarray(gaps) <= slop))
    seen = f'{100 * share:.0f} % of colour have depth within {1000 * slop:.0f} ms'
    fix = 'let the driver synchronise both, or raise perception sync_slop'
    return [
        Check(
            'colour with depth', OK if share >= 0.8 else WRONG, seen, '' if share >= 0.8 else fix
        )
    ]


def check_camera(
    camera: PinholeCamera, base_tform_camera: NDArray[np.float64] | None, frame: str
) -> list[Check]:
    """Check the intrinsics, and the mount that TF tells."""
    hfov = math.degrees(camera.hfov)
    wide = Check('field of view', OK if hfov >= 35.0 else WRONG, f'{hfov:.0f} deg wide',
                 '' if hfov >= 35.0 else 'a look-around needs 35 deg or more')  # fmt: skip
    if base_tform_camera is None:
        return [wide]
    height = float(base_tform_camera[2, 3])
    forward = base_tform_camera[:3, 2]
    tilt = math.degrees(math.asin(float(np.clip(-forward[2], -1.0, 1.0))))
    roll = math.degrees(math.asin(float(np.clip(base_tform_camera[2, 0], -1.0, 1.0))))
    seen = f'{height:.2f} m high, {tilt:.1f} deg down, rolled {roll:.1f} deg (TF)'
    problem = camera_checks.mount_problem(base_tform_camera, frame)
    problem = problem or camera_checks.floor_problem(base_tform_camera, camera)
    if not problem and abs(roll) > 10.0:
        problem = 'the picture is not upright: detectors and models read it as it is'
    return [wide, Check('camera mount', WRONG if problem else OK, seen, problem)]


def check_channels(rgb: NDArray[np.uint8], hue: str) -> Check:
    """Look whether a thing of known hue before the camera has it; swapped channels change it."""
    problem = camera_checks.hue_problem(rgb, hue)
    if not problem:
        return Check('channel order', OK, f'what is {hue} looks {hue}')
    if 'are swapped' in problem:
        return Check('channel order', WRONG, problem, 'intake.swap_red_blue: true')
    return Check('channel order', NOTE, problem, 'hold it nearer, in good light')


def check_floor(
    depth: NDArray[np.float32], camera: PinholeCamera, base_tform_camera: NDArray[np.float64]
) -> Check:
    """Compare the floor that depth shows with z = 0 of the base.

    Args:
        depth: (H, W) float32, metres; NaN unknown, inf far.
        camera: Intrinsics of the depth image.
        base_tform_camera: (4, 4), optical frame in the base frame.
    """
    what = 'floor'
    usable = np.where(np.isfinite(depth) & (depth > 0.1) & (depth < 4.0), depth, np.nan)
    points = back_project_image(usable.astype(np.float32), camera).reshape(-1, 3)[::7]
    points_base = apply(base_tform_camera, points[np.isfinite(points).all(axis=1)])
    plane = _fit_floor(points_base)
    if plane is None:
        fix = 'put the robot before empty floor'
        return Check(what, NOTE, 'too little floor in the picture', fix)
    normal, height = plane
    tilt = math.acos(float(np.clip(normal[2], -1.0, 1.0)))
    seen = f'{math.degrees(tilt):.1f} deg and {100 * height:+.1f} cm off z = 0 of the base'
    if tilt > MAX_TILT_ERROR or abs(height) > MAX_HEIGHT_ERROR:
        return Check(what, WRONG, seen, 'correct the mount of the camera in TF (docs/robot.md)')
    return Check(what, OK, seen)


def _fit_floor(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], float] | None:
    """Return the upward normal of the plane nearest z = 0, and its height at the origin, m."""
    normal, offset = np.array([0.0, 0.0, 1.0]), 0.0
    for band in _FLOOR_BANDS:
        near = points[np.abs(points @ normal - offset) < band]
        if len(near) < 200:
            return None
        centre = near.mean(axis=0)
        normal = np.linalg.svd(near - centre, full_matrices=False)[2][2]
        normal = normal if normal[2] > 0.0 else -normal
        offset = float(centre @ normal)
    return normal, offset / max(0.1, float(normal[2]))


def check_registration(
    color: NDArray[np.uint8], depth: NDArray[np.float32], color_frame: str, depth_frame: str
) -> Check:
    """Check that depth lies on colour: by frame and size, then by where their edges meet.

    Args:
        color: (H, W, 3) uint8 RGB.
        depth: (h, w) float32, metres; NaN unknown, inf far.
        color_frame: Frame of the colour picture.
        depth_frame: Frame of the depth picture.
    """
    what = 'depth registration'
    size = (color.shape[1], color.shape[0])
    problem = camera_checks.size_problem(
        size, (depth.shape[1], depth.shape[0]), color_frame, depth_frame
    )
    if problem:
        return Check(what, NOTE, problem, 'perception moves it over with TF, at some cost')
    found = edge_shift(color, depth)
    if found is None:
        return Check(what, OK, 'one frame, one size; too few edges to compare',
                     'look at a scene with furniture')  # fmt: skip
    dx, dy = found
    seen = f'one frame, one size; edges meet at ({dx}, {dy}) px'
    if max(abs(dx), abs(dy)) > 4:
        return Check(what, WRONG, seen, 'calibrate depth to colour, or switch on align_depth')
    return Check(what, OK, seen)


def edge_shift(color: NDArray[np.uint8], depth: NDArray[np.float32]) -> tuple[int, int] | None:
    """Return by how many pixels depth must be moved to lie on colour; None: cannot be told."""
    grey = cv2.GaussianBlur(cv2.cvtColor(color, cv2.COLOR_RGB2GRAY), (3, 3), 0)
    edges = cv2.magnitude(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
    edges = np.minimum(edges, 200.0)  # how strong an edge is does not say whether it is one
    filled = np.where(np.isfinite(depth), depth, 0.0).astype(np.float32)
    step = cv2.magnitude(cv2.Sobel(filled, cv2.CV_32F, 1, 0), cv2.Sobel(filled, cv2.CV_32F, 0, 1))
    jumps = (step > 0.8 * np.maximum(filled, 0.5)).astype(np.float32)
    inner = jumps[_SHIFT_Y:-_SHIFT_Y, _SHIFT_X:-_SHIFT_X]
    if inner.sum() < 100:
        return None
    scores = cv2.matchTemplate(edges, inner, cv2.TM_CCORR)
    _, best, _, (x, y) = cv2.minMaxLoc(scores)
    if best < 1.15 * float(np.median(scores)):
        return None
    return x - _SHIFT_X, y - _SHIFT_Y


def check_command_graph(
    topic: str,
    types: Sequence[str],
    listeners: int,
    publishers: Sequence[str],
    *,
    is_stamped: bool,
) -> list[Check]:
    """Check who listens to the velocity and who else speaks there.

    Args:
        topic: Full name.
        types: Types that the topic has.
        listeners: Subscriptions.
        publishers: Names of the nodes that publish.
        is_stamped: Whether the stack sends TwistStamped.
    """
    wanted = f'geometry_msgs/msg/{"TwistStamped" if is_stamped else "Twist"}'
    if not listeners:
        return [Check('velocity', MISSING, f'nobody listens to {topic}', 'cmd_vel_topic:=...')]
    checks = []
    if wanted not in types or len(types) > 1:
        other = str(not is_stamped).lower()
        fix = f'enable_stamped_cmd_vel:={other}' if wanted not in types else 'one type only'
        checks.append(Check('velocity', WRONG, f'{topic} is {" and ".join(types)}', fix))
    else:
        checks.append(Check('velocity', OK, f'{listeners} listen to {topic} ({wanted})'))
    strangers = [name for name in publishers if name != 'safety']
    if strangers:
        seen = f'{", ".join(strangers)} publish there, too'
        checks.append(Check('velocity: others', WRONG, seen, 'stop them, or send them to teleop'))
    return checks


def check_command_timeout(moved_for: float | None) -> Check:
    """Check how long the base went on after the last command, seconds; None: not tried."""
    what = 'velocity time-out'
    if moved_for is None:
        return Check(what, NOTE, 'not tried', 'wheels off the ground: ./vln doctor --robot --move')
    seen = f'the base stood {moved_for:.2f} s after the last command'
    if moved_for > COMMAND_TIMEOUT + 0.1:
        fix = f'let the base stop by itself within {COMMAND_TIMEOUT:g} s of silence'
        return Check(what, WRONG, seen, fix)
    return Check(what, OK, seen)


def check_buffers(rmem_max: int | None, picture_bytes: int) -> Check:
    """Check the kernel's receive buffer, which counts where pictures come over a network."""
    what = 'network buffer'
    if rmem_max is None:
        return Check(what, NOTE, 'net.core.rmem_max cannot be read')
    seen = f'net.core.rmem_max = {rmem_max / 1e6:.1f} MB, '
    if picture_bytes:
        seen += f'a picture has {picture_bytes / 1e6:.1f} MB'
    else:
        seen += 'how much a picture has is not known: none came'
    if rmem_max < max(_RMEM, 4 * picture_bytes):
        fix = f'where pictures cross a network: sysctl -w net.core.rmem_max={2 * _RMEM}'
        return Check(what, NOTE, seen, fix)
    return Check(what, OK, seen)


def check_detector(name: str, *, is_simulated: bool) -> Check:
    """Check that the configured detector can see on this robot."""
    if name == 'simulated' and not is_simulated:
        fix = 'set perception: detector in the parameter file (docs/models.md)'
        return Check('detector', WRONG, '"simulated" sees nothing on a robot', fix)
    return check_back_end('detector', name)


def check_back_end(what: str, name: str) -> Check:
    """Check that the packages of a detector, segmenter or captioner are installed."""
    missing = missing_modules(name)
    if missing:
        seen = f'{name} needs {" and ".join(missing)}, not installed: the launch would end'
        return Check(what, MISSING, seen, install_line(missing[0]))
    return Check(what, OK, name)


def as_markdown(title: str, checks: Sequence[Check]) -> str:
    """Return a report for people."""
    marks = {OK: 'ok', MISSING: '**missing**', WRONG: '**wrong**', NOTE: 'note'}
    lines = [f'# {title}', '', '| what | | seen | do |', '|---|---|---|---|']
    for check in checks:
        cells = (check.what, marks[check.state], check.seen, check.fix)
        lines.append('| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |')
    return '\n'.join(lines) + '\n'
