# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What the monitor costs: a camera at 30 Hz, a graph of 1,000 nodes, one page.

``./vln env`` shell, then ``python tests/benchmarks/monitor_load.py --seconds 60``. Starts the
monitor in a ROS domain of its own, plays the robot, and reads the page as a browser does. CPU time
is counted, not wall time, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from pathlib import Path

import aiohttp
import numpy as np

from vln_cli.domains import claim_domain

_PORT = 8976
_NODES = ('safety', 'controller', 'perception', 'memory', 'system1', 'system2', 'sim_bridge')


def main() -> int:
    """Measure and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--width', type=int, default=640)
    parser.add_argument('--height', type=int, default=480)
    options = parser.parse_args()
    os.environ['ROS_DOMAIN_ID'] = str(claim_domain())
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    with tempfile.TemporaryDirectory() as folder:
        monitor = _start(Path(folder))
        robot = threading.Thread(target=_play, args=(options, stop := threading.Event()))
        robot.start()
        try:
            result = asyncio.run(_watch(monitor.pid, options.seconds))
        finally:
            stop.set()
            robot.join()
            monitor.terminate()
            monitor.wait()
    print(json.dumps(result))  # noqa: T201
    return 0


def _start(folder: Path) -> subprocess.Popen[bytes]:
    code = 'from vln_monitor.main import main; main()'
    parameters = ['-p', f'port:={_PORT}', '-p', f'command_log:={folder / "log"}']
    command = [sys.executable, '-c', code, '--ros-args', *parameters]
    return subprocess.Popen(command)


async def _watch(process: int, seconds: float) -> dict[str, float]:
    """Read the page's WebSocket, painting at once, and count what the monitor uses."""
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                opened = time.monotonic()
                socket = await session.ws_connect(
                    f'http://127.0.0.1:{_PORT}/ws',
                    headers={'Origin': f'http://127.0.0.1:{_PORT}'},
                    max_msg_size=0,
                )
                break
            except aiohttp.ClientError:
                await asyncio.sleep(0.5)
        await socket.send_str('{"type": "show", "camera": true}')
        first, pictures, graphs, used, memory = 0.0, 0, 0, 0.0, 0.0
        begin = opened + 10.0  # discovery is not what is measured
        has_begun = False
        while time.monotonic() < begin + seconds:
            message = await socket.receive(timeout=30.0)
            data = message.data
            is_picture = isinstance(data, bytes) and b'"type":"camera"' in data[:40]
            if is_picture:
                await socket.send_str('{"type": "painted"}')
                first = first or time.monotonic() - opened
            if not has_begun and time.monotonic() >= begin:
                has_begun, used, memory = True, _cpu_time(process), _memory(process)
            if has_begun:
                pictures += is_picture
                graphs += isinstance(data, str) and data.startswith('{"type":"graph"')
        return {
            'cpu_percent': round(100.0 * (_cpu_time(process) - used) / seconds, 1),
            'first_picture': round(first, 2),
            'pictures_per_second': round(pictures / seconds, 1),
            'graphs': graphs,
            'memory_mb': round(_memory(process), 1),
            'memory_growth_mb': round(_memory(process) - memory, 1),
            'seconds': seconds,
        }


def _cpu_time(process: int) -> float:
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _memory(process: int) -> float:
    pages = int(Path(f'/proc/{process}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


def _play(options: argparse.Namespace, stop: threading.Event) -> None:
    """Publish what a robot with a large memory does."""
    import rclpy
    from geometry_msgs.msg import Pose2D
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import Image

    from vln_interfaces.msg import Heartbeat, ObjectNode, Place, SafetyStatus, WorldGraph
    from vln_nodes import qos

    rclpy.init()
    node = rclpy.create_node('robot')
    sensor = qos.sensor(is_lockstep=False)
    pictures = node.create_publisher(Image, 'camera/color/image_raw', sensor)
    odometry = node.create_publisher(Odometry, 'odom', sensor)
    status = node.create_publisher(SafetyStatus, 'safety_status', qos.LATCHED)
    beats = node.create_publisher(Heartbeat, 'heartbeat', qos.HEARTBEAT)
    graphs = node.create_publisher(WorldGraph, 'world_graph', qos.LATCHED)

    rng = np.random.default_rng(0)
    shape = (options.height, options.width, 3)
    picture = Image(height=shape[0], width=shape[1], encoding='rgb8', step=3 * shape[1])
    # Patches with a little noise: what a camera sees indoors costs the encoder about as much.
    patches = (
        rng.integers(60, 200, (12, 16, 3)).repeat(shape[0] // 12, 0).repeat(shape[1] // 16, 1)
    )
    noisy = patches[: shape[0], : shape[1]] + rng.integers(-3, 4, patches.shape)
    picture.data = array('B', noisy.astype(np.uint8).tobytes())
    graph = WorldGraph()
    graph.places = [
        Place(id=i, anchors=[Pose2D(x=float(i))], name=f'room {i}') for i in range(200)
    ]
    graph.objects = [ObjectNode(id=i, category='chair') for i in range(800)]
    moved = Odometry()
    moved.pose.pose.orientation.w = 1.0
    start = time.monotonic()
    for tick in range(10**9):
        if stop.wait(max(0.0, start + tick / 60.0 - time.monotonic())):
            break
        now = node.get_clock().now().to_msg()
        if tick % 2 == 0:
            picture.header.stamp = now
            pictures.publish(picture)
        if tick % 3 == 0:
            moved.header.stamp = now
            moved.pose.pose.position.x = 0.005 * tick
            odometry.publish(moved)
        if tick % 6 == 0:
            status.publish(SafetyStatus(message=f'{tick}'))
        if tick % 12 == 0:
            for name in _NODES:
                beats.publish(Heartbeat(node=name, sequence=tick))
        if tick % 300 == 0:
            graph.step = tick
            graphs.publish(graph)
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    sys.exit(main())
