# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instructions as a bag holds them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from vln_interfaces import msg
from vln_nodes import conversions
from vln_nodes.bag_reader import Bag, BagError
from vln_nodes.record_node import PARAMETERS


@dataclass
class RecordedEpisode:
    """One instruction as a bag holds it.

    Attributes:
        decisions: In order; refused ones too.
        panoramas: By id; those of other episodes too.
        graphs: By the stamp of their panorama, ns.
        replies: Exchanges with a model as JSON, in order.
    """

    decisions: list[msg.DecisionRecord] = field(default_factory=list)
    panoramas: dict[int, msg.Panorama] = field(default_factory=dict)
    graphs: dict[int, msg.WorldGraph] = field(default_factory=dict)
    replies: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Identity of the episode."""
        return str(self.decisions[0].episode_id)

    @property
    def gap(self) -> str:
        """Why it cannot be decided anew; '' if it can."""
        if self.decisions[0].step != 0:
            return f'its first {self.decisions[0].step} waypoints were not recorded'
        missing = {d.panorama_id for d in self.decisions} - set(self.panoramas)
        return f'panoramas {sorted(missing)} were not recorded' if missing else ''


def recorded_parameters(bag: Bag) -> dict[str, dict[str, Any]]:
    """Return the parameters of the nodes that were recorded, by node and name."""
    return {node: json.loads(text) for node, text in bag.metadata(PARAMETERS).items()}


def episodes_of(bag: Bag, namespace: str = '') -> list[RecordedEpisode]:
    """Return the instructions that a bag holds, in the order of recording.

    Raises:
        BagError: It holds no decision.
    """
    base = '/' + namespace.strip('/') + '/' if namespace.strip('/') else '/'
    topics = {base + name for name in ('decisions', 'panorama', 'world_graph', 'model_calls')}
    episodes: list[RecordedEpisode] = []
    panoramas: dict[int, msg.Panorama] = {}
    graphs: dict[int, msg.WorldGraph] = {}
    replies: dict[str, list[str]] = {}
    for recorded in bag.messages(topics):
        name, message = recorded.topic.removeprefix(base), recorded.message()
        if name == 'panorama':
            panoramas[message.id] = message
        elif name == 'world_graph':
            # The last one with the stamp of a panorama holds the conclusion of its turn.
            graphs[conversions.stamp_ns(message.header.stamp)] = message
        elif name == 'model_calls':
            entry = json.loads(message.data)
            replies.setdefault(entry['episode_id'], []).append(message.data)
        else:
            if not episodes or _is_other(episodes[-1].decisions[-1], message):
                episodes.append(RecordedEpisode(panoramas=panoramas, graphs=graphs))
            episodes[-1].decisions.append(message)
    if not episodes:
        raise BagError(f'{bag.path} holds no decision on {base}decisions')
    for episode in episodes:
        episode.replies = replies.get(episode.name, [])
    return episodes


def _is_other(last: msg.DecisionRecord, message: msg.DecisionRecord) -> bool:
    return last.episode_id != message.episode_id or message.step < last.step
