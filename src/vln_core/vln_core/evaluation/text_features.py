# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Features of the choices that an agent has in a text world.

A choice is to walk to a viewpoint that was shown, or to stop at one that was reached. Its features
are sparse: names with values, so that weights stay readable. Attention moves along the instruction
with the moves made; turn words meet landmarks in the view that the move would face.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vln_core.evaluation.text_words import MOTION, InstructionWords, words_of
from vln_core.evaluation.text_world import NUM_HEADINGS, Neighbour, TextPanorama, TextWalk
from vln_core.vocabulary import OBJECTS, ROOMS, canonical_room, typical_rooms

_SECTOR = 2.0 * math.pi / NUM_HEADINGS
Features = dict[str, float]
# what is paired with the words of an instruction: things and rooms, not adjectives
NAMES = frozenset(OBJECTS) | frozenset(ROOMS)


# Words that say on which height one ends.
HEIGHT = frozenset(
    'up down upstairs downstairs stairs climb top bottom step first second third one two three '
    'floor level landing'.split()
)
_FLOOR_M = 1.5


@dataclass(frozen=True)
class FeatureConfig:
    """What the features may read.

    Attributes:
        words_per_move: Words of the instruction that attention passes with each move.
        use_prior: Whether steps made, metres walked and metres from the start are read: the
            benchmark's path lengths are an artefact, so the product's default is not to.
        is_goal_only: Instructions name a goal, not a route (REVERIE): attention covers all words.
    """

    words_per_move: float = 5.0
    use_prior: bool = False
    is_goal_only: bool = False


@dataclass(frozen=True, eq=False)
class Choice:
    """Something the agent may do.

    Attributes:
        viewpoint: Where it leads.
        is_stop: Whether the episode ends there.
        features: Names with values.
    """

    viewpoint: str
    is_stop: bool
    features: Features


def wrap(angle: float) -> float:
    """Return an angle in (-pi, pi], rad."""
    return math.pi - (math.pi - angle) % (2.0 * math.pi)


def _angle_bin(angle: float) -> int:
    """Return the sector of a clockwise angle: 0 ahead, 2 right, 4 behind, 6 left."""
    return round(angle / _SECTOR) % NUM_HEADINGS


