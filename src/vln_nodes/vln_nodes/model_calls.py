# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a model was asked and answered, as text on a topic, so that recordings hold it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from vln_core.system2.messages import Message, Reply
from vln_core.system2.transcript import Transcript, prompt_digest, redact


class PublishedTranscript(Transcript):
    """Hands every exchange on as JSON, and stores it with its pictures where a folder is given.

    The JSON is a line of ``transcript.jsonl`` without pictures, which are in the panorama.
    """

    def __init__(
        self, folder: Path | None, publish: Callable[[str], None], episode: Callable[[], str]
    ) -> None:
        """Prepare.

        Args:
            folder: Of the transcript with pictures; None: none.
            publish: Takes the JSON; called in the planner's thread.
            episode: Gives the identity of the episode.
        """
        super().__init__(folder or Path())
        self._keeps_files = folder is not None
        self._publish, self._episode = publish, episode
        self._number = 0

    def add(self, messages: list[Message], reply: Reply | None, error: str = '') -> None:
        """Hand one exchange on."""
        entry = {
            'episode_id': self._episode(),
            'number': self._number,
            'prompt': prompt_digest(messages),
            'messages': [
                {
                    'role': message.role,
                    'text': redact(message.text, self._secrets),
                    'pictures': [{'caption': picture.caption} for picture in message.pictures],
                }
                for message in messages
            ],
            'reply': None if reply is None else self._reply(reply),
            'error': redact(error, self._secrets),
        }
        self._number += 1
        self._publish(json.dumps(entry, ensure_ascii=False))
        if self._keeps_files:
            super().add(messages, reply, error)
