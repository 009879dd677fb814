# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Listens to a robot for some seconds and says what is right and wrong with it."""

from __future__ import annotations

import contextlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import Buffer, TransformException, TransformListener

from vln_core.errors import GeometryError, PerceptionError
from vln_core.geometry.camera import PinholeCamera
from vln_core.perception import camera_checks
from vln_nodes import conversions
from vln_nodes import robot_checks as checks
from vln_nodes.robot_checks import Check, Stream

TYPES: dict[str, tuple[str, Any]] = {
    'color': ('camera/color/image_raw', Image),
    'color_info': ('camera/color/camera_info', CameraInfo),
    'depth': ('camera/depth/image_raw', Image),
    'depth_info': ('camera/depth/camera_info', CameraInfo),
    'odom': ('odom', Odometry),
}
_TURN_RATE = 0.3
_TURN_TIME = 1.5
_KEPT = 2000


@dataclass(frozen=True)
class ProbeConfig:
    """What to listen to.

    Attributes:
        topics: By name of ``TYPES``; what is left out has the stack's own name.
        cmd_vel: Topic of the velocity.
        is_stamped: Whether the stack sends TwistStamped.
        odom_frame: Odometry frame.
        base_frame: Frame of the robot, with the floor at z = 0.
        duration: How long to listen, seconds.
        detector: Configured back end of perception.
        segmenter: Of perception, '' without.
        captioner: Of perception, '' without.
        model_url: Endpoint of System 2; '' without a model.
        hue: Colour of a thing that is held before the camera, for the order of channels; '' none.
    """

    topics: dict[str, str]
    cmd_vel: str = 'cmd_vel'
    is_stamped: bool = True
    odom_frame: str = 'odom'
    base_frame: str = 'base_link'
    duration: float = 5.0
    detector: str = 'simulated'
    segmenter: str = ''
    captioner: str = ''
    model_url: str = ''
    hue: str = ''


