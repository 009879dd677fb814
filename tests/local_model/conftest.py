# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The contexts made by hand for the core's tests serve here too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / 'src' / 'vln_core' / 'test'))
