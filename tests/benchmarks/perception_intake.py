# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Intake of 30 Hz colour and depth of 640 x 480 px over DDS: what is lost, what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from array import array
from typing import Any

from vln_cli.domains import use_own_domain

use_own_domain()
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

RATE = 30.0
_WARM_UP = 2.0


def measure(seconds: float) -> dict[str, Any]:
    """Return the fraction of frames lost, CPU per second of wall time, and how many were sent.

    A frame counts as received once colour and depth of its stamp are both there.
    """
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from vln_nodes.awaiting import Changed
    from vln_nodes.camera_intake import CameraIntake, IntakeParameters

    rclpy.init()
    node = rclpy.create_node('bench_intake')
    changed = Changed(node)
    camera = CameraIntake(
        node, changed, IntakeParameters(), slop=10_000_000, is_lockstep=False, is_simulated=False
    )
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    sender = subprocess.Popen([sys.executable, __file__, str(seconds + _WARM_UP + 2.0)])
    stamps: set[int] = set()
    try:
        deadline = time.monotonic() + 20.0
        while camera.frames.newest(0) is None and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.1)
        _spin(executor, camera, set(), time.monotonic() + _WARM_UP)
        cpu = time.process_time()  # with the threads of DDS
        began = time.monotonic()
        _spin(executor, camera, stamps, began + seconds)
        used, lasted = time.process_time() - cpu, time.monotonic() - began
    finally:
        sender.kill()  # a signal would end its context in the middle of a message
        sender.wait(10.0)
        changed.close()
        node.destroy_node()
        rclpy.try_shutdown()
    # The sender stamps frames by their number; what lies between first and last was sent.
    period = 1e9 / RATE
    sent = round((max(stamps) - min(stamps)) / period) + 1 if stamps else 0
    loss = 1.0 - len(stamps) / sent if sent else 1.0
    return {'loss_frac': loss, 'core_frac': used / lasted, 'num_frames': sent}


def _spin(executor: Any, camera: Any, stamps: set[int], until: float) -> None:
    while time.monotonic() < until:
        executor.spin_once(timeout_sec=0.05)
        frame = camera.frames.newest(0)
        if frame is not None:
            stamps.add(frame['stamp'])


def send(seconds: float) -> None:
    """Publish frames at the rate, stamped by their number."""
    import numpy as np
    import rclpy
    from sensor_msgs.msg import CameraInfo, Image

    from vln_core.geometry.camera import PinholeCamera
    from vln_nodes import conversions, qos

    rclpy.init()
    node = rclpy.create_node('bench_camera')
    profile = qos.sensor(is_lockstep=False)
    color = node.create_publisher(Image, 'camera/color/image_raw', profile)
    depth = node.create_publisher(Image, 'camera/depth/image_raw', profile)
    info = node.create_publisher(CameraInfo, 'camera/color/camera_info', profile)
    camera = PinholeCamera.from_hfov(640, 480, 1.2)
    picture = conversions.image_of_rgb(np.full((480, 640, 3), 90, np.uint8), 0, 'optical')
    raw = Image(height=480, width=640, encoding='16UC1', step=1280)
    raw.data = array('B', np.full((480, 640), 2000, np.uint16).tobytes())
    raw.header.frame_id = 'optical'
    first = time.time_ns()
    began = time.monotonic()
    number = 0
    while time.monotonic() - began < seconds:
        stamp = conversions.stamp_msg(first + round(number * 1e9 / RATE))
        picture.header.stamp = raw.header.stamp = stamp
        intrinsics = conversions.info_of_camera(camera, 0, 'optical')
        intrinsics.header.stamp = stamp
        info.publish(intrinsics)
        color.publish(picture)
        depth.publish(raw)
        number += 1
        time.sleep(max(0.0, began + number / RATE - time.monotonic()))
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    send(float(sys.argv[1]))
