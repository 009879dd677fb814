# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The rules planner: System 2 without a model (SPEC 4.1 `rules`).

Deterministic: everything it knows comes from the planning contexts of the episode. Attention moves
along the items of the progress record; each decision scores what can be done for the open item.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vln_core.context import (
    ClauseKind,
    Evidence,
    ItemStatus,
    ObjectState,
    PlanningContext,
    ProgressItem,
)
from vln_core.errors import ConfigError
from vln_core.system2.candidates import goal_candidates, is_pursued
from vln_core.system2.clauses import ClauseJudge
from vln_core.system2.floor_plan import Scan, scan_of
from vln_core.system2.frontiers import FrontierScorer, FrontierWeights
from vln_core.system2.instructions import parse_instruction
from vln_core.system2.looking import worth_a_look
from vln_core.system2.moves import Moves
from vln_core.system2.record import (
    Backtrack,
    DecisionRecord,
    Go,
    Goto,
    MoveTo,
    ObjectNote,
    ProgressUpdate,
    Stop,
    WorldNotes,
)
from vln_core.system2.situation import Situation, surface_distance
from vln_core.system2.walking import walking_distance

# Farther from a thing one may stand on the wrong side of what is before it, metres.
_BESIDE = 1.5


@dataclass(frozen=True)
class RulesConfig:
    """Limits of the rules planner.

    Attributes:
        arrive: Distance to the goal's surface at which it stops, metres.
        patience: Waypoints that a clause may take before attention moves on.
        max_tries: Failed moves towards one thing before another is tried.
        weights: Of the frontier score.
    """

    arrive: float = 1.0
    patience: int = 7
    max_tries: int = 3
    weights: FrontierWeights = FrontierWeights()

    def __post_init__(self) -> None:
        if not 0.2 <= self.arrive <= 3.0 or self.patience < 1 or self.max_tries < 1:
            raise ConfigError(
                f'rules: arrive = {self.arrive} m must lie in 0.2..3, '
                'and patience, max_tries be > 0'
            )


class RulesPlanner:
    """Port Brain by rules."""

    def __init__(self, config: RulesConfig | None = None) -> None:
        self._config = config or RulesConfig()
        # A cache of what earlier contexts showed; without it (after a restart) rooms are
        # guessed from sight lines until enough is seen again.
        self._scans: dict[int, Scan] = {}

    def parse(self, instruction: str) -> list[ProgressItem]:
        """Turn an instruction into progress items, the last of kind STOP.

        Raises:
            PlannerError: The text holds nothing to do.
        """
        self._scans = {}
        return parse_instruction(instruction)

    def decide(self, context: PlanningContext) -> DecisionRecord:
        """Choose the next action; the same context gives the same record."""
        self._remember(context)
        return _Turn(context, self._config, self._scans).decide()

    def _remember(self, context: PlanningContext) -> None:
        here = max((w.id for w in context.graph.waypoints), default=0)
        known = self._scans.get(here)
        if known is not None and known.panorama == context.panorama.id:
            return
        self._scans = {k: v for k, v in self._scans.items() if k < here}
        scan = scan_of(context)
        if scan is not None:
            self._scans[here] = scan


