# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""One request to an OpenAI-compatible endpoint: encoding, decoding and errors told apart."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable
from typing import Any

from vln_core.memory.tokens import image_tokens, text_tokens
from vln_core.system2.messages import Message, Reply, ToolCall, ToolSpec
from vln_core.system2.model_errors import ModelError
from vln_core.system2.model_profile import ModelProfile
from vln_core.system2.pictures import data_url, jpeg
from vln_core.system2.transcript import redact

# What an endpoint without a feature says about it; the request is repeated without.
_FEATURES = {
    'schema': ('response_format', 'json_schema', 'structured output', 'guided', 'grammar'),
    'stream_options': ('stream_options', 'include_usage'),
    'temperature': ('temperature',),
    'max_tokens': ('max_tokens', 'max_completion_tokens'),
    'tools': ('tool', 'function'),
    'stream': ('stream',),
    'pictures': ('image', 'vision', 'multimodal'),
}


def make_sdk(profile: ModelProfile, key: str) -> Any:
    """Return the SDK's client; it makes no retries of its own."""
    import openai

    sdk = openai.OpenAI(
        api_key=key or 'none',
        base_url=profile.base_url,
        max_retries=0,
        timeout=openai.Timeout(
            profile.stall_timeout, connect=min(10.0, profile.stall_timeout), write=30.0
        ),
    )
    # The SDK imports its parts when they are first touched; that must not count as waiting.
    _ = sdk.chat.completions.create
    return sdk


def encode_messages(
    messages: list[Message], profile: ModelProfile, size_px: int
) -> tuple[list[dict[str, Any]], int, int]:
    """Return (wire messages, upload size in bytes, prompt tokens by the stack's formula)."""
    wire: list[dict[str, Any]] = []
    size = tokens = 0
    for message in messages:
        entry: dict[str, Any] = {'role': message.role, 'content': message.text}
        size += len(message.text.encode('utf-8'))
        tokens += text_tokens(message.text)
        if message.pictures and profile.has_vision and size_px > 0:
            parts: list[dict[str, Any]] = [{'type': 'text', 'text': message.text}]
            for picture in message.pictures:
                data = jpeg(picture.rgb, size_px, profile.picture_quality)
                url = data_url(data)
                parts.append({'type': 'text', 'text': picture.caption})
                image = {'url': url, 'detail': profile.picture_detail}
                parts.append({'type': 'image_url', 'image_url': image})
                size += len(url)
                height, width = picture.rgb.shape[:2]
                scale = min(1.0, size_px / max(height, width))
                tokens += text_tokens(picture.caption)
                tokens += image_tokens(round(height * scale), round(width * scale))
            entry['content'] = parts
        if message.tool_calls:
            entry['tool_calls'] = [
                {'id': c.id, 'type': 'function',
                 'function': {'name': c.name, 'arguments': c.arguments}}
                for c in message.tool_calls
            ]  # fmt: skip
        if message.role == 'tool':
            entry['tool_call_id'] = message.tool_call_id
        wire.append(entry)
    return wire, size, tokens


def request_arguments(
    profile: ModelProfile,
    wire: list[dict[str, Any]],
    tools: tuple[ToolSpec, ...],
    schema: dict[str, Any] | None,
    dropped: set[str],
) -> dict[str, Any]:
    """Return the arguments of the SDK's call without the features in ``dropped``."""
    arguments: dict[str, Any] = {'model': profile.model, 'messages': wire}
    if 'max_tokens' not in dropped:
        arguments['max_tokens'] = profile.max_reply_tokens
    else:
        arguments['max_completion_tokens'] = profile.max_reply_tokens
    if profile.temperature is not None and 'temperature' not in dropped:
        arguments['temperature'] = profile.temperature
    if tools and profile.native_tools and 'tools' not in dropped:
        arguments['tools'] = [
            {'type': 'function',
             'function': {'name': t.name, 'description': t.description,
                          'parameters': t.parameters}}
            for t in tools
        ]  # fmt: skip
    elif schema is not None and 'schema' not in dropped and profile.structured != 'none':
        arguments['response_format'] = (
            {'type': 'json_schema', 'json_schema': {'name': 'record', 'schema': schema}}
            if profile.structured == 'json_schema'
            else {'type': 'json_object'}
        )
    if profile.is_streamed and 'stream' not in dropped:
        arguments['stream'] = True
        if 'stream_options' not in dropped:
            arguments['stream_options'] = {'include_usage': True}
    return arguments


def send(sdk: Any, arguments: dict[str, Any], keep_going: Callable[[], bool]) -> Reply:
    """Send one request and collect its reply.

    Args:
        sdk: From :func:`make_sdk`.
        arguments: From :func:`request_arguments`.
        keep_going: False ends a streamed reply early.

    Raises:
        ModelError: With what went wrong.
    """
    try:
        answer = sdk.chat.completions.create(**arguments)
        if arguments.get('stream'):
            return _collect(answer, keep_going)
        return _read(answer)
    except ModelError:
        raise
    except Exception as error:
        # Some endpoints echo the key that they refuse.
        raise translate(error, sdk.api_key) from error


def _read(answer: Any) -> Reply:
    if isinstance(answer, (str, bytes)) or not getattr(answer, 'choices', None):
        raise _no_chat(answer)
    choice = answer.choices[0]
    calls = tuple(
        ToolCall(c.id or f'call_{k}', c.function.name or '', c.function.arguments or '')
        for k, c in enumerate(getattr(choice.message, 'tool_calls', None) or ())
        if getattr(c, 'function', None) is not None
    )
    usage = getattr(answer, 'usage', None)
    return Reply(
        text=choice.message.content or '',
        tool_calls=calls,
        finish=choice.finish_reason or 'stop',
        prompt_tokens=getattr(usage, 'prompt_tokens', 0) or 0,
        reply_tokens=getattr(usage, 'completion_tokens', 0) or 0,
        model=getattr(answer, 'model', '') or '',
    )


