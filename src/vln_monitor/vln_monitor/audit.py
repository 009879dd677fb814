# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The log of all commands: who, what, when, and what became of it; never a secret."""

from __future__ import annotations

import json
import logging
import logging.handlers
from collections import deque
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from vln_core.errors import ConfigError

_SHOWN = 100
_FILE_BYTES, _NUM_FILES = 5_000_000, 3
_logger = logging.getLogger(__name__)


class CommandLog:
    """Writes JSON lines and keeps the last ones for the page."""

    def __init__(self, path: Path | None) -> None:
        """Open the log.

        Args:
            path: File, turned over at 5 MB; None keeps the log in memory only.

        Raises:
            ConfigError: The file cannot be written.
        """
        self.recent: deque[dict[str, Any]] = deque(maxlen=_SHOWN)
        self._handler: logging.Handler | None = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._handler = logging.handlers.RotatingFileHandler(
                    path, maxBytes=_FILE_BYTES, backupCount=_NUM_FILES, encoding='utf-8'
                )
            except OSError as error:
                raise ConfigError(
                    f'the command log {path} cannot be written ({error}); name another file in '
                    'the parameter command_log'
                ) from error

    def add(self, who: str, role: str, address: str, what: str, outcome: str) -> dict[str, Any]:
        """Write one command and return its entry."""
        entry = {
            'time': datetime.now(timezone.utc).isoformat(timespec='milliseconds'),
            'who': who,
            'role': role,
            'address': address,
            'what': what,
            'outcome': outcome,
        }
        self.recent.append(entry)
        line = json.dumps(entry, ensure_ascii=False)
        if self._handler is not None:
            self._handler.emit(logging.makeLogRecord({'msg': line, 'levelno': logging.INFO}))
        _logger.info('%s (%s, %s): %s: %s', who, role, address, what, outcome)
        return entry

    def close(self) -> None:
        """Close the file."""
        if self._handler is not None:
            self._handler.close()
