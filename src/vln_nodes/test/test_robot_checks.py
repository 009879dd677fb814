# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of a robot find what is wrong and leave alone what is right."""

from __future__ import annotations

import http.server
import math
import threading

import cv2
import numpy as np
import pytest

from vln_core.geometry.camera import PinholeCamera
from vln_nodes import robot_checks as checks
from vln_nodes.robot_checks import Stream
from vln_nodes.robot_probe import check_endpoint

CAMERA = PinholeCamera.from_hfov(320, 240, math.radians(80.0))
IMAGE = 'sensor_msgs/msg/Image'


def mount(height: float, tilt: float, roll: float = 0.0) -> np.ndarray:
    """Return base_tform_camera of a camera that looks forward and down by ``tilt`` rad."""
    optical = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    down = np.array(
        [
            [math.cos(tilt), 0.0, math.sin(tilt)],
            [0.0, 1.0, 0.0],
            [-math.sin(tilt), 0.0, math.cos(tilt)],
        ]
    )
    about_axis = np.array(
        [
            [math.cos(roll), -math.sin(roll), 0.0],
            [math.sin(roll), math.cos(roll), 0.0],
            [0.0, 0.0, 1.0],
        ]
    )
    tform = np.eye(4)
    tform[:3, :3] = down @ optical @ about_axis
    tform[2, 3] = height
    return tform


def floor_depth(base_tform_camera: np.ndarray) -> np.ndarray:
    """Return the depth that a camera so mounted has of an empty floor, with 5 mm of noise."""
    v, u = np.mgrid[0 : CAMERA.height, 0 : CAMERA.width].astype(float)
    rays = np.stack([(u - CAMERA.cx) / CAMERA.fx, (v - CAMERA.cy) / CAMERA.fy, np.ones_like(u)])
    down = np.einsum('j,jvu->vu', base_tform_camera[2, :3], rays)
    with np.errstate(divide='ignore'):
        depth = np.where(down < -1e-3, base_tform_camera[2, 3] / -down, np.inf)
    depth += np.random.default_rng(1).normal(0.0, 0.005, depth.shape)
    return np.where(depth < 6.0, depth, np.inf).astype(np.float32)


def stream(rate: float, *, age: float = 0.02, step: int | None = None) -> Stream:
    """Return five seconds of messages."""
    count = int(5 * rate)
    stamps = [1_000_000_000 + int((step if step is not None else 1e9 / rate) * n)
              for n in range(count)]  # fmt: skip
    return Stream('/x', [n / rate for n in range(count)], stamps, [age] * count, types=[IMAGE])


def states(found) -> list[str]:
    return [check.state for check in found]


def test_a_good_stream() -> None:
    assert states(checks.check_stream('color', stream(15.0), IMAGE)) == ['ok', 'ok']


