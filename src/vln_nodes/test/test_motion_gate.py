# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The gate between navigator and legs: pause, approval, refusal, cancelling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from builtin_interfaces.msg import Time

from vln_core.errors import Cancelled
from vln_core.navigator import CancelToken
from vln_core.outcome import MotionCode
from vln_interfaces.action import Spin
from vln_nodes.adapters import RosLegs
from vln_nodes.motion_gate import MotionGate


class Entering:
    """Calls ``enter`` in a thread, as the navigator does."""

    def __init__(self, gate: MotionGate, *, asks: bool) -> None:
        self.token = CancelToken()
        self.result: object = None
        self._thread = threading.Thread(target=self._run, args=(gate, asks), daemon=True)
        self._thread.start()

    def _run(self, gate: MotionGate, asks: bool) -> None:
        try:
            self.result = gate.enter('drive ahead', self.token, asks=asks)
        except Cancelled as error:
            self.result = error

    def is_waiting(self) -> bool:
        self._thread.join(0.15)
        return self._thread.is_alive()

    def answer(self) -> object:
        self._thread.join(2.0)
        assert not self._thread.is_alive()
        return self.result


def eventually(is_met: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 2.0
    while not is_met() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_met()


def test_open_gate_lets_pass() -> None:
    gate = MotionGate()
    assert gate.enter('drive', CancelToken(), asks=True)
    assert gate.state == 'open'


def test_paused_gate_waits_until_resumed() -> None:
    gate = MotionGate()
    gate.pause(True)
    entering = Entering(gate, asks=False)
    assert entering.is_waiting()
    gate.pause(False)
    assert entering.answer() is True


@pytest.mark.parametrize('approved', [True, False])
def test_approval_is_waited_for(approved: bool) -> None:
    gate = MotionGate()
    gate.require_approval(True)
    entering = Entering(gate, asks=True)
    assert entering.is_waiting()
    assert (gate.state, gate.pending) == ('waiting', 'drive ahead')
    assert gate.answer(approved)
    assert entering.answer() is approved
    assert not gate.answer(True), 'nothing waits any more'


def test_turns_need_no_approval() -> None:
    gate = MotionGate()
    gate.require_approval(True)
    assert gate.enter('', CancelToken(), asks=False)


def test_switching_approval_off_lets_go_on() -> None:
    gate = MotionGate()
    gate.require_approval(True)
    entering = Entering(gate, asks=True)
    assert entering.is_waiting()
    gate.require_approval(False)
    assert entering.answer() is True


def test_approval_does_not_end_a_pause() -> None:
    gate = MotionGate()
    gate.require_approval(True)
    entering = Entering(gate, asks=True)
    assert eventually(lambda: gate.state == 'waiting')
    gate.pause(True)
    gate.answer(True)
    assert entering.is_waiting()
    gate.pause(False)
    assert entering.answer() is True


def test_cancelling_ends_the_wait() -> None:
    gate = MotionGate()
    gate.pause(True)
    entering = Entering(gate, asks=False)
    entering.token.cancel()
    assert isinstance(entering.answer(), Cancelled)


class ScriptedCaller:
    """Answers goals from a script, pausing the gate in the middle of the first."""

    def __init__(self, gate: MotionGate) -> None:
        self.token = CancelToken()
        self.angles: list[float] = []
        self._gate = gate

    def action(self, client, goal, name, is_interrupted, on_feedback):  # noqa: ANN001, ANN201
        self.angles.append(goal.angle)
        result = Spin.Result(stamp=Time(sec=len(self.angles)))
        if len(self.angles) == 1:
            on_feedback(Spin.Impl.FeedbackMessage(feedback=Spin.Feedback(remaining=0.4)))
            self._gate.pause(True)
            assert is_interrupted()
            threading.Timer(0.1, self._gate.pause, [False]).start()
            result.error_code = int(MotionCode.CANCELLED)
        return result


def test_a_paused_turn_is_finished_after_the_pause(ros: None) -> None:
    import rclpy

    gate = MotionGate()
    caller = ScriptedCaller(gate)
    node = rclpy.create_node('test_motion_gate')
    outcome = RosLegs(node, caller, gate).spin(-1.2)  # type: ignore[arg-type]
    node.destroy_node()
    assert outcome.code is MotionCode.REACHED
    assert caller.angles == [-1.2, pytest.approx(-0.4)]
