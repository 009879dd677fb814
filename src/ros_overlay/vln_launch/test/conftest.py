# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""A package to launch from, and launch files written by the tests."""

import textwrap
from pathlib import Path

import pytest


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """Install a package 'demo' with an executable 'talker'; return its prefix."""
    prefix = tmp_path / 'install'
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'demo').touch()
    (prefix / 'share' / 'demo').mkdir()
    libexec = prefix / 'lib' / 'demo'
    libexec.mkdir(parents=True)
    talker = libexec / 'talker'
    talker.write_text('#!/bin/sh\nexec sleep 60\n')
    talker.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    return prefix


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a launch file and returns its path."""

    def write_file(body: str, name: str = 'main.launch.xml') -> Path:
        path = tmp_path / name
        path.write_text(f'<launch>\n{textwrap.dedent(body)}</launch>\n')
        return path

    return write_file
