# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests: stacks in private ROS domains that are always ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vln_cli.domains import claim_domain, release_domain, use_own_domain

use_own_domain()
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ.setdefault('OMP_NUM_THREADS', '1')
sys.path.insert(0, str(Path(__file__).parents[1]))  # vln_system_tests
sys.path.insert(0, str(Path(__file__).parent))

pytest.importorskip('rclpy', reason='needs ROS 2: run ./vln test, or source the environment')


@pytest.fixture
def domain() -> Iterator[int]:
    """Return a ROS domain that nothing else on this machine uses."""
    number = claim_domain()
    yield number
    release_domain(number)


@pytest.fixture
def start_stack(tmp_path: Path, domain: int) -> Iterator[Callable[..., object]]:
    """Return a function that starts a stack; all are ended with the test."""
    from stack import Stack

    stacks: list[Stack] = []

    def start(*args: object, **arguments: object) -> Stack:
        folder = tmp_path / str(len(stacks))
        folder.mkdir()
        stacks.append(Stack(folder, domain, *args, **arguments))
        return stacks[-1]

    yield start
    for stack in stacks:
        stack.end()


@pytest.fixture
def watch() -> Iterator[Callable[..., object]]:
    """Return a function that watches a stack over ROS."""
    from watcher import Watcher

    watchers: list[Watcher] = []

    def start(stack: object, namespace: str = '') -> Watcher:
        watchers.append(Watcher(stack, namespace))
        return watchers[-1]

    yield start
    for watcher in watchers:
        watcher.close()
