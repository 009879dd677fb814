# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Mode ``nav2`` against a scripted NavigateToPose server behind rclpy's client interface.

nav2_msgs is not among the wheels, so the server is scripted at the client's interface: fields and
status codes are those of nav2_msgs/action/NavigateToPose, what DDS does is not tested here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import TwistStamped
from rclpy.task import Future

from vln_core.errors import ConfigError
from vln_core.outcome import MotionCode, MotionOutcome
from vln_nodes import controller_nav2
from vln_nodes.controller_loop import ControlLoop
from vln_nodes.controller_nav2 import Nav2Driver, motion_code
from vln_nodes.controller_parameters import ControllerParameters


class NavigateToPose:
    """The fields of nav2_msgs/action/NavigateToPose that are used."""

    class Goal(SimpleNamespace):
        pass


class Server:
    """Takes goals as an action client does, and answers when it is told to."""

    def __init__(self, *, accepts: bool = True, is_ready: bool = True) -> None:
        self.accepted, self.server_is_ready = accepts, lambda: is_ready
        self.goal: Any = None
        self.is_cancelled = False
        self.result: Future = Future()

    def send_goal_async(self, goal: Any, feedback: Callable[[Any], None]) -> Future:
        self.goal, self.feed_back = goal, feedback
        sent: Future = Future()
        sent.set_result(self)
        return sent

    def get_result_async(self) -> Future:
        return self.result

    def cancel_goal_async(self) -> None:
        self.is_cancelled = True

    def end(self, status: int, error_code: int = 0, error_msg: str = '') -> None:
        result = SimpleNamespace(error_code=error_code, error_msg=error_msg)
        self.result.set_result(SimpleNamespace(status=status, result=result))
        for callback in self.result._callbacks:  # without an executor nobody else calls them
            callback(self.result)


class Topics:
    """What the controller would publish."""

    def __init__(self) -> None:
        self.sent: list[tuple[float, float, bool]] = []

    def send(self, stamp: int, v: float, w: float, *, is_hold: bool) -> None:
        self.sent.append((v, w, is_hold))


