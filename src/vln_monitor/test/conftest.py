# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the monitor's tests: a private ROS domain."""

from __future__ import annotations

import os

import pytest

# Before rclpy is imported: tests must not hear, or be heard by, anything else.
os.environ.setdefault('ROS_DOMAIN_ID', str(100 + os.getpid() % 100))
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ.setdefault('OMP_NUM_THREADS', '1')

pytest.importorskip('rclpy', reason='needs ROS 2: source the environment first')
