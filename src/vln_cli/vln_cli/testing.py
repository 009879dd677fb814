# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln test`: all checks, in lanes, with a table at the end and nothing left behind."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vln_cli import local_model
from vln_cli.interrupts import interrupt
from vln_cli.lanes import Lane, lanes
from vln_cli.paths import RESULTS, ROOT
from vln_cli.processes import end_marked, remove_unused_segments, shared_memory_names

_NO_TESTS = 5
# Plugins by name: ROS and other libraries register some globally that break a newer pytest.
_PLUGINS = ('-p', 'pytest_timeout', '-p', '_hypothesis_pytestplugin', '--timeout=300')


@dataclass
class Outcome:
    """How a lane ended."""

    lane: str
    verdict: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    note: str = ''

    @property
    def is_good(self) -> bool:
        """True unless something failed."""
        return self.verdict in ('passed', 'skipped')


def main(argv: Sequence[str]) -> int:
    """Run the lanes; 0 if nothing failed."""
    # Started in the background of a shell it is ignored, and tests of Ctrl-C would inherit that.
    signal.signal(signal.SIGINT, interrupt)
    table = lanes()
    split = list(argv).index('--') if '--' in argv else len(argv)
    parser = argparse.ArgumentParser(
        prog='./vln test',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Run all checks, or the lanes named. What stands after -- goes to pytest.',
        epilog='lanes:\n'
        + '\n'.join(f'  {lane.name:<11} {lane.summary}' for lane in table.values())
        + '\n\nexample: ./vln test core nodes -- -x -k depth',
    )
    parser.add_argument('lanes', nargs='*', metavar='LANE')
    parser.add_argument(
        '--local-model',
        action='store_true',
        help="the lane local-model alone: installs llama.cpp's server and a small model into "
        '.vln/local_model at the first use (about 130 MB)',
    )
    parser.add_argument('-x', '--stop', action='store_true', help='stop after a lane that failed')
    options = parser.parse_intermixed_args(list(argv[:split]))
    unknown = [name for name in options.lanes if name not in table]
    if unknown:
        print(f'vln: no lane "{unknown[0]}"; there are: {", ".join(table)}', file=sys.stderr)
        return 2
    chosen = options.lanes or [lane.name for lane in table.values() if lane.by_default]
    if options.local_model:
        chosen = [*options.lanes, 'local-model']
    if 'local-model' in chosen and not local_model.ensure():
        return 1
    RESULTS.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    interrupted = False
    for name in chosen:
        try:
            outcomes.append(_run_lane(table[name], list(argv[split + 1 :])))
        except KeyboardInterrupt:
            interrupted = True
            break
        if options.stop and not outcomes[-1].is_good:
            break
    _print_table(outcomes)
    if interrupted:
        print('interrupted')
        return 130
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


def _run_lane(lane: Lane, extra: list[str]) -> Outcome:
    reason = lane.skip_reason()
    if reason:
        return Outcome(lane.name, 'skipped', note=reason)
    if not lane.commands and not lane.test_files():
        return Outcome(lane.name, 'skipped', note='has no tests')
    print(f'\n== {lane.name}: {lane.summary}', flush=True)
    mark = f'VLN_TEST_RUN={lane.name}-{os.getpid()}'
    environment = _private_domain(lane.environment())
    environment[mark.split('=')[0]] = mark.split('=')[1]
    report = RESULTS / f'{lane.name}.xml'
    report.unlink(missing_ok=True)
    before = shared_memory_names()
    started = time.monotonic()
    try:
        if lane.commands:
            outcome = _run_commands(lane, environment, report)
        else:
            outcome = _run_pytest(lane, environment, report, extra)
    finally:
        left = end_marked(mark)
        segments = remove_unused_segments(before)
    outcome.seconds = time.monotonic() - started
    if left:
        outcome.verdict = 'failed'
        outcome.note = f'left {len(left)} processes behind: {left[0]}'
    elif segments and not outcome.note:
        outcome.note = f'{len(segments)} shared memory files of killed processes removed'
    return outcome


