# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The perception node with a camera that sends what real ones send, good and bad."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest
import rclpy
import scripted_camera
from rclpy.lifecycle import TransitionCallbackReturn
from scripted_camera import Camera

from vln_core.geometry import transforms
from vln_core.perception import intake
from vln_interfaces.srv import Capture
from vln_nodes import camera_intake, perception_node


@pytest.fixture
def start():
    """Return a function that starts node and camera; the node runs in a thread."""
    with contextlib.ExitStack() as ends:

        def run(color='raw', depth='raw', **parameters) -> Camera:
            return ends.enter_context(scripted_camera.perception(color, depth, **parameters))

        yield run


@pytest.mark.parametrize(('color', 'depth'), [('raw', 'raw'), ('compressed', 'compressedDepth')])
def test_both_transports_give_the_same_observation(start, color, depth):
    camera = start(color, depth)
    camera.encoding = 'bgr8'
    answer = camera.view(0, 1)
    assert answer.error_msg == '' and answer.hfov == pytest.approx(1.2, abs=1e-6)
    panorama = camera.panorama()
    np.testing.assert_allclose(panorama.views[0].rgb[60, 80], (200, 60, 20), atol=6)
    np.testing.assert_allclose(panorama.views[0].depth, 2.0, atol=0.0006)
    sofa = panorama.detections[0]
    assert sofa.category == 'sofa' and panorama.is_complete
    expected = camera.mounts['optical'] @ [0.0, 0.0, 2.0, 1.0]
    np.testing.assert_allclose(sofa.position_odom, expected[:3], atol=0.03)


def test_bad_cameras_say_what_is_wrong_and_good_ones_follow(start):
    camera = start()
    camera.focal = 0.0
    answer = camera.view(0, 1)
    assert answer.error_code == Capture.Response.BAD_CAMERA and 'k[0] = 0' in answer.error_msg
    camera.focal = 1.0
    camera.mounts['optical'] = np.eye(4)
    camera.mounts['optical'][2, 3] = 1.0
    for _ in range(6):
        camera.send()
        rclpy.spin_once(camera.node, timeout_sec=0.1)
    assert 'points up' in camera.view(0, 1).error_msg
    camera.mounts['optical'] = transforms.camera_mount_tform(0.1, 0.0, 1.0)
    camera.age = 20_000_000_000
    for _ in range(3):
        camera.send()
    assert 'chrony' in camera.view(0, 1).error_msg


def test_depth_of_another_camera_is_registered_where_tf_knows_both(start):
    camera = start()
    camera.depth_frame = 'depth_optical'
    answer = camera.view(0, 1)
    assert answer.error_code == Capture.Response.BAD_CAMERA and 'align_depth' in answer.error_msg
    assert 'pose of the depth camera in TF' in camera.diagnosis('in TF'), 'said unasked, too'
    shift = np.eye(4)
    shift[2, 3] = -0.5  # half a metre behind the colour camera
    camera.mounts['depth_optical'] = camera.mounts['optical'] @ shift
    for _ in range(8):
        camera.send()
        rclpy.spin_once(camera.node, timeout_sec=0.1)
    answer = camera.view(0, 1)
    assert answer.error_msg == ''
    depth = camera.panorama().views[0].depth
    assert np.nanmedian(depth) == pytest.approx(1.5, abs=0.002)


def test_a_look_around_that_cannot_go_on_is_published_as_incomplete(start):
    camera = start()
    assert camera.view(0, 4).error_msg == '' and camera.view(1, 4).error_msg == ''
    answer = camera.view(2, 2)
    assert answer.error_msg == ''
    panorama = camera.panorama()
    assert not panorama.is_complete and len(panorama.views) == 2
    assert 'only 2 of 4 views' in panorama.note
    assert camera.view(3, 3).error_code == Capture.Response.WRONG_ORDER


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        (['detector:=onnx_yolox', 'models.path:=/nowhere.onnx'], 'no file /nowhere.onnx'),
        (['detector:=owlv2', 'models.path:=/nowhere'], 'owlv2'),
    ],
)
def test_absent_weights_end_the_node_with_one_line(settings, message):
    command = [sys.executable, '-m', 'vln_nodes.perception_node', '--ros-args']
    command += ['-r', '__ns:=/absent']
    for setting in settings:
        command += ['-p', setting]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and message in lines[0], done.stderr


def test_a_camera_on_its_side_gives_upright_views(start):
    camera = start()
    side = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=0.2, roll=math.pi / 2)
    camera.mounts['optical'] = side
    # The robot sees a sofa above the horizon's middle; its sensor sees it turned.
    answer = camera.view(0, 1)
    assert answer.error_msg == ''
    view = camera.panorama().views[0]
    assert view.rgb.shape == (160, 120, 3) and view.depth.shape == (160, 120)
    assert answer.hfov == pytest.approx(view.camera.hfov) and answer.hfov < 1.0
    up = view.odom_tform_camera[:3, :3].T @ (0.0, 0.0, 1.0)
    assert up[1] < -0.9, 'the picture is not upright'
    np.testing.assert_allclose(view.odom_tform_camera[:3, 2], side[:3, 2], atol=1e-6)


