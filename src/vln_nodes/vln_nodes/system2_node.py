# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""System 2: hosts the navigator, which follows instructions over the other nodes."""

from __future__ import annotations

import threading
from pathlib import Path

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import SetBool

from vln_core.navigator import (
    CancelToken,
    EpisodeResult,
    Navigator,
    NavigatorEvent,
)
from vln_core.outcome import EpisodeCode
from vln_core.system2.stop_word import is_stop_word
from vln_core.system2.transcript import Transcript
from vln_interfaces.action import Navigate
from vln_interfaces.msg import DecisionRecord
from vln_nodes import memory_conversions, parameters, qos, runtime
from vln_nodes.adapters import RosEyes, RosLegs, RosMemory, RosPointer
from vln_nodes.base import StackNode
from vln_nodes.calls import Caller
from vln_nodes.model_calls import PublishedTranscript
from vln_nodes.motion_gate import MotionGate
from vln_nodes.system2_config import System2Parameters, make_model, make_planner, usage_text


class System2Node(StackNode):
    """Offers ``navigate``, and ``system2/*`` to pause and to approve; publishes ``decisions``."""

    def __init__(self) -> None:
        super().__init__('system2')
        self._config = parameters.load(self, System2Parameters())
        self._caller = Caller(self)
        self._shown: dict[str, object] = {'state': 'idle', 'step': 0, 'text': ''}
        self._gate = MotionGate(self._show)
        legs = RosLegs(self, self._caller, self._gate)
        eyes = RosEyes(self, self._caller, legs)
        pointer = RosPointer(self, self._caller)
        self._model = make_model(
            self._config, lambda: self._caller.token.is_cancelled, self._transcript()
        )
        self._memory = RosMemory(self, self._caller, with_map_image=self._config.shows_map)
        self._navigator = Navigator(
            eyes,
            self._memory,
            make_planner(self._config, self._model),
            pointer,
            legs,
            self._config.navigator,
            on_event=self._on_event,
        )
        self._lock = threading.Lock()
        self._handle: ServerGoalHandle | None = None
        self._is_busy = False
        self._running: Future | None = None
        self._was_told_to_stop = False
        self._num_episodes = 0
        self._worker = runtime.Worker(self, 'navigator')
        self._decisions = self.create_publisher(DecisionRecord, 'decisions', qos.EVENTS)
        self.create_service(SetBool, 'system2/pause', self._on_pause)
        self.create_service(SetBool, 'system2/require_approval', self._on_require_approval)
        self.create_service(SetBool, 'system2/approve', self._on_approve)
        self.create_subscription(String, 'operator_words', self._on_words, qos.EVENTS)
        self._show()
        self._server = ActionServer(
            self,
            Navigate,
            'navigate',
            self._execute,
            callback_group=ReentrantCallbackGroup(),
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )

    def _transcript(self) -> Transcript:
        calls = self.create_publisher(String, 'model_calls', qos.EVENTS)
        folder = Path(self._config.transcript) if self._config.transcript else None
        return PublishedTranscript(
            folder, lambda text: calls.publish(String(data=text)), lambda: self._memory.episode_id
        )

    def _on_goal(self, goal: Navigate.Goal) -> GoalResponse:
        """Accept everything: a refusal could not say why; the result of a bad goal does."""
        return GoalResponse.ACCEPT

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        if self._handle is not None and handle.goal_id == self._handle.goal_id:
            self._caller.token.cancel()
        return CancelResponse.ACCEPT

    def _on_words(self, message: String) -> None:
        """Hear the stop word; instructions come as goals of ``navigate``."""
        if is_stop_word(message.data):
            self._stop_at_once(message.data)

    def _stop_at_once(self, words: str) -> None:
        self._was_told_to_stop = True
        self._caller.token.cancel()
        self.get_logger().warning(f'the operator said "{words.strip()[:60]}": the robot stops')

    async def _stand_still(self, handle: ServerGoalHandle) -> Navigate.Result:
        """End what runs, because the stop word came as an instruction."""
        self._stop_at_once(handle.request.instruction)
        if self._running is not None:
            await self._running
        handle.succeed()
        return Navigate.Result(
            error_code=int(EpisodeCode.STOPPED_VERIFIED),
            error_msg='the robot stands, as the operator said',
            is_verified=True,
        )

    async def _execute(self, handle: ServerGoalHandle) -> Navigate.Result:
        if is_stop_word(handle.request.instruction):
            return await self._stand_still(handle)
        if self._is_busy:
            handle.abort()
            return Navigate.Result(
                error_code=int(EpisodeCode.BUSY),
                error_msg='another instruction is being followed; cancel it first',
            )
        self._is_busy = True
        self._was_told_to_stop = False
        self._num_episodes += 1
        self._caller.token = CancelToken()
        self._memory.episode_id = handle.request.episode_id or f'episode_{self._num_episodes}'
        self._handle = handle
        self._running = self._worker.submit(
            self._navigator.run, handle.request.instruction, self._caller.token
        )
        try:
            result: EpisodeResult = await self._running
        except Exception as error:
            # A defect, not a refusal: the loop has halted the legs, and people must see why.
            self.get_logger().error(f'the navigator failed: {error!r}')
            handle.abort()
            return Navigate.Result(
                error_code=int(EpisodeCode.PLANNER_FAILED),
                error_msg=f'the navigator failed: {error!r}',
            )
        finally:
            self._is_busy = False
            self._running = None
            self._handle = None
        if result.code is EpisodeCode.CANCELLED and handle.is_cancel_requested:
            handle.canceled()
        elif result.code in (EpisodeCode.STOPPED_VERIFIED, EpisodeCode.STOPPED_UNVERIFIED):
            handle.succeed()
        else:
            handle.abort()
        message = result.message
        if result.code is EpisodeCode.CANCELLED and self._was_told_to_stop:
            message = 'the operator said stop'
        self.get_logger().info(f'{result.code.name}: {message}')
        return Navigate.Result(
            error_code=int(result.code),
            error_msg=message,
            is_verified=result.is_verified,
            num_decisions=len(result.decisions),
            distance_driven=float(result.distance_driven),
        )

    def _on_event(self, event: NavigatorEvent) -> None:
        """Publish progress; called in the navigator's thread."""
        handle = self._handle
        if handle is not None and handle.is_active:
            feedback = Navigate.Feedback(step=event.step, state=event.state, text=event.text)
            handle.publish_feedback(feedback)
        self._shown = {'state': event.state, 'step': event.step, 'text': event.text}
        self._show()
        if event.trace is not None:
            self.meters.took('decision', event.trace.latency)
            if event.trace.refusals:
                self.meters.last_refusal = event.trace.refusals[-1]
            message = memory_conversions.decision_msg(
                event.trace, episode_id=self._memory.episode_id, planner=self._config.planner
            )
            self._decisions.publish(message)
            self.get_logger().info(f'{event.step}: {message.action_text} -> {event.text}')

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._gate.pause(request.data)
        response.success = True
        response.message = 'the robot stands until resumed' if request.data else 'resumed'
        return response

    def _on_require_approval(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        self._gate.require_approval(request.data)
        response.success = True
        response.message = f'motions {"need approval" if request.data else "begin by themselves"}'
        return response

    def _on_approve(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        response.success = self._gate.answer(request.data)
        word = 'approved' if request.data else 'refused'
        response.message = word if response.success else 'no motion waits for approval'
        return response

    def _show(self) -> None:
        """Say in the diagnostics what the navigator does, and whether it waits for people."""
        left = self._config.navigator.max_waypoints - int(str(self._shown['step']))
        self.report(
            **self._shown,
            gate=self._gate.state,
            pending=self._gate.pending,
            **usage_text(self._model, self._config.budget),
            **{'waypoints left': left if self._is_busy else self._config.navigator.max_waypoints},
        )
        self._publish_health()  # whoever is asked to approve shall not wait a second for it

    def close(self) -> None:
        """Cancel what runs; the controller stands still when its goal is cancelled."""
        self._caller.close()
        self._worker.close()


def main() -> None:
    """Run the node."""
    runtime.main(System2Node)


if __name__ == '__main__':
    main()
