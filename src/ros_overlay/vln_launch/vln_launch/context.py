# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a launch file sees while it is resolved: configurations, environment, its own path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


class Context:
    """Launch configurations and environment variables with scopes.

    As upstream, configurations are shared by a file and what it includes; only a scoped group
    limits them.
    """

    def __init__(self, file: Path, environment: Mapping[str, str]) -> None:
        """Start without configurations, with a copy of the environment."""
        self.file = file
        self.configurations: dict[str, str] = {}
        self.environment = dict(environment)
        self._first_environment = dict(environment)
        self.namespace: str | None = None
        self.remaps: list[tuple[str, str]] = []
        self.parameters: list[tuple[str, str]] = []

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo, at the end, everything that was set inside."""
        saved = (
            dict(self.configurations),
            dict(self.environment),
            self.namespace,
            list(self.remaps),
            list(self.parameters),
        )
        try:
            yield
        finally:
            (
                self.configurations,
                self.environment,
                self.namespace,
                self.remaps,
                self.parameters,
            ) = saved

    def reset(self) -> None:
        """Forget everything that was set, as at the start of the first file."""
        self.configurations, self.environment = {}, dict(self._first_environment)
        self.namespace, self.remaps, self.parameters = None, [], []

    @contextmanager
    def inside(self, file: Path) -> Iterator[None]:
        """Make another file the current one for a while."""
        previous, self.file = self.file, file
        try:
            yield
        finally:
            self.file = previous
