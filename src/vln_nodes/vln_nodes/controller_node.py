# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Turns motion goals into velocity commands for the safety node."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from vln_core.control.motion import MotionConfig, MotionController
from vln_core.geometry.camera import PinholeCamera
from vln_core.geometry.transforms import camera_mount_tform
from vln_core.outcome import MotionCode, MotionOutcome
from vln_interfaces.msg import SafetyStatus
from vln_nodes import conversions, parameters, qos, runtime
from vln_nodes.awaiting import Changed
from vln_nodes.base import STEADY, StackNode, steady_now
from vln_nodes.controller_goals import ControllerGoals
from vln_nodes.controller_loop import ControlLoop
from vln_nodes.controller_parameters import ControllerParameters
from vln_nodes.controller_topics import ControllerTopics
from vln_nodes.depth_input import DepthInput, DepthSample


class ControllerNode(StackNode):
    """Offers ``move_to_pixel``, ``move_along`` and ``spin``; publishes ``velocity_command``."""

    def __init__(self, nav2_action_type: Any = None) -> None:
        """Create the node.

        Args:
            nav2_action_type: Of mode ``nav2``; None: that of nav2_msgs.
        """
        super().__init__('controller')
        self.nav2_action_type = nav2_action_type
        config = self._config = parameters.load(self, ControllerParameters())
        _warm_up(config.motion)
        self._changed = Changed(self)
        self._safety: SafetyStatus | None = None
        self._safety_time = -math.inf
        self._topics = ControllerTopics(
            self, config.odom_frame, config.base_frame, is_lockstep=config.lockstep
        )
        self._loop = ControlLoop(
            config, self._topics, self._changed.notify, self.get_logger().warning
        )
        self._subscribe()
        self._goals = ControllerGoals(
            self, config, self._loop, self._topics, self._changed, self._not_ready
        )
        if not config.lockstep:
            self._timer = self.create_timer(config.control_period, self._loop.on_timer)
        self._watch_timer = self.create_timer(
            0.1, lambda: self._loop.watch(self._safety_time), clock=STEADY
        )
        self._grid_timer = self.create_timer(config.grid_period, self._publish_grid, clock=STEADY)

    def _subscribe(self) -> None:
        config = self._config
        profile = qos.sensor(is_lockstep=config.lockstep)
        self.create_subscription(Odometry, 'odom', self._on_odometry, profile)
        self.create_subscription(SafetyStatus, 'safety_status', self._on_safety, qos.LATCHED)
        self._depth = DepthInput(
            self,
            self._changed,
            (config.odom_frame,),
            self._on_depth,
            is_lockstep=config.lockstep,
            tf_timeout=config.tf_timeout,
            rectify=config.rectify,
        )

    def _not_ready(self) -> MotionOutcome | None:
        """Return why no goal can start now; None if one can."""
        status = self._safety
        if not self.is_active:
            return MotionOutcome(MotionCode.NOT_READY, 'the controller is not activated')
        if status is not None and status.state == SafetyStatus.EMERGENCY_STOP:
            return MotionOutcome(MotionCode.EMERGENCY_STOP, status.message)
        if status is None or status.state == SafetyStatus.STARTING:
            return MotionOutcome(MotionCode.NOT_READY, 'the safety node is not ready')
        if self._loop.pose is None or self._loop.depth_stamp == 0:
            missing = 'odometry' if self._loop.pose is None else 'depth with TF and CameraInfo'
            return MotionOutcome(MotionCode.NOT_READY, f'no {missing} was received')
        return None

    def _on_safety(self, status: SafetyStatus) -> None:
        self._safety, self._safety_time = status, steady_now()
        if status.state == SafetyStatus.EMERGENCY_STOP:
            self._loop.abort(MotionCode.EMERGENCY_STOP, status.message)
        self._changed.notify()

    def _on_odometry(self, message: Odometry) -> None:
        self._loop.on_odometry(
            conversions.stamp_ns(message.header.stamp),
            conversions.planar_of_odometry(message),
            (message.twist.twist.linear.x, message.twist.twist.angular.z),
        )

    async def _on_depth(self, sample: DepthSample) -> None:
        self._loop.on_depth(sample.stamp, (sample.depth, sample.camera, sample.poses[0]))

    def _publish_grid(self) -> None:
        """For people."""
        age = steady_now() - self._loop.depth_time
        self.report(
            warning='' if age < 1.0 or self._config.lockstep else 'no depth image arrives',
            depth_age=f'{age:.2f}',
            goal='active' if self._loop.job else 'none',
        )
        self._topics.show_grid(self._loop.controller.grid)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the goal: the robot is told to stand before the heartbeats end."""
        self._loop.abort(MotionCode.CANCELLED, 'the controller was deactivated')
        return super().on_deactivate(state)

    def close(self) -> None:
        """Ask for zero velocity, end the goal and the worker."""
        loop, job = self._loop, self._loop.job
        loop.hold()
        if job is not None:
            loop.driver.abort(MotionCode.CANCELLED, 'the controller ends')
            job.end(MotionOutcome(MotionCode.CANCELLED, 'the controller ends'))
        self._changed.close()
        self._goals.close()


def _warm_up(config: MotionConfig) -> None:
    """Compile what the controller calls before anything depends on this node's timer."""
    controller = MotionController(config)
    camera = PinholeCamera.from_hfov(64, 48, 1.5)
    tform = camera_mount_tform(0.0, 0.0, 1.0, pitch=0.3)
    controller.on_depth(np.full((48, 64), np.inf, np.float32), camera, tform, 1)
    controller.start_route([(0.3, 0.0)], (0.0, 0.0, 0.0))
    for tick in range(3):
        controller.update(tick * 50_000_000, (0.0, 0.0, 0.0), (0.0, 0.0))


def main() -> None:
    """Run the node."""
    runtime.main(ControllerNode)


if __name__ == '__main__':
    main()
