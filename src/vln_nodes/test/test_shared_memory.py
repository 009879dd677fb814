# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A restarted node keeps away from the ports of a killed one that others still send to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rclpy
from std_msgs.msg import Float64

from vln_core.file_lock import lock_file
from vln_nodes import shared_memory

LISTENER = """
import rclpy
from std_msgs.msg import Float64
rclpy.init()
node = rclpy.create_node('listener')
node.create_subscription(Float64, 'numbers', lambda _: print('heard', flush=True), 1)
rclpy.spin(node)
"""


def is_free(lock: Path) -> bool:
    found = lock_file(lock)
    if found is not None:
        found.close()
    return found is not None


def test_only_dead_ports_that_somebody_has_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_memory, '_SHARED_MEMORY', tmp_path)
    monkeypatch.setattr(
        shared_memory, 'mapped_ports', lambda: {'fastdds_port7411', 'fastdds_port7413'}
    )
    dead, nobodys, living = (tmp_path / f'fastdds_port{n}_el' for n in (7411, 7415, 7413))
    for file in (dead, nobodys, living):
        file.touch()
    owner = lock_file(living)
    with shared_memory.dead_ports_held():
        assert [is_free(file) for file in (dead, nobodys, living)] == [False, True, False]
    assert owner is not None
    owner.close()
    assert all(is_free(file) for file in (dead, nobodys, living))


def test_the_port_of_a_killed_listener_is_found_and_held(ros: None) -> None:
    node = rclpy.create_node('speaker')
    publisher = node.create_publisher(Float64, 'numbers', 1)
    node.create_timer(0.02, lambda: publisher.publish(Float64(data=1.0)))
    child = subprocess.Popen([sys.executable, '-c', LISTENER], stdout=subprocess.PIPE)
    try:
        os.set_blocking(child.stdout.fileno(), False)  # type: ignore[union-attr]
        heard, deadline = None, time.monotonic() + 60.0
        while not heard and time.monotonic() < deadline:
            rclpy.spin_once(node, timeout_sec=0.1)
            heard = child.stdout.read()  # type: ignore[union-attr]
        assert heard
        files = [os.readlink(file) for file in Path(f'/proc/{child.pid}/fd').iterdir()]
        ports = {name for file in files for name in re.findall(r'fastdds_port\d+(?=_el)', file)}
        if not ports:
            pytest.skip('no shared memory transport here')
    finally:
        child.kill()
        child.wait()
    used = {name for name in ports if name in shared_memory.mapped_ports()}
    assert used, 'the speaker has the port of the listener still'
    locks = [Path('/dev/shm') / f'{name}_el' for name in used]
    assert all(is_free(lock) for lock in locks), 'the listener is dead'
    with shared_memory.dead_ports_held():
        assert not any(is_free(lock) for lock in locks)
    node.destroy_node()
