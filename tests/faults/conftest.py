# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The helpers beside the tests can be imported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
