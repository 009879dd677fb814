# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the node tests: a private ROS domain, and waiting with a bound."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import pytest

DISCOVERY_TIMEOUT = 10.0

# Before rclpy is imported: tests must not hear, or be heard by, anything else.
os.environ.setdefault('ROS_DOMAIN_ID', str(100 + os.getpid() % 100))
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ.setdefault('OMP_NUM_THREADS', '1')

pytest.importorskip('rclpy', reason='needs ROS 2: source the environment first')


@pytest.fixture
def ros() -> Iterator[None]:
    """Initialise rclpy for one test."""
    import rclpy

    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture
def spin_until() -> Callable[..., bool]:
    """Return a function that spins a node until a condition holds, at most ``timeout`` s."""
    import rclpy

    def run(node: object, is_met: Callable[[], bool], timeout: float = DISCOVERY_TIMEOUT) -> bool:
        deadline = time.monotonic() + timeout
        while not is_met():
            if time.monotonic() > deadline:
                return False
            rclpy.spin_once(node, timeout_sec=0.05)
        return True

    return run
