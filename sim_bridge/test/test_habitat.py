# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The real habitat_sim behind the protocol, compared with the raycast simulator."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from habitat_available import needs_habitat

from vln_core.errors import SceneError
from vln_sim_bridge import habitat_client
from vln_sim_bridge.habitat_client import HabitatSimulator, clean_environment
from vln_sim_bridge.raycast import RaycastSimulator
from vln_sim_bridge.simulator import CameraMount, SimulatorConfig

habitat = [pytest.mark.habitat, needs_habitat]
CONFIG = SimulatorConfig(mount=CameraMount(0.1, -0.05, 1.1, 0.05, 0.25, -0.3))


@pytest.fixture(scope='module')
def pair(room_folder):
    simulators = HabitatSimulator(room_folder, CONFIG), RaycastSimulator(room_folder, CONFIG)
    yield simulators
    simulators[0].close()


@pytest.mark.parametrize(
    'pose', [(-2.0, 0.0, 0.0), (-3.3, -0.2, 0.6), (2.5, 0.5, 1.2), (0.4, -2.0, 2.8)]
)
class TestSameImages:
    pytestmark = habitat

    def test_depth_and_ids(self, pair, pose):
        frames = []
        for simulator in pair:
            simulator.place(*pose)
            frames.append(simulator.render())
        real, cast = frames
        both = np.isfinite(real.depth) & np.isfinite(cast.depth)
        assert np.mean(np.isfinite(real.depth) == np.isfinite(cast.depth)) > 0.995
        error = np.abs(real.depth[both] - cast.depth[both])
        assert np.median(error) < 0.002
        assert np.quantile(error, 0.99) < 0.02
        assert np.mean(real.semantic == cast.semantic) > 0.995
        assert real.rgb.shape == (240, 320, 3)
        assert real.rgb.dtype == np.uint8
        assert real.depth.dtype == np.float32
        assert real.semantic.dtype == np.uint32
        # Colours: the same hue, red first; only one of the two is shaded.
        seen = cast.semantic > 0
        if seen.any():
            hues = [
                frame.rgb[seen] / frame.rgb[seen].sum(axis=1, keepdims=True) for frame in frames
            ]
            assert np.median(np.abs(hues[0] - hues[1])) < 0.02


class TestMotion:
    pytestmark = habitat

    def test_slides_and_counts_like_the_raycast_body(self, pair):
        ends = []
        for simulator in pair:
            simulator.place(0.3, -1.5, 0.3)
            for _ in range(60):
                simulator.step(0.3, 0.0, 0.05)
            ends.append(simulator.state())
        assert ends[0].x == pytest.approx(ends[1].x, abs=0.03)
        assert ends[0].y == pytest.approx(ends[1].y, abs=0.03)
        assert ends[0].collided
        assert ends[0].num_collisions == ends[1].num_collisions == 1

    def test_free_arc_is_exact(self, pair):
        pair[0].place(-2.0, -1.0, 0.3)
        for _ in range(40):
            pair[0].step(0.4, 0.5, 0.05)
        state = pair[0].state()
        x = -2.0 + 0.8 * (math.sin(1.3) - math.sin(0.3))
        y = -1.0 - 0.8 * (math.cos(1.3) - math.cos(0.3))
        assert (state.x, state.y, state.yaw) == pytest.approx((x, y, 1.3), abs=1e-4)
        assert state.num_collisions == 0

    def test_drives_through_the_door(self, pair):
        pair[0].place(-2.0, 0.0, 0.0)
        for _ in range(100):
            pair[0].step(0.8, 0.0, 0.05)
        assert pair[0].state().x == pytest.approx(2.0, abs=0.01)
        assert pair[0].state().num_collisions == 0

    def test_walking_distances(self, pair):
        for start, goal in [((-2, -2), (3, -2)), ((-3, 2), (2, 2)), ((-2, -1), (-2, 1.2))]:
            real, cast = (simulator.geodesic_distance(start, goal) for simulator in pair)
            assert real == pytest.approx(cast, rel=0.03)
        assert pair[0].geodesic_distance((-2, 0), (9, 0)) == math.inf

    def test_place_inside_something(self, pair):
        pair[0].place(-2.0, 0.0, 0.5)
        for spot in ((-2.0, 1.5), (3.1, 2.6), (1.0, 2.0), (6.0, 0.0)):
            with pytest.raises(SceneError, match='nearest free spot is'):
                pair[0].place(*spot, 0.0)
        assert pair[0].state().yaw == 0.5

    def test_equal_runs_are_equal_bits(self, room_folder):
        def run():
            simulator = HabitatSimulator(room_folder, CONFIG)
            try:
                for k in range(120):
                    simulator.step(0.6, math.sin(k / 9.0), 0.05)
                return simulator.state(), simulator.render().rgb.tobytes()
            finally:
                simulator.close()

        assert run() == run()


class TestProcess:
    pytestmark = habitat

    def test_child_ends_with_close(self, room_folder):
        simulator = HabitatSimulator(room_folder, CONFIG)
        child = simulator._wire._process.pid
        assert Path(f'/proc/{child}').exists()
        simulator.close()
        assert not Path(f'/proc/{child}').exists()

    def test_death_of_the_child_is_a_clear_error(self, room_folder):
        simulator = HabitatSimulator(room_folder, CONFIG)
        os.kill(simulator._wire._process.pid, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(SceneError, match='habitat is gone: exit code -9'):
            for _ in range(3):
                simulator.render()
        assert time.monotonic() - began < 5.0
        simulator.close()

    def test_error_inside_habitat_comes_back(self, pair):
        with pytest.raises(SceneError, match='habitat: .*no_such_operation'):
            pair[0]._wire.ask('no_such_operation')
        pair[0].place(-2.0, 0.0, 0.0)  # it goes on serving


def test_missing_habitat_says_how_to_get_it(room_folder, monkeypatch, tmp_path):
    monkeypatch.setenv('VLN_HABITAT', str(tmp_path))
    with pytest.raises(SceneError, match='./vln setup --habitat'):
        HabitatSimulator(room_folder, SimulatorConfig())


def test_python_without_habitat_does_not_count(monkeypatch, tmp_path):
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin' / 'python').touch()
    monkeypatch.setenv('VLN_HABITAT', str(tmp_path))
    with pytest.raises(SceneError):
        habitat_client.find_habitat()
    package = tmp_path / 'lib' / 'python3.9' / 'site-packages' / 'habitat_sim'
    package.mkdir(parents=True)
    (package / '__init__.py').touch()
    assert habitat_client.find_habitat().python == tmp_path / 'bin' / 'python'


def test_child_gets_no_ros_environment():
    dirty = {
        'PATH': '/bin',
        'HOME': '/home/me',
        'PYTHONPATH': 'x',
        'LD_LIBRARY_PATH': 'x',
        'ROS_DISTRO': 'kilted',
        'AMENT_PREFIX_PATH': 'x',
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
        'FASTDDS_DEFAULT_PROFILES_FILE': 'x',
    }
    assert clean_environment(dirty) == {'PATH': '/bin', 'HOME': '/home/me'}
