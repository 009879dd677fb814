# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that start a stack get ROS domains of their own."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from vln_cli import domains


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setattr(domains, '_held', {})
    monkeypatch.setattr(domains, '_given', [])
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    return tmp_path / f'vln-{os.getuid()}'


def test_no_domain_is_given_twice() -> None:
    given = [domains.claim_domain() for _ in range(101)]
    assert sorted(given) == list(range(1, 102))
    assert given[1] == given[0] % 101 + 1
    with pytest.raises(RuntimeError, match='every ROS domain'):
        domains.claim_domain()
    domains.release_domain(given[7])
    assert domains.claim_domain() == given[7]


def test_a_domain_with_a_stack_is_left_alone(folder: Path) -> None:
    first = 1 + os.getpid() % 101
    folder.mkdir()
    with (folder / f'{first}-0123456789abcdef.lock').open('a') as name:
        fcntl.flock(name, fcntl.LOCK_EX)
        assert domains.has_stack(first) and domains.claim_domain() != first
    assert not domains.has_stack(first)


def test_a_domain_comes_again_last(folder: Path) -> None:
    folder.mkdir()
    with (folder / f'domain-{1 + (os.getpid() + 1) % 101}.lock').open('a') as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        given = []
        for _ in range(100):
            given.append(domains.claim_domain())
            domains.release_domain(given[-1])
        assert len(set(given)) == 100


def test_what_the_user_chose_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # None that may be given: which one is depends on the process.
    monkeypatch.setenv('ROS_DOMAIN_ID', '142')
    assert domains.use_own_domain() == '142'
    monkeypatch.delenv('ROS_DOMAIN_ID')
    assert domains.use_own_domain() == os.environ['ROS_DOMAIN_ID']
    assert 1 <= int(os.environ['ROS_DOMAIN_ID']) <= 101
