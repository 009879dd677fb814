# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Sends the commands of the page into the graph.

A node of its own, with an executor of its own, because stopping and driving by hand must not wait
for anything that is only shown. Publishing needs no executor at all: the stop leaves in the
thread that asked for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import rclpy.node
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future as RosFuture
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from vln_core.outcome import EpisodeCode
from vln_core.system2.stop_word import is_stop_word
from vln_interfaces.action import Navigate
from vln_interfaces.msg import VelocityCommand
from vln_monitor.robot import Answer
from vln_monitor.wheel import Teleop, TeleopLimits
from vln_nodes import qos
from vln_nodes.base import STEADY, steady_now

_PERIOD = 0.05
# The stop is said again for half a second: until then a newcomer has discovered us.
_STOP_REPEATS = 10
_ACTIVE = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
_logger = logging.getLogger(__name__)
Started = Callable[[str, str], None]
Ended = Callable[[str, str, str], None]


class CommandNode(rclpy.node.Node):
    """Implements :class:`vln_monitor.robot.Robot` over ROS."""

    def __init__(self) -> None:
        # Fewer things to wait for: its executor has to be quick.
        super().__init__('monitor_command', start_parameter_services=False)
        self._teleop = Teleop(TeleopLimits())
        self._stop_repeats = 0
        self._goals: dict[bytes, int] = {}
        self.on_started: Started = lambda text, who: None
        """Called with instruction and giver when an instruction of a page was accepted."""
        self.on_ended: Ended = lambda text, who, outcome: None
        """Called with instruction, giver and outcome when an instruction of a page has ended."""
        self._velocity = self.create_publisher(
            VelocityCommand, 'teleop/velocity_command', qos.COMMAND
        )
        self._emergency = self.create_publisher(Bool, 'emergency_stop', qos.COMMAND)
        self._stop = self.create_client(SetBool, 'emergency_stop')
        self._pause = self.create_client(SetBool, 'system2/pause')
        self._require = self.create_client(SetBool, 'system2/require_approval')
        self._approve = self.create_client(SetBool, 'system2/approve')
        self._navigate = ActionClient(self, Navigate, 'navigate')
        self._cancel = self.create_client(CancelGoal, 'navigate/_action/cancel_goal')
        self.create_subscription(
            GoalStatusArray, 'navigate/_action/status', self._on_status, _LATCHED
        )
        self._timer = self.create_timer(_PERIOD, self._on_timer, clock=STEADY)

    def limit(self, limits: TeleopLimits) -> None:
        """Set the limits of driving by hand, before anybody drives."""
        self._teleop = Teleop(limits)

    # -- stop and drive -------------------------------------------------------------------------

    def stop(self) -> Future[Answer]:
        """Stop by topic and by service, and send zero by hand; returns at once."""
        self._teleop.let_go()
        self._emergency.publish(Bool(data=True))
        self._send(0.0, 0.0)
        self._stop_repeats = _STOP_REPEATS
        self._start_timer()
        return self._call(
            self._stop,
            SetBool.Request(data=True),
            'sent, but not confirmed: the safety node does not answer. Use the hardware stop',
        )

    def release(self) -> Future[Answer]:
        """Release the emergency stop."""
        self._stop_repeats = 0
        return self._call(self._stop, SetBool.Request(data=False))

    def drive(self, linear: float, angular: float, speed: float) -> None:
        """Drive by hand; the timer sends it, and sends zero when this falls silent."""
        self._teleop.hold(linear, angular, speed, steady_now())
        self._start_timer()

    def let_go(self) -> None:
        """Zero by hand, at once."""
        if self._teleop.let_go():
            self._send(0.0, 0.0)

    def _start_timer(self) -> None:
        """The timer runs only while there is something to send."""
        if self._timer.is_canceled():
            self._timer.reset()
            if self.executor is not None:
                self.executor.wake()

    def _on_timer(self) -> None:
        if self._stop_repeats > 0:
            self._stop_repeats -= 1
            self._emergency.publish(Bool(data=True))
        velocity = self._teleop.tick(steady_now())
        if velocity is not None:
            self._send(*velocity)
        elif self._stop_repeats == 0:
            self._timer.cancel()

    def _send(self, linear: float, angular: float) -> None:
        message = VelocityCommand()
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = 'base_link'
        message.twist.linear.x, message.twist.angular.z = linear, angular
        self._velocity.publish(message)

    # -- instructions ---------------------------------------------------------------------------

    @property
    def is_following(self) -> bool:
        """Whether any instruction is being followed, whoever gave it."""
        return any(status in _ACTIVE for status in self._goals.values())

    def _on_status(self, message: GoalStatusArray) -> None:
        self._goals = {bytes(s.goal_info.goal_id.uuid): s.status for s in message.status_list}

    def instruct(self, text: str, who: str) -> Future[Answer]:
        """Send an instruction; its end is told to ``on_ended``."""
        answer: Future[Answer] = Future()
        if not self._navigate.server_is_ready():
            answer.set_result(Answer(False, 'nobody offers navigate; is the stack running?'))
            return answer
        # The stop word is let through: it ends what runs.
        if self.is_following and not is_stop_word(text):
            answer.set_result(Answer(False, 'an instruction is being followed; cancel it first'))
            return answer
        sending = self._navigate.send_goal_async(Navigate.Goal(instruction=text))

        def on_sent(future: RosFuture) -> None:
            handle = future.result()
            if handle is None or not handle.accepted:
                _resolve(answer, Answer(False, 'the instruction was not accepted'))
                return
            self.on_started(text, who)
            _resolve(answer, Answer(True, 'instruction accepted'))
            handle.get_result_async().add_done_callback(on_end)

        def on_end(future: RosFuture) -> None:
            result = future.result().result
            self.on_ended(text, who, f'{_episode_name(result.error_code)}: {result.error_msg}')

        sending.add_done_callback(on_sent)
        return answer

    def cancel(self) -> Future[Answer]:
        """Cancel all instructions: a request with neither id nor time means all."""
        return self._call(self._cancel, CancelGoal.Request())

    def pause(self, is_paused: bool) -> Future[Answer]:
        """Pause or resume."""
        return self._call(self._pause, SetBool.Request(data=is_paused))

    def require_approval(self, is_required: bool) -> Future[Answer]:
        """Ask before every motion, or not."""
        return self._call(self._require, SetBool.Request(data=is_required))

    def approve(self, is_approved: bool) -> Future[Answer]:
        """Answer to the motion that waits."""
        return self._call(self._approve, SetBool.Request(data=is_approved))

    def _call(self, client: Client, request: Any, absent: str = '') -> Future[Answer]:
        answer: Future[Answer] = Future()
        if not client.service_is_ready():
            text = absent or f'nobody offers {client.srv_name}; is the stack running?'
            answer.set_result(Answer(False, text))
            return answer

        def on_done(future: RosFuture) -> None:
            if future.exception() is not None:
                _resolve(answer, Answer(False, f'{client.srv_name}: {future.exception()!r}'))
            else:
                _resolve(answer, _answer_of(future.result()))

        client.call_async(request).add_done_callback(on_done)
        return answer

    def halt(self) -> None:
        """At a signal: zero, if somebody drives."""
        self.let_go()

    def close(self) -> None:
        """Zero, if somebody drives."""
        self._timer.cancel()
        if self._teleop.let_go():
            for _ in range(3):
                self._send(0.0, 0.0)
                time.sleep(0.02)


def _resolve(answer: Future[Answer], value: Answer) -> None:
    if not answer.cancelled():
        answer.set_result(value)


def _answer_of(response: Any) -> Answer:
    if isinstance(response, CancelGoal.Response):
        is_known = bool(response.goals_canceling)
        return Answer(is_known, 'cancelled' if is_known else 'no instruction is being followed')
    return Answer(bool(response.success), response.message)


def _episode_name(code: int) -> str:
    try:
        return EpisodeCode(code).name
    except ValueError:
        return f'code {code}'