class RobotProbe:
    """Subscribes to a robot's topics; :meth:`run` returns the findings."""

    def __init__(self, node: Node, config: ProbeConfig) -> None:
        """Subscribe.

        Args:
            node: With the namespace of the stack and the remappings of TF.
            config: What to listen to.
        """
        self._node, self._config = node, config
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._streams: dict[str, Stream] = {}
        profile = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        for name, (default, kind) in TYPES.items():
            topic = node.resolve_topic_name(config.topics.get(name, default))
            stream = self._streams[name] = Stream(topic)
            node.create_subscription(kind, topic, self._keep(stream), profile)
        self._buffer = Buffer(cache_time=Duration(seconds=30.0), node=node)
        self._tf = TransformListener(self._buffer, node)
        self._cmd_topic = node.resolve_topic_name(config.cmd_vel)

    def _keep(self, stream: Stream) -> Callable[[Any], None]:
        def on_message(message: Any) -> None:
            stamp = conversions.stamp_ns(message.header.stamp)
            stream.arrivals.append(time.monotonic())
            stream.stamps.append(stamp)
            stream.ages.append((self._node.get_clock().now().nanoseconds - stamp) * 1e-9)
            stream.frame_id, stream.last = message.header.frame_id, message
            for values in (stream.arrivals, stream.stamps, stream.ages):
                del values[:-_KEPT]

        return on_message

    def run(self, *, may_move: bool = False) -> list[Check]:
        """Listen and judge.

        Args:
            may_move: Turn the robot slowly for a moment to measure the time-out of its base.
        """
        self._spin(2.0)  # discovery, and what was latched
        for stream in self._streams.values():
            stream.arrivals.clear()
            stream.stamps.clear()
            stream.ages.clear()
        self._spin(self._config.duration)
        self._look_at_graph()
        found: list[Check] = []
        for name, (_, kind) in TYPES.items():
            type_name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
            found += checks.check_stream(name, self._streams[name], type_name)
        found += checks.check_pairs(self._streams['color'], self._streams['depth'])
        found += self._check_geometry()
        found += self._check_velocity(may_move)
        picture = self._streams['color'].last
        size = len(picture.data) if picture is not None else 0
        if picture is not None and self._config.hue:
            found.append(self._check_channels(picture))
        found.append(checks.check_buffers(_rmem_max(), size))
        has_labels = bool(self._node.count_publishers('sim/labels'))
        found.append(checks.check_detector(self._config.detector, is_simulated=has_labels))
        for what in ('segmenter', 'captioner'):
            if name := getattr(self._config, what):
                found.append(checks.check_back_end(what, name))
        found.append(check_endpoint(self._config.model_url))
        return found

    def _check_channels(self, picture: Image) -> Check:
        try:
            rgb = conversions.rgb_of_image(picture)
        except PerceptionError as error:
            return Check('channel order', checks.WRONG, str(error))
        return checks.check_channels(rgb, self._config.hue)

    def _spin(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def _look_at_graph(self) -> None:
        types = dict(self._node.get_topic_names_and_types())
        for stream in self._streams.values():
            infos = self._node.get_publishers_info_by_topic(stream.topic)
            stream.types = list(types.get(stream.topic, [])) if infos else []
            stream.reliabilities = [
                info.qos_profile.reliability.name.lower().replace('_', ' ') for info in infos
            ]

    # -- geometry -----------------------------------------------------------------------------

    def _check_geometry(self) -> list[Check]:
        color, depth = self._streams['color'].last, self._streams['depth'].last
        info = self._streams['color_info'].last
        if color is None:
            return []
        mount = self._transform(self._config.base_frame, color.header.frame_id, color, 'TF mount')
        odom = self._transform(
            self._config.odom_frame, self._config.base_frame, color, 'TF odometry'
        )
        found = [check for check in (mount[1], odom[1]) if check is not None]
        if info is None:
            return found
        try:
            camera = conversions.camera_of_info(info)
        except GeometryError as error:
            return [*found, Check('intrinsics', checks.WRONG, str(error), 'calibrate the camera')]
        found += checks.check_camera(camera, mount[0], color.header.frame_id)
        if depth is None:
            return found
        return found + self._check_depth(camera, mount[0], color, depth)

    def _check_depth(
        self, camera: PinholeCamera, base_tform_color: NDArray[np.float64] | None,
        color: Image, depth: Image,
    ) -> list[Check]:  # fmt: skip
        try:
            metres = conversions.depth_of_image(depth)
            rgb = conversions.rgb_of_image(color)
        except (GeometryError, ValueError) as error:
            return [Check('pictures', checks.WRONG, str(error), 'another encoding')]
        problem = camera_checks.depth_unit_problem(metres, depth.encoding)
        valid = 100.0 * float(np.mean(np.isfinite(metres)))
        seen = f'{depth.encoding}, {valid:.0f} % of the pixels measured'
        state = checks.WRONG if problem or valid < 20.0 else checks.OK
        found = [Check('depth content', state, seen, problem)]
        found.append(
            checks.check_registration(rgb, metres, color.header.frame_id, depth.header.frame_id)
        )
        base_tform_depth = base_tform_color
        depth_camera = camera
        if depth.header.frame_id != color.header.frame_id:
            base_tform_depth, _ = self._transform(
                self._config.base_frame, depth.header.frame_id, depth, ''
            )
        if self._streams['depth_info'].last is not None:
            with contextlib.suppress(GeometryError):
                depth_camera = conversions.camera_of_info(self._streams['depth_info'].last)
        if base_tform_depth is not None:
            found.append(checks.check_floor(metres, depth_camera, base_tform_depth))
        return found

    def _transform(
        self, target: str, source: str, picture: Image, what: str
    ) -> tuple[NDArray[np.float64] | None, Check | None]:
        """Return a transform at the stamp of a picture, and a line about it."""
        stamp = Time.from_msg(picture.header.stamp)
        started = time.monotonic()
        while not self._buffer.can_transform(target, source, stamp):
            if time.monotonic() - started > 1.0:
                try:
                    self._buffer.lookup_transform(target, source, stamp)
                except TransformException as error:
                    fix = 'publish it: it must be there at the stamp of the picture'
                    return None, Check(what, checks.MISSING, str(error)[:160], fix)
            self._spin(0.05)
        found = self._buffer.lookup_transform(target, source, stamp)
        late = time.monotonic() - started
        seen = f'{source} in {target} at the stamp of a picture, after {1000 * late:.0f} ms'
        state = checks.OK if late < checks.MAX_AGE else checks.WRONG
        fix = '' if state == checks.OK else 'a higher rate of odometry, or synchronised clocks'
        return conversions.tform_of_transform(found.transform), Check(what, state, seen, fix)

    # -- velocity -----------------------------------------------------------------------------

    def _check_velocity(self, may_move: bool) -> list[Check]:
        types = dict(self._node.get_topic_names_and_types()).get(self._cmd_topic, [])
        listeners = self._node.get_subscriptions_info_by_topic(self._cmd_topic)
        names = [i.node_name for i in self._node.get_publishers_info_by_topic(self._cmd_topic)]
        found = checks.check_command_graph(
            self._cmd_topic, list(types), len(listeners), names,
            is_stamped=self._config.is_stamped,
        )  # fmt: skip
        moved_for = None
        if may_move and not names and found[0].state == checks.OK:
            moved_for = self._measure_timeout()
        return [*found, checks.check_command_timeout(moved_for)]

    def _measure_timeout(self) -> float | None:
        """Turn slowly, fall silent, and return for how long the base turned on, seconds."""
        kind = TwistStamped if self._config.is_stamped else Twist
        publisher = self._node.create_publisher(kind, self._cmd_topic, 1)
        deadline = time.monotonic() + _TURN_TIME + 1.0
        while time.monotonic() < deadline:
            message = kind()
            twist = message.twist if self._config.is_stamped else message
            twist.angular.z = _TURN_RATE
            if self._config.is_stamped:
                message.header.stamp = self._node.get_clock().now().to_msg()
            publisher.publish(message)
            self._spin(0.05)
        silent_since = time.monotonic()
        first = _yaw(self._streams['odom'].last)
        moved_for, last = 0.0, first
        while time.monotonic() - silent_since < 2.0:
            self._spin(0.02)
            now = _yaw(self._streams['odom'].last)
            if now is not None and last is not None and abs(now - last) > 1e-4:
                moved_for, last = time.monotonic() - silent_since, now
        publisher.publish(kind())  # whatever the base did: stand now
        self._spin(0.1)
        self._node.destroy_publisher(publisher)
        return None if first is None else moved_for


def check_endpoint(url: str, timeout: float = 5.0) -> Check:
    """Check that an OpenAI-compatible endpoint answers; keys are not sent."""
    if not url:
        return Check('model endpoint', checks.OK, 'none asked for (planner rules)')
    started = time.monotonic()
    try:
        with urllib.request.urlopen(f'{url.rstrip("/")}/models', timeout=timeout) as answer:
            code = answer.status
    except urllib.error.HTTPError as error:
        code = error.code
    except (OSError, ValueError) as error:
        fix = 'start it, or correct model.base_url (docs/models.md)'
        return Check('model endpoint', checks.WRONG, f'{url}: {error}', fix)
    seen = f'{url} answers {code} after {1000 * (time.monotonic() - started):.0f} ms'
    return Check('model endpoint', checks.OK if code < 500 else checks.WRONG, seen)


def _yaw(message: Odometry | None) -> float | None:
    return None if message is None else conversions.planar_of_odometry(message)[2]


def _rmem_max() -> int | None:
    try:
        return int(Path('/proc/sys/net/core/rmem_max').read_text())
    except (OSError, ValueError):
        return None
