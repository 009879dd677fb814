# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Running: output, restarts, and that nothing stays behind however it ends."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

STOP_LIMIT = 5.0
STUBBORN = """
import signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen([sys.executable, '-c', 'import os, time; os.setsid(); time.sleep(60)'])
open(sys.argv[1] + '/ready', 'a').write('x')
time.sleep(60)
"""
POLITE = """
import signal, sys, time
open(sys.argv[1] + '/ready', 'a').write('x')
try:
    time.sleep(60)
except KeyboardInterrupt:
    print('said goodbye', flush=True)
    open(sys.argv[1] + '/order', 'a').write(sys.argv[2])
"""


class Runner:
    """The launch runner in a process of its own."""

    def __init__(self, path: Path, environment: dict[str, str], **options) -> None:
        """Start it with its output in a file."""
        self.output = path.parent / 'output.txt'
        command = [sys.executable, '-m', 'vln_launch', str(path)]
        with self.output.open('w') as file:
            options = {'stdout': file, 'stderr': subprocess.STDOUT, **options}
            self.process = subprocess.Popen(command, env=environment, **options)
        self.seen: set[psutil.Process] = set()

    def note(self) -> None:
        """Remember the processes that belong to it now."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self.seen.update(psutil.Process(self.process.pid).children(recursive=True))

    def left(self) -> list[psutil.Process]:
        """Return the remembered processes that still run."""
        return [p for p in self.seen if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]

    def text(self) -> str:
        """Return what it has printed."""
        return self.output.read_text()


def wait_for(condition, timeout=20.0):
    """Return whether a condition became true in time."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def launch(tmp_path, write):
    """Return a function that runs the body of a launch file and waits until it is ready."""
    (tmp_path / 'stubborn.py').write_text(STUBBORN)
    (tmp_path / 'polite.py').write_text(POLITE)
    environment = {**os.environ, 'ROS_LOG_DIR': str(tmp_path / 'log'), 'TMPDIR': str(tmp_path)}
    runners = []

    def start(body: str, ready: int = 0, **options) -> Runner:
        body = body.replace('PYTHON', sys.executable).replace('DIR', str(tmp_path))
        runner = Runner(write(body), environment, **options)
        runners.append(runner)
        flag = tmp_path / 'ready'
        if ready:
            assert wait_for(lambda: flag.exists() and len(flag.read_text()) >= ready)
        runner.note()
        return runner

    yield start
    for runner in runners:
        runner.note()
        if runner.process.poll() is None:
            runner.process.kill()
            runner.process.wait()
        for process in runner.left():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


TWO_POLITE = """
<executable cmd="PYTHON DIR/polite.py DIR 1" output="screen"/>
<executable cmd="PYTHON DIR/polite.py DIR 2" output="screen"/>
"""
ONE_STUBBORN = '<executable cmd="PYTHON DIR/stubborn.py DIR" output="screen"/>'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything(launch, tmp_path, number):
    runner = launch(TWO_POLITE, ready=2)
    assert len(runner.seen) == 3  # the supervisor and two
    runner.process.send_signal(number)
    assert runner.process.wait(STOP_LIMIT) == 0
    assert runner.left() == []
    assert runner.text().count('said goodbye') == 2
    assert sorted((tmp_path / 'order').read_text()) == ['1', '2']
    assert list(tmp_path.glob('vln_launch_*')) == [], 'parameter files are removed'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_processes_that_ignore_signals_are_killed_with_what_they_started(launch, number):
    runner = launch(ONE_STUBBORN, ready=1)
    assert wait_for(lambda: runner.note() or len(runner.seen) == 3)
    start = time.monotonic()
    runner.process.send_signal(number)
    runner.process.wait(STOP_LIMIT)
    assert wait_for(lambda: not runner.left(), STOP_LIMIT)
    assert time.monotonic() - start < STOP_LIMIT
    if number == signal.SIGINT:
        assert 'does not end: sending SIGTERM' in runner.text()
        assert 'does not end: sending SIGKILL' in runner.text()


def test_killing_the_runner_lets_its_processes_end_in_order(launch):
    runner = launch(TWO_POLITE, ready=2)
    runner.process.kill()
    runner.process.wait()
    assert wait_for(lambda: not runner.left(), STOP_LIMIT)
    assert runner.text().count('said goodbye') == 2


def test_killing_the_supervisor_leaves_nothing(launch):
    runner = launch(ONE_STUBBORN, ready=1)
    assert wait_for(lambda: runner.note() or len(runner.seen) == 3)
    (supervisor,) = psutil.Process(runner.process.pid).children()
    supervisor.kill()
    assert runner.process.wait(STOP_LIMIT) == 1
    assert wait_for(lambda: not runner.left(), STOP_LIMIT)