class FeatureMaker:
    """Makes the choices of a walk for one instruction."""

    def __init__(self, config: FeatureConfig) -> None:
        self._config = config
        self._view_words = lru_cache(maxsize=200000)(_view_words)
        self._scene_words = lru_cache(maxsize=50000)(_scene_words)
        self._named = lru_cache(maxsize=200000)(named)
        # what does not change while one instruction is followed
        self._kept: dict[Any, Features] = {}
        self._kept_for: InstructionWords | None = None

    def choices(self, walk: TextWalk, instruction: InstructionWords) -> list[Choice]:
        """Return every choice: first the stops, then the moves; the order is deterministic."""
        if instruction is not self._kept_for:
            self._kept, self._kept_for = {}, instruction
        attention = self._attention(instruction, walk.num_moves)
        distances = walk.known_distances()
        away = walk.distances_from_start() if self._config.use_prior else {}
        made = []
        for name in walk.visited:
            features = self._stop(walk, instruction, name, distances[name], attention)
            if self._config.use_prior:
                _add_stop_prior(features, walk, name, away[name])
            made.append(Choice(name, True, features))
        for name, sightings in walk.shown.items():
            here = [pair for pair in sightings if pair[0] == walk.at]
            seen_from, way = (here or sightings)[-1]
            features = self._move(walk, instruction, seen_from, way, distances[name], attention)
            if self._config.use_prior:
                _add_move_prior(features, walk, away[name])
            made.append(Choice(name, False, features))
        return made

    def _attention(self, instruction: InstructionWords, moves: int) -> list[tuple[str, str, str]]:
        """Return (bucket, word as written, common name) of the instruction's words."""
        if self._config.is_goal_only:
            return [('all', raw, name) for _, raw, name in instruction.words]
        pointer = self._config.words_per_move * moves
        last = instruction.length - 8
        found = []
        for place, raw, name in instruction.words:
            offset = (place - pointer) / self._config.words_per_move
            bucket = 'past' if offset < -1.0 else 'now' if offset < 1.5 else 'next'
            if offset >= 3.0:
                bucket = 'later'
            found.append((bucket, raw, name))
            if place >= last:
                found.append(('end', raw, name))
        return found

    # ------------------------------------------------------------------------------ moves

    def _move(
        self,
        walk: TextWalk,
        instruction: InstructionWords,
        seen_from: str,
        way: Neighbour,
        distance: float,
        attention: list[tuple[str, str, str]],
    ) -> Features:
        is_here = seen_from == walk.at
        time = 0 if self._config.is_goal_only else walk.num_moves
        key = (seen_from, _angle_bin(way.heading), time)
        kept = self._kept.get(key)
        if kept is None:
            middle, wide = self._view_words(walk.visited[seen_from], key[1])
            kept = self._kept[key] = _match_view(attention, instruction, middle, wide)
        out = dict(kept)
        _add_novelty(out, walk, seen_from, way)
        lift = 'up' if way.elevation > 0.25 else 'down' if way.elevation < -0.25 else 'level'
        place = 'here' if is_here else 'there'
        out[f'move:{place}'] = 1.0
        out[f'{place}:metres'] = distance / 5.0
        out[f'{place}:edge'] = way.distance / 3.0
        out[f'{place}:lift:{lift}'] = 1.0
        sector = _angle_bin(wrap(way.heading - walk.heading))
        if is_here:
            out[f'angle:{sector}:{"start" if walk.num_moves == 0 else "on"}'] = 1.0
        else:
            age = len(walk.visited) - 1 - list(walk.visited).index(seen_from)
            out['there:age'] = min(age, 6) / 3.0
        for bucket, raw, _ in attention:
            if raw in MOTION and bucket in ('now', 'next', 'all'):
                name = f'lift:{raw}:{bucket}:{lift}'
                out[name] = out.get(name, 0.0) + 1.0
                if is_here and bucket != 'all':
                    name = f'turn:{raw}:{bucket}:{sector}'
                    out[name] = out.get(name, 0.0) + 1.0
                    both = max(-1.0, min(1.0, _agrees(raw, sector)))
                    name = f'both:{bucket}'
                    out[name] = out.get(name, 0.0) + both * min(kept.get(f'in:{bucket}', 0.0), 2.0)
        return out

    # ------------------------------------------------------------------------------ stops

    def _stop(
        self,
        walk: TextWalk,
        instruction: InstructionWords,
        viewpoint: str,
        distance: float,
        attention: list[tuple[str, str, str]],
    ) -> Features:
        kept = self._kept.get(viewpoint)
        if kept is None:
            panorama = walk.visited[viewpoint]
            kept = self._kept[viewpoint] = self._scene(panorama, instruction, attention)
        out = dict(kept)
        if viewpoint != walk.at:
            out['stop:elsewhere'] = 1.0
            out['stop:metres'] = distance / 5.0
        rise = walk.position(viewpoint)[2]
        floor = 'up' if rise > _FLOOR_M else 'down' if rise < -_FLOOR_M else 'level'
        for raw in dict.fromkeys(raw for _, raw, _ in attention if raw in HEIGHT):
            out[f'lift:stop:{raw}:{floor}'] = 1.0
        if len(walk.visited) == 1:
            out['stop:start'] = 1.0
        elif viewpoint == walk.path[0]:
            out['stop:at_start'] = 1.0
        if self._config.is_goal_only:
            return out
        unread = {b for b, raw, _ in attention if b in ('next', 'later') and raw != 'wait'}
        if viewpoint == walk.at:
            for bucket in unread:
                out[f'stop:open:{bucket}'] = 1.0
        if not unread:
            out['stop:all_read'] = 1.0
            out['stop:read_and_there'] = kept['stop:fraction']
        return out

    def _scene(
        self,
        panorama: TextPanorama,
        instruction: InstructionWords,
        attention: list[tuple[str, str, str]],
    ) -> Features:
        """Compare the goal, or the end of the instruction, with what is at a viewpoint."""
        out: Features = {'stop': 1.0}
        scene, things, rooms = self._scene_words(panorama)
        known = scene & NAMES
        share = 5.0 / max(len(known), 1)
        bucket = 'all' if self._config.is_goal_only else 'end'
        ends = [name for b, raw, name in attention if b == bucket and raw not in MOTION]
        for name in ends:
            if name in scene:
                out[f'stop:word:{name}'] = 1.0
            for other in known if name in NAMES else ():
                out[f'stop:pair:{name}|{other}'] = share
        out['stop:fraction'] = sum(name in scene for name in ends) / max(len(ends), 1)
        goal = instruction.goal
        out['stop:goal_object'] = sum(name in things for name in goal) / max(len(goal), 1)
        out['stop:goal_room'] = min(sum(rooms[room] for room in instruction.rooms), 3) / 3.0
        others = [count for room, count in rooms.items() if room not in instruction.rooms]
        out['stop:other_room'] = min(max(others, default=0), 3) / 3.0
        out['stop:object_and_room'] = out['stop:goal_object'] * out['stop:goal_room']
        if panorama.proposals:
            best = max(self._named(thing.name, instruction) for thing in panorama.proposals)
            out['stop:named'] = best
            out['stop:named_in_room'] = best * out['stop:goal_room']
            out[f'stop:named:{round(2 * best)}'] = 1.0
        elif self._config.is_goal_only:
            out['stop:no_things'] = 1.0
        return out