def _private_domain(environment: dict[str, str]) -> dict[str, str]:
    """Keep tests away from robots, and from other tests on this machine."""
    # Not before: --help is there before anything is installed.
    from vln_cli.domains import claim_domain

    environment.setdefault('ROS_DOMAIN_ID', str(claim_domain()))
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    environment['PYTHONFAULTHANDLER'] = '1'
    environment['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'
    return environment


def _run_pytest(
    lane: Lane, environment: dict[str, str], report: Path, extra: list[str]
) -> Outcome:
    paths = [str(path) for path in lane.paths if path.is_dir()]
    command = [sys.executable, '-m', 'pytest', '-q', '-m', lane.markers, *_PLUGINS]
    command += [
        '-p',
        'no:cacheprovider',
        f'--junitxml={report}',
        '-o',
        f'junit_suite_name={lane.name}',
    ]
    code = _run(command + paths + extra, environment, lane.timeout)
    outcome = _read_report(lane.name, report)
    if code is None:
        outcome.verdict, outcome.note = 'failed', f'took longer than {lane.timeout:.0f} s'
    elif code == _NO_TESTS:
        outcome.verdict, outcome.note = 'skipped', 'no test was chosen'
    elif code != 0:
        outcome.verdict = 'failed'
        outcome.note = outcome.note or f'pytest ended with {code}'
    return outcome


def _run_commands(lane: Lane, environment: dict[str, str], report: Path) -> Outcome:
    suite = ElementTree.Element('testsuite', name=lane.name)
    outcome = Outcome(lane.name, 'passed')
    deadline = time.monotonic() + lane.timeout
    for command in lane.commands:
        name = ' '.join(command[2:4]).replace(str(ROOT), '').strip()
        case = ElementTree.SubElement(suite, 'testcase', classname=lane.name, name=name)
        code = _run(command, environment, deadline - time.monotonic())
        if code == 0:
            outcome.passed += 1
            continue
        outcome.failed += 1
        outcome.verdict = 'failed'
        message = 'took too long' if code is None else f'ended with {code}'
        outcome.note = f'{name} {message}'
        ElementTree.SubElement(case, 'failure', message=message)
    suite.set('tests', str(len(lane.commands)))
    suite.set('failures', str(outcome.failed))
    ElementTree.ElementTree(suite).write(report, encoding='unicode', xml_declaration=True)
    return outcome


def _run(command: Sequence[str], environment: dict[str, str], timeout: float) -> int | None:
    """Run a command in a group of its own; its exit code, or None if it took too long."""
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        return process.wait(max(1.0, timeout))
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10.0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read_report(name: str, report: Path) -> Outcome:
    outcome = Outcome(name, 'passed')
    try:
        tree = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError):
        return Outcome(name, 'failed', note='left no report')
    for case in tree.iter('testcase'):
        if case.find('failure') is not None or case.find('error') is not None:
            outcome.failed += 1
            if not outcome.note:
                outcome.note = f'{case.get("name")}'
        elif case.find('skipped') is not None:
            outcome.skipped += 1
        else:
            outcome.passed += 1
    if outcome.failed:
        outcome.verdict = 'failed'
    return outcome


def _print_table(outcomes: Sequence[Outcome]) -> None:
    if not outcomes:
        return
    print(f'\n{"lane":<11} {"verdict":<8} passed failed skipped   time  note')
    for one in outcomes:
        print(
            f'{one.lane:<11} {one.verdict:<8} {one.passed:>6} {one.failed:>6} {one.skipped:>7} '
            f'{one.seconds:>5.0f}s  {one.note}'
        )
    total = sum(one.seconds for one in outcomes)
    bad = [one.lane for one in outcomes if not one.is_good]
    verdict = f'FAILED: {", ".join(bad)}' if bad else 'all passed'
    print(f'{verdict} ({total:.0f} s); reports in {RESULTS}', flush=True)
