# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's actions: requests in, outcomes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from vln_core.outcome import MotionOutcome
from vln_nodes import conversions
from vln_nodes.motion_job import MotionJob

Run = Callable[[MotionJob, Any], Awaitable[tuple[MotionOutcome, int]]]


def serve(
    node: Node,
    kind: Any,
    name: str,
    run: Run,
    *,
    is_free: Callable[[], bool],
    on_cancel: Callable[[], None],
    group: CallbackGroup,
) -> ActionServer:
    """Offer a motion action.

    Args:
        node: Of the controller.
        kind: Type of the action.
        name: Of the action.
        run: Drives one goal to its end; returns the outcome and the odometry stamp (ns) of it.
        is_free: Whether a goal can be accepted.
        on_cancel: Called when a client cancels.
        group: Callback group.
    """

    async def execute(handle: ServerGoalHandle) -> Any:
        outcome, stamp = await run(MotionJob(handle, kind.Feedback), handle.request)
        if outcome.reached:
            handle.succeed()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return _result(kind, outcome, stamp)

    def accept(_: Any) -> GoalResponse:
        return GoalResponse.ACCEPT if is_free() else GoalResponse.REJECT

    def cancel(_: ServerGoalHandle) -> CancelResponse:
        on_cancel()
        return CancelResponse.ACCEPT

    return ActionServer(
        node,
        kind,
        name,
        execute,
        callback_group=group,
        goal_callback=accept,
        cancel_callback=cancel,
    )


def _result(kind: Any, outcome: MotionOutcome, stamp: int) -> Any:
    result = kind.Result(
        error_code=int(outcome.code),
        error_msg=outcome.message,
        travelled=float(outcome.travelled),
        has_goal=outcome.goal_xy is not None,
        stamp=conversions.stamp_msg(stamp),
    )
    if outcome.goal_xy is not None:
        result.goal = conversions.point_msg((*outcome.goal_xy, 0.0))
    return result
