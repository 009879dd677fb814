# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Bridge between a simulator and ROS 2: the robot's topics, services to steer the simulation.

Free running, a timer makes ticks. In lock-step a tick lasts until a ``cmd_vel`` with its stamp
arrives: simulated time cannot run away from a slow machine, and equal seeds give equal bits.
"""

from __future__ import annotations

import math
import time
from typing import Any

import cv2
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from rclpy.subscription import MessageInfo
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from std_srvs.srv import Trigger
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

from vln_core.errors import VlnError
from vln_interfaces.msg import GroundTruth, LabelTable
from vln_interfaces.srv import GeodesicDistance, PlaceRobot, SetScene
from vln_nodes import conversions, parameters, qos, runtime
from vln_nodes.base import STEADY, StackNode, steady_now
from vln_sim_bridge import messages
from vln_sim_bridge.bridge_config import BridgeConfig
from vln_sim_bridge.make import make_simulator
from vln_sim_bridge.moving import MovingObstacle
from vln_sim_bridge.simulator import Simulator
from vln_sim_bridge.ticks import Command, CommandGate, Ticks

_SILENCE = 0.5
# Below this a timer starves the executor's other work.
_MIN_PERIOD = 0.0005


class SimBridgeNode(StackNode):
    """One robot of one simulator on the ROS graph."""

    def __init__(self) -> None:
        """Load the scene and start publishing.

        Raises:
            ConfigError: A parameter is wrong.
            SceneError: The scene is missing or broken, or the robot does not fit at its start.
        """
        super().__init__('sim_bridge')
        self._config = parameters.load(self, BridgeConfig())
        self._ticks = Ticks(self._config.control_rate, self._config.image_rate)
        self._gate = CommandGate()
        self._worker = runtime.Worker(self, 'scene')
        self._scene = self._config.scene
        self._is_loading = False
        self._distance = 0.0
        self._outbox: list[tuple[Any, Any]] = []
        self._published_at = -math.inf
        self._simulator = self._load(self._scene, self._config.start_pose)
        try:
            self._create_publishers()
            self._create_inputs()
        except BaseException:
            self._simulator.close()
            raise
        self._latch_labels()
        self._compose((0.0, 0.0))
        self.report()

    def _load(self, scene: str, start: tuple[float, ...] = ()) -> Simulator:
        simulator = make_simulator(self._config.sim, scene, self._config.simulator)
        try:
            if self._config.moving_obstacle:
                numbers = self._config.moving_obstacle
                simulator.add_moving_obstacle(MovingObstacle.from_numbers(numbers))
            if start:
                simulator.place(*start)
        except BaseException:
            simulator.close()
            raise
        return simulator

    def _create_publishers(self) -> None:
        profile = qos.sensor(is_lockstep=self._config.lockstep)
        event = qos.COMMAND_LOCKSTEP if self._config.lockstep else qos.VISUAL
        self._clock_pub = self.create_publisher(Clock, '/clock', QoSProfile(depth=10))
        self._odom_pub = self.create_publisher(Odometry, 'odom', profile)
        self._rgb_pub = self.create_publisher(Image, 'camera/color/image_raw', profile)
        self._rgb_info_pub = self.create_publisher(CameraInfo, 'camera/color/camera_info', profile)
        self._depth_pub = self.create_publisher(Image, 'camera/depth/image_raw', profile)
        self._depth_info_pub = self.create_publisher(
            CameraInfo, 'camera/depth/camera_info', profile
        )
        self._semantic_pub = self.create_publisher(Image, 'sim/semantic', profile)
        self._truth_pub = self.create_publisher(GroundTruth, 'sim/ground_truth', event)
        self._labels_pub = self.create_publisher(LabelTable, 'sim/labels', qos.LATCHED)
        self._tf = TransformBroadcaster(self)
        self._tf_static = StaticTransformBroadcaster(self)
        self._tf_static.sendTransform(
            messages.camera_transform(self._config.camera, self._ticks.stamp)
        )

    def _create_inputs(self) -> None:
        config = self._config
        kind = TwistStamped if config.enable_stamped_cmd_vel else Twist
        profile = qos.COMMAND_LOCKSTEP if config.lockstep else qos.COMMAND
        self.create_subscription(kind, 'cmd_vel', self._on_cmd_vel, profile)
        self.create_service(Trigger, 'sim/reset', self._on_reset)
        self.create_service(PlaceRobot, 'sim/place_robot', self._on_place)
        self.create_service(SetScene, 'sim/set_scene', self._on_set_scene)
        self.create_service(GeodesicDistance, 'sim/geodesic_distance', self._on_distance)
        if config.lockstep:
            self.create_timer(0.1, self._on_silence, clock=STEADY)
        else:
            factor = config.real_time_factor
            period = self._ticks.period / factor if factor > 0.0 else _MIN_PERIOD
            self.create_timer(max(period, _MIN_PERIOD), self._on_timer, clock=STEADY)

    def _on_cmd_vel(self, message: TwistStamped | Twist, info: MessageInfo) -> None:
        is_stamped = isinstance(message, TwistStamped)
        twist = message.twist if is_stamped else message
        sent = steady_now()
        if not self._config.lockstep and info['source_timestamp'] > 0:
            # Waiting in a queue of a busy machine must not make a command younger.
            sent -= max(0.0, (time.time_ns() - info['source_timestamp']) * 1e-9)
        command = Command(twist.linear.x, twist.angular.z, sent, self._ticks.stamp)
        if self._config.lockstep:
            # Old stamps are duplicates of commands already carried out.
            if conversions.stamp_ns(message.header.stamp) != self._ticks.stamp:
                return
        if not self._gate.put(command):
            self.get_logger().warning('cmd_vel is not finite: the robot stands still')
        if self._config.lockstep and not self._is_loading:
            self._tick()
            self._gate.clear()

    def _on_timer(self) -> None:
        if not self._is_loading:
            self._tick()

    def _on_silence(self) -> None:
        if not self._is_loading and steady_now() - self._published_at > _SILENCE:
            self._publish()

    def _tick(self) -> None:
        """Drive for one period with the command in force, then show the world."""
        v, w = self._gate.velocity(steady_now(), self._ticks.stamp)
        before, odom = self._simulator.state(), self._simulator.odometry()
        after = self._simulator.step(v, w, self._ticks.period)
        self._distance += math.hypot(after.x - before.x, after.y - before.y)
        self._ticks.advance()
        self._compose(messages.body_velocity(odom, self._simulator.odometry(), self._ticks.period))
        self._publish()

    def _compose(self, velocity: tuple[float, float]) -> None:
        """Make the messages of the current tick; republishing must not draw noise again."""
        stamp = self._ticks.stamp
        odometry = messages.odometry_msg(self._simulator.odometry(), velocity, stamp)
        truth = messages.ground_truth_msg(self._simulator.state(), self._distance, stamp)
        self._outbox = [
            (self._clock_pub.publish, messages.clock_msg(stamp)),
            (self._tf.sendTransform, messages.odom_transform(odometry)),
            (self._odom_pub.publish, odometry),
            (self._truth_pub.publish, truth),
        ]
        if self._ticks.has_images:
            frame = self._simulator.render()
            camera = self._config.simulator.camera
            info = conversions.info_of_camera(camera, stamp, messages.CAMERA_FRAME)
            rgb = conversions.image_of_rgb(frame.rgb, stamp, messages.CAMERA_FRAME)
            depth = messages.depth_image(frame.depth, self._config.depth_encoding, stamp)
            self._outbox += [
                (self._rgb_info_pub.publish, info),
                (self._rgb_pub.publish, rgb),
                (self._semantic_pub.publish, messages.semantic_image(frame.semantic, stamp)),
                (self._depth_info_pub.publish, info),
                (self._depth_pub.publish, depth),
            ]

    def _publish(self) -> None:
        for publish, message in self._outbox:
            publish(message)
        self._published_at = steady_now()

    def _latch_labels(self) -> None:
        self._labels_pub.publish(messages.label_table(self._scene, self._simulator.labels))

    def _show_change(self) -> None:
        """The world has jumped: stand still and show it under a stamp of its own."""
        self._gate.clear()
        self._distance = 0.0
        self._ticks.jump_to_images()
        self._compose((0.0, 0.0))
        self._publish()

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._simulator.place(*(self._start_pose()))
        except VlnError as error:
            response.message = str(error)
            return response
        self._show_change()
        response.success = True
        return response

    def _start_pose(self) -> tuple[float, ...]:
        is_first = self._scene == self._config.scene
        return (self._config.start_pose if is_first else ()) or self._simulator.scene.start

    def _on_place(
        self, request: PlaceRobot.Request, response: PlaceRobot.Response
    ) -> PlaceRobot.Response:
        try:
            self._simulator.place(*conversions.planar_of_pose2d(request.pose))
        except VlnError as error:
            response.error_code, response.error_msg = response.IN_OBSTACLE, str(error)
            return response
        self._show_change()
        return response

    async def _on_set_scene(
        self, request: SetScene.Request, response: SetScene.Response
    ) -> SetScene.Response:
        if self._is_loading:
            response.error_code, response.error_msg = response.BAD_SCENE, 'a scene is being loaded'
            return response
        self._is_loading = True
        try:
            loaded = await self._worker.submit(self._load, request.scene)
        except VlnError as error:
            response.error_code, response.error_msg = response.BAD_SCENE, str(error)
            return response
        finally:
            self._is_loading = False
        self._simulator.close()
        self._simulator, self._scene = loaded, request.scene
        self._latch_labels()
        self._show_change()
        return response

    def _on_distance(
        self, request: GeodesicDistance.Request, response: GeodesicDistance.Response
    ) -> GeodesicDistance.Response:
        start, goal = (request.start.x, request.start.y), (request.goal.x, request.goal.y)
        response.distance = self._simulator.geodesic_distance(start, goal)
        return response

    def close(self) -> None:
        """Stop what moves time; callbacks that still wait are answered after this."""
        for timer in list(self.timers):
            timer.cancel()
        self._worker.close()

    def destroy_node(self) -> None:
        """End the simulator and its process, when no callback can ask it any more."""
        super().destroy_node()
        if hasattr(self, '_simulator'):  # a start that failed has none
            self._simulator.close()


def main() -> None:
    """Run the bridge."""
    cv2.setNumThreads(1)
    runtime.main(SimBridgeNode)


if __name__ == '__main__':
    main()
