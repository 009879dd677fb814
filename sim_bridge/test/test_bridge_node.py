# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The bridge as a process: topics, services, lock-step, ends."""

from __future__ import annotations

import hashlib
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs a ROS 2 environment: use ./vln test')
pytest.importorskip('vln_interfaces', reason='needs the built workspace: use ./vln test')
pytest.importorskip('tf2_ros', reason='needs the built workspace: use ./vln test')

from bridge_probe import Probe
from habitat_available import needs_habitat
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from vln_interfaces.srv import GeodesicDistance, PlaceRobot, SetScene
from vln_sim_bridge.simulator import SimulatorConfig

DOMAIN = int(os.environ.get('VLN_TEST_DOMAIN', 101 + os.getpid() % 100))
SIMS = ['raycast', pytest.param('habitat', marks=[pytest.mark.habitat, needs_habitat])]


@pytest.fixture
def start(room_folder, tmp_path):
    """Start bridges on the tiny room; all of them end with the test."""
    probes = []

    def make(**settings):
        settings.setdefault('scene', room_folder)
        probes.append(Probe(DOMAIN, str(tmp_path / f'bridge{len(probes)}.log'), **settings))
        probes[-1].ready()
        return probes[-1]

    yield make
    for probe in probes:
        probe.stop(signal.SIGKILL)


def pixels(message, dtype):
    return np.frombuffer(message.data, dtype).reshape(message.height, message.width)


def run_lockstep(probe, ticks):
    """Drive a fixed curve into the inner wall; return everything that came of it, as bytes."""
    digest = hashlib.sha256()
    poses = []
    for k in range(ticks):
        state = probe.tick(0.8, 0.4 * math.sin(k / 5.0))
        poses.append((state.pose.x, state.pose.y, state.pose.theta, state.num_collisions))
        if k % 20 == 7:
            time.sleep(0.05 * (k % 3))  # a machine under load must not matter
    assert probe.wait(lambda: probe.stamps('depth')[-1] >= probe.now() - 50_000_000)
    by_stamp = dict(zip(probe.stamps('depth'), probe.received['depth'], strict=True))
    for stamp in sorted(by_stamp):
        digest.update(by_stamp[stamp].data.tobytes())
    return poses, digest.hexdigest(), sorted(by_stamp)


@pytest.mark.parametrize('sim', SIMS)
def test_lockstep_is_bit_identical(start, sim):
    results = []
    for _ in range(2):
        probe = start(
            sim=sim, lockstep=True, seed=5, depth_noise=0.002, depth_dropout=0.01,
            odometry_noise=0.02,
        )  # fmt: skip
        results.append(run_lockstep(probe, 80))
        assert probe.stop() == 0
    assert results[0] == results[1]
    poses, _, stamps = results[0]
    assert poses[-1][3] >= 1  # it has met the wall
    assert np.all(np.diff(stamps) == 100_000_000)


def test_lockstep_waits_republishes_and_ignores_old_stamps(start):
    probe = start(lockstep=True)
    first = probe.now()
    before = len(probe.received['truth'])
    began = time.monotonic()
    assert probe.wait(lambda: len(probe.received['truth']) >= before + 2)
    assert time.monotonic() - began > 0.5
    assert probe.now() == first
    probe.tick(0.4, 0.0)
    second = probe.now()
    assert second == first + 50_000_000
    probe.send(0.4, 0.0, first)  # again, late
    probe.send(0.4, 0.0, second + 50_000_000)  # from the future
    probe.spin(0.4)
    assert probe.now() == second
    assert probe.received['truth'][-1].pose.x == pytest.approx(-2.0 + 0.02)
    probe.tick(math.nan, 0.0)  # released, but standing still
    assert probe.received['truth'][-1].pose.x == pytest.approx(-2.0 + 0.02)


def test_free_running_topics(start):
    probe = start(camera__pitch=0.2, camera__z=1.1)
    static = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    probe.listen('tf', TFMessage, '/tf', QoSProfile(depth=100))
    probe.listen('tf_static', TFMessage, '/tf_static', static)
    assert probe.wait(lambda: probe.received['tf'] and probe.received['tf_static'])
    start_stamp, began = probe.now(), time.monotonic()
    probe.spin(2.0)
    factor = (probe.now() - start_stamp) * 1e-9 / (time.monotonic() - began)
    assert 0.1 < factor < 1.2  # a busy machine may be slow, never fast
    rgb, depth = probe.received['rgb'][-1], probe.received['depth'][-1]
    assert (rgb.encoding, depth.encoding) == ('rgb8', '32FC1')
    assert (rgb.width, rgb.height, rgb.step, len(rgb.data)) == (320, 240, 960, 230400)
    assert rgb.header.frame_id == depth.header.frame_id == 'camera_color_optical_frame'
    assert np.all(np.diff(probe.stamps('rgb')) % 100_000_000 == 0)
    info, camera = probe.received['rgb_info'][-1], SimulatorConfig().camera
    assert list(info.k) == [camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0]
    odom = probe.received['odom'][-1]
    assert (odom.header.frame_id, odom.child_frame_id) == ('odom', 'base_link')
    assert odom.pose.pose.position.x == pytest.approx(-2.0)
    moving = probe.received['tf'][-1].transforms[0]
    assert (moving.header.frame_id, moving.child_frame_id) == ('odom', 'base_link')
    assert moving.transform.translation.x == pytest.approx(-2.0)
    fixed = probe.received['tf_static'][-1].transforms[0]
    assert (fixed.header.frame_id, fixed.child_frame_id) == (
        'base_link', 'camera_color_optical_frame',
    )  # fmt: skip
    assert fixed.transform.translation.z == pytest.approx(1.1)
    table = {row.id: row.category for row in probe.received['labels'][-1].labels}
    assert table == {0: 'building', 1: 'table', 2: 'wardrobe', 3: 'rug'}
    assert set(np.unique(pixels(probe.received['semantic'][-1], '<u2'))) <= set(table)
    # The optical axis goes through the door and meets the floor.
    middle = pixels(depth, '<f4')[119:121, 159:161].mean()
    assert middle == pytest.approx(1.1 / math.sin(0.2), abs=0.05)
    assert probe.stop(signal.SIGTERM) == 0


