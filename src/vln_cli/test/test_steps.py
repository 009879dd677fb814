# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Set-up steps run once per state of their inputs, also after an interruption."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import vln_cli
from vln_cli.steps import Log, Step, StepError, exclusive, hash_of, run_steps

WITH_PACKAGE = {**os.environ, 'PYTHONPATH': str(Path(vln_cli.__file__).parents[1])}


def make_step(tmp_path, action, key='one', is_optional=False):
    return Step('work', 'some work', key, tmp_path / 'made' / '.stamp', action, is_optional)


def is_running(process):
    """Tell whether a process is there and more than a zombie that nobody has collected."""
    try:
        return Path(f'/proc/{process}/stat').read_text().rsplit(')')[-1].split()[0] != 'Z'
    except OSError:
        return False


def test_step_runs_once_and_again_when_its_inputs_change(tmp_path):
    runs = []
    for key in ('one', 'one', 'two'):
        run_steps([make_step(tmp_path, lambda log, key=key: runs.append(key), key)], tmp_path)
    assert runs == ['one', 'two']


def test_failed_step_leaves_no_stamp_and_shows_its_output(tmp_path):
    def fail(log):
        log.run(['sh', '-c', 'echo the reason; exit 3'])

    with pytest.raises(StepError, match='the reason'):
        run_steps([make_step(tmp_path, fail)], tmp_path)
    assert not make_step(tmp_path, fail).is_done()


def test_interrupted_step_leaves_no_stamp(tmp_path):
    def interrupt(log):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_steps([make_step(tmp_path, interrupt)], tmp_path)
    assert not make_step(tmp_path, interrupt).is_done()


def test_optional_step_may_fail(tmp_path):
    def fail(log):
        raise StepError('no network\n')

    done = []
    later = Step('later', 'later work', 'k', tmp_path / 'later', lambda log: done.append(1))
    run_steps([make_step(tmp_path, fail, is_optional=True), later], tmp_path)
    assert done == [1]


def test_removing_the_product_removes_the_stamp(tmp_path):
    step = make_step(tmp_path, lambda log: None)
    run_steps([step], tmp_path)
    assert step.is_done()
    step.stamp.unlink()
    assert not step.is_done()


def test_hash_sees_content_name_and_order_of_parts(tmp_path):
    file = tmp_path / 'a'
    file.write_text('x')
    before = hash_of('p', files=[file])
    file.write_text('y')
    assert hash_of('p', files=[file]) != before
    assert hash_of('a', 'b') != hash_of('ab')


def test_interrupting_a_command_ends_its_children(tmp_path):
    script = (
        'import signal, sys, pathlib\n'
        'from vln_cli.steps import Log\n'
        # Whoever runs the tests in the background has it ignored.
        'signal.signal(signal.SIGINT, signal.default_int_handler)\n'
        'log = Log("x", pathlib.Path(sys.argv[1]) / "log")\n'
        'log.run(["sh", "-c", "sleep 60 & echo $! > " + sys.argv[1] + "/child; wait"])\n'
    )
    process = subprocess.Popen(
        [sys.executable, '-c', script, str(tmp_path)], env=WITH_PACKAGE, stderr=-3
    )
    child = tmp_path / 'child'
    deadline = time.monotonic() + 30
    while not (child.exists() and child.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(2)
    process.wait(20)
    deadline = time.monotonic() + 20
    while is_running(int(child.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(int(child.read_text()))


def test_a_daemon_that_keeps_the_pipe_does_not_hold_a_step_up(tmp_path):
    log = Log('x', tmp_path / 'log')
    started = time.monotonic()
    log.run(['sh', '-c', 'sleep 60 & echo started $!'])
    assert time.monotonic() - started < 30
    daemon = int(log.tail().split('started')[-1])
    assert is_running(daemon)
    os.kill(daemon, 9)


def test_second_set_up_waits_for_the_first(tmp_path):
    script = (
        'import sys, pathlib\n'
        'from vln_cli.steps import exclusive\n'
        'with exclusive(pathlib.Path(sys.argv[1])):\n    print("in", flush=True)\n'
    )
    lock = tmp_path / 'lock'
    with exclusive(lock):
        other = subprocess.Popen(
            [sys.executable, '-c', script, str(lock)],
            env=WITH_PACKAGE,
            stdout=-1,
            stderr=-1,
            text=True,
        )
        assert other.stderr is not None
        assert f'process {os.getpid()}' in other.stderr.readline()
        assert other.poll() is None
    assert other.communicate(timeout=30)[0] == 'in\n'
