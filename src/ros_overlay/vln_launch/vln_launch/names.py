# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""ROS names of nodes: joining namespaces, checking names."""

from __future__ import annotations

import re

_TOKEN = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


def join(base: str | None, namespace: str | None) -> str | None:
    """Return a namespace below a base, absolute; None when neither is given."""
    if namespace is None:
        if base is None:
            return None
        joined = base
    elif not base or namespace.startswith('/'):
        joined = namespace
    else:
        joined = f'{"" if base == "/" else base}/{namespace}'
    if joined != '/':
        joined = joined.rstrip('/')
    return joined if joined.startswith('/') else '/' + joined


def namespace_problem(namespace: str) -> str:
    """Say what is wrong with an absolute namespace, '' when nothing is."""
    if namespace == '/' or all(_TOKEN.fullmatch(token) for token in namespace[1:].split('/')):
        return ''
    return (
        f"invalid namespace '{namespace}': its parts must be letters, digits and underscores and "
        'not begin with a digit'
    )


def node_name_problem(name: str) -> str:
    """Say what is wrong with a node name, '' when nothing is."""
    if _TOKEN.fullmatch(name):
        return ''
    return (
        f"invalid node name '{name}': it must be letters, digits and underscores and not begin "
        'with a digit'
    )
