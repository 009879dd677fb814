# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The stack where something runs out: shared memory, and the disk.

Both need a mount namespace, so the right to make one (root).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_STORY = """
import subprocess, sys
from pathlib import Path
from vln_cli.memory_scenes import items
from vln_core.errors import MemoryStoreError
from vln_core.memory.store import MemoryStore

folder, file = sys.argv[1], Path(sys.argv[1]) / 'memory.db'

def tell(what):
    try:
        what()
    except MemoryStoreError as error:
        print('refused:', error)

store = MemoryStore(path=file, encoder='words')
store.begin('Go to the sofa.', items())
filler = Path(folder) / 'filler'
with filler.open('wb', buffering=0) as full:
    try:
        while True:
            full.write(bytes(4096))
    except OSError:
        pass
tell(lambda: [store.begin('Go to the bed.', items()) for _ in range(1000)])
filler.unlink()
store.begin('Go to the door.', items())
store.close()
subprocess.run(['mount', '-o', 'remount,ro', folder], check=True)
tell(lambda: MemoryStore(path=file, encoder='words').begin('Go to the lamp.', items()))
subprocess.run(['mount', '-o', 'remount,rw', folder], check=True)
print('then:', MemoryStore(path=file, encoder='words').instruction)
"""


def in_namespace(mount: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command after a mount that only it sees."""
    return subprocess.run(
        ['unshare', '--mount', 'sh', '-c', f'{mount} && exec "$@"', 'sh', *command],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(autouse=True)
def _may_mount(tmp_path: Path) -> None:
    if not shutil.which('unshare'):
        pytest.skip('NOT TESTED, full shared memory and read-only disks: no program unshare')
    tried = in_namespace(f'mount -t tmpfs tmpfs {tmp_path}', 'true')
    if tried.returncode:
        pytest.skip(f'NOT TESTED, full shared memory and read-only disks: {tried.stderr.strip()}')


def test_full_and_read_only_disks_are_told_and_lose_nothing(tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size=2m tmpfs {tmp_path}'
    done = in_namespace(mount, sys.executable, '-c', _STORY, str(tmp_path))
    assert done.returncode == 0, done.stderr
    full, read_only, then = done.stdout.splitlines()
    assert full.startswith('refused:') and 'memory.db' in full
    assert read_only.startswith('refused:') and 'memory.db' in read_only
    assert then == 'then: Go to the door.'


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_full_shared_memory_falls_back_to_the_network(
    tmp_path: Path, domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = 'mount -t tmpfs -o size=1m tmpfs /dev/shm'
    out = str(tmp_path / 'demo')
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
    done = in_namespace(
        mount, sys.executable, '-m', 'vln_cli', 'demo', '--seed', '1', '--json', '--out', out
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result['successes'] == 3
    assert result['collisions'] == 0
