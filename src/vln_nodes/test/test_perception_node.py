# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The perception node with a camera that sends what real ones send, good and bad."""

from __future__ import annotations

import itertools
import json
import struct
import subprocess
import sys
import threading
from array import array
from pathlib import Path

import cv2
import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from tf2_msgs.msg import TFMessage

from vln_core.geometry import transforms
from vln_core.geometry.camera import PinholeCamera
from vln_interfaces.msg import Panorama
from vln_interfaces.srv import Capture
from vln_nodes import conversions, perception_node, qos

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / 'tests'))
from vln_system_tests.model_server import ModelServer, Play

CAMERA = PinholeCamera.from_hfov(160, 120, 1.2)
RGB = np.full((120, 160, 3), 90, np.uint8)
RGB[30:90, 40:120] = (200, 60, 20)
DEPTH = np.full((120, 160), 2.0, np.float32)
SEEN = json.dumps({'objects': [{'label': 'sofa', 'bbox_2d': [250, 250, 750, 750]}]})


_NUMBERS = itertools.count()


class Camera:
    """Publishes a frame whenever asked for; ``depth_frame`` and ``info`` may be made wrong."""

    def __init__(self, color='raw', depth='raw') -> None:
        self.node = rclpy.create_node('camera')
        sensor = qos.sensor(is_lockstep=False)
        kinds = {'raw': Image, 'compressed': CompressedImage, 'compressedDepth': CompressedImage}
        topic = {'raw': '', 'compressed': '/compressed', 'compressedDepth': '/compressedDepth'}
        self.color, self.depth = color, depth
        pub = self.node.create_publisher
        self.colors = pub(kinds[color], 'camera/color/image_raw' + topic[color], sensor)
        self.depths = pub(kinds[depth], 'camera/depth/image_raw' + topic[depth], sensor)
        self.infos = pub(CameraInfo, 'camera/color/camera_info', sensor)
        self.depth_infos = pub(CameraInfo, 'camera/depth/camera_info', sensor)
        self.tf = pub(TFMessage, '/tf', 10)
        self.panoramas = []
        self.node.create_subscription(
            Panorama, 'panorama', self.panoramas.append, qos.PANORAMA
        )  # fmt: skip
        self.capture = self.node.create_client(Capture, 'perception/capture')
        self.frame, self.depth_frame, self.focal, self.age = 'optical', 'optical', 1.0, 0
        self.mounts = {'optical': transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=0.2)}
        self.encoding, self.rgb = 'rgb8', RGB

    def send(self) -> None:
        stamp = self.node.get_clock().now().nanoseconds - self.age
        self._transforms(stamp)
        info = conversions.info_of_camera(CAMERA, stamp, self.frame)
        info.k[0] *= self.focal
        self.infos.publish(info)
        self.depth_infos.publish(conversions.info_of_camera(CAMERA, stamp, self.depth_frame))
        if self.color == 'raw':
            image = conversions.image_of_rgb(self.rgb, stamp, self.frame)
            if self.encoding == 'bgr8':
                image.encoding, image.data = 'bgr8', array('B', self.rgb[..., ::-1].tobytes())
        else:
            image = conversions.png_of_rgb(self.rgb)
            image.header = info.header
        self.colors.publish(image)
        mm = np.rint(DEPTH * 1000).astype(np.uint16)
        if self.depth == 'raw':
            depth = Image(height=120, width=160, encoding='16UC1', step=320)
            depth.data = array('B', mm.tobytes())
        else:
            data = struct.pack('<i2f', 0, 0.0, 0.0) + cv2.imencode('.png', mm)[1].tobytes()
            depth = CompressedImage(format='16UC1; compressedDepth png', data=array('B', data))
        depth.header.stamp = conversions.stamp_msg(stamp)
        depth.header.frame_id = self.depth_frame
        self.depths.publish(depth)

    def _transforms(self, stamp: int) -> None:
        poses = {('odom', 'base_link'): np.eye(4)}
        poses |= {('base_link', name): tform for name, tform in self.mounts.items()}
        message = TFMessage()
        for (parent, child), tform in poses.items():
            pose = conversions.pose_msg(tform)
            entry = TransformStamped(child_frame_id=child)
            entry.header.frame_id, entry.header.stamp = parent, conversions.stamp_msg(stamp)
            entry.transform.rotation = pose.orientation
            entry.transform.translation.x = pose.position.x
            entry.transform.translation.y = pose.position.y
            entry.transform.translation.z = pose.position.z
            message.transforms.append(entry)
        self.tf.publish(message)

    def view(self, index: int, count: int, timeout: float = 40.0):
        """Ask for a view while frames go on; the answer."""
        assert self.capture.wait_for_service(timeout)
        future = self.capture.call_async(Capture.Request(index=index, num_views=count))
        for _ in range(int(timeout / 0.1)):
            self.send()
            rclpy.spin_once(self.node, timeout_sec=0.1)
            if future.done():
                return future.result()
        raise AssertionError('no answer of perception/capture')

    def panorama(self):
        for _ in range(100):
            if self.panoramas:
                return conversions.panorama_of(self.panoramas.pop(0))
            rclpy.spin_once(self.node, timeout_sec=0.1)
        raise AssertionError('no panorama arrived')


@pytest.fixture
def start():
    """Return a function that starts node and camera; the node runs in a thread."""
    ends = []

    def run(color='raw', depth='raw') -> Camera:
        server = ModelServer([Play(SEEN)])
        server.__enter__()
        values = {
            'detector': 'mllm',
            'models.mllm.model': 'Qwen3-VL',
            'models.mllm.base_url': server.base_url,
            'models.mllm.key_variable': '',
            'intake.color_transport': color,
            'intake.depth_transport': depth,
            'image_timeout': 2.0,
        }
        # A name is taken until its process ends: every node has a namespace of its own.
        arguments = ['--ros-args', '-r', f'__ns:=/run{next(_NUMBERS)}']
        for name, value in values.items():
            arguments += ['-p', f'{name}:={value or repr("")}']
        rclpy.init(args=arguments)
        node = perception_node.PerceptionNode()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        stop = threading.Event()

        def spin() -> None:
            while not stop.is_set():
                executor.spin_once(timeout_sec=0.1)

        thread = threading.Thread(target=spin, daemon=True)
        thread.start()
        camera = Camera(color, depth)

        def end() -> None:
            stop.set()
            thread.join(5.0)
            node.close()
            node.destroy_node()
            camera.node.destroy_node()
            rclpy.shutdown()
            server.__exit__()

        ends.append(end)
        return camera

    yield run
    for end in ends:
        end()


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
