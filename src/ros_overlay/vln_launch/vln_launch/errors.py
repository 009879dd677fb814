# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a launch file or with the arguments given to it."""


class LaunchError(Exception):
    """A mistake that keeps a launch file from being started; the text is one line."""


class SubstitutionError(Exception):
    """A $(...) that cannot be parsed or evaluated; turned into a LaunchError where it stands."""
