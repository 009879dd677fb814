# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Which model answers where, under what limits: one profile for each use."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from vln_core.errors import ConfigError

STRUCTURES = ('json_schema', 'json_object', 'none')


@dataclass(frozen=True)
class ModelProfile:
    """One model behind an OpenAI-compatible endpoint.

    Attributes:
        model: Name that the endpoint knows.
        base_url: Of the endpoint, with its version path, e.g. ``http://localhost:8080/v1``.
        key_variable: Environment variable with the key; '' where the endpoint wants none.
        has_vision: Whether pictures may be sent.
        picture_size_px: Longest side of a picture that is sent.
        picture_quality: JPEG quality, 1..100.
        picture_detail: 'low', 'high' or 'auto'.
        structured: How the reply's form is enforced: 'json_schema', 'json_object' or 'none'.
        native_tools: Whether tools go through the endpoint's own tool calling.
        is_streamed: Whether replies arrive in pieces; a stream that stalls is then seen early.
        context_tokens: Context limit of the model; pictures shrink until prompt and reply fit.
            0: not checked.
        max_reply_tokens: Longest reply.
        temperature: Sampling temperature; None: the endpoint's default.
        price_in: Currency per million prompt tokens.
        price_out: Currency per million reply tokens.
        call_timeout: Longest wait for one call with all its retries, seconds.
        stall_timeout: Longest silence within a reply, seconds.
        max_retries: Repetitions of a call after a passing fault.
        backoff: First pause before a repetition, seconds; doubles, with jitter.
        max_backoff: Longest pause; a longer Retry-After fails the call.
        breaker_failures: Failed calls in a row that open the circuit breaker.
        breaker_pause: Time until the next attempt then, seconds.
    """

    model: str = ''
    base_url: str = 'https://api.openai.com/v1'
    key_variable: str = 'OPENAI_API_KEY'
    has_vision: bool = True
    picture_size_px: int = 512
    picture_quality: int = 80
    picture_detail: str = 'auto'
    structured: str = 'json_schema'
    native_tools: bool = True
    is_streamed: bool = True
    context_tokens: int = 32_000
    max_reply_tokens: int = 1_500
    temperature: float | None = 0.0
    price_in: float = 0.0
    price_out: float = 0.0
    call_timeout: float = 90.0
    stall_timeout: float = 30.0
    max_retries: int = 4
    backoff: float = 1.0
    max_backoff: float = 30.0
    breaker_failures: int = 3
    breaker_pause: float = 30.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, float) and not (math.isfinite(value) and value >= 0.0):
                raise ConfigError(f'model.{entry.name} = {value} must be a number of at least 0')
            if isinstance(value, int) and not isinstance(value, bool) and value < 0:
                raise ConfigError(f'model.{entry.name} = {value} must be at least 0')
        if not self.base_url.startswith(('http://', 'https://')):
            raise ConfigError(f'model.base_url = "{self.base_url}" must begin with http(s)://')
        if self.structured not in STRUCTURES:
            raise ConfigError(
                f'model.structured = "{self.structured}": choose one of {", ".join(STRUCTURES)}'
            )
        if not (32 <= self.picture_size_px and 1 <= self.picture_quality <= 100):
            raise ConfigError('model.picture_size_px must be >= 32 and picture_quality 1..100')
        if min(self.call_timeout, self.stall_timeout) <= 0.0 or self.breaker_failures < 1:
            raise ConfigError('model timeouts must be > 0 s and breaker_failures >= 1')


@dataclass(frozen=True)
class Budget:
    """What an episode may use; 0: no limit.

    Attributes:
        tokens: Prompt and reply tokens.
        cost: In the currency of the profile's prices.
        upload_bytes: Sent to the endpoint.
        seconds: Waiting for the model.
    """

    tokens: int = 0
    cost: float = 0.0
    upload_bytes: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if min(self.tokens, self.cost, self.upload_bytes, self.seconds) < 0:
            raise ConfigError('budgets must be at least 0, where 0 means no limit')


@dataclass
class Usage:
    """What an episode has used."""

    calls: int = 0
    failed_calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cost: float = 0.0
    upload_bytes: int = 0
    seconds: float = 0.0

    def spent(self, budget: Budget) -> str:
        """Return which budget is used up, as a sentence, or ''."""
        for name, (value, limit) in self.against(budget).items():
            if limit and value >= limit:
                return f'the model budget of {limit:g} {name} is spent ({value:g} used)'
        return ''

    def against(self, budget: Budget) -> dict[str, tuple[float, float]]:
        """Return what is used and what may be used, 0 without limit, by the budget's names."""
        return {
            'tokens': (self.prompt_tokens + self.reply_tokens, budget.tokens),
            'cost': (self.cost, budget.cost),
            'upload_bytes': (self.upload_bytes, budget.upload_bytes),
            'seconds': (self.seconds, budget.seconds),
        }