def _no_chat(answer: Any) -> ModelError:
    text = answer if isinstance(answer, str) else ''
    if text.lstrip().lower().startswith(('<!doctype', '<html')):
        return ModelError(
            'html', 'the model endpoint answered with an HTML page; check base_url (it usually '
            'ends in /v1) and proxies in between', is_transient=True,
        )  # fmt: skip
    return ModelError('empty', 'the model endpoint answered without any choice', is_transient=True)


def _collect(stream: Any, keep_going: Callable[[], bool]) -> Reply:
    """Join the pieces of a streamed reply."""
    if isinstance(stream, (str, bytes)):
        raise _no_chat(stream)
    text: list[str] = []
    calls: dict[int, list[str]] = {}
    finish, model, prompt_tokens, reply_tokens, pieces = '', '', 0, 0, 0
    try:
        for piece in stream:
            if not keep_going():
                raise ModelError(
                    'timeout', 'the reply was not complete in time', is_transient=True
                )
            pieces += 1
            model = getattr(piece, 'model', '') or model
            usage = getattr(piece, 'usage', None)
            if usage is not None:
                prompt_tokens = usage.prompt_tokens or 0
                reply_tokens = usage.completion_tokens or 0
            for choice in getattr(piece, 'choices', None) or ():
                finish = choice.finish_reason or finish
                text.append(getattr(choice.delta, 'content', None) or '')
                for part in getattr(choice.delta, 'tool_calls', None) or ():
                    slot = calls.setdefault(part.index or 0, ['', '', ''])
                    slot[0] = part.id or slot[0]
                    if part.function is not None:
                        slot[1] += part.function.name or ''
                        slot[2] += part.function.arguments or ''
    finally:
        close = getattr(stream, 'close', None)
        if close is not None:
            close()
    if not pieces:
        raise _no_chat('')
    if not finish:
        raise ModelError('connection', 'the reply broke off before its end', is_transient=True)
    tool_calls = tuple(
        ToolCall(slot[0] or f'call_{k}', slot[1], slot[2]) for k, slot in sorted(calls.items())
    )
    return Reply(''.join(text), tool_calls, finish, prompt_tokens, reply_tokens, model)


def unsupported_feature(error: ModelError, dropped: set[str], used: dict[str, Any]) -> str:
    """Return which feature a refused request should be repeated without, or ''."""
    if error.kind != 'bad_request':
        return ''
    text = str(error).lower()
    present = {
        'schema': 'response_format' in used,
        'stream_options': 'stream_options' in used,
        'temperature': 'temperature' in used,
        'max_tokens': 'max_tokens' in used,
        'tools': 'tools' in used,
        'stream': 'stream' in used,
        'pictures': 'pictures' in used,
    }
    for name, words in _FEATURES.items():
        if present[name] and name not in dropped and any(w in text for w in words):
            return name
    return ''


def translate(error: Exception, key: str = '') -> ModelError:
    """Return the ModelError, without the key, for an exception of the SDK or the transport."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return ModelError('timeout', 'the model endpoint stayed silent', is_transient=True)
    if isinstance(error, openai.APIStatusError):
        return _translate_status(error, key)
    if isinstance(error, openai.APIConnectionError):
        why = redact(str(error.__cause__ or error), (key,))[:150]
        return ModelError(
            'connection', f'no connection to the model endpoint: {why}', is_transient=True
        )
    name = type(error).__name__.lower()
    if 'timeout' in name:
        return ModelError('timeout', 'the model endpoint stayed silent', is_transient=True)
    if isinstance(error, (ValueError, openai.APIResponseValidationError)):
        return ModelError(
            'html',
            f'the model endpoint sent no JSON: {redact(str(error), (key,))[:120]}',
            is_transient=True,
        )
    return ModelError(
        'connection', f'the connection to the model broke: {type(error).__name__}: '
        f'{redact(str(error), (key,))[:120]}', is_transient=True,
    )  # fmt: skip


def _translate_status(error: Any, key: str) -> ModelError:
    status = error.status_code
    detail = redact(str(getattr(error, 'message', error)), (key,))[:300]
    if detail.lstrip().lower().startswith(('<!doctype', '<html')):
        detail = 'an HTML page'
    wait = _retry_after(error.response.headers)
    if status in (401, 403):
        return ModelError('auth', f'the model endpoint refused the key ({status}): {detail}')
    if status == 404:
        return ModelError(
            'not_found', f'the model or the path does not exist at the endpoint (404): {detail}'
        )
    if status == 413:
        return ModelError(
            'too_large', f'the request is too large for the endpoint (413): {detail}'
        )
    if status == 429:
        is_quota = 'quota' in detail.lower() or 'billing' in detail.lower()
        return ModelError(
            'rate_limit', f'the model endpoint limits the rate (429): {detail}',
            is_transient=not is_quota, retry_after=wait,
        )  # fmt: skip
    if status in (408, 409, 425) or status >= 500:
        return ModelError(
            'server', f'the model endpoint failed ({status}): {detail}', is_transient=True,
            retry_after=wait,
        )  # fmt: skip
    return ModelError(
        'bad_request', f'the model endpoint refused the request ({status}): {detail}'
    )


def _retry_after(headers: Any) -> float | None:
    """Read Retry-After as seconds or as a date."""
    value = headers.get('retry-after')
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return max(0.0, moment.timestamp() - time.time())
