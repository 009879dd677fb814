# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the simulator tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from room_scene import write_scene


@pytest.fixture(scope='session')
def room_folder(tmp_path_factory) -> Path:
    """Folder of the tiny scene."""
    return write_scene(tmp_path_factory.mktemp('scenes') / 'room')


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers of this package."""
    config.addinivalue_line('markers', 'habitat: needs the real habitat_sim')
