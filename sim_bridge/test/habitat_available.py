# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Mark of tests that need the real habitat_sim."""

from __future__ import annotations

import pytest

from vln_core.errors import SceneError
from vln_sim_bridge.habitat_client import find_habitat


def _reason() -> str:
    try:
        find_habitat()
    except SceneError as error:
        return str(error)
    return ''


needs_habitat = pytest.mark.skipif(bool(_reason()), reason=_reason() or 'habitat is set up')
