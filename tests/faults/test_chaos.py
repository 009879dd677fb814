# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The campaign of faults: its parts, and a short one of the whole stack."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import subprocess

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2: run ./vln test, or source the environment')

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image
from tf2_msgs.msg import TFMessage

from vln_cli import chaos_interposer
from vln_cli.chaos_faults import catalogue, schedule
from vln_cli.chaos_watch import slope
from vln_cli.paths import ROOT


def test_every_fault_comes_once_before_any_comes_again():
    count = len(catalogue())
    names = [fault.name for fault in itertools.islice(schedule(7), 2 * count)]
    assert sorted(names[:count]) == sorted(names[count:]) == sorted(f.name for f in catalogue())
    assert len(set(names)) == count


def test_the_schedule_is_that_of_the_seed():
    first, same, other = (
        [fault.name for fault in itertools.islice(schedule(seed), 40)] for seed in (3, 3, 4)
    )
    assert first == same != other


@pytest.mark.parametrize('seconds', [-2.0, 5.0, 3600.0])
def test_stamps_are_shifted(seconds):
    message = Odometry()
    message.header.stamp.sec, message.header.stamp.nanosec = 100, 250_000_000
    message.pose.pose.position.x = 1.5
    data = chaos_interposer._shifted(Odometry, bytes(serialize_message(message)), seconds)
    shifted = deserialize_message(data, Odometry)
    stamp = shifted.header.stamp.sec + 1e-9 * shifted.header.stamp.nanosec
    assert stamp == pytest.approx(100.25 + seconds)
    assert shifted.pose.pose.position.x == 1.5


@pytest.mark.parametrize(
    ('kind', 'check'),
    [
        ('nan', lambda d: np.isnan(d).all()),
        ('near', lambda d: (d < 0.3).all()),
        ('far', lambda d: (d == 10.0).all()),
        ('unit', lambda d: (d == 2000.0).all()),
    ],
)
def test_depth_is_spoiled(kind, check):
    message = Image(height=4, width=5, encoding='32FC1', step=20)
    message.data = np.full(20, 2.0, np.float32).tobytes()
    spoiled = chaos_interposer._changed_image(message, kind, random.Random(0))
    assert check(np.frombuffer(bytes(spoiled.data), np.float32))


def test_transforms_without_a_stamp_of_their_own_are_left_alone():
    data = bytes(serialize_message(TFMessage()))
    assert deserialize_message(chaos_interposer._shifted(TFMessage, data, 1.0), TFMessage)


def test_slopes_have_errors():
    rate, error = slope([(float(k), 3.0 * k + (-1) ** k) for k in range(50)])
    assert rate == pytest.approx(3.0, abs=0.05) and 0.0 < error < 0.05
    assert slope([(0.0, 1.0)]) == (0.0, math.inf)


@pytest.mark.slow
def test_a_short_campaign_holds_every_invariant(tmp_path):
    environment = {**os.environ, 'VLN_INSIDE': str(ROOT)}
    process = subprocess.run(
        [ROOT / 'vln', 'chaos', '--seed', '1', '--minutes', '4', '--json', '--out', tmp_path],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900.0,
    )
    metrics = json.loads(process.stdout.splitlines()[-1])['metrics']
    assert process.returncode == 0, f'{process.stderr}\n{metrics}'
    assert metrics['violations'] == 0
    assert metrics['faults_tried'] > 3
    assert (tmp_path / 'report.html').stat().st_size > 1000