def test_a_closed_terminal_stops_everything(launch):
    master, slave = pty.openpty()

    def take_terminal() -> None:
        os.setsid()
        os.close(os.open(os.ttyname(0), os.O_RDWR))  # the first opened becomes the terminal

    runner = launch(
        TWO_POLITE,
        ready=2,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        preexec_fn=take_terminal,
    )
    os.close(slave)
    os.close(master)
    runner.process.wait(STOP_LIMIT)
    assert wait_for(lambda: not runner.left(), STOP_LIMIT)


def test_asking_again_hurries(launch):
    runner = launch(ONE_STUBBORN, ready=1)
    start = time.monotonic()
    for _ in range(3):
        runner.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    runner.process.wait(STOP_LIMIT)
    assert time.monotonic() - start < 2.0
    assert wait_for(lambda: not runner.left(), 1.0)


def test_output_is_prefixed_and_logged(launch, tmp_path):
    runner = launch(
        """
        <executable cmd="sh -c 'echo out; echo err >&amp;2; printf rest'" output="screen"/>
        <executable cmd="sh -c 'echo quiet; echo loud >&amp;2'" name="worker"/>
        <executable cmd="sh -c 'exit 3'" output="screen"/>
        """
    )
    assert runner.process.wait(10) == 1
    lines = runner.text().splitlines()
    for line in ('[sh-1] out', '[sh-1] err', '[sh-1] rest', '[worker-2] loud'):
        assert line in lines
    assert '[worker-2] quiet' not in lines
    assert any(line.startswith('[INFO] [sh-1]: process started with pid [') for line in lines)
    assert any(
        line.startswith('[INFO] [sh-1]: process has finished cleanly [pid ') for line in lines
    )
    (died,) = [line for line in lines if '[ERROR] [sh-3]: process has died [pid ' in line]
    assert 'exit code 3' in died
    (log,) = (tmp_path / 'log').glob('*/launch.log')
    assert '[worker-2] quiet' in log.read_text()


def test_a_terminal_is_emulated_where_wanted(launch):
    code = "import sys; print(sys.stdout.isatty(), flush=True); print('bad', file=sys.stderr)"
    quoted = code.replace("'", '&quot;')
    runner = launch(
        f"""
        <executable cmd="PYTHON -c '{quoted}'" output="screen" emulate_tty="true" name="with"/>
        <executable cmd="PYTHON -c '{quoted}'" output="screen" name="without"/>
        """
    )
    assert runner.process.wait(20) == 0
    lines = runner.text().splitlines()
    for line in ('[with-1] True', '[with-1] bad', '[without-2] False', '[without-2] bad'):
        assert line in lines


def test_lines_come_while_the_process_runs(launch):
    runner = launch(
        """
        <executable cmd="PYTHON -c 'import time; print(&quot;now&quot;); time.sleep(60)'"
                    output="screen"/>
        """
    )
    assert wait_for(lambda: '] now' in runner.text(), 10)


def test_respawn_up_to_its_limit_and_with_its_delay(launch, tmp_path):
    start = time.monotonic()
    runner = launch(
        """
        <executable cmd="sh -c 'echo x >> DIR/starts; exit 1'" respawn="true"
                    respawn_delay="0.3" respawn_max_retries="2"/>
        """
    )
    assert runner.process.wait(10) == 1
    assert (tmp_path / 'starts').read_text() == 'x\n' * 3
    assert time.monotonic() - start > 0.6


def test_a_signal_ends_a_wait_for_respawn(launch, tmp_path):
    runner = launch(
        '<executable cmd="touch DIR/ran" respawn="true" respawn_delay="60" output="screen"/>'
    )
    assert wait_for(lambda: 'finished cleanly' in runner.text())
    runner.process.send_signal(signal.SIGINT)
    assert runner.process.wait(2.0) == 0


def test_the_end_of_a_required_process_stops_the_others(launch):
    runner = launch(
        TWO_POLITE + '<executable cmd="sh -c \'sleep 1; exit 4\'" on_exit="shutdown"/>', ready=2
    )
    assert runner.process.wait(10) == 1
    assert 'process[sh-3] was required: stopping' in runner.text()
    assert runner.left() == []


def test_an_executable_that_cannot_run_stops_the_others(launch, tmp_path):
    runner = launch(TWO_POLITE + '<executable cmd="/no/such/program"/>')
    assert runner.process.wait(10) == 1
    assert '[ERROR] [program-3]: cannot be started' in runner.text()
    assert runner.left() == []


def test_a_process_can_end_without_the_others(launch):
    runner = launch(TWO_POLITE + '<executable cmd="true" output="screen"/>', ready=2)
    assert wait_for(lambda: '[true-3]: process has finished cleanly' in runner.text())
    time.sleep(0.3)
    assert runner.process.poll() is None
    runner.process.send_signal(signal.SIGINT)
    assert runner.process.wait(STOP_LIMIT) == 0
