# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""What a run with a model would ask for: calls, tokens and price, before any is spent.

An upper estimate: text at its limit, pictures by the formula of :mod:`vln_core.memory.tokens`,
decisions and calls as below. HAM-VLN measures 17.9 thousand prompt tokens a decision at 12 views.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vln_core.memory.tokens import image_tokens

# decisions of a typical episode, by kind of benchmark
DECISIONS = {'text': 8, 'simulated': 9, 'habitat': 14}
# requests of one decision; agentic and fused may take up to 8
CALLS = {'rules': 0.0, 'ham': 1.0, 'mcgpt': 1.0, 'agentic': 3.0, 'fused': 2.0}
TEXT_TOKENS = 6000
REPLY_TOKENS = 500
GROUNDING_TEXT_TOKENS = 300


@dataclass(frozen=True)
class Estimate:
    """Upper estimate of a run; price in the currency of the profile, None without prices."""

    episodes: int
    decisions: int
    calls: int
    prompt_tokens: int
    reply_tokens: int
    price: float | None


def estimate(settings: Mapping[str, Any], num_episodes: int) -> Estimate:
    """Estimate a run.

    Args:
        settings: Of the benchmark; 'model' may hold a profile with prices and picture size.
        num_episodes: Episodes.
    """
    mode, kind = str(settings['planner']), str(settings['kind'])
    profile = settings.get('model') or {}
    decisions = num_episodes * min(int(settings['limit']), DECISIONS.get(kind, 10))
    calls = math.ceil(decisions * CALLS.get(mode, 1.0))
    has_pictures = mode in ('ham', 'agentic', 'fused') and profile.get('has_vision', True)
    size = int(profile.get('picture_size_px', 512))
    one = image_tokens(size, size)
    views = int(settings.get('num_views', 4))
    # the current panorama, the one of the working window, and the map image
    pictures = (2 * views + 1) * one if has_pictures else 0
    prompt = calls * (TEXT_TOKENS + pictures)
    if has_pictures and settings.get('pointer') == 'model':
        calls += decisions
        prompt += decisions * (GROUNDING_TEXT_TOKENS + one)
    reply = calls * REPLY_TOKENS
    price = None
    if profile.get('price_in') or profile.get('price_out'):
        price = (
            prompt * float(profile.get('price_in', 0.0))
            + reply * float(profile.get('price_out', 0.0))
        ) / 1e6
    return Estimate(num_episodes, decisions, calls, prompt, reply, price)