@pytest.mark.parametrize(
    ('bad', 'words'),
    [
        (stream(3.0), 'Hz'),
        (stream(15.0, age=0.9), 'chrony'),
        (stream(15.0, age=-3.0), 'future'),
        (stream(15.0, age=1.6e9), 'use_sim_time'),
        (stream(15.0, step=0), 'repeats'),
        (stream(15.0, step=-5), 'two publishers'),
        (Stream('/x', types=[IMAGE]), 'QoS'),
        (Stream('/x', types=['sensor_msgs/msg/CompressedImage']), 'must be'),
        (Stream('/x'), 'remap'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_bad_streams(bad: Stream, words: str) -> None:
    found = [
        c for c in checks.check_stream('color', bad, IMAGE) if c.state in ('wrong', 'missing')
    ]
    assert len(found) == 1
    assert words in found[0].fix + found[0].seen


def test_pairs() -> None:
    assert states(checks.check_pairs(stream(10.0), stream(10.0))) == ['ok']
    late = stream(10.0)
    late.stamps = [stamp + 50_000_000 for stamp in late.stamps]
    assert states(checks.check_pairs(stream(10.0), late)) == ['wrong']


def test_mount_height_and_tilt() -> None:
    found = checks.check_camera(CAMERA, mount(0.9, math.radians(18.0)), 'optical')
    assert states(found) == ['ok', 'ok']
    assert '0.90 m high, 18.0 deg down, rolled 0.0 deg' in found[1].seen
    assert states(checks.check_camera(CAMERA, mount(0.0, 0.2), 'optical'))[1] == 'wrong'
    level = checks.check_camera(CAMERA, mount(0.9, -math.radians(40.0)), 'optical')
    assert 'sees no floor' in level[1].fix
    turned = checks.check_camera(CAMERA, mount(0.9, 0.3, roll=math.pi / 2), 'optical')
    assert 'not upright' in turned[1].fix
    narrow = PinholeCamera.from_hfov(320, 240, math.radians(20.0))
    assert states(checks.check_camera(narrow, None, 'optical')) == ['wrong']


def test_the_floor_shows_a_wrong_mount() -> None:
    true = mount(0.9, math.radians(20.0))
    depth = floor_depth(true)
    assert checks.check_floor(depth, CAMERA, true).state == 'ok'
    tilted = checks.check_floor(depth, CAMERA, mount(0.9, math.radians(23.0)))
    assert tilted.state == 'wrong'
    assert tilted.seen.startswith('3.0 deg')
    raised = checks.check_floor(depth, CAMERA, mount(0.96, math.radians(20.0)))
    assert raised.state == 'wrong'
    assert '+6.0 cm' in raised.seen
    nothing = np.full((240, 320), np.nan, np.float32)
    assert checks.check_floor(nothing, CAMERA, true).state == 'note'


def furnished(shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Return colour, and depth that lies ``shift`` px to the right of it."""
    color = np.full((240, 320, 3), 90, np.uint8)
    depth = np.full((240, 320), 4.0, np.float32)
    for index, (left, top) in enumerate([(40, 60), (150, 30), (230, 120)]):
        cv2.rectangle(color, (left, top), (left + 50, top + 90), (200, 60 * index, 30), -1)
        depth[top : top + 91, left + shift : left + shift + 51] = 1.5
    return color, depth


def test_registration() -> None:
    assert checks.check_registration(*furnished(0), 'c', 'c').state == 'ok'
    shifted = checks.check_registration(*furnished(9), 'c', 'c')
    assert shifted.state == 'wrong'
    assert '(-9, 0)' in shifted.seen
    assert checks.check_registration(*furnished(0), 'c', 'd').state == 'note'
    empty = np.full((240, 320, 3), 90, np.uint8), np.full((240, 320), 4.0, np.float32)
    assert 'too few edges' in checks.check_registration(*empty, 'c', 'c').seen


def test_velocity_graph() -> None:
    twist, stamped = 'geometry_msgs/msg/Twist', 'geometry_msgs/msg/TwistStamped'

    def look(types, listeners, publishers):
        return checks.check_command_graph(
            '/cmd_vel', types, listeners, publishers, is_stamped=True
        )  # fmt: skip

    assert states(look([stamped], 1, ['safety'])) == ['ok']
    assert states(look([], 0, [])) == ['missing']
    assert 'enable_stamped_cmd_vel:=false' in look([twist], 1, [])[0].fix
    assert states(look([stamped], 1, ['safety', 'nav2'])) == ['ok', 'wrong']
    assert states(look([stamped, twist], 2, [])) == ['wrong']


def test_the_rest() -> None:
    assert checks.check_command_timeout(None).state == 'note'
    assert checks.check_command_timeout(0.45).state == 'ok'
    assert checks.check_command_timeout(1.5).state == 'wrong'
    assert checks.check_buffers(212_992, 921_600).state == 'note'
    assert checks.check_buffers(16_000_000, 921_600).state == 'ok'
    assert 'not known: none came' in checks.check_buffers(16_000_000, 0).seen
    assert checks.check_detector('simulated', is_simulated=False).state == 'wrong'
    assert checks.check_detector('simulated', is_simulated=True).state == 'ok'
    report = checks.as_markdown('Robot', [checks.check_command_timeout(1.5)])
    assert '| velocity time-out | **wrong** |' in report


def test_a_back_end_without_its_packages_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    check = checks.check_detector('grounding_dino', is_simulated=False)
    assert check.state == 'missing' and 'torch and transformers' in check.seen
    assert check.fix.endswith('pip install -r config/requirements/models.txt')
    assert checks.check_back_end('segmenter', 'sam2').state == 'missing'
    yolox = checks.check_detector('onnx_yolox', is_simulated=False)
    assert yolox.state == 'missing' and yolox.fix.endswith('language.txt')
    assert checks.check_detector('mllm', is_simulated=False).state == 'ok'
    monkeypatch.setattr('importlib.util.find_spec', lambda name: object())
    assert checks.check_detector('grounding_dino', is_simulated=False).state == 'ok'


def test_endpoint() -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == '/v1/models' else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(('127.0.0.1', 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f'http://127.0.0.1:{server.server_port}/v1'
        assert check_endpoint(url).state == 'ok'
        server.shutdown()
    assert check_endpoint(url, timeout=1.0).state == 'wrong'
    assert check_endpoint('').state == 'ok'


def test_swapped_channels_show_on_a_thing_of_known_hue():
    rgb = np.full((60, 90, 3), 128, np.uint8)
    rgb[20:40, 30:60] = (210, 30, 25)
    assert checks.check_channels(rgb, 'red').state == checks.OK
    swapped = checks.check_channels(np.ascontiguousarray(rgb[..., ::-1]), 'red')
    assert swapped.state == checks.WRONG and 'swap_red_blue' in swapped.fix
    assert checks.check_channels(np.full((60, 90, 3), 128, np.uint8), 'red').state == checks.NOTE
