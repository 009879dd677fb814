# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Talks to a model: deadlines, retries, circuit breaker, budgets, transcript, replay (SPEC 4.4).

A call blocks its caller's thread; the robot stands still meanwhile. The request itself runs in a
thread of its own, so that a deadline or a cancelled episode ends the wait whatever the endpoint
does.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from vln_core.errors import Cancelled
from vln_core.system2.messages import Message, Reply, ToolCall, ToolSpec
from vln_core.system2.model_errors import BudgetSpent, ModelError
from vln_core.system2.model_profile import Budget, ModelProfile, Usage
from vln_core.system2.transcript import Transcript, prompt_digest
from vln_core.system2.wire import (
    encode_messages,
    make_sdk,
    request_arguments,
    send,
    unsupported_feature,
)

_logger = logging.getLogger(__name__)
_POLL = 0.05
_SMALLEST_PX = 128


class CircuitBreaker:
    """Stops asking an endpoint that keeps failing, and tries again after a pause."""

    def __init__(self, failures: int, pause: float, clock: Callable[[], float]) -> None:
        """Close the circuit."""
        self._limit, self._pause, self._clock = failures, pause, clock
        self._failures = 0
        self._opened_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls are refused now."""
        return self._opened_at is not None and self._clock() - self._opened_at < self._pause

    def succeeded(self) -> None:
        """Close the circuit."""
        self._failures, self._opened_at = 0, None

    def failed(self) -> None:
        """Count a failed call; the last of too many, or a failed one after a pause, opens it."""
        self._failures += 1
        if self._failures >= self._limit or self._opened_at is not None:
            self._opened_at = self._clock()


class ModelClient:
    """A chat model behind an OpenAI-compatible endpoint.

    Not thread safe: one planner, one client.
    """

    def __init__(
        self,
        profile: ModelProfile,
        *,
        key: str | None = None,
        budget: Budget | None = None,
        transcript: Transcript | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the client; nothing is sent.

        Args:
            profile: Endpoint, model and limits.
            key: Of the endpoint; None: from the profile's environment variable at the first call.
            budget: Of an episode.
            transcript: Where exchanges are stored; None: nowhere.
            is_cancelled: Asked while waiting; True ends the wait with :class:`Cancelled`.
            seed: Of the jitter.
            clock: Monotonic seconds.
        """
        self.profile = profile
        self.usage = Usage()
        self._key = key
        self._budget = budget or Budget()
        self._transcript = transcript
        self._is_cancelled = is_cancelled
        self._random = random.Random(seed)
        self._clock = clock
        self._breaker = CircuitBreaker(profile.breaker_failures, profile.breaker_pause, clock)
        self._dropped: set[str] = set()
        self._size_px = profile.picture_size_px
        self._sdk: Any = None

    @property
    def picture_size_px(self) -> int:
        """Longest side of the pictures as they are sent; it shrinks where they were too large."""
        return self._size_px

    @property
    def has_pictures(self) -> bool:
        """False where pictures are left out: by the profile, or as the endpoint takes none."""
        return self.profile.has_vision and 'pictures' not in self._dropped

    @property
    def is_available(self) -> bool:
        """False while the circuit breaker refuses calls."""
        return not self._breaker.is_open

    def begin_episode(self, name: str) -> None:
        """Start counting the budgets anew."""
        del name
        self.usage = Usage()

    def chat(
        self,
        messages: list[Message],
        *,
        tools: tuple[ToolSpec, ...] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """Return the reply to a dialogue.

        Raises:
            ModelError: No usable reply within the limits.
            BudgetSpent: The episode's budget is used up; nothing was sent.
            Cancelled: The episode was cancelled while waiting.
        """
        spent = self.usage.spent(self._budget)
        if spent:
            raise BudgetSpent(spent)
        if self._breaker.is_open:
            raise ModelError(
                'circuit_open',
                f'the model endpoint failed {self.profile.breaker_failures} times in a row and is '
                f'left alone for {self.profile.breaker_pause:g} s',
                is_transient=True,
            )
        if self._sdk is None:
            key = self._find_key()
            if self._transcript is not None:
                self._transcript.hide(key)
            self._sdk = make_sdk(self.profile, key)
        started = self._clock()
        self.usage.calls += 1
        try:
            reply = self._attempts(messages, tools, schema, started + self.profile.call_timeout)
        except ModelError as error:
            self.usage.failed_calls += 1
            self.usage.seconds += self._clock() - started
            self._breaker.failed()
            self._note(messages, None, str(error))
            raise
        self._breaker.succeeded()
        reply = replace(reply, seconds=self._clock() - started)
        self._count(reply)
        self._note(messages, reply, '')
        return reply

    def _note(self, messages: list[Message], reply: Reply | None, error: str) -> None:
        if self._transcript is not None:
            self._transcript.add(messages, reply, error)

    def _count(self, reply: Reply) -> None:
        usage, profile = self.usage, self.profile
        usage.prompt_tokens += reply.prompt_tokens
        usage.reply_tokens += reply.reply_tokens
        usage.seconds += reply.seconds
        usage.cost += reply.prompt_tokens * profile.price_in / 1e6
        usage.cost += reply.reply_tokens * profile.price_out / 1e6

    def _attempts(
        self,
        messages: list[Message],
        tools: tuple[ToolSpec, ...],
        schema: dict[str, Any] | None,
        deadline: float,
    ) -> Reply:
        retries = 0
        while True:
            size_px = 0 if 'pictures' in self._dropped else self._size_px
            wire, size, tokens = encode_messages(messages, self.profile, size_px)
            arguments = request_arguments(self.profile, wire, tools, schema, self._dropped)
            try:
                self._check_context(tokens)
                self.usage.upload_bytes += size
                reply = self._within(arguments, deadline)
            except ModelError as error:
                if self._adapt(error, arguments, messages):
                    continue
                if not error.is_transient or retries >= self.profile.max_retries:
                    raise
                self._pause(error, retries, deadline)
                retries += 1
                continue
            if not reply.prompt_tokens:
                reply = replace(reply, prompt_tokens=tokens, reply_tokens=-(-len(reply.text) // 4))
            return reply

    def _check_context(self, tokens: int) -> None:
        profile = self.profile
        if profile.context_tokens and tokens + profile.max_reply_tokens > profile.context_tokens:
            raise ModelError(
                'too_large',
                f'a prompt of about {tokens} tokens and a reply of {profile.max_reply_tokens} do '
                f'not fit the context_tokens = {profile.context_tokens} of {profile.model}',
            )

    def _adapt(
        self, error: ModelError, arguments: dict[str, Any], messages: list[Message]
    ) -> bool:
        """Make the next request fit what the endpoint can do; True where that may help."""
        has_pictures = any(m.pictures for m in messages) and self.profile.has_vision
        if error.kind == 'too_large' and has_pictures and self._size_px > _SMALLEST_PX:
            self._size_px = max(_SMALLEST_PX, self._size_px // 2)
            _logger.warning('request too large; pictures are sent at %d px now', self._size_px)
            return True
        used = dict(arguments)
        if has_pictures:
            used['pictures'] = True
        feature = unsupported_feature(error, self._dropped, used)
        if feature:
            self._dropped.add(feature)
            _logger.warning('the endpoint lacks %s (%s); going on without', feature, error)
        return bool(feature)

    def _pause(self, error: ModelError, retries: int, deadline: float) -> None:
        """Wait before a repetition: what the endpoint asked for, or exponential with jitter."""
        wait = self.profile.backoff * 2.0**retries * (0.5 + self._random.random())
        wait = min(wait, self.profile.max_backoff)
        if error.retry_after is not None:
            wait = error.retry_after
        if wait > self.profile.max_backoff or self._clock() + wait >= deadline:
            raise error
        _logger.info('%s; trying again in %.1f s', error, wait)
        self.rest(wait)

    def rest(self, seconds: float) -> None:
        """Wait, and send nothing.

        Raises:
            Cancelled: The episode was cancelled while waiting.
        """
        until = self._clock() + seconds
        while self._clock() < until:
            self._check_cancel()
            time.sleep(min(_POLL, max(0.0, until - self._clock())))

    def _check_cancel(self) -> None:
        if self._is_cancelled():
            raise Cancelled('the instruction was cancelled while the model was asked')

    def _within(self, arguments: dict[str, Any], deadline: float) -> Reply:
        """Run one request in a thread and wait for it no longer than allowed."""
        sdk = self._sdk
        answers: queue.Queue[Reply | BaseException] = queue.Queue(1)
        is_wanted = threading.Event()
        is_wanted.set()

        def work() -> None:
            try:
                answers.put(send(sdk, arguments, is_wanted.is_set))
            except BaseException as error:
                answers.put(error)

        threading.Thread(target=work, name='model-call', daemon=True).start()
        try:
            while True:
                self._check_cancel()
                left = deadline - self._clock()
                if left <= 0.0:
                    raise ModelError(
                        'timeout',
                        f'no reply of the model within {self.profile.call_timeout:g} s',
                    )
                try:
                    answer = answers.get(timeout=min(_POLL, left))
                except queue.Empty:
                    continue
                if isinstance(answer, BaseException):
                    raise answer
                return answer
        finally:
            is_wanted.clear()

    def _find_key(self) -> str:
        if self._key is not None:
            return self._key
        variable = self.profile.key_variable
        if not variable:
            return ''
        key = os.environ.get(variable, '')
        if not key:
            raise ModelError(
                'no_key',
                f'the environment variable {variable} holds no key for {self.profile.base_url}; '
                'set it, or set key_variable to "" for an endpoint without keys',
            )
        return key


class ReplayModel:
    """Answers from a transcript, in order; for tests and for debugging a run at a desk."""

    def __init__(self, folder: Path, *, is_strict: bool = False) -> None:
        """Read the transcript.

        Args:
            folder: Of a :class:`Transcript`.
            is_strict: Refuse a dialogue that differs from the recorded one.

        Raises:
            ModelError: There is no readable transcript.
        """
        path = folder / 'transcript.jsonl'
        try:
            lines = path.read_text(encoding='utf-8').splitlines()
            self._entries = [json.loads(line) for line in lines if line.strip()]
        except (OSError, ValueError) as error:
            raise ModelError('replay', f'no transcript can be read at {path}: {error}') from error
        self._is_strict = is_strict
        self._next = 0
        self.usage = Usage()

    def begin_episode(self, name: str) -> None:
        """Go on where the last episode ended."""

    def chat(
        self,
        messages: list[Message],
        *,
        tools: tuple[ToolSpec, ...] = (),
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        """Return the next recorded reply, or raise the recorded error."""
        if self._next >= len(self._entries):
            raise ModelError('replay', f'the transcript holds only {self._next} exchanges')
        entry = self._entries[self._next]
        if self._is_strict and entry['prompt'] != prompt_digest(messages):
            raise ModelError('replay', f'exchange {self._next} was recorded for another prompt')
        self._next += 1
        said = entry['reply']
        if said is None:
            raise ModelError('replay', entry['error'])
        calls = tuple(ToolCall(c['id'], c['name'], c['arguments']) for c in said['tool_calls'])
        return Reply(
            said['text'], calls, said['finish'], said['prompt_tokens'], said['reply_tokens'],
            said['model'], said['seconds'],
        )  # fmt: skip
