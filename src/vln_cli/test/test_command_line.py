# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a person types: help, mistakes, quick starts."""

import os
import resource
import subprocess
import sys

import pytest

from vln_cli import setup_workspace
from vln_cli.__main__ import main
from vln_cli.commands import COMMANDS
from vln_cli.launch import resolve_launch_file
from vln_cli.paths import ENVIRONMENT, ROOT
from vln_cli.run import find_executable

SOURCE = str(ROOT / 'src' / 'vln_cli')
needs_setup = pytest.mark.skipif(not ENVIRONMENT.exists(), reason='./vln setup has not run here')


def vln(*arguments, **changes):
    environment = {name: value for name, value in os.environ.items() if name != 'VLN_INSIDE'}
    return subprocess.run(
        [str(ROOT / 'vln'), *arguments],
        env={**environment, **changes},
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def test_overview_names_every_command():
    result = vln('--help')
    assert result.returncode == 0
    assert all(name in result.stdout for name in COMMANDS)


@pytest.mark.parametrize('name', sorted(COMMANDS))
def test_every_command_has_help(name):
    if COMMANDS[name].needs_setup and not ENVIRONMENT.exists():
        pytest.skip('./vln setup has not run here')
    result = vln(name, '--help')
    assert result.returncode == 0, result.stderr
    assert f'vln {name}' in result.stdout


@pytest.mark.parametrize('name', ['demo', 'testing', 'chaos', 'go', 'launch', 'bench'])
def test_help_needs_nothing_installed(name):
    code = f"from vln_cli.{name} import main; main(['--help'])"
    result = subprocess.run(
        [sys.executable, '-I', '-S', '-c', f'import sys; sys.path.insert(0, {SOURCE!r}); {code}'],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert 'usage:' in result.stdout


def test_help_before_the_set_up_installs_nothing(monkeypatch, capsys):
    monkeypatch.delenv('VLN_INSIDE', raising=False)
    monkeypatch.setattr(setup_workspace, 'is_current', lambda: False)
    monkeypatch.setattr(setup_workspace, 'ensure', lambda: pytest.fail('it set up'))
    monkeypatch.setitem(sys.modules, 'vln_cli.eval', None)  # as where its libraries are absent
    assert main(['eval', '--help']) == 0
    assert './vln setup' in capsys.readouterr().out


def test_unknown_command_is_one_line_with_the_nearest():
    result = vln('lanch')
    assert result.returncode == 2
    assert result.stderr == 'vln: there is no subcommand "lanch"; did you mean "launch"?\n'


def test_works_through_a_link_and_from_elsewhere(tmp_path):
    (tmp_path / 'vln').symlink_to(ROOT / 'vln')
    result = subprocess.run([tmp_path / 'vln', '--help'], cwd=tmp_path, capture_output=True)
    assert result.returncode == 0


@needs_setup
def test_a_command_starts_within_two_seconds():
    # Processor time: other tests may be running beside this one.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert vln('env').returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 1.5


@needs_setup
@pytest.mark.parametrize('module', ['vln_cli.check_grounding', 'vln_monitor.main'])
def test_commands_do_not_wait_for_compilers_that_they_do_not_use(module):
    code = f"import sys, {module}; sys.exit('numba' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


@needs_setup
def test_env_can_be_sourced():
    script = f'eval "$({ROOT}/vln env)" && python -c "import rclpy, vln_interfaces.msg"'
    environment = {'PATH': os.environ['PATH'], 'HOME': os.environ.get('HOME', '/')}
    result = subprocess.run(['sh', '-c', script], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@needs_setup
def test_unknown_launch_file_and_malformed_argument():
    result = vln('launch', 'nothing_like_it')
    assert result.returncode == 2
    assert 'no launch file "nothing_like_it"' in result.stderr


@needs_setup
def test_options_may_stand_between_arguments():
    result = vln('launch', 'sim.launch.xml', '--show-args', 'scene:=small_house')
    assert result.returncode == 0, result.stderr
    assert 'scene' in result.stdout
    for command in (['health', 'safety', '--timeout', '0.1', 'memory'],
                    ['doctor', '--robot', 'a:=b', '--duration', '0', 'c:=d']):  # fmt: skip
        assert 'unrecognized' not in vln(*command).stderr


def test_launch_file_is_found_by_path(tmp_path):
    file = tmp_path / 'mine.launch.xml'
    file.write_text('<launch/>')
    assert resolve_launch_file(str(file)) == file


def test_executables_of_packages(tmp_path):
    prefix = tmp_path
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'some_package').touch()
    program = prefix / 'lib' / 'some_package' / 'program'
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\n')
    program.chmod(0o755)
    environment = {'AMENT_PREFIX_PATH': str(prefix)}
    assert find_executable('some_package', 'program', environment) == program
    with pytest.raises(LookupError, match='it has: program'):
        find_executable('some_package', 'progam', environment)
    with pytest.raises(LookupError, match='did you mean "some_package"'):
        find_executable('some_packge', 'program', environment)


@needs_setup
def test_go_without_a_stack_is_one_line():
    result = vln('go', '--wait', '2', 'stop', ROS_DOMAIN_ID='97')
    assert result.returncode == 3
    assert result.stderr.count('\n') == 1
    assert 'no stack answers' in result.stderr


def test_unknown_lane_names_the_lanes():
    if not ENVIRONMENT.exists():
        pytest.skip('./vln setup has not run here')
    result = vln('test', 'cor')
    assert result.returncode == 2
    assert 'core' in result.stderr
