# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Every field of every message, service and action says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / 'src' / 'vln_interfaces'
FILES = sorted(file for kind in ('msg', 'srv', 'action') for file in FOLDER.glob(f'{kind}/*'))
FIELD = re.compile(r'[\w/\[\]<>=]+ +[a-z]\w*\s*(#.+)?$')


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_every_field_is_commented(file: Path) -> None:
    lines = [line.strip() for line in file.read_text(encoding='utf-8').splitlines()]
    assert any(line.startswith('# ') and 'Copyright' not in line for line in lines)
    fields = [match for line in lines if (match := FIELD.match(line))]
    bare = [match[0] for match in fields if not match[1]]
    assert fields and not bare, bare
