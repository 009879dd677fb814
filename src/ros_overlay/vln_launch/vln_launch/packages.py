# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where installed packages and their executables are, by the ament index."""

import os
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from vln_launch.errors import SubstitutionError


def prefix(package: str) -> Path:
    """Return the install prefix of a package.

    Raises:
        SubstitutionError: No sourced workspace has it.
    """
    try:
        return Path(get_package_prefix(package))
    except (PackageNotFoundError, ValueError, LookupError) as error:
        searched = os.environ.get('AMENT_PREFIX_PATH') or 'nothing: AMENT_PREFIX_PATH is not set'
        raise SubstitutionError(
            f"package '{package}' not found, searching: {searched}; build it and source its setup"
        ) from error


def share_directory(package: str) -> Path:
    """Return the share directory of a package.

    Raises:
        SubstitutionError: No sourced workspace has it.
    """
    return prefix(package) / 'share' / package


def executable(package: str, name: str) -> str:
    """Return the path of an executable of a package.

    Raises:
        SubstitutionError: The package has none of that name.
    """
    folder = prefix(package) / 'lib' / package
    path = folder / name
    if path.is_file() and os.access(path, os.X_OK):
        return str(path)
    there = sorted(p.name for p in folder.glob('*') if os.access(p, os.X_OK) and p.is_file())
    raise SubstitutionError(
        f"executable '{name}' not found on the libexec directory '{folder}'; "
        f'there: {", ".join(there) or "nothing"}'
    )
