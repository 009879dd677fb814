# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the nodes in order, watches them, activates them again, stops them in reverse order.

It never holds the robot: safety stands still by itself when a heartbeat is missing, also when
this process is gone. Processes are restarted by the launch file; what comes back is configured
and activated here, a bounded number of times.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.client import Client
from std_srvs.srv import SetBool, Trigger

from vln_core.errors import Cancelled, ConfigError, VlnError
from vln_interfaces.msg import Heartbeat, SafetyStatus
from vln_nodes import parameters, qos, runtime
from vln_nodes.base import StackNode, steady_now
from vln_nodes.calls import Caller, NoAnswer
from vln_nodes.parameters import parameter

NODES = ('safety', 'controller', 'perception', 'memory', 'system1', 'system2')
_PERIOD = 0.25
_ANSWER = 2.0
_STILL = 2.0


class LifecycleError(VlnError):
    """A node does not come up, or was lost too often."""


@dataclass(frozen=True)
class LifecycleParameters:
    """Parameters of the lifecycle manager."""

    nodes: tuple[str, ...] = field(
        default=NODES, metadata={'description': 'Nodes in the order of starting.'}
    )
    start_timeout: float = parameter(
        120.0, 'Longest wait for a process to appear and load, s.', minimum=1.0
    )
    transition_timeout: float = parameter(
        30.0, 'Longest wait for a node to change its state, s.', minimum=1.0
    )
    silence: float = parameter(
        3.0, 'An active node without a heartbeat for so long is lost, s.', minimum=0.5
    )
    max_restarts: int = parameter(
        3, 'How often a node may be lost and activated again; then all are stopped.', minimum=0
    )
    return_timeout: float = parameter(
        120.0, 'Longest wait for a lost node to come back, s.', minimum=1.0
    )

    def __post_init__(self) -> None:
        if not self.nodes or len(set(self.nodes)) != len(self.nodes):
            raise ConfigError('lifecycle_manager: nodes must be a list of different names')


