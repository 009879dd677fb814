# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a model endpoint, told apart by what helps."""

from __future__ import annotations

from vln_core.errors import PlannerError


class ModelError(PlannerError):
    """A call of the model gave nothing usable.

    Attributes:
        kind: 'auth', 'not_found', 'bad_request', 'too_large', 'rate_limit', 'server',
            'connection', 'timeout', 'html', 'empty', 'circuit_open', 'replay' or 'no_key'.
        is_transient: Whether the same call may succeed later.
        retry_after: Seconds that the endpoint asked to wait; None if it did not say.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        is_transient: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.is_transient = is_transient
        self.retry_after = retry_after


class BudgetSpent(PlannerError):
    """A token, cost, byte or time budget of the episode is used up."""
