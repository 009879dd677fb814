# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Forward the library's standard logging to a node's logger, and so to /rosout."""

from __future__ import annotations

import logging
from typing import Any


class RosHandler(logging.Handler):
    """Hands records of :mod:`logging` to an rclpy logger."""

    def __init__(self, ros_logger: Any) -> None:
        super().__init__()
        # rclpy ties a call site to one severity; one bound method a level keeps them apart.
        self._sinks = (
            (logging.CRITICAL, lambda text: ros_logger.fatal(text)),
            (logging.ERROR, lambda text: ros_logger.error(text)),
            (logging.WARNING, lambda text: ros_logger.warning(text)),
            (logging.INFO, lambda text: ros_logger.info(text)),
            (logging.NOTSET, lambda text: ros_logger.debug(text)),
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Forward one record; a broken sink must not take the caller down."""
        try:
            text = f'[{record.name}] {self.format(record)}'
            next(sink for level, sink in self._sinks if record.levelno >= level)(text)
        except Exception:  # the contract of logging.Handler.emit
            self.handleError(record)


def forward_logging(ros_logger: Any, name: str = 'vln_core') -> None:
    """Send what the library named ``name`` logs to ``ros_logger``, once a process."""
    logger = logging.getLogger(name)
    if any(isinstance(handler, RosHandler) for handler in logger.handlers):
        return
    logger.addHandler(RosHandler(ros_logger))
    logger.setLevel(logging.INFO)
    logger.propagate = False