def test_fixed_cameras_give_all_views_at_once(start):
    camera = start(cameras='[camera,rear,left]')
    rear = Camera(name='rear')
    camera.companions = [rear]
    camera.mounts['rear_optical'] = transforms.camera_mount_tform(-0.1, 0, 1.0, yaw=math.pi)
    rear.frame = rear.depth_frame = 'rear_optical'
    rear.mounts = camera.mounts
    answer = camera.view(0, 0)
    assert answer.error_msg == '' and answer.hfov == pytest.approx(2 * math.pi)
    panorama = camera.panorama()
    assert panorama.id == answer.panorama_id and len(panorama.views) == 2
    assert panorama.views[0].yaw == pytest.approx(0.0, abs=1e-6)
    assert abs(panorama.views[1].yaw) == pytest.approx(math.pi, abs=1e-6)
    assert {d.view for d in panorama.detections} == {0, 1}
    assert not panorama.is_complete
    assert '2 of 3 cameras' in panorama.note and 'nobody publishes' in panorama.note
    assert 'deg are not seen' in panorama.note


def test_a_blurred_view_is_taken_again(start, monkeypatch):
    camera = start(intake__max_retakes=8)
    assert camera.view(0, 2).error_msg == ''
    sharp, measured, sent = camera.rgb, [], [0]
    blurred, measure, send = cv2.blur(sharp, (31, 31)), intake.sharpness, camera.send
    monkeypatch.setattr(
        intake, 'sharpness', lambda rgb: measured.append(measure(rgb)) or measured[-1]
    )

    def shaking() -> None:
        # The robot still shakes in the first pictures after its turn.
        sent[0] += 1
        camera.rgb = blurred if sent[0] <= 5 else sharp
        send()

    camera.send = shaking
    for _ in range(3):
        camera.send()
    assert camera.view(1, 2).error_msg == ''
    least = 0.3 * measure(sharp)
    assert measured[0] < least, 'the test was too slow to show a blurred picture'
    assert measure(camera.panorama().views[1].rgb) >= least


def test_qos_that_does_not_fit_is_named_as_such(start):
    camera = start(lockstep=True, image_timeout=0.5)
    answer = camera.view(0, 1)
    assert answer.error_code == Capture.Response.NO_IMAGE
    said = answer.error_msg
    assert 'QoS mismatch on' in said and 'offers best effort' in said
    assert 'asks for reliable' in said and 'lockstep' in said


def test_another_transport_is_named(start):
    camera = start(color='compressed')
    raw = Camera(name='camera')
    camera.node.destroy_publisher(camera.colors)
    camera.companions, camera.colors = [raw], raw.colors
    camera.color = 'raw'
    said = camera.view(0, 1).error_msg
    assert 'color/image_raw is there' in said and 'intake.color_transport' in said


def test_cameras_are_watched_between_requests(start, monkeypatch):
    monkeypatch.setattr(perception_node, '_WATCH_PERIOD', 0.2)
    camera = start()
    assert camera.diagnosis('ok') == 'ok'
    camera.focal = 0.0
    assert 'k[0] = 0' in camera.diagnosis('k[0] = 0')
    camera.focal = 1.0
    camera.depth_metres = np.full((120, 160), 0.002, np.float32)
    assert 'publish millimetres' in camera.diagnosis('publish millimetres')
    camera.depth_metres = scripted_camera.DEPTH
    assert camera.diagnosis('ok') == 'ok'
    camera.mounts['optical'] = transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=-0.7)
    assert 'tilt it down' in camera.diagnosis('tilt it down')
    camera.mounts['optical'] = np.eye(4)
    assert 'points up' in camera.diagnosis('points up')


def test_a_camera_that_falls_silent_is_named_unasked(start, monkeypatch):
    monkeypatch.setattr(perception_node, '_WATCH_PERIOD', 0.2)
    monkeypatch.setattr(camera_intake, '_SILENT', 0.5)
    camera = start()
    assert camera.diagnosis('ok') == 'ok'
    camera.send = lambda: None
    assert 'color/image_raw is published by camera' in camera.diagnosis('nothing arrives')


def test_the_newest_request_counts(start):
    camera = start()
    assert camera.capture.wait_for_service(10.0)
    first, second = (camera.capture.call_async(Capture.Request(num_views=1)) for _ in range(2))
    time.sleep(1.0)  # both are there before there is a picture to answer the first one with
    deadline = time.monotonic() + 60.0
    while not (first.done() and second.done()) and time.monotonic() < deadline:
        camera.send()
        rclpy.spin_once(camera.node, timeout_sec=0.05)
        time.sleep(0.05)  # a flood of frames would leave the node in its thread no time
    assert first.result().error_code == Capture.Response.WRONG_ORDER
    assert 'a newer request' in first.result().error_msg and second.result().error_msg == ''


def test_swapped_channels_can_be_swapped_back(start):
    camera = start(intake__swap_red_blue=True)
    camera.rgb = np.ascontiguousarray(scripted_camera.RGB[..., ::-1])
    assert camera.view(0, 1).error_msg == ''
    np.testing.assert_allclose(camera.panorama().views[0].rgb[60, 80], (200, 60, 20), atol=6)


def test_weights_are_loaded_when_the_node_is_configured(tmp_path):
    missing = tmp_path / 'weights.onnx'
    words = '-r __ns:=/weights -p managed:=true -p detector:=onnx_yolox '
    words += f'-p models.path:={missing}'
    rclpy.init(args=['--ros-args', *words.split()])
    try:
        node = perception_node.PerceptionNode()  # nothing is loaded yet
        assert node.trigger_configure() is TransitionCallbackReturn.FAILURE
        assert str(missing) in node._health.message
        node.close()
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
