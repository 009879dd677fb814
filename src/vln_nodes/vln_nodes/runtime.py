# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""How every process of the stack starts and ends.

The main thread only waits for signals; each node has a SingleThreadedExecutor in a thread of its
own. SIGINT, SIGTERM and SIGHUP lead to the same orderly end, with the context still alive, so
that a node can send its last message: rclpy's own handlers would cut it off first.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import rclpy
from rclpy.action import ActionClient, ActionServer
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from vln_core.errors import VlnError
from vln_nodes import parameter_sections
from vln_nodes.base import StackNode
from vln_nodes.ros_logging import forward_logging
from vln_nodes.shared_memory import dead_ports_held

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DRAIN = 0.25
# Python's 5 ms let busy workers keep executors and heartbeats of their process waiting for seconds
# on a loaded machine: with four of each, gaps of up to 3.1 s; with 0.5 ms up to 1.0 s.
_SWITCH_INTERVAL = 0.0005
_logger = logging.getLogger(__name__)


class Closing(VlnError):
    """The node ends: what a callback wanted is not done any more."""


class Worker:
    """One thread for what is slower than a callback may be; calls run in order."""

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._is_closed = False
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    def submit(self, function: Callable[..., Any], *args: Any) -> Future:
        """Run ``function`` in the worker; the returned future can be awaited in a callback."""
        future: Future = Future(executor=self._node.executor)
        if self._is_closed:
            future.set_exception(Closing(f'{self._node.get_name()} ends'))
        else:
            self._pool.submit(self._run, future, function, args)
        return future

    def _run(self, future: Future, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        try:
            result = function(*args)
        except Exception as error:  # re-raised where the future is awaited
            future.set_exception(error)
        else:
            future.set_result(result)
        executor = self._node.executor
        if executor is not None:
            executor.wake()  # a future set from outside does not end the executor's wait

    def close(self, *, wait: bool = False) -> None:
        """Drop what waits; what runs is left to end, or with ``wait`` everything is done first."""
        self._is_closed = True
        self._pool.shutdown(wait=wait, cancel_futures=not wait)


def run(*factories: Callable[[], StackNode], args: Sequence[str] | None = None) -> int:
    """Run nodes in this process until a signal comes; return the process's exit code.

    Args:
        factories: Each makes a node; more than one share the process, each with its own thread.
        args: Command line; ``sys.argv`` by default.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL)
    stop = threading.Event()
    # An Event must not be set in a signal handler: its lock may be held by the interrupted code.
    inbox: queue.SimpleQueue[None] = queue.SimpleQueue()
    is_running = False

    def on_signal(*_: object) -> None:
        inbox.put(None)
        if not is_running:
            raise KeyboardInterrupt  # leave at once, unless some import swallows it

    for number in _SIGNALS:
        signal.signal(number, on_signal)
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # rcl's own, of which each says what was wrong and where
        _say([], f'the command line or a parameter file cannot be used: {error}')
        return 2
    for warning in parameter_sections.misnamed(sys.argv if args is None else args):
        _say([], warning)
    nodes: list[StackNode] = []
    runners: list[_Runner] = []
    code = 0
    try:
        with dead_ports_held():
            for factory in factories:
                nodes.append(factory())
                forward_logging(nodes[-1].get_logger(), 'vln_core')
                forward_logging(nodes[-1].get_logger(), 'vln_nodes')
        is_running = True
        runners = [_Runner(node, stop, inbox) for node in nodes]
        inbox.get()
        for node in nodes:
            node.halt()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except VlnError as error:
        _say(nodes, str(error))
        code = 2
    except Exception:
        # A signal in the middle of an extension's import leaves as an error of that import.
        if is_running or inbox.empty():
            raise
    finally:
        code = max([code, *(runner.end() for runner in runners)])
        for node in nodes:
            _destroy(node)
        rclpy.try_shutdown()
    return code


def main(*factories: Callable[[], StackNode]) -> None:
    """Run nodes and leave the process with their exit code."""
    code = run(*factories)
    sys.stdout.flush()
    sys.stderr.flush()
    # A worker may hang in a model call or a driver; everything that matters has been closed.
    os._exit(code)


def _destroy(node: Node) -> None:
    """Give back what the node holds; its actions too, or its shared memory would stay behind."""
    for waitable in list(node.waitables):
        if isinstance(waitable, (ActionServer, ActionClient)):
            waitable.destroy()
    node.destroy_node()


def raise_priority(priority: int) -> bool:
    """Ask for real-time scheduling of all threads of this process; later ones inherit it.

    Returns:
        False where the system does not grant it: everything works, less punctually.
    """
    if priority == 0:
        return True
    try:
        for thread in os.listdir('/proc/self/task'):
            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(priority))
    except (AttributeError, OSError):
        return False
    return True


def keep_memory() -> None:
    """Let this process keep the memory of pictures that it has freed, some tens of megabytes.

    glibc gives every block of a picture's size back to the system at once, and clearing new pages
    costs more than the copy of a picture. Elsewhere nothing is done.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, 1)  # one place for all threads, or it grows with each of them
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 64 << 20)


class _Runner:
    """A node's executor in a thread of its own."""

    def __init__(
        self, node: StackNode, stop: threading.Event, inbox: queue.SimpleQueue[None]
    ) -> None:
        self._node = node
        self._stop = stop
        self._inbox = inbox
        self._code = 0
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, name=node.get_name(), daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            while not self._stop.is_set():
                self._executor.spin_once(timeout_sec=0.2)
                if getattr(self._node, 'has_failed', False):  # not every node is a StackNode
                    self._code = 1
                    break
        except ExternalShutdownException:
            pass
        except VlnError as error:
            _say([self._node], str(error))
            self._code = 2
        except Exception:
            _logger.exception('%s failed', self._node.get_name())
            self._code = 1
        finally:
            self._stop.set()
            self._inbox.put(None)
            self._close_node()

    def _close_node(self) -> None:
        """Let the node close, and its pending callbacks answer whoever waits for them."""
        try:
            self._node.close()
            deadline = time.monotonic() + _DRAIN
            while time.monotonic() < deadline:
                with contextlib.suppress(Closing):
                    self._executor.spin_once(timeout_sec=0.02)
        except Exception:
            _logger.exception('%s did not close in order', self._node.get_name())
            self._code = 1

    def end(self) -> int:
        """Stop the thread and return its exit code."""
        self._stop.set()
        self._executor.wake()
        self._thread.join(timeout=3.0)
        self._executor.shutdown(timeout_sec=0.5)
        return self._code


def _say(nodes: Sequence[StackNode], message: str) -> None:
    """One clear line, also where no node exists yet."""
    name = nodes[-1].get_name() if nodes else 'vln'
    sys.stderr.write(f'[{name}] {message}\n')