class Bench:
    """A control loop with a job that Nav2 drives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
        self.server, self.topics = server, Topics()
        monkeypatch.setattr(controller_nav2, 'ActionClient', lambda *_, **__: server)
        node = SimpleNamespace(create_subscription=self._subscribe)
        self.loop = ControlLoop(
            ControllerParameters(mode='nav2'), self.topics, lambda: None, lambda _: None
        )
        changed = SimpleNamespace(group=None, wait_for=self._wait_for)
        self.nav2 = Nav2Driver(
            node, self.loop, changed, 'odom', action='navigate_to_pose', action_type=NavigateToPose
        )
        self.job = SimpleNamespace(
            is_started=True, is_ended=False, stopping=None, is_zero_sent=False, outcome=None,
            remaining=None, stands=lambda velocity: velocity == (0.0, 0.0),
        )  # fmt: skip
        self.job.stop = lambda outcome: setattr(self.job, 'stopping', outcome)
        self.job.end = lambda outcome=None: setattr(self.job, 'outcome', outcome)
        self.job.feed_back = lambda remaining: setattr(self.job, 'remaining', remaining)
        self.loop.job, self.loop.driver = self.job, self.nav2
        self.loop.on_odometry(1_000_000_000, (1.0, 2.0, 0.0), (0.3, 0.0))

    def _subscribe(self, kind: Any, name: str, callback: Callable[[Any], None], _: Any) -> None:
        assert (kind, name) == (TwistStamped, 'nav2/cmd_vel')
        self.nav2_says = callback

    @staticmethod
    async def _wait_for(is_met: Callable[[], bool], _: float) -> bool:
        return is_met()

    def start(self) -> MotionOutcome | None:
        return asyncio.run(self.nav2.start((3.0, 2.0), math.pi / 2))

    def drive(self, v: float, w: float) -> None:
        twist = TwistStamped()
        twist.twist.linear.x, twist.twist.angular.z = v, w
        self.nav2_says(twist)

    def stand(self) -> None:
        """The robot comes to rest: two more periods."""
        for k in range(2):
            self.loop.on_odometry((2 + k) * 1_000_000_000, (1.0, 2.0, 0.0), (0.0, 0.0))
            self.loop.step()


def test_a_goal_goes_to_nav2_and_its_velocity_to_safety(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, Server())
    assert bench.start() is None
    pose = bench.server.goal.pose
    assert pose.header.frame_id == 'odom'
    assert (pose.pose.position.x, pose.pose.position.y) == (3.0, 2.0)
    assert pose.pose.orientation.z == pytest.approx(math.sin(math.pi / 4))
    bench.loop.step()
    assert bench.topics.sent[-1] == (0.0, 0.0, False)  # Nav2 is still thinking
    bench.drive(0.25, 0.1)
    assert bench.topics.sent[-1] == (0.25, 0.1, False)
    bench.server.feed_back(SimpleNamespace(feedback=SimpleNamespace(distance_remaining=1.5)))
    bench.loop.step()
    assert bench.job.remaining == 1.5
    bench.server.end(GoalStatus.STATUS_SUCCEEDED)
    bench.drive(0.25, 0.1)  # too late: the goal has ended
    bench.stand()
    assert bench.job.outcome.code is MotionCode.REACHED
    assert bench.topics.sent[-1] == (0.0, 0.0, True)
    assert (0.0, 0.0, False) == bench.topics.sent[-2]


def test_cancelling_reaches_nav2_and_what_it_still_sends_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch, Server())
    assert bench.start() is None
    bench.drive(0.25, 0.0)
    bench.loop.abort(MotionCode.CANCELLED, 'cancelled')
    assert bench.server.is_cancelled
    assert bench.topics.sent[-1] == (0.0, 0.0, False)
    bench.drive(0.25, 0.0)
    bench.stand()
    assert all(v == 0.0 for v, _, _ in bench.topics.sent[-3:])
    assert bench.job.outcome.code is MotionCode.CANCELLED
    bench.server.end(GoalStatus.STATUS_CANCELED)
    assert bench.job.outcome.code is MotionCode.CANCELLED


@pytest.mark.parametrize(
    ('error', 'code'),
    [
        (104, MotionCode.BLOCKED),
        (105, MotionCode.STUCK),
        (202, MotionCode.STALE_INPUT),
        (204, MotionCode.UNKNOWN_SPACE),
        (206, MotionCode.GOAL_IN_OBSTACLE),
        (208, MotionCode.NO_PATH),
        (9002, MotionCode.STALE_INPUT),
        (9003, MotionCode.TIMEOUT),
        (4711, MotionCode.BLOCKED),
    ],
)
def test_errors_of_nav2_are_told_in_codes_of_this_stack(
    monkeypatch: pytest.MonkeyPatch, error: int, code: MotionCode
) -> None:
    assert motion_code(error) is code
    bench = Bench(monkeypatch, Server())
    assert bench.start() is None
    bench.server.end(GoalStatus.STATUS_ABORTED, error, 'no luck')
    bench.stand()
    assert bench.job.outcome.code is code
    assert 'no luck' in bench.job.outcome.message and str(error) in bench.job.outcome.message


def test_without_nav2_nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Bench(monkeypatch, Server(is_ready=False)).start()
    assert refused.code is MotionCode.NOT_READY
    rejected = Bench(monkeypatch, Server(accepts=False)).start()
    assert rejected.code is MotionCode.NO_PATH
    with pytest.raises(ConfigError, match='lock-step'):
        ControllerParameters(mode='nav2', lockstep=True)
    with pytest.raises(ConfigError, match='none'):
        ControllerParameters(mode='nav3')


def test_missing_messages_are_told() -> None:
    try:
        import nav2_msgs.action  # noqa: F401
    except ImportError:
        with pytest.raises(ConfigError, match='install Nav2'):
            controller_nav2.navigate_to_pose_type()
    else:
        assert controller_nav2.navigate_to_pose_type().Goal
