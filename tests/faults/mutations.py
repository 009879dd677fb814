# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies: good data spoiled in the ways of wires, disks and attackers."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

# A parser may be slow on a busy machine; how slow is measured elsewhere. VLN_FUZZ=20 tries
# twenty times as much.
_TIMES = int(os.environ.get('VLN_FUZZ', '1'))
EXAMPLES = settings(max_examples=80 * _TIMES, deadline=None, derandomize=_TIMES == 1)
FEW = settings(max_examples=25 * _TIMES, deadline=None, derandomize=_TIMES == 1)

_PIECES = st.sampled_from(
    [b'', b'\x00', b'\xff\xfe', b'NaN', b'1e999', b'-1', b'9' * 400, b'[' * 500, b'{"', b'}', b'<',
     b'&x;', b'\\u0000', b'\xed\xa0\x80', b'../../etc/passwd', b'${HOME}', b'"', b'null', b'true']
)  # fmt: skip


@st.composite
def spoiled(draw: Any, good: bytes) -> bytes:
    """Draw ``good`` with some parts cut, doubled or replaced."""
    data = good
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(st.one_of(_PIECES, st.binary(max_size=20), st.just(data[start:end] * 2)))
        data = data[:start] + piece + data[end:]
        if draw(st.integers(0, 9)) == 0:
            data = data[: draw(st.integers(0, len(data)))]
    return data


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(['go', 'stop', 'goto', 'w0', 'view', 'NaN', '\x00', '💥' * 50]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ['action', 'type', 'view', 'target', 'notes', 'progress', 'index', 'status', 'objects',
             'category', 'attributes', 'rationale', 'viewpoint', 'waypoint', 'u', 'v', 'box',
             'bbox_2d', 'point', 'score', 'tool', 'arguments', 'version', 'kind']
        )
        | st.text(max_size=8),
        inner,
        max_size=5,
    ),
    max_leaves=15,
)  # fmt: skip
