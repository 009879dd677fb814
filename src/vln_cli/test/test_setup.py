# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The plan of the set-up: what depends on what, and what does not."""

import pytest

from vln_cli import building, setup_workspace
from vln_cli.machine import Distribution


def keys(distribution=None):
    return {step.name: step.key for step in setup_workspace._steps(distribution)}


def test_keys_do_not_depend_on_what_is_there(tmp_path, monkeypatch):
    before = keys()
    monkeypatch.setattr(setup_workspace, 'PYTHON', tmp_path / 'nothing')
    monkeypatch.setattr(setup_workspace, 'INSTALLING', tmp_path)
    assert not setup_workspace.is_current()
    assert keys() == before


def test_a_distribution_changes_everything_but_the_system(tmp_path):
    wheels, jazzy = keys(), keys(Distribution('jazzy', tmp_path))
    assert wheels['system'] == jazzy['system']
    assert 'ros' not in jazzy
    shared = (wheels.keys() & jazzy.keys()) - {'system'}
    assert not [name for name in shared if wheels[name] == jazzy[name]]


def test_overlay_is_built_without_a_distribution_only(tmp_path):
    without = {folder.name for folder in building.package_folders(None)}
    with_one = {
        folder.name for folder in building.package_folders(Distribution('jazzy', tmp_path))
    }
    assert {'tf2_ros', 'cv_bridge', 'vln_launch'} <= without - with_one
    assert {'vln_core', 'vln_nodes', 'sim_bridge'} <= with_one


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    for name in ('one', 'two'):
        folder = tmp_path / 'src' / name
        (folder / 'msg').mkdir(parents=True)
        (folder / 'package.xml').write_text(f'<package><name>{name}</name></package>')
    (tmp_path / 'sim_bridge').mkdir()
    monkeypatch.setattr(building, 'ROOT', tmp_path)
    monkeypatch.setattr(building, 'OVERLAY', tmp_path / 'none')
    monkeypatch.setattr(building, 'INSTALL', tmp_path / 'install')
    monkeypatch.setattr(building, '_RECORD', tmp_path / 'install' / 'record.json')
    return tmp_path


def test_only_changed_packages_are_built(workspace, monkeypatch):
    built = []

    def colcon(log, distribution, packages):
        built.append(list(packages))
        for name in packages:
            index = workspace / 'install' / name / 'share/ament_index/resource_index/packages'
            index.mkdir(parents=True, exist_ok=True)
            (index / name).touch()

    monkeypatch.setattr(building, '_run_colcon', colcon)
    for change in (None, 'two/code.py', 'two/msg/New.msg', 'one/setup.py'):
        if change:
            (workspace / 'src' / change).write_text('x')
        building.build(None, None, building.package_keys(None, 'base'))
    assert built == [['one', 'two'], ['two'], ['one']]


def test_removed_package_disappears(workspace, monkeypatch):
    monkeypatch.setattr(building, '_run_colcon', lambda *_: None)
    old = workspace / 'install' / 'gone'
    old.mkdir(parents=True)
    building.build(None, None, building.package_keys(None, 'base'))
    assert not old.exists()