class LifecycleManager(StackNode):
    """Serves ``lifecycle_manager/is_active`` and ``lifecycle_manager/manage_nodes``."""

    def __init__(self) -> None:
        super().__init__('lifecycle_manager')
        self._config = parameters.load(self, LifecycleParameters())
        self._caller = Caller(self)
        self._heard: dict[str, float] = {}
        self._restarts = dict.fromkeys(self._config.nodes, 0)
        self._status = SafetyStatus()
        self._wishes_up = True
        self._is_up = False
        self._failure = ''
        self._changed = threading.Event()
        self._is_closed = False
        self._states: dict[str, Client] = {}
        self._changers: dict[str, Client] = {}
        for name in self._config.nodes:
            self._states[name] = self.create_client(GetState, f'{name}/get_state')
            self._changers[name] = self.create_client(ChangeState, f'{name}/change_state')
        self._cancel = self.create_client(CancelGoal, 'navigate/_action/cancel_goal')
        self.create_subscription(Heartbeat, 'heartbeat', self._on_heartbeat, qos.HEARTBEAT)
        self.create_subscription(SafetyStatus, 'safety_status', self._on_status, qos.LATCHED)
        self.create_service(Trigger, 'lifecycle_manager/is_active', self._on_is_active)
        self.create_service(SetBool, 'lifecycle_manager/manage_nodes', self._on_manage)
        self._thread = threading.Thread(target=self._run, name='lifecycle', daemon=True)
        self._thread.start()

    def _on_heartbeat(self, message: Heartbeat) -> None:
        self._heard[message.node] = steady_now()

    def _on_status(self, message: SafetyStatus) -> None:
        self._status = message

    def _on_is_active(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._is_up
        response.message = self._failure or ('active' if self._is_up else 'not active')
        return response

    def _on_manage(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._wishes_up = bool(request.data)
        if request.data:
            self._restarts = dict.fromkeys(self._config.nodes, 0)
        self._changed.set()
        response.success = True
        response.message = 'starting' if request.data else 'stopping in reverse order'
        return response

    # -- the thread that manages --------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._is_closed:
                self._changed.clear()
                if self._wishes_up and not self._is_up:
                    self._start_all()
                elif not self._wishes_up and self._is_up:
                    self.stop_all()
                elif self._is_up:
                    self._watch()
                self._changed.wait(_PERIOD)
        except Cancelled:
            pass  # this process ends
        except LifecycleError as error:
            self._give_up(str(error))
        except Exception as error:
            self.get_logger().fatal(f'the lifecycle manager failed: {error!r}')
            self._give_up(repr(error))

    def _give_up(self, reason: str) -> None:
        """Stop everything and end this process, with which the launch ends."""
        self._failure = reason
        self.get_logger().error(f'{reason}; stopping all nodes')
        self.report(error=reason, **self._shown())
        try:
            self.stop_all()
        except VlnError as error:
            self.get_logger().error(str(error))
        self.fail()

    def _start_all(self) -> None:
        for name in self._config.nodes:
            self.report(warning=f'starting {name}', **self._shown())
            self._bring_up(name, self._config.start_timeout)
        self._is_up = True
        self.report(**self._shown())
        self.get_logger().info(f'active: {", ".join(self._config.nodes)}')

    def _bring_up(self, name: str, timeout: float) -> None:
        """Lead a node to the state active and wait for its first heartbeat."""
        deadline = time.monotonic() + timeout
        while (state := self._state_of(name)) is None:
            if time.monotonic() > deadline:
                raise LifecycleError(f'{name} does not answer within {timeout:.0f} s')
            self._pause()
        for start, transition in (
            (State.PRIMARY_STATE_UNCONFIGURED, Transition.TRANSITION_CONFIGURE),
            (State.PRIMARY_STATE_INACTIVE, Transition.TRANSITION_ACTIVATE),
        ):
            if state == start:
                self._change(name, transition, timeout)
                state = self._state_of(name)
        if state != State.PRIMARY_STATE_ACTIVE:
            raise LifecycleError(f'{name} did not become active (state {state})')
        self._heard.pop(name, None)
        deadline = time.monotonic() + self._config.transition_timeout
        while name not in self._heard:
            if time.monotonic() > deadline:
                raise LifecycleError(f'{name} is active but sends no heartbeat')
            self._pause()
        self.get_logger().info(f'{name} is active')

    def _watch(self) -> None:
        """Activate anew what was lost and has come back."""
        for name in self._config.nodes:
            silence = steady_now() - self._heard[name]
            if silence < self._config.silence:
                continue
            self._restarts[name] += 1
            count, limit = self._restarts[name], self._config.max_restarts
            problem = f'{name} was lost ({silence:.1f} s without a heartbeat)'
            self.get_logger().error(f'{problem}: restart {count} of at most {limit}')
            self.report(error=problem, **self._shown())
            if count > limit:
                raise LifecycleError(f'{name} was lost {count} times')
            self._bring_up(name, self._config.return_timeout)
            self.report(**self._shown())

    def stop_all(self) -> None:
        """Cancel the instruction, see the robot stand, deactivate in reverse order."""
        self._is_up = False
        if self._cancel.service_is_ready():
            try:  # a request without id and time means all goals
                self._caller.service(self._cancel, CancelGoal.Request(), _ANSWER)
            except NoAnswer as error:
                self.get_logger().warning(f'instruction not cancelled: {error}')
        deadline = time.monotonic() + _STILL
        while self._is_driven and time.monotonic() < deadline:
            self._pause()
        for name in reversed(self._config.nodes):
            if self._state_of(name) == State.PRIMARY_STATE_ACTIVE:
                self._change(name, Transition.TRANSITION_DEACTIVATE)
                self.get_logger().info(f'{name} is inactive')
        self.report(warning=self._failure or 'stopped', **self._shown())

    @property
    def _is_driven(self) -> bool:
        twist = self._status.commanded
        return bool(abs(twist.linear.x) + abs(twist.angular.z) > 1e-6)

    def _state_of(self, name: str) -> int | None:
        """Return a node's state; None if it does not answer."""
        client = self._states[name]
        if not client.service_is_ready():
            return None
        try:
            return int(self._caller.service(client, GetState.Request(), _ANSWER).current_state.id)
        except NoAnswer:
            return None

    def _change(self, name: str, transition: int, timeout: float | None = None) -> None:
        request = ChangeState.Request(transition=Transition(id=transition))
        try:
            response = self._caller.service(
                self._changers[name], request, timeout or self._config.transition_timeout
            )
        except NoAnswer as error:
            raise LifecycleError(str(error)) from error
        if not response.success:
            raise LifecycleError(f'{name} refused transition {transition}; its log says why')

    def _pause(self) -> None:
        time.sleep(_PERIOD)
        self._caller.token.check()

    def _shown(self) -> dict[str, object]:
        return {f'restarts of {name}': count for name, count in self._restarts.items() if count}

    def close(self) -> None:
        """End the thread; the nodes end by their own signals."""
        self._is_closed = True
        self._caller.close()
        self._changed.set()
        self._thread.join(timeout=1.0)


def main() -> None:
    """Run the node."""
    runtime.main(LifecycleManager)


if __name__ == '__main__':
    main()
