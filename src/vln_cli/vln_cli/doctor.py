# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln doctor`: what is installed, missing or mismatched, and the fix, as a table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vln_cli import machine, setup_workspace
from vln_cli.environment import stack_environment
from vln_cli.paths import DDS_PROFILE, HABITAT, MODELS_LINE, PYTHON, ROOT, STATE, VENV
from vln_cli.requirements import Requirement, read_requirements

OK, MISSING, WRONG, NOTE = 'ok', 'missing', 'wrong', 'note'
_SETUP = './vln setup'
_MIN_SHARED_MEMORY = 512 * 2**20
_MIN_DISK = 5 * 2**30


@dataclass(frozen=True)
class Finding:
    """One row: what was looked at, how it is, what was seen, and what to do about it."""

    what: str
    state: str
    seen: str
    fix: str = ''


def main(argv: Sequence[str]) -> int:
    """Print the table; 0 if nothing is missing or wrong, else 1."""
    parser = argparse.ArgumentParser(
        prog='./vln doctor',
        description='Look at this machine and this checkout, before or after the set-up. Changes '
        'nothing. The exit code is 0 if all that the stack needs is there, else 1.',
    )
    parser.add_argument('--json', action='store_true', help='print the rows as JSON')
    parser.add_argument(
        '--robot', action='store_true', help='look at a live robot instead; --robot --help'
    )
    if '--robot' in argv:
        return _look_at_robot([one for one in argv if one != '--robot'])
    options = parser.parse_args(argv)
    findings = [
        *_look_at_machine(),
        *_look_at_system_packages(),
        *_look_at_checkout(),
        *_look_at_libraries(),
        *_look_at_ros(),
        *_look_at_habitat(),
    ]
    bad = [finding for finding in findings if finding.state in (MISSING, WRONG)]
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        print_table(findings)
        print(f'\n{len(bad)} to mend, see the last column' if bad else '\nall is well')
    return 1 if bad else 0


def _look_at_robot(argv: Sequence[str]) -> int:
    """Replace this process by one that has ROS."""
    try:
        environment = stack_environment()
    except FileNotFoundError:
        print(f'vln: the checkout is not set up; run {_SETUP}', file=sys.stderr)
        return 1
    command = [str(PYTHON), '-m', 'vln_cli.doctor_robot', *argv]
    sys.stdout.flush()
    os.execve(command[0], command, environment)


def _look_at_machine() -> list[Finding]:
    findings = [Finding('system', OK, machine.operating_system())]
    findings.append(Finding('python', OK, f'{machine.python_version()} ({sys.executable})'))
    distributions = machine.find_distributions()
    for one in distributions:
        if one.is_supported:
            findings.append(Finding('ROS 2', OK, f'{one.name} in {one.prefix}'))
        else:
            known = ', '.join(machine.SUPPORTED_DISTRIBUTIONS)
            fix = f'install one of: {known}; without one the stack uses wheels and leaves it alone'
            findings.append(Finding('ROS 2', NOTE, f'{one.name} is not supported', fix))
    if not distributions:
        if platform.machine() == 'x86_64':
            findings.append(Finding('ROS 2', OK, 'no distribution; Kilted wheels from PyPI'))
        else:
            seen = f'no distribution, and no wheels for {platform.machine()}'
            findings.append(Finding('ROS 2', MISSING, seen, 'install ROS 2 Jazzy or Kilted'))
    free = shutil.disk_usage(ROOT).free
    seen = f'{free / 2**30:.0f} GB free'
    if free < _MIN_DISK and not PYTHON.exists():
        findings.append(Finding('disk', WRONG, seen, 'the set-up needs 5 GB'))
    else:
        findings.append(Finding('disk', OK, seen))
    findings.append(_look_at_shared_memory())
    return findings


def _look_at_shared_memory() -> Finding:
    try:
        total = shutil.disk_usage('/dev/shm').total
    except OSError:
        return Finding('shared memory', MISSING, 'no /dev/shm', 'mount one; Fast DDS needs it')
    seen = f'{total / 2**20:.0f} MB in /dev/shm'
    if total < _MIN_SHARED_MEMORY:
        fix = 'in a container: --shm-size=1g, or --ipc=host'
        return Finding('shared memory', WRONG, seen, fix)
    return Finding('shared memory', OK, seen)


def _look_at_system_packages() -> list[Finding]:
    missing = machine.missing_packages()
    if not missing:
        return [Finding('system packages', OK, f'all {len(machine.system_packages())} found')]
    line = machine.install_line(missing)
    return [
        Finding(package.names[0], MISSING, f'needed for: {package.reason}', line)
        for package in missing
    ]


def _look_at_checkout() -> list[Finding]:
    findings = []
    if not STATE.is_dir():
        return [Finding('checkout', MISSING, 'not set up yet', _SETUP)]
    for step in setup_workspace.all_steps():
        if step.is_done():
            continue
        state = NOTE if step.is_optional else MISSING
        findings.append(Finding(f'step: {step.title}', state, 'not done, or outdated', _SETUP))
    if not findings:
        findings.append(Finding('checkout', OK, f'set up in {STATE}'))
    return findings


