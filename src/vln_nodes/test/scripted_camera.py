# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A camera that sends what real ones send, good and bad, and the perception node beside it."""

from __future__ import annotations

import contextlib
import itertools
import json
import struct
import sys
import threading
from array import array
from pathlib import Path

import cv2
import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
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

    def __init__(self, color='raw', depth='raw', name='camera') -> None:
        self.node = rclpy.create_node(name)
        sensor = qos.sensor(is_lockstep=False)
        kinds = {'raw': Image, 'compressed': CompressedImage, 'compressedDepth': CompressedImage}
        topic = {'raw': '', 'compressed': '/compressed', 'compressedDepth': '/compressedDepth'}
        self.color, self.depth = color, depth
        pub = self.node.create_publisher
        self.colors = pub(kinds[color], f'{name}/color/image_raw' + topic[color], sensor)
        self.depths = pub(kinds[depth], f'{name}/depth/image_raw' + topic[depth], sensor)
        self.infos = pub(CameraInfo, f'{name}/color/camera_info', sensor)
        self.depth_infos = pub(CameraInfo, f'{name}/depth/camera_info', sensor)
        self.tf = pub(TFMessage, '/tf', 10)
        self.panoramas = []
        self.node.create_subscription(
            Panorama, 'panorama', self.panoramas.append, qos.PANORAMA
        )  # fmt: skip
        self.capture = self.node.create_client(Capture, 'perception/capture')
        self.frame, self.depth_frame, self.focal, self.age = 'optical', 'optical', 1.0, 0
        self.mounts = {'optical': transforms.camera_mount_tform(0.1, 0.0, 1.0, pitch=0.2)}
        self.encoding, self.rgb, self.depth_metres = 'rgb8', RGB, DEPTH
        self.companions = []

    def send(self) -> None:
        """Publish one frame, and one of each companion."""
        for companion in self.companions:
            companion.send()
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
        mm = np.rint(self.depth_metres * 1000).astype(np.uint16)
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

    def diagnosis(self, wanted: str, timeout: float = 15.0) -> str:
        """Send frames until the node's diagnostics say ``wanted``; what they said last."""
        said = ['']
        listener = self.node.create_subscription(
            DiagnosticArray,
            'diagnostics',
            lambda message: said.append(message.status[0].message),
            qos.EVENTS,
        )
        for _ in range(int(timeout / 0.1)):
            self.send()
            rclpy.spin_once(self.node, timeout_sec=0.1)
            if wanted in said[-1]:
                break
        self.node.destroy_subscription(listener)
        return said[-1]


@contextlib.contextmanager
def perception(color='raw', depth='raw', **parameters):
    """Run the perception node in a thread, with a detector that answers :data:`SEEN`.

    Args:
        color: Transport of colour.
        depth: Transport of depth.
        parameters: Further ones of the node, ``__`` for a dot.
    """
    with ModelServer([Play(SEEN)]) as server:
        values = {
            'detector': 'mllm',
            'models.mllm.model': 'Qwen3-VL',
            'models.mllm.base_url': server.base_url,
            'models.mllm.key_variable': '',
            'intake.color_transport': color,
            'intake.depth_transport': depth,
            'image_timeout': 2.0,
        }
        values |= {key.replace('__', '.'): value for key, value in parameters.items()}
        # A name is taken until its process ends: every node has a namespace of its own.
        arguments = ['--ros-args', '-r', f'__ns:=/run{next(_NUMBERS)}']
        for name, value in values.items():
            arguments += ['-p', f'{name}:={value if value != "" else repr("")}']
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
        try:
            yield camera
        finally:
            stop.set()
            thread.join(5.0)
            node.close()
            node.destroy_node()
            for one in [camera, *camera.companions]:
                one.node.destroy_node()
            rclpy.shutdown()