def test_command_times_out(start):
    probe = start()
    probe.send(0.5, 0.0)
    assert probe.wait(lambda: probe.received['truth'][-1].pose.x > -2.0)
    sent = probe.now()
    assert probe.wait(lambda: probe.now() > sent + 700_000_000)
    stopped = probe.received['truth'][-1].pose.x
    assert -2.0 < stopped < -1.7  # at most 0.5 s and a tick at 0.5 m/s
    assert probe.wait(lambda: probe.now() > sent + 1_500_000_000)
    assert probe.received['truth'][-1].pose.x == stopped
    assert probe.received['odom'][-1].twist.twist.linear.x == 0.0


def test_unstamped_commands_16_bit_depth_and_speed(start):
    probe = start(enable_stamped_cmd_vel=False, depth_encoding='16UC1', real_time_factor=0.0)
    depth = probe.received['depth'][-1]
    assert depth.encoding == '16UC1'
    mm = pixels(depth, '<u2')
    assert mm[0, 160] == 0  # above the walls there is nothing to see
    assert 1000 < mm[180, 160] < 3000
    start_stamp, began = probe.now(), time.monotonic()
    probe.send(0.5, 0.0)
    assert probe.wait(lambda: probe.received['truth'][-1].pose.x > -2.0)
    probe.spin(1.0)
    if os.getloadavg()[0] < 0.8 * (os.cpu_count() or 1):
        assert (probe.now() - start_stamp) * 1e-9 / (time.monotonic() - began) > 1.3


@pytest.mark.parametrize('sim', SIMS)
def test_services(start, room_folder, sim):
    probe = start(sim=sim, lockstep=True)
    stamp = probe.now()
    request = PlaceRobot.Request()
    request.pose.x, request.pose.y, request.pose.theta = 2.0, -1.0, 1.0
    assert probe.call(PlaceRobot, 'sim/place_robot', request).error_code == 0
    assert probe.wait(lambda: probe.now() > stamp)
    assert probe.wait(lambda: probe.stamps('depth')[-1] == probe.now())
    assert probe.received['truth'][-1].pose.x == 2.0
    assert probe.received['odom'][-1].pose.pose.position.x == 2.0
    request.pose.x, request.pose.y = -2.0, 1.5
    answer = probe.call(PlaceRobot, 'sim/place_robot', request)
    assert answer.error_code == PlaceRobot.Response.IN_OBSTACLE
    assert 'nearest free spot' in answer.error_msg
    far = GeodesicDistance.Request()
    far.start.x, far.start.y, far.goal.x, far.goal.y = -2.0, -2.0, 3.0, -2.0
    distance = probe.call(GeodesicDistance, 'sim/geodesic_distance', far).distance
    assert distance == pytest.approx(6.15, abs=0.1)
    answer = probe.call(SetScene, 'sim/set_scene', SetScene.Request(scene='/no/such/scene'))
    assert answer.error_code == SetScene.Response.BAD_SCENE
    assert '/no/such/scene' in answer.error_msg
    tables = len(probe.received['labels'])
    answer = probe.call(SetScene, 'sim/set_scene', SetScene.Request(scene=str(room_folder)))
    assert answer.error_code == 0
    assert probe.wait(lambda: len(probe.received['labels']) > tables)
    probe.tick(0.4, 0.0)
    assert probe.call(Trigger, 'sim/reset', Trigger.Request()).success
    assert probe.wait(lambda: probe.received['truth'][-1].pose.x == -2.0)
    assert probe.received['truth'][-1].distance_driven == 0.0
    assert probe.stamps('truth') == sorted(probe.stamps('truth'))  # time never goes back
    assert probe.stop() == 0


def children_of(pid):
    tasks = Path(f'/proc/{pid}/task').glob('*/children')
    return [int(child) for task in tasks for child in task.read_text().split()]


@needs_habitat
@pytest.mark.habitat
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_habitat_never_outlives_the_bridge(start, number):
    probe = start(sim='habitat')
    children = children_of(probe.process.pid)
    assert len(children) == 1
    code = probe.stop(number)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    deadline = time.monotonic() + 10.0
    while any(Path(f'/proc/{child}').exists() for child in children):
        assert time.monotonic() < deadline, 'habitat is still there'
        time.sleep(0.05)


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        (['scene:=/no/such/scene'], "no scene '/no/such/scene'"),
        (['scene:={room}', 'start_pose:=[-2.0, 1.5, 0.0]'], 'nearest free spot is'),
        (['scene:={room}', 'sim:=gazebo'], 'raycast, habitat'),
        (['scene:={room}', 'image_rate:=7.0'], 'not a multiple'),
        (['scene:={room}', 'lockstep:=true', 'enable_stamped_cmd_vel:=false'], 'lockstep'),
    ],
)
def test_wrong_settings_are_one_line_and_exit_code_2(room_folder, settings, words):
    arguments = ['--ros-args']
    for setting in settings:
        arguments += ['-p', setting.format(room=room_folder)]
    ended = subprocess.run(
        [sys.executable, '-m', 'vln_sim_bridge.bridge_node', *arguments],
        env={**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN)},
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert words in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
