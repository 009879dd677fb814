# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Mode ``nav2``: Nav2 drives to the goals, and its velocities pass the safety process too.

Nav2's velocity topic must be remapped to ``nav2/cmd_vel``: what it wants is handed on as
``velocity_command`` while a goal of this stack is active, and the safety process stays the only
publisher of ``cmd_vel``. Nav2 plans in its own costmaps; the known-free rule, the footprint and
the care for people of the built-in controller do not hold then, only what the safety process does.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.action import ActionClient

from vln_core.errors import ConfigError
from vln_core.outcome import MotionCode, MotionOutcome
from vln_nodes import conversions, qos
from vln_nodes.awaiting import Changed
from vln_nodes.base import StackNode, steady_now
from vln_nodes.controller_loop import ControlLoop

# Of NavigateToPose and of the servers behind it, as in Jazzy and Kilted; the navigator hands on
# the code of the server that failed.
_CODES = {
    103: MotionCode.NO_PATH,  # FollowPath: invalid path
    104: MotionCode.BLOCKED,  # patience exceeded
    105: MotionCode.STUCK,  # failed to make progress
    106: MotionCode.BLOCKED,  # no valid control
    203: MotionCode.UNKNOWN_SPACE,  # ComputePathToPose: start outside of the map
    204: MotionCode.UNKNOWN_SPACE,  # goal outside of the map
    205: MotionCode.NO_PATH,  # start occupied
    206: MotionCode.GOAL_IN_OBSTACLE,
    207: MotionCode.TIMEOUT,
    208: MotionCode.NO_PATH,
    9003: MotionCode.TIMEOUT,
}
_TF_CODES = (102, 202, 9002)
_SILENCE = 0.2


def navigate_to_pose_type() -> Any:
    """Return Nav2's action type.

    Raises:
        ConfigError: Nav2's messages are not installed.
    """
    try:
        return importlib.import_module('nav2_msgs.action').NavigateToPose
    except ImportError as error:
        raise ConfigError(
            "mode 'nav2' needs nav2_msgs: install Nav2 of your ROS distribution, or choose 'plan'"
        ) from error


def motion_code(error_code: int) -> MotionCode:
    """Return the code of this stack for one of Nav2; what is not known is BLOCKED."""
    if error_code in _TF_CODES:
        return MotionCode.STALE_INPUT
    return _CODES.get(error_code, MotionCode.BLOCKED)


class Nav2Driver:
    """Drives one goal at a time through Nav2; see :class:`vln_nodes.controller_loop.Driver`."""

    def __init__(
        self,
        node: StackNode,
        loop: ControlLoop,
        changed: Changed,
        frame_id: str,
        *,
        action: str,
        action_type: Any = None,
    ) -> None:
        """Connect.

        Args:
            node: Of the controller.
            loop: Whose jobs are driven.
            changed: The node's wait.
            frame_id: Odometry frame of the goals.
            action: Name of Nav2's action.
            action_type: NavigateToPose, or one with equal fields; None: that of nav2_msgs.

        Raises:
            ConfigError: Nav2's messages are not installed.
        """
        self._loop, self._changed, self._frame_id = loop, changed, frame_id
        self._type = action_type or navigate_to_pose_type()
        self._client = ActionClient(node, self._type, action, callback_group=changed.group)
        self._handle: Any = None
        self._goal_xy: tuple[float, float] | None = None
        self._remaining = 0.0
        self._heard = -math.inf
        node.create_subscription(TwistStamped, 'nav2/cmd_vel', self._on_velocity, qos.COMMAND)

    async def start(self, goal_xy: tuple[float, float], yaw: float) -> MotionOutcome | None:
        """Send a goal, metres and rad, odometry frame; returns the refusal, or None."""
        if not await self._changed.wait_for(self._client.server_is_ready, 2.0):
            return MotionOutcome(MotionCode.NOT_READY, 'Nav2 offers no action to navigate')
        pose = PoseStamped()
        pose.header.frame_id = self._frame_id
        pose.header.stamp = conversions.stamp_msg(self._loop.stamp)
        pose.pose.position = conversions.point_msg((*goal_xy, 0.0))
        pose.pose.orientation.z, pose.pose.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
        sent = self._client.send_goal_async(self._type.Goal(pose=pose), self._on_feedback)
        if not await self._changed.wait_for(sent.done, 5.0):
            return MotionOutcome(MotionCode.NOT_READY, 'Nav2 does not answer')
        handle = sent.result()
        if not handle.accepted:
            return MotionOutcome(MotionCode.NO_PATH, 'Nav2 rejected the goal')
        self._handle, self._goal_xy, self._remaining = handle, goal_xy, math.inf
        handle.get_result_async().add_done_callback(
            lambda future: self._on_result(handle, future.result())
        )
        return None

    def step(self) -> None:
        """Once a period: while Nav2 is silent the robot is told to stand."""
        if self._loop.job is not None and math.isfinite(self._remaining):
            self._loop.job.feed_back(self._remaining)
        if steady_now() - self._heard > _SILENCE:
            self._loop.send(0.0, 0.0, is_hold=False)

    def abort(self, code: MotionCode, message: str) -> MotionOutcome | None:
        """Cancel the goal; what Nav2 still sends is not handed on."""
        if self._handle is None:
            return None
        self._handle.cancel_goal_async()
        self._handle = None
        return MotionOutcome(code, message, goal_xy=self._goal_xy)

    def _on_velocity(self, message: TwistStamped) -> None:
        job = self._loop.job
        if self._handle is not None and job is not None and job.stopping is None:
            self._heard = steady_now()
            self._loop.send(message.twist.linear.x, message.twist.angular.z, is_hold=False)

    def _on_feedback(self, message: Any) -> None:
        self._remaining = float(message.feedback.distance_remaining)

    def _on_result(self, handle: Any, response: Any) -> None:
        if handle is not self._handle:
            return  # cancelled by this stack: it has its outcome
        self._handle = None
        if response.status == GoalStatus.STATUS_SUCCEEDED:
            outcome = MotionOutcome(MotionCode.REACHED, 'reached', goal_xy=self._goal_xy)
        elif response.status == GoalStatus.STATUS_CANCELED:
            outcome = MotionOutcome(MotionCode.CANCELLED, 'cancelled in Nav2')
        else:
            error = int(response.result.error_code)
            text = getattr(response.result, 'error_msg', '') or 'Nav2 gave up'
            outcome = MotionOutcome(motion_code(error), f'{text} (Nav2 error {error})')
        self._loop.finish(outcome)
