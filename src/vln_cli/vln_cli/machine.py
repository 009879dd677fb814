# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What this machine is and has: ROS 2 distribution, Python, system packages."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SUPPORTED_DISTRIBUTIONS = ('jazzy', 'kilted')
ROS_FOLDER = Path('/opt/ros')
SYSTEM_PYTHON = '/usr/bin/python3'


@dataclass(frozen=True)
class Distribution:
    """A ROS 2 distribution of this machine."""

    name: str
    prefix: Path

    @property
    def is_supported(self) -> bool:
        """True for the distributions that the stack is tested on."""
        return self.name in SUPPORTED_DISTRIBUTIONS


def find_distributions() -> list[Distribution]:
    """Return the machine's ROS 2 distributions, the one that is sourced first."""
    found = []
    sourced = os.environ.get('ROS_DISTRO', '')
    for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        prefix = Path(entry)
        if sourced and entry and (prefix / 'share' / 'ros_environment').is_dir():
            found.append(Distribution(sourced, prefix))
            break
    if ROS_FOLDER.is_dir():
        for prefix in sorted(ROS_FOLDER.iterdir(), reverse=True):
            is_ros2 = (prefix / 'setup.bash').is_file() and (prefix / 'share' / 'rclcpp').is_dir()
            if is_ros2 and prefix not in [one.prefix for one in found]:
                found.append(Distribution(prefix.name, prefix))
    return found


def choose_distribution() -> Distribution | None:
    """Return the distribution to build on, or None for the wheels from PyPI."""
    return next((one for one in find_distributions() if one.is_supported), None)


def base_python(distribution: Distribution | None) -> str:
    """Return the interpreter that the virtual environment stands on.

    A distribution's modules are built for the system interpreter and for no other.
    """
    if distribution is not None:
        return SYSTEM_PYTHON
    return str(Path(sys.base_prefix) / 'bin' / f'python{python_version()}')


def python_version() -> str:
    """Return the running interpreter's ``major.minor``."""
    return f'{sys.version_info.major}.{sys.version_info.minor}'


def operating_system() -> str:
    """Return the system's name for people, such as ``Debian GNU/Linux 12 (bookworm)``."""
    try:
        return platform.freedesktop_os_release().get('PRETTY_NAME', platform.platform())
    except OSError:
        return platform.platform()


def _has_program(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _has_library(name: str) -> Callable[[], bool]:
    def probe() -> bool:
        try:
            ctypes.CDLL(name)
        except OSError:
            return False
        return True

    return probe


def _has_headers() -> bool:
    return (Path(sysconfig.get_path('include')) / 'Python.h').is_file()


def _has_venv() -> bool:
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return False
    return True


def _is_debian_python() -> bool:
    return Path(sys.base_prefix) == Path('/usr')


@dataclass(frozen=True)
class SystemPackage:
    """A Debian or Ubuntu package, how to see it without asking dpkg, and who needs it."""

    names: tuple[str, ...]
    probe: Callable[[], bool]
    reason: str


def system_packages() -> list[SystemPackage]:
    """Return the system packages that the stack needs on this machine."""
    wanted = [
        SystemPackage(('cmake',), _has_program('cmake'), 'builds the messages'),
        SystemPackage(('g++',), _has_program('g++', 'c++'), 'builds the messages'),
        SystemPackage(('ninja-build',), _has_program('ninja'), 'builds the messages'),
        SystemPackage(('libusb-1.0-0',), _has_library('libusb-1.0.so.0'), 'open3d'),
        SystemPackage(('libgl1',), _has_library('libGL.so.1'), 'open3d'),
        SystemPackage(('libegl1',), _has_library('libEGL.so.1'), 'open3d, habitat-sim'),
        SystemPackage(('libgomp1',), _has_library('libgomp.so.1'), 'open3d, scikit-learn'),
        SystemPackage(('libx11-6',), _has_library('libX11.so.6'), 'open3d'),
    ]
    if _is_debian_python():
        wanted.append(SystemPackage(('python3-venv',), _has_venv, 'virtual environment'))
        wanted.append(SystemPackage(('python3-dev',), _has_headers, 'builds the messages'))
    return wanted


def missing_packages() -> list[SystemPackage]:
    """Return the packages of ``system_packages`` that this machine does not have."""
    return [package for package in system_packages() if not package.probe()]


def install_line(packages: list[SystemPackage]) -> str:
    """Return the command that installs ``packages``, for a person to run."""
    names = ' '.join(name for package in packages for name in package.names)
    prefix = '' if os.geteuid() == 0 else 'sudo '
    return f'{prefix}apt-get update && {prefix}apt-get install -y --no-install-recommends {names}'
