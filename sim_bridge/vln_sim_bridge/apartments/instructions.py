# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instructions with their reference paths."""

from __future__ import annotations

import numpy as np

from vln_sim_bridge.apartments.routes import Walker
from vln_sim_bridge.episodes import to_habitat, write_episodes, yaw_to_rotation

__all__ = ['make_episodes', 'write_episodes']


def make_episodes(apartment) -> list[dict]:
    rng = np.random.default_rng([apartment.seed, 7])
    walker = Walker(apartment)
    rooms = {r.id: r for r in apartment.plan.rooms}
    names = apartment.names()
    counts = {}
    for i in apartment.items:
        counts[i.category] = counts.get(i.category, 0) + 1
    unique = [k for k, i in enumerate(apartment.items) if counts[i.category] == 1 and i.on_floor]
    episodes = []
    for k in rng.permutation(unique)[:12]:
        item = apartment.items[k]
        starts = [r for r in rooms.values() if r.id != item.room]
        room = starts[int(rng.integers(len(starts)))]
        goal = walker.stand_near(item)
        x, y = walker.spot_in(room, rng)
        path, length = walker.path((x, y), goal)
        yaw = float(np.arctan2(*(path[1] - path[0])[::-1]))
        if not episodes:
            apartment.start = (x, y, yaw)
        text = f'Leave the {room.type}, go to the {rooms[item.room].type} and stop next to the {item.category}.'
        episodes.append({
            'episode_id': len(episodes) + 1, 'trajectory_id': len(episodes) + 1,
            'scene_id': f'apartment_{apartment.seed}', 'start_position': to_habitat(x, y),
            'start_rotation': yaw_to_rotation(yaw),
            'info': {'geodesic_distance': round(length, 4), 'goal_object': names[k], 'goal_object_id': int(k) + 1,
                     'goal_category': item.category, 'tags': [], 'num_clauses': 3},
            'goals': [{'position': to_habitat(*goal), 'radius': 3.0}],
            'instruction': {'instruction_text': text},
            'reference_path': [to_habitat(*p) for p in path],
        })
    return episodes
