# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing of a test run stays behind."""

import fcntl
import os
import subprocess
import sys
import time

from vln_cli import processes


def test_marked_processes_are_found_and_ended():
    mark = f'VLN_TEST_MARK=m{os.getpid()}'
    name, value = mark.split('=')
    script = 'import signal, time; signal.signal(2, 1); print(1, flush=True); time.sleep(60)'
    process = subprocess.Popen(
        [sys.executable, '-c', script], env={**os.environ, name: value}, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    assert process.pid in processes.marked_processes(mark)
    left = processes.end_marked(mark, patience=0.5)
    assert len(left) == 1
    assert process.wait(5) == -9
    assert processes.end_marked(mark) == []


def test_only_segments_without_owner_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, 'SHARED_MEMORY', tmp_path)
    (tmp_path / 'fastdds_old').touch()
    before = processes.shared_memory_names()
    for name in ('fastdds_alive', 'fastdds_alive_el', 'fastdds_dead', 'fastdds_dead_el', 'other'):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - 60, time.time() - 60))
    with (tmp_path / 'fastdds_alive_el').open('r+') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        removed = processes.remove_unused_segments(before)
    assert set(removed) == {'fastdds_dead', 'fastdds_dead_el'}
    assert {file.name for file in tmp_path.iterdir()} == {
        'fastdds_old',
        'fastdds_alive',
        'fastdds_alive_el',
        'other',
    }