class _Turn:
    """One decision."""

    def __init__(
        self, context: PlanningContext, config: RulesConfig, scans: dict[int, Scan]
    ) -> None:
        self.c = context
        self.config = config
        self.s = Situation(context, scans)
        self.updates: list[ProgressUpdate] = []
        self.items = list(context.progress.items)
        self.judge = ClauseJudge(self.s, tuple(self.items))
        self.moves = Moves(context, self.s)

    # ------------------------------------------------------------------ progress

    def _update(
        self, index: int, status: Literal['active', 'done', 'skipped', 'failed'], reason: str
    ) -> None:
        self.updates.append(ProgressUpdate(index=index, status=status, reason=reason[:400]))
        self.items[index] = replace(
            self.items[index], status=ItemStatus(status), evidence=Evidence(self.s.here, reason)
        )
        self.judge.items = tuple(self.items)

    def _advance(self) -> int:
        """Close fulfilled items in order; return the index of the one that is open."""
        last = len(self.items) - 1
        for index in range(last):
            item = self.items[index]
            if not item.status.is_open:
                continue
            reason = self.judge.done(index)
            if reason:
                self._update(index, 'done', reason)
                continue
            waited = self.judge.waypoints_since(self.judge.start_of(index))
            if waited >= self._patience(item):
                why = f'not fulfilled within {waited} waypoints; going on with the next clause'
                self._update(index, 'skipped', why)
                continue
            overtaken = self._overtaken_by(index)
            if overtaken:
                self._update(index, 'skipped', overtaken)
                continue
            if item.status is ItemStatus.PENDING:
                self._update(index, 'active', 'now the first open clause')
            return index
        return last

    def _patience(self, item: ProgressItem) -> int:
        if item.kind is ClauseKind.TURN:
            return 4 if item.landmarks else 2
        if (
            item.kind is ClauseKind.PASS
            and item.landmarks
            and self.judge.landmark(item.index) is None
        ):
            return 0  # not in sight: what follows tells the way as well
        if item.kind is ClauseKind.GO:
            return 3
        if item.kind is ClauseKind.PASS:
            return 5
        if item.kind is ClauseKind.FIND:
            return 1000
        return self.config.patience + (4 if item.kind is ClauseKind.ENTER else 0)

    def _overtaken_by(self, index: int) -> str:
        """Return why an open clause no longer matters, as a later one is already fulfilled."""
        item = self.items[index]
        if item.kind in (ClauseKind.EXIT, ClauseKind.FIND):
            return ''
        earlier = {self.judge.start_of(index)}
        if item.kind is not ClauseKind.ENTER:
            # A turn may have led through the doorway already, so that the room before it counts.
            earlier.add(self.judge.start_of(max(index - 1, 0)))
        crossed = any(self.s.room_of_waypoint(w) != self.s.room for w in earlier)
        for later in range(index + 1, len(self.items) - 1):
            after = self.items[later]
            if after.kind is ClauseKind.ENTER and after.rooms and after.rooms[0] != 'corridor':
                if crossed and self.s.weight_of(self.s.room, after.rooms) >= 0.4:
                    return f'already in the {after.rooms[0]}, where clause {later + 1} leads'
        return ''

    # ------------------------------------------------------------------- decision

    def decide(self) -> DecisionRecord:
        index = self._advance()
        is_goal = index == len(self.items) - 1
        goal = self.items[-1]
        if goal.landmarks:
            record = self._pursue_goal(index, is_goal)
            if record is not None:
                return record
        elif is_goal:
            record = self._stop_at_room(goal)
            if record is not None:
                return record
        return self._work_on(index)

    def _stop_at_room(self, goal: ProgressItem) -> DecisionRecord | None:
        if not goal.rooms:
            return self._record(Stop(), 'every clause is fulfilled and no goal object was named')
        weight = self.s.weight_of(self.s.room, goal.rooms)
        if weight >= 0.3:
            return self._record(Stop(), f'this is the {goal.rooms[0]} (weight {weight:.2f})')
        return None

    def _pursue_goal(
        self, index: int, is_goal: bool, anything: bool = False
    ) -> DecisionRecord | None:
        """Go to the goal object where one is known that fits the clauses, or stop there.

        With ``anything`` an instance will do that contradicts what was said about it.
        """
        anything = anything or self.c.waypoints_left <= 4
        for candidate in goal_candidates(self.s, self.judge, index, is_last_chance=anything):
            thing = candidate.thing
            near = walking_distance(self.c, thing)
            arrive = min(self.config.arrive, 0.8 * self.c.stop_radius)
            enough = 0.95 * self.c.stop_radius
            if near > enough and not anything and self._leads_nowhere(thing):
                continue  # another way round may be found by exploring
            move = None
            if (
                near > arrive
                and not self._stands_still()
                and not self._came_no_nearer(thing, near)
            ):
                move = self.moves.towards(thing, allow_far=is_goal)
            if isinstance(move, Goto) and near <= _BESIDE and thing.num_sightings > 1:
                move = None  # near enough: no need to go where it was seen better
            if move is None and near > _BESIDE:
                move = self.moves.around(thing)
            if move is None and near > enough:
                continue
            if not math.isfinite(near):
                near = surface_distance(self.s.xy, thing)
            if not is_goal and move is None:
                self._skip_open(f'the goal {thing.category} is reached: {candidate.reason}')
            if move is None:
                why = f'the {thing.category} is {near:.1f} m away; {candidate.reason}'
                return self._record(Stop(object_id=thing.id), why)
            why = f'the goal {thing.category} {thing.id} is {near:.1f} m away; {candidate.reason}'
            return self._record(move, why)
        return None

    def _came_no_nearer(self, thing: ObjectState, near: float) -> bool:
        """Tell whether the robot is near enough and the last move towards a thing led nowhere."""
        if near > 0.95 * self.c.stop_radius or len(self.s.track) < 2:
            return False
        gap = float(np.hypot(*(self.s.track[-2] - self.s.xy)))
        return gap < 0.3 and is_pursued(self.s, thing)

    def _leads_nowhere(self, thing: ObjectState) -> bool:
        """Tell whether turn after turn a thing could not be driven at, and none brought nearer."""
        named = f', "{thing.category}")'
        failed = {
            note.step
            for note in self.c.history
            if note.code != 0 and note.action.startswith('go(') and note.action.endswith(named)
        }
        if len(failed) < self.config.max_tries:
            return False
        gaps = [surface_distance(xy, thing) for xy in self.s.track]
        return len(gaps) > 1 and gaps[-1] > min(gaps[:-1]) - 0.3

    def _stands_still(self) -> bool:
        """Tell whether the last waypoints lie on one spot: what was tried here does not work."""
        last = self.s.track[-self.config.max_tries - 1 :]
        if len(last) <= self.config.max_tries:
            return False
        return all(float(np.hypot(*(p - self.s.xy))) < 0.3 for p in last)

    def _skip_open(self, reason: str) -> None:
        for item in list(self.items[:-1]):
            if item.status.is_open:
                self._update(item.index, 'skipped', reason)

    def _work_on(self, index: int) -> DecisionRecord:
        item = self.items[index]
        if item.kind in (ClauseKind.APPROACH, ClauseKind.PASS) and item.landmarks:
            thing = self.judge.landmark(index)
            if thing is not None and surface_distance(self.s.xy, thing) > 1.0:
                far = surface_distance(self.s.xy, thing) > 3.0 or item.kind is ClauseKind.APPROACH
                move = self.moves.towards(thing, allow_far=True) if far else None
                if move is not None:
                    return self._record(move, f'clause {index + 1} leads to the {thing.category}')
        if index == len(self.items) - 1 or item.kind is ClauseKind.FIND:
            again = self._look_again(index)
            if again is not None:
                return again
        if self._stands_still():
            self.moves.banned |= {
                f'goto({v.id})' for v in self.c.graph.viewpoints if v.path_length < 0.5
            }
        scorer = FrontierScorer(self.s, self.judge, index, self.config.weights, self.moves.banned)
        best = scorer.best()
        if best is None and index < len(self.items) - 1:
            self._skip_open('nothing unexplored is left for it; only the goal is searched now')
        if best is None:
            last = self._pursue_goal(len(self.items) - 1, True, anything=True)
            return last if last is not None else self._give_up()
        back = self._backtrack(best.view.id, best.reason)
        if back is not None:
            return back
        return self._record(Goto(viewpoint=best.view.id), f'clause {index + 1}: {best.reason}')

    def _look_again(self, index: int) -> DecisionRecord | None:
        """Look again from within the room that the goal must be in: detectors miss things."""
        thing = worth_a_look(self.s, self.judge, index)
        move = self.moves.towards(thing, allow_far=False) if thing is not None else None
        if thing is None or move is None:
            return None
        return self._record(move, f'looks again from within this room, at the {thing.category}')

    def _backtrack(self, viewpoint: str, reason: str) -> DecisionRecord | None:
        """Return to the waypoint that saw the chosen opening where the branch since then is empty.

        Only where it is far; the notes then tell later decisions that the branch was tried.
        """
        view = self.c.graph.viewpoint(viewpoint)
        if view is None or view.path_length < 6.0 or self.s.here - view.seen_from < 3:
            return None
        origin = next((w for w in self.s.waypoints if w.id == view.seen_from), None)
        if origin is None or self.moves.is_banned(Backtrack(waypoint=origin.id)):
            return None
        gap = float(np.hypot(origin.x - self.s.xy[0], origin.y - self.s.xy[1]))
        onward = math.hypot(origin.x - view.x, origin.y - view.y)
        if gap < 4.0 or onward > 4.0:
            return None
        back = self.c.graph.viewpoint(f'w{origin.id}')
        if back is None or back.path_length + onward > view.path_length + 0.5:
            return None  # it does not lie on the way
        why = f'the branch since waypoint {origin.id} holds nothing more for the clause; {reason}'
        return self._record(Backtrack(waypoint=origin.id), why, failure=why)

    def _give_up(self) -> DecisionRecord:
        goal = self.items[-1]
        what = ' / '.join(goal.landmarks or goal.rooms) or 'goal'
        self._skip_open('nothing unexplored is left')
        why = (
            f'the {what} was not found: every opening that can be reached is explored '
            f'({len(self.s.waypoints)} waypoints, {len(self.s.things)} objects seen)'
        )
        return self._record(Stop(), why, failure=why)

    # ------------------------------------------------------------------- record

    def _record(
        self, action: Go | MoveTo | Goto | Backtrack | Stop, why: str, failure: str = ''
    ) -> DecisionRecord:
        belief = self.s.belief(self.s.room)
        room = next(iter(belief), '')
        weight = belief.get(room, 0.0)
        open_item = next((i for i in self.items if i.status.is_open), None)
        parts = [f'Room: {room} ({weight:.2f}).' if room else 'Room: unknown.']
        closed = [u for u in self.updates if u.status != 'active']
        parts += [f'Clause {u.index + 1} {u.status}: {u.reason}.' for u in closed]
        if open_item is not None:
            parts.append(f'Open: clause {open_item.index + 1} "{open_item.text}".')
        categories = sorted({o.category for o in self.s.contents(self.s.room)})
        return DecisionRecord(
            analysis=' '.join(parts)[:1900],
            action=action,
            notes=WorldNotes(
                room_type=room if weight >= 0.25 else '',
                place_description=', '.join(categories)[:300],
                objects=tuple(ObjectNote(category=c) for c in categories[:16]),
                progress=tuple(self.updates),
                failure=failure[:500],
            ),
            rationale=why[:1900],
        )
