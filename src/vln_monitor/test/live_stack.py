# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Processes and listeners of the test in a browser: a free-running simulation and the monitor."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import IO

import rclpy
from geometry_msgs.msg import TwistStamped
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

from vln_interfaces.msg import SafetyStatus
from vln_monitor.command_node import CommandNode
from vln_nodes import qos

ROOT = Path(__file__).resolve().parents[3]
CHROMIUM_ARGUMENTS = (
    '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run '
    '--disable-background-networking --disable-component-update --disable-sync'
).split()


def free_port() -> int:
    """Return a port that is free, with the next one."""
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(('127.0.0.1', 0))
            port = one.getsockname()[1]
            with contextlib.suppress(OSError):
                two.bind(('127.0.0.1', port + 1))
                return port


class Running:
    """A process in a session of its own, ended with everything that it started."""

    def __init__(self, command: list[str], log: IO[bytes], **environment: str) -> None:
        self._process = subprocess.Popen(
            command,
            env={**os.environ, 'OMP_NUM_THREADS': '1', **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout: float) -> int:
        return self._process.wait(timeout)

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        if self.is_alive:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(15.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def start_monitor(
    log: IO[bytes], port: int, folder: Path, *arguments: str, **environment: str
) -> Running:
    """Start the monitor; its commands go into ``folder``."""
    command = [sys.executable, '-c', 'from vln_monitor.main import main; main()', '--ros-args']
    command += ['-p', f'port:={port}', '-p', f'command_log:={folder / "commands.jsonl"}']
    return Running([*command, *arguments], log, **environment)


def wait_for_page(port: int, running: Running, timeout: float = 60.0) -> None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and running.is_alive:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f'http://127.0.0.1:{port}/healthz', timeout=2.0).close()
            return
        time.sleep(0.2)
    raise AssertionError('the monitor does not serve its page')


class Listener:
    """What safety sends to the base, with the wall time at which it arrived."""

    def __init__(self) -> None:
        rclpy.init()
        self._node = rclpy.create_node('test_browser')
        self.commands: deque[tuple[float, float, float]] = deque(maxlen=5000)
        self.safety = SafetyStatus(state=SafetyStatus.STARTING)
        self._node.create_subscription(TwistStamped, 'cmd_vel', self._on_command, qos.COMMAND)
        self._node.create_subscription(SafetyStatus, 'safety_status', self._on_safety, qos.LATCHED)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._commands = CommandNode()
        self._executor.add_node(self._commands)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def _on_command(self, message: TwistStamped) -> None:
        twist = message.twist
        self.commands.append((time.time(), twist.linear.x, twist.angular.z))

    def _on_safety(self, status: SafetyStatus) -> None:
        self.safety = status

    def reset(self) -> None:
        """Leave nothing to the next test: no instruction, pause, approval or stop."""
        commands = self._commands
        for ask in (
            commands.cancel,
            lambda: commands.pause(False),
            lambda: commands.require_approval(False),
            commands.release,
        ):
            with contextlib.suppress(FutureTimeoutError):
                ask().result(timeout=5.0)
        eventually(lambda: not commands.is_following, 20.0)

    @property
    def is_moving(self) -> bool:
        recent = list(self.commands)[-2:]
        return len(recent) == 2 and all(v or w for _, v, w in recent)

    def zero_after(self, moment: float, timeout: float = 2.0) -> float:
        """Return how long after a wall time the first zero came that nothing followed."""
        time.sleep(timeout)
        after = [(t, v, w) for t, v, w in list(self.commands) if t >= moment]
        moving = [t for t, v, w in after if v or w]
        since = max(moving, default=moment)
        return next(t for t, _, _ in after if t > since or not moving) - moment

    def close(self) -> None:
        # The thread ends first: a node that is destroyed under its executor takes all down.
        self._executor.shutdown()
        self._thread.join(timeout=10.0)
        self._commands.destroy_node()
        self._node.destroy_node()
        rclpy.try_shutdown()


def eventually(is_met: Callable[[], bool], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not is_met():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
