# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Instructions with their reference paths, worded from the geometry of the walk itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from vln_sim_bridge.apartments.apartment import Apartment
from vln_sim_bridge.apartments.layout import Room
from vln_sim_bridge.apartments.narrator import Draft, Narrator
from vln_sim_bridge.apartments.placement import Item
from vln_sim_bridge.apartments.raster import resampled
from vln_sim_bridge.episodes import to_habitat, yaw_to_rotation

NUM_EPISODES = 12
MIN_DISTANCE = 3.6  # a goal nearer than the success radius would be reached by standing still
MAX_CLAUSES = 6
# what each episode is, in this order; the demo takes the first three
_RECIPES = ('short', 'route', 'search', 'route', 'lookalike', 'find room', 'long', 'short',
            'search', 'route', 'lookalike', 'find room')  # fmt: skip


def _starts(
    narrator: Narrator, rng: np.random.Generator
) -> list[tuple[Room, tuple[float, float]]]:
    result = []
    for room in narrator.plan.rooms:
        for _ in range(2):
            spot = narrator.walker.spot_in(room, rng)
            if spot is not None:
                result.append((room, spot))
    return result


def _start_yaw(narrator: Narrator, room: Room, xy, goal: Item, rng: np.random.Generator) -> float:
    """Face along the way, along a corridor, or (one in three) anywhere."""
    points = narrator.walker.walk(xy, narrator.spot(goal))  # type: ignore[arg-type]
    ahead = points[min(len(points) - 1, 24)] - points[0]
    along = math.atan2(ahead[1], ahead[0])
    if room.type == 'corridor':
        return math.pi / 2 * round(along / (math.pi / 2))
    return along if rng.random() < 0.65 else float(rng.uniform(-math.pi, math.pi))


class _Pool:
    """Pairs of start and goal in random order; the cost of a pair is paid when it is tried."""

    def __init__(self, narrator: Narrator, rng: np.random.Generator) -> None:
        self.narrator, self.rng = narrator, rng
        starts, goals = _starts(narrator, rng), narrator.goals()
        pairs = [(room, xy, goal) for room, xy in starts for goal in goals]
        self.pairs = [pairs[k] for k in rng.permutation(len(pairs))]
        self._yaw: dict[tuple[tuple[float, float], Item], float] = {}

    def __iter__(self) -> Iterator[tuple[tuple[float, float, float], Item]]:
        for room, xy, goal in self.pairs:
            if (xy, goal) not in self._yaw:
                self._yaw[xy, goal] = _start_yaw(self.narrator, room, xy, goal, self.rng)
            yield (*xy, self._yaw[xy, goal]), goal


def _attempt(narrator: Narrator, recipe: str, start, goal: Item) -> Draft | None:
    if recipe == 'search':
        return narrator.search(start, goal)
    if recipe == 'find room':
        return narrator.find_room(start, goal)
    limits = {'short': (1, 2), 'route': (3, 5), 'lookalike': (2, 6), 'long': (5, MAX_CLAUSES)}[
        recipe
    ]
    draft = narrator.route(start, goal, limits)
    if draft is None or (recipe == 'lookalike' and 'lookalike' not in draft.tags):
        return None
    if recipe in ('route', 'long') and 'route' not in draft.tags:
        return None
    return draft


def make_episodes(apartment: Apartment) -> list[dict[str, Any]]:
    """Return the R2R-CE episodes of an apartment in a fixed order; sets the apartment's start."""
    rng = np.random.default_rng([apartment.seed, 77])
    narrator = Narrator(apartment, rng)
    pool = _Pool(narrator, rng)
    drafts: list[Draft] = []
    texts: set[str] = set()
    used: Counter[Item] = Counter()
    for recipe in _RECIPES:
        for kind in dict.fromkeys((recipe, 'route', 'search', 'find room', 'short')):
            draft = _first_fit(narrator, kind, pool, used, texts)
            if draft is not None:
                drafts.append(draft)
                texts.add(draft.text)
                used[draft.item] += 1
                break
    apartment.start = drafts[0].start
    names = apartment.names()
    return [_record(apartment, narrator, names, k + 1, draft) for k, draft in enumerate(drafts)]


def _first_fit(
    narrator: Narrator, kind: str, pool: _Pool, used: Counter, texts: set[str]
) -> Draft | None:
    """Return the first pair of the pool with a new goal that can be worded as this kind."""
    for start, goal in pool:
        if used[goal]:
            continue
        draft = _attempt(narrator, kind, start, goal)
        if draft is None or draft.text in texts:
            continue
        if narrator.walker.geodesic(start[:2], draft.goal) >= MIN_DISTANCE:
            return draft
    return None


def _record(
    apartment: Apartment, narrator: Narrator, names: list[str], number: int, draft: Draft
) -> dict[str, Any]:
    x, y, yaw = draft.start
    index = next(k for k, item in enumerate(apartment.items) if item is draft.item)
    return {
        'episode_id': number,
        'trajectory_id': number,
        'scene_id': f'apartment_{apartment.seed}',
        'start_position': to_habitat(x, y),
        'start_rotation': yaw_to_rotation(yaw),
        'info': {
            'geodesic_distance': round(narrator.walker.geodesic((x, y), draft.goal), 4),
            'goal_object': names[index],
            'goal_object_id': index + 1,
            'goal_category': draft.item.category,
            'tags': list(draft.tags),
            'num_clauses': draft.num_clauses,
        },
        'goals': [{'position': to_habitat(*draft.goal), 'radius': 3.0}],
        'instruction': {'instruction_text': draft.text},
        'reference_path': [to_habitat(*p) for p in resampled(draft.points)],
    }
