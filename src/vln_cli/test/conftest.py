# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the package importable where it is not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
