# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What was said to a model and what it answered, on disk, for people and for replay.

A folder with ``transcript.jsonl`` (one exchange a line), the pictures as JPEG files, and
``index.html`` that shows both. Keys never reach it.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

from vln_core.system2.messages import Message, Reply
from vln_core.system2.pictures import jpeg

_SECRETS = (
    re.compile(r'\b(?:sk|pk|rk|gsk|xai|hf|ghp|AIza)[-_][A-Za-z0-9_-]{12,}'),
    re.compile(
        r'(?i)\b(bearer|api[-_ ]?key|authorization|token)(["\']?\s*[:= ]\s*["\']?)[^\s"\',]{8,}'
    ),
)
_HEAD = (
    '<!doctype html><meta charset="utf-8"><title>Transcript</title><style>'
    'body{font:15px sans-serif;max-width:60em;margin:2em auto}'
    'pre{white-space:pre-wrap;background:#f4f4f4;padding:.6em}'
    'img{max-width:14em;margin:.2em}figure{display:inline-block;margin:.3em}</style>\n'
)


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a text without the given secrets and without what looks like one."""
    for secret in secrets:
        if len(secret) >= 6:
            text = text.replace(secret, '[removed]')
    text = _SECRETS[0].sub('[removed]', text)
    return _SECRETS[1].sub(r'\1\2[removed]', text)


class Transcript:
    """Appends exchanges to a folder; every line is complete once written."""

    def __init__(
        self, folder: Path, secrets: tuple[str, ...] = (), *, picture_size_px: int = 512
    ) -> None:
        """Name the folder; it is made with the first exchange."""
        self._folder = folder
        self._secrets = secrets
        self._size_px = picture_size_px
        self._count = 0

    def hide(self, secret: str) -> None:
        """Keep a secret out of all that follows."""
        self._secrets = (*self._secrets, secret)

    def add(self, messages: list[Message], reply: Reply | None, error: str = '') -> None:
        """Store one exchange with its reply, or with why there is none."""
        self._folder.mkdir(parents=True, exist_ok=True)
        entry = {
            'number': self._count,
            'prompt': prompt_digest(messages),
            'messages': [self._message(m) for m in messages],
            'reply': None if reply is None else self._reply(reply),
            'error': redact(error, self._secrets),
        }
        with (self._folder / 'transcript.jsonl').open('a', encoding='utf-8') as file:
            file.write(json.dumps(entry, ensure_ascii=False) + '\n')
        page = self._folder / 'index.html'
        with page.open('a', encoding='utf-8') as file:
            if self._count == 0 and file.tell() == 0:
                file.write(_HEAD)
            file.write(self._html(entry))
        self._count += 1

    def _message(self, message: Message) -> dict[str, Any]:
        return {
            'role': message.role,
            'text': redact(message.text, self._secrets),
            'pictures': [
                {'caption': p.caption, 'file': self._picture(p.rgb)} for p in message.pictures
            ],
            'tool_calls': [
                {'name': c.name, 'arguments': redact(c.arguments, self._secrets)}
                for c in message.tool_calls
            ],
        }

    def _reply(self, reply: Reply) -> dict[str, Any]:
        return {
            'text': redact(reply.text, self._secrets),
            'tool_calls': [
                {'id': c.id, 'name': c.name, 'arguments': redact(c.arguments, self._secrets)}
                for c in reply.tool_calls
            ],
            'finish': reply.finish,
            'prompt_tokens': reply.prompt_tokens,
            'reply_tokens': reply.reply_tokens,
            'model': reply.model,
            'seconds': round(reply.seconds, 3),
        }

    def _picture(self, rgb: Any) -> str:
        data = jpeg(rgb, self._size_px, 80)
        name = hashlib.sha1(data).hexdigest()[:16] + '.jpg'
        path = self._folder / name
        if not path.exists():
            path.write_bytes(data)
        return name

    def _html(self, entry: dict[str, Any]) -> str:
        parts = [f'<h2>Exchange {entry["number"]}</h2>']
        for message in entry['messages']:
            parts.append(f'<h4>{html.escape(message["role"])}</h4>')
            parts.append(f'<pre>{html.escape(message["text"])}</pre>')
            for picture in message['pictures']:
                caption = html.escape(picture['caption'])
                parts.append(
                    f'<figure><img src="{picture["file"]}">'
                    f'<figcaption>{caption}</figcaption></figure>'
                )
        answer = json.dumps(entry['reply'], indent=1) if entry['reply'] else entry['error']
        parts.append(f'<h4>reply</h4><pre>{html.escape(answer)}</pre>\n')
        return '\n'.join(parts)


def prompt_digest(messages: list[Message]) -> str:
    """Return a digest of a dialogue's words, by which a replay knows it again."""
    text = '\x1e'.join(f'{m.role}\x1f{m.text}' for m in messages)
    return hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]