def _match_view(
    attention: list[tuple[str, str, str]],
    instruction: InstructionWords,
    middle: frozenset[str],
    wide: frozenset[str],
) -> Features:
    """Compare the words in reach of attention with one view and those beside it."""
    out: defaultdict[str, float] = defaultdict(float)
    known = middle & NAMES
    for bucket, _, name in attention:
        if bucket == 'end':
            continue
        if name in middle:
            out[f'in:{bucket}'] += 1.0
            out[f'word:{name}:{bucket}'] += 1.0
        elif name in wide:
            out[f'beside:{bucket}'] += 1.0
        if bucket in ('now', 'next', 'all') and name in NAMES:
            for other in known:
                out[f'pair:{name}|{other}'] += 1.0 if bucket != 'next' else 0.5
    out['goal:thing'] = float(any(name in middle for name in instruction.goal))
    out['goal:room'] = float(any(room in middle for room in instruction.rooms))
    out['goal:room_beside'] = float(any(room in wide for room in instruction.rooms))
    usual = {room for name in instruction.goal for room in typical_rooms(name)}
    out['goal:usual_room'] = float(not usual.isdisjoint(middle))
    for other in middle:
        out[f'view:{other}'] = 1.0
    return dict(out)


def _add_novelty(out: Features, walk: TextWalk, seen_from: str, way: Neighbour) -> None:
    """Note how much of what lies around a shown viewpoint has been seen already."""
    spot = walk.position(way.viewpoint)
    gaps = [math.dist(spot, walk.position(name)) for name in walk.visited if name != seen_from]
    out['new:metres'] = min(min(gaps, default=6.0), 6.0) / 3.0
    out['new:crowded'] = min(sum(gap < 3.0 for gap in gaps), 4) / 2.0
    out['new:shown_by'] = min(len(walk.shown[way.viewpoint]), 4) / 2.0


def _add_stop_prior(
    features: Features, walk: TextWalk, viewpoint: str, away: tuple[int, float]
) -> None:
    hops, metres = away
    features[f'prior:stop:hops:{min(hops, 9)}'] = 1.0
    features[f'prior:stop:metres:{min(int(metres / 1.5), 12)}'] = 1.0
    features[f'prior:stop:made:{min(walk.num_moves, 12)}'] = 1.0


def _add_move_prior(features: Features, walk: TextWalk, away: tuple[int, float]) -> None:
    hops, metres = away
    features[f'prior:move:hops:{min(hops, 9)}'] = 1.0
    features['prior:move:metres'] = metres / 5.0
    features[f'prior:move:made:{min(walk.num_moves, 9)}'] = 1.0


def named(name: str, instruction: InstructionWords) -> float:
    """Return how well the words name a thing: 0 not at all, 1 by a word, 2 whole and as goal."""
    own = words_of(name)
    places = [place for place, _, word in instruction.words if word in own]
    if not own or not places:
        return 0.0
    covered = sum(any(word == w for _, _, w in instruction.words) for word in own) / len(own)
    # the thing to act upon comes late, after the room
    late = max(places) / max(instruction.length - 1, 1)
    return covered * (0.5 + 0.5 * late) + (1.0 if any(w in instruction.goal for w in own) else 0.0)


def _agrees(word: str, sector: int) -> float:
    wanted = {'left': (5, 6, 7), 'right': (1, 2, 3), 'straight': (7, 0, 1), 'forward': (7, 0, 1)}
    if word not in wanted:
        return 0.0
    return 1.0 if sector in wanted[word] else -1.0


def _names(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(name for text in texts for name in words_of(text) if name not in ('stop',))


def _view_words(panorama: TextPanorama, index: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names in the view at a heading, and those of the views beside it."""

    def of(number: int) -> frozenset[str]:
        number %= NUM_HEADINGS
        things = [t.name for t in panorama.objects if _angle_bin(t.heading) == number]
        # what hangs under the ceiling says little about where one goes
        return _names([*panorama.captions[number][:2], *things])

    return of(index), of(index - 1) | of(index + 1)


def _scene_words(
    panorama: TextPanorama,
) -> tuple[frozenset[str], frozenset[str], Counter[str]]:
    """Return all names at a viewpoint, those of things alone, and how often rooms are said."""
    things = _names([t.name for t in panorama.objects] + [t.name for t in panorama.proposals])
    captions = _names([line for lines in panorama.captions for line in lines[:2]])
    rooms = Counter(
        name
        for lines in panorama.captions
        for name in _names(lines[:2])
        if canonical_room(name) is not None
    )
    return captions | things, things, rooms
