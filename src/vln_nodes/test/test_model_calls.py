# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Exchanges with a model leave as JSON that a replay reads, without keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vln_core.system2.messages import Message, Reply
from vln_core.system2.model_client import ReplayModel
from vln_core.system2.model_errors import ModelError
from vln_nodes.model_calls import PublishedTranscript

KEY = 'sk-abcdefghijklmnop1234'


def test_what_is_published_can_be_replayed(tmp_path: Path) -> None:
    lines: list[str] = []
    transcript = PublishedTranscript(None, lines.append, lambda: 'episode_7')
    question = [Message('user', f'where to? my key is {KEY}')]
    transcript.add(question, Reply('to the left', (), 'stop', 12, 3, 'some-model', 0.5))
    transcript.add(question, None, 'timeout')
    assert [json.loads(line)['episode_id'] for line in lines] == ['episode_7'] * 2
    assert KEY not in ''.join(lines)
    assert not list(tmp_path.iterdir())
    (tmp_path / 'transcript.jsonl').write_text('\n'.join(lines))
    model = ReplayModel(tmp_path, is_strict=True)
    reply = model.chat(question)
    assert (reply.text, reply.prompt_tokens, reply.model) == ('to the left', 12, 'some-model')
    with pytest.raises(ModelError, match='timeout'):
        model.chat(question)


def test_pictures_are_kept_where_a_folder_is_given(tmp_path: Path) -> None:
    lines: list[str] = []
    transcript = PublishedTranscript(tmp_path / 'calls', lines.append, lambda: '')
    transcript.add([Message('user', 'x')], Reply('y', (), 'stop', 1, 1, 'm', 0.1))
    assert len(lines) == 1
    assert (tmp_path / 'calls' / 'transcript.jsonl').is_file()
