# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What is found on a machine: distributions, and the paths of wheels and environments."""

import pytest

from vln_cli import environment, machine
from vln_cli.wheels import repair_cmake_files


@pytest.fixture
def ros_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, 'ROS_FOLDER', tmp_path)
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    monkeypatch.delenv('ROS_DISTRO', raising=False)

    def install(name):
        (tmp_path / name / 'share' / 'rclcpp').mkdir(parents=True)
        (tmp_path / name / 'setup.bash').touch()
        return tmp_path / name

    return install


def test_newest_supported_distribution_is_chosen(ros_folder):
    ros_folder('humble')
    ros_folder('jazzy')
    newest = ros_folder('kilted')
    assert machine.choose_distribution() == machine.Distribution('kilted', newest)


def test_sourced_distribution_comes_first(ros_folder, monkeypatch):
    ros_folder('kilted')
    sourced = ros_folder('jazzy')
    (sourced / 'share' / 'ros_environment').mkdir()
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/home/someone/overlay:{sourced}')
    assert machine.choose_distribution() == machine.Distribution('jazzy', sourced)


def test_unsupported_distribution_is_seen_and_not_used(ros_folder):
    ros_folder('humble')
    assert [one.name for one in machine.find_distributions()] == ['humble']
    assert machine.choose_distribution() is None


def test_ros_1_is_not_taken_for_ros_2(ros_folder, tmp_path):
    (tmp_path / 'noetic').mkdir()
    (tmp_path / 'noetic' / 'setup.bash').touch()
    assert machine.find_distributions() == []


def test_line_for_missing_packages(monkeypatch):
    monkeypatch.setattr('os.geteuid', lambda: 1000)
    packages = [machine.SystemPackage(('cmake',), lambda: False, 'x')]
    line = machine.install_line(packages)
    assert line.startswith('sudo apt-get update && sudo apt-get install')
    assert line.endswith(' cmake')


def test_wheels_are_repaired_once(tmp_path):
    file = tmp_path / 'share' / 'a' / 'cmake' / 'aExport.cmake'
    file.parent.mkdir(parents=True)
    old = '/opt/python/cp311-cp311'
    file.write_text(
        f'INCLUDE "{old}/include/python3.11;'
        f'{old}/lib/python3.11/site-packages/numpy/_core/include"'
    )
    assert repair_cmake_files(tmp_path, '/py', '/np') == 1
    assert file.read_text() == 'INCLUDE "/py;/np"'
    assert repair_cmake_files(tmp_path, '/py', '/np') == 0


def test_environment_puts_the_stack_first_and_drops_foreign_ros(tmp_path, monkeypatch):
    record = tmp_path / 'environment.json'
    record.write_text(
        '{"distribution": null, "lists": {"PYTHONPATH": ["/stack"], "AMENT_PREFIX_PATH": ["/i"]},'
        ' "values": {"ROS_DISTRO": "kilted"}}'
    )
    monkeypatch.setattr(environment, 'ENVIRONMENT', record)
    base = {
        'PYTHONPATH': '/opt/ros/humble/lib/python3.10/site-packages:/mine:/stack',
        'AMENT_PREFIX_PATH': '/opt/ros/humble',
        'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp',
    }
    result = environment.stack_environment(base)
    assert result['PYTHONPATH'] == '/stack:/mine'
    assert result['AMENT_PREFIX_PATH'] == '/i'
    assert result['RMW_IMPLEMENTATION'] == 'rmw_cyclonedds_cpp'
    assert result['FASTDDS_DEFAULT_PROFILES_FILE'].endswith('fastdds_large_images.xml')
    assert result['OMP_NUM_THREADS'] == '1'


def test_bare_environment_holds_nothing_of_ros(monkeypatch):
    for name in ('PYTHONPATH', 'AMENT_PREFIX_PATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE'):
        monkeypatch.setenv(name, '/x')
    bare = environment.bare_environment()
    assert not {'PYTHONPATH', 'AMENT_PREFIX_PATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE'} & bare.keys()
    assert 'PATH' in bare
