# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One page: its messages become commands, if its role and the wheel allow them."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pydantic import ValidationError

from vln_monitor import messages
from vln_monitor.access import Role
from vln_monitor.audit import CommandLog
from vln_monitor.hub import Hub
from vln_monitor.robot import Answer, Robot
from vln_monitor.wheel import Wheel, WheelTaken

_ANSWER_TIMEOUT = 3.0
# A driver who was silent for so long begins anew, s.
_NEW_DRIVE = 1.0


class Desk:
    """What all pages share: robot, wheel, command log."""

    def __init__(self, robot: Robot, hub: Hub, log: CommandLog) -> None:
        self.robot = robot
        self.hub = hub
        self.log = log
        self.wheel = Wheel()
        self.pages: dict[int, Page] = {}
        self._numbers = itertools.count(1)

    def next_number(self) -> int:
        """Return a number for a new page."""
        return next(self._numbers)

    def show(self) -> None:
        """Tell all pages who is here and who drives."""
        pages = [
            {'id': page.number, 'name': page.name, 'role': page.role.value}
            for page in self.pages.values()
        ]
        self.hub.post(
            'people', {'pages': pages, 'driver': self.wheel.driver, 'name': self.wheel.name}
        )
        self.hub.post('commands', {'entries': list(self.log.recent)[-50:]})

    async def settle(self, waiting: Future[Answer]) -> Answer:
        """Wait for an answer, for a bounded time."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(waiting), _ANSWER_TIMEOUT)
        except asyncio.TimeoutError:
            return Answer(False, f'no answer within {_ANSWER_TIMEOUT:g} s')
        except Exception as error:  # what the graph does must not end the page
            return Answer(False, f'failed: {error!r}')

    async def stop(self, who: str, role: str, address: str, via: str) -> Answer:
        """Stop at once; then write it down."""
        waiting = self.robot.stop()
        answer = await self.settle(waiting)
        self.log.add(who, role, address, f'STOP by {via}', answer.text)
        self.show()
        return answer


class Page:
    """A connected page."""

    def __init__(self, desk: Desk, role: Role, address: str) -> None:
        self.desk = desk
        self.role = role
        self.address = address
        self.number = desk.next_number()
        self.name = f'{role.value} {self.number}'
        self.outbox = desk.hub.open()
        self._is_driving = False
        self._is_drive_refused = False
        self._drive_time = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        desk.pages[self.number] = self
        self.outbox.notice({'welcome': self.number, 'role': role.value})
        desk.show()

    def close(self) -> None:
        """The page is gone: if it drove, the robot stands."""
        self.desk.pages.pop(self.number, None)
        self.desk.hub.close(self.outbox)
        self._leave_wheel('left')
        self.desk.show()

    def receive(self, text: str) -> None:
        """Take one message; what is wrong with it is told to the page."""
        try:
            message = messages.parse(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = '.'.join(map(str, first['loc']))
            self.outbox.notice({'error': f'message refused: {where}: {first["msg"]}'})
            return
        handler: Callable[[Any], None] = getattr(self, f'_on_{message.type}')
        handler(message)

    # -- for everybody --------------------------------------------------------------------------

    def _on_hello(self, message: messages.Hello) -> None:
        if message.name.strip():
            self.name = message.name.strip()
            self.desk.show()

    def _on_show(self, message: messages.Show) -> None:
        self.outbox.wants_camera = message.camera
        if message.camera:
            self.outbox.painted()

    def _on_painted(self, _: messages.Painted) -> None:
        self.outbox.painted()

    def _on_stop(self, _: messages.StopNow) -> None:
        self._spawn(self._stop())

    async def _stop(self) -> None:
        answer = await self.desk.stop(self.name, self.role.value, self.address, 'WebSocket')
        self.outbox.notice({'stop': answer.ok, 'text': answer.text})

    # -- for operators --------------------------------------------------------------------------

    def _on_wheel(self, message: messages.Wheel) -> None:
        if not message.take:
            self._leave_wheel('left the wheel')
            self.desk.show()
        elif self._may_operate('take the wheel'):
            self._take_wheel(force=message.force)

    def _on_release(self, _: messages.Release) -> None:
        self._command('release the stop', self.desk.robot.release)

    def _on_instruct(self, message: messages.Instruct) -> None:
        text = ' '.join(message.text.split())
        if not text:
            self.outbox.notice({'error': 'the instruction is empty'})
            return
        self._command(f'instruct: {text}', lambda: self.desk.robot.instruct(text, self.name))

    def _on_cancel(self, _: messages.Cancel) -> None:
        self._command('cancel the instruction', self.desk.robot.cancel, needs_wheel=False)

    def _on_pause(self, message: messages.Pause) -> None:
        # Pausing makes the robot stand: any operator may. Resuming makes it move.
        self._command(
            'pause' if message.on else 'resume',
            lambda: self.desk.robot.pause(message.on),
            needs_wheel=not message.on,
        )

    def _on_require_approval(self, message: messages.RequireApproval) -> None:
        self._command(
            f'approval of motions {"on" if message.on else "off"}',
            lambda: self.desk.robot.require_approval(message.on),
            needs_wheel=not message.on,
        )

    def _on_approve(self, message: messages.Approve) -> None:
        self._command(
            'approve the motion' if message.yes else 'refuse the motion',
            lambda: self.desk.robot.approve(message.yes),
            needs_wheel=message.yes,
        )

    def _on_drive(self, message: messages.Drive) -> None:
        now = time.monotonic()
        is_new = not self._is_driving or now - self._drive_time > _NEW_DRIVE
        self._drive_time = now
        if is_new and not self._is_drive_refused:
            if not self._may_operate('drive by hand') or not self._take_wheel():
                self._is_drive_refused = True  # said once, not twenty times a second
                return
            self._is_driving = True
            self._log('drive by hand', 'started')
            if self.desk.robot.is_following:
                # When the hand lets go the robot shall stand, not go on by itself.
                self._command(
                    'pause, because of driving by hand', lambda: self.desk.robot.pause(True)
                )
        if self._is_driving and self.desk.wheel.driver == self.number:
            self.desk.robot.drive(message.linear, message.angular, message.speed)

    def _on_let_go(self, _: messages.LetGo) -> None:
        self._is_drive_refused = False
        self._end_driving('let go')

    # -------------------------------------------------------------------------------------------

    def lose_wheel(self, to: str) -> None:
        """Another page has taken over."""
        self._is_drive_refused = self._is_driving
        self._end_driving(f'{to} took over')
        self.outbox.notice({'error': f'{to} took over the wheel'})

    def _leave_wheel(self, why: str) -> None:
        self._end_driving(why)
        if self.desk.wheel.leave(self.number):
            self._log('leave the wheel', why)

    def _end_driving(self, why: str) -> None:
        if self._is_driving:
            self._is_driving = False
            self.desk.robot.let_go()
            self._log('drive by hand', f'ended: {why}')

    def _may_operate(self, what: str) -> bool:
        if self.role is Role.OPERATOR:
            return True
        self._log(what, 'refused: a viewer may only watch and stop')
        self.outbox.notice({'error': 'a viewer may only watch and stop'})
        return False

    def _take_wheel(self, *, force: bool = False) -> bool:
        wheel = self.desk.wheel
        if wheel.driver == self.number:
            return True
        try:
            previous = wheel.take(self.number, self.name, force=force)
        except WheelTaken as error:
            self._log('take the wheel', f'refused: {error}')
            self.outbox.notice({'error': str(error)})
            return False
        if previous is not None and previous in self.desk.pages:
            self.desk.pages[previous].lose_wheel(self.name)
        self._log('take the wheel', 'taken over' if previous is not None else 'taken')
        return True

    def _command(
        self, what: str, start: Callable[[], Future[Answer]], *, needs_wheel: bool = True
    ) -> None:
        if self._may_operate(what) and (not needs_wheel or self._take_wheel()):
            self._spawn(self._carry_out(what, start()))

    async def _carry_out(self, what: str, waiting: Future[Answer]) -> None:
        answer = await self.desk.settle(waiting)
        self._log(what, answer.text)
        key = 'info' if answer.ok else 'error'
        self.outbox.notice({key: answer.text})

    def _log(self, what: str, outcome: str) -> None:
        self.desk.log.add(self.name, self.role.value, self.address, what, outcome)
        self.desk.show()

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