def _look_at_libraries() -> list[Finding]:
    if not PYTHON.exists():
        return [Finding('libraries', MISSING, f'no environment in {VENV}', _SETUP)]
    installed = _installed_versions()
    if installed is None:
        fix = './vln setup --clean'
        return [Finding('libraries', WRONG, f'{PYTHON} does not start', fix)]
    wheels = machine.choose_distribution() is None
    findings = []
    num_good = 0
    for requirement in read_requirements(wheels=wheels):
        version = installed.get(requirement.key)
        state = NOTE if requirement.is_optional else MISSING
        if version is None:
            fix = f'{_SETUP}   (wanted: {requirement.text})'
            findings.append(Finding(requirement.name, state, 'not installed', fix))
        elif not requirement.allows(version):
            fix = _repair_line(requirement)
            findings.append(Finding(requirement.name, WRONG, f'version {version}', fix))
        else:
            num_good += 1
    findings.extend(_look_at_models(installed))
    return [Finding('libraries', OK, f'{num_good} as wanted'), *findings]


def _look_at_models(installed: Mapping[str, str]) -> list[Finding]:
    what = 'detectors with weights'
    missing = [name for name in ('torch', 'transformers') if name not in installed]
    if missing:
        seen = f'not installed (optional): {", ".join(missing)}'
        return [Finding(what, NOTE, seen, MODELS_LINE)]
    return [Finding(what, OK, 'torch and transformers are installed')]


def _repair_line(requirement: Requirement) -> str:
    return f"{VENV / 'bin' / 'pip'} install '{requirement.text}'"


def _installed_versions() -> dict[str, str] | None:
    script = (
        'import json, re, importlib.metadata as m\n'
        'print(json.dumps({re.sub(r"[-_.]+", "-", d.metadata["Name"] or "").lower(): d.version'
        ' for d in m.distributions()}))'
    )
    command = [str(PYTHON), '-c', script]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return dict(json.loads(output.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _look_at_ros() -> list[Finding]:
    try:
        environment = stack_environment()
    except FileNotFoundError:
        return []
    findings = []
    modules = {
        'rclpy': 'ROS client library',
        'tf2_ros': 'transforms',
        'cv_bridge': 'image conversion',
        'vln_interfaces.action': 'messages of the stack',
        'vln_nodes': 'nodes of the stack',
        'vln_sim_bridge': 'simulators',
        'open3d': 'raycast simulator',
        'skfmm': 'fast marching',
    }
    script = (
        'import importlib, json, sys\nbad = {}\nfor name in sys.argv[1:]:\n'
        '    try:\n        importlib.import_module(name)\n'
        '    except Exception as error:\n        bad[name] = f"{type(error).__name__}: {error}"\n'
        'print(json.dumps(bad))'
    )
    command = [str(PYTHON), '-c', script, *modules]
    try:
        output = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        bad = json.loads(output.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        return [Finding('imports', WRONG, str(error)[:80], './vln setup --clean')]
    for name, message in bad.items():
        findings.append(Finding(name, WRONG, f'{modules[name]}: {message}'[:90], _SETUP))
    if not bad:
        findings.append(Finding('imports', OK, ', '.join(modules)))
    rmw = environment.get('RMW_IMPLEMENTATION', '')
    if rmw != 'rmw_fastrtps_cpp':
        fix = 'unset RMW_IMPLEMENTATION; the image profile is for Fast DDS'
        findings.append(Finding('RMW_IMPLEMENTATION', NOTE, rmw, fix))
    profile = environment.get('FASTDDS_DEFAULT_PROFILES_FILE', '')
    if not os.path.isfile(profile):
        fix = 'unset FASTDDS_DEFAULT_PROFILES_FILE'
        findings.append(Finding('DDS profile', WRONG, f'{profile} does not exist', fix))
    elif profile != str(DDS_PROFILE):
        fix = 'make sure that its shared memory holds images'
        findings.append(Finding('DDS profile', NOTE, profile, fix))
    else:
        findings.append(Finding('DDS profile', OK, str(DDS_PROFILE.relative_to(ROOT))))
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    if not domain.isdigit() or not 0 <= int(domain) <= 232:
        findings.append(Finding('ROS_DOMAIN_ID', WRONG, domain, 'a number from 0 to 101'))
    else:
        findings.append(Finding('ROS_DOMAIN_ID', OK, domain))
    return findings


def _look_at_habitat() -> list[Finding]:
    if (HABITAT / 'env.sh').is_file():
        return [Finding('habitat-sim', OK, str(HABITAT))]
    return [Finding('habitat-sim', NOTE, 'not set up (optional)', './vln setup --habitat')]


def print_table(findings: Sequence[Any]) -> None:
    """Print findings, or checks of a robot, one a line with what to do below it."""
    wide = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark = {OK: ' ok ', MISSING: 'MISS', WRONG: 'BAD ', NOTE: 'note'}[finding.state]
        print(f'{mark}  {finding.what:<{wide}}  {finding.seen}')
        if finding.fix:
            print(f'      {"":<{wide}}  -> {finding.fix}')
