# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the ROS wheels' prefix usable for colcon; run by the environment's own Python."""

from __future__ import annotations

import importlib.resources
import re
import sys
import sysconfig
from pathlib import Path

# Where the machine that built the wheels had Python and numpy.
_BUILD_PYTHON = r'/opt/python/cp3\d+-cp3\d+t?'
_BUILD_NUMPY = _BUILD_PYTHON + r'/lib/python3\.\d+t?/site-packages/numpy/_core/include'
_BUILD_INCLUDE = _BUILD_PYTHON + r'/include/python3\.\d+t?'


def repair_cmake_files(prefix: Path, python_include: str, numpy_include: str) -> int:
    """Replace the build machine's paths in exported CMake files.

    Args:
        prefix: Virtual environment that holds the wheels.
        python_include: Folder of this interpreter's Python.h.
        numpy_include: Folder of numpy's C headers.

    Returns:
        How many files changed; zero when run again.
    """
    num_changed = 0
    for file in prefix.glob('share/*/cmake/*.cmake'):
        before = file.read_text()
        after = re.sub(_BUILD_NUMPY, lambda _: numpy_include, before)
        after = re.sub(_BUILD_INCLUDE, lambda _: python_include, after)
        if after != before:
            # A new file: the old one may be a link into the installer's cache.
            partial = file.with_suffix('.partial')
            partial.write_text(after)
            partial.replace(file)
            num_changed += 1
    return num_changed


def write_setup_files(prefix: Path, python: str) -> list[Path]:
    """Give the prefix the setup.bash and its companions that a distribution has.

    Args:
        prefix: Virtual environment that holds the wheels.
        python: Interpreter that the setup files call.

    Returns:
        The files written.
    """
    templates = importlib.resources.files('ament_package') / 'template' / 'prefix_level'
    written = []
    for template in templates.iterdir():
        if not template.is_file() or '.bat' in template.name or template.name.startswith('__'):
            continue
        text = template.read_text()
        text = text.replace('@CMAKE_INSTALL_PREFIX@', str(prefix))
        text = text.replace('@ament_package_PYTHON_EXECUTABLE@', python)
        text = text.replace('@PYTHON_EXECUTABLE@', python)
        target = prefix / template.name.removesuffix('.in')
        target.write_text(text)
        written.append(target)
    return written


def main() -> None:
    """Repair the environment of the running interpreter."""
    import numpy

    prefix = Path(sys.prefix)
    num_changed = repair_cmake_files(prefix, sysconfig.get_path('include'), numpy.get_include())
    written = write_setup_files(prefix, sys.executable)
    sys.stdout.write(f'{num_changed} CMake files repaired, {len(written)} setup files written\n')


if __name__ == '__main__':
    main()
