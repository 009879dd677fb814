# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from vln_core.context import (
    ClauseKind,
    ObjectState,
    PlanningContext,
    ProgressItem,
    ProgressRecord,
    ViewpointState,
    WaypointState,
    WorldGraph,
)
from vln_core.errors import PerceptionError, PlannerError, UpdateRefused
from vln_core.geometry.camera import PinholeCamera
from vln_core.navigator import CancelToken, Navigator, NavigatorConfig
from vln_core.observation import Panorama, View
from vln_core.outcome import EpisodeCode, Grounding, GroundingCode, MotionCode, MotionOutcome
from vln_core.system2.record import (
    Backtrack,
    DecisionRecord,
    Go,
    Goto,
    MoveTo,
    Stop,
    WorldNotes,
)

CAMERA = PinholeCamera.from_hfov(32, 24, 1.6)
STOP = ProgressItem(0, 'stop at the sofa', ClauseKind.STOP, landmarks=('sofa',))


def panorama(number):
    views = tuple(
        View(
            k, 0.0, np.zeros((24, 32, 3), np.uint8), np.ones((24, 32), np.float32), CAMERA,
            np.eye(4), number,
        )
        for k in range(4)
    )  # fmt: skip
    return Panorama(number, number, np.eye(4), views)


class Eyes:
    def __init__(self, failures=0):
        self.looks, self.failures = 0, failures

    def look_around(self, landmarks):
        self.looks += 1
        if self.looks <= self.failures:
            raise PerceptionError('no image')
        return panorama(self.looks)


class Memory:
    def __init__(self, sofa_at=1.0):
        self.sofa_at, self.step = sofa_at, -1
        self.committed, self.notes, self.backtracked = [], [], []
        self.refuse_commit = False

    def begin(self, instruction, items):
        self.items = tuple(items)

    def observe(self, seen):
        self.step += 1
        self.seen = seen
        return self.step

    def context(self, refusals=()):
        sofa = ObjectState(
            7, 'sofa', np.array([self.sofa_at, 0, 0.4]), np.array([0.2, 0.2, 0.8]), 1.0, 1,
            (self.step, 0),
        )  # fmt: skip
        graph = WorldGraph(
            objects=(sofa,),
            waypoints=tuple(WaypointState(k, 0, 0, 0, 0, 4) for k in range(self.step + 1)),
            viewpoints=(ViewpointState('f1', 2, 0, False, 0, 2.0, 0.0),),
        )
        return PlanningContext(
            'stop at the sofa', self.step, (0.0, 0.0, 0.0), self.seen,
            ProgressRecord(self.items), graph, refusals=tuple(refusals),
        )  # fmt: skip

    def commit(self, record):
        if self.refuse_commit:
            raise UpdateRefused('item 0 is done already')
        self.committed.append(record)

    def conclude(self, note):
        self.notes.append(note)

    def route_to(self, viewpoint):
        return [(0.0, 0.0), (2.0, 0.0)]

    def backtrack(self, waypoint, reason):
        self.backtracked.append((waypoint, reason))
        return [(0.0, 0.0), (-1.0, 0.0)]

    def recall(self, waypoint, view):
        return np.zeros((24, 32, 3), np.uint8)


class Brain:
    def __init__(self, *actions):
        self.actions, self.contexts = list(actions), []

    def parse(self, instruction):
        if not instruction:
            raise PlannerError('the instruction is empty')
        return [STOP]

    def decide(self, context):
        self.contexts.append(context)
        action = self.actions.pop(0) if self.actions else Stop()
        if isinstance(action, Exception):
            raise action
        if isinstance(action, DecisionRecord):
            return action
        return DecisionRecord(action=action, rationale='because')


class Pointer:
    def __init__(self, code=GroundingCode.FOUND):
        self.code = code

    def ground(self, seen, view, target):
        found = self.code is GroundingCode.FOUND
        return Grounding(self.code, 'said', (1, 2, 3, 4), (5, 6) if found else None)


class Legs:
    def __init__(self, *codes):
        self.codes, self.moves, self.halts = list(codes), [], 0

    def _outcome(self, *move):
        self.moves.append(move)
        code = self.codes.pop(0) if self.codes else MotionCode.REACHED
        return MotionOutcome(code, code.name, 0.0 if code.is_refusal else 1.5)

    def move_to_pixel(self, seen, view, pixel_uv):
        return self._outcome('pixel', view, pixel_uv)

    def move_along(self, route):
        return self._outcome('along', tuple(route))

    def spin(self, angle):
        return self._outcome('spin', angle)

    def halt(self):
        self.halts += 1


def run(
    brain, *, eyes=None, memory=None, pointer=None, legs=None, cancel=None, clock=None, **config
):
    parts = (eyes or Eyes(), memory or Memory(), brain, pointer or Pointer(), legs or Legs())
    extra = {'clock': clock} if clock else {}
    navigator = Navigator(*parts, NavigatorConfig(**config), **extra)
    result = navigator.run('stop at the sofa', cancel)
    assert parts[4].halts == 1, 'every end leaves the robot standing'
    return result


def test_a_grounded_stop_is_verified():
    memory = Memory()
    result = run(Brain(Stop(object_id=7)), memory=memory)
    assert (result.code, result.is_verified) == (EpisodeCode.STOPPED_VERIFIED, True)
    # Only now is the last clause closed: no planner can know before.
    updates = [update for record in memory.committed for update in record.notes.progress]
    assert [(update.index, update.status) for update in updates] == [(0, 'done')]


def test_a_stop_without_proof_is_refused_once_and_then_stands():
    brain = Brain(Stop(), Stop())
    memory = Memory(sofa_at=9.0)
    result = run(brain, memory=memory)
    assert (result.code, result.is_verified) == (EpisodeCode.STOPPED_UNVERIFIED, False)
    assert not any(record.notes.progress for record in memory.committed)
    assert 'nearest sofa is 8.9 m away' in brain.contexts[1].refusals[0]
    assert len(result.decisions) == 2


def test_giving_up_is_an_end_of_its_own():
    notes = WorldNotes(failure='no sofa anywhere')
    result = run(Brain(DecisionRecord(action=Stop(), notes=notes)))
    assert (result.code, result.message) == (EpisodeCode.GAVE_UP, 'no sofa anywhere')


def test_go_is_pointed_and_driven():
    legs = Legs()
    result = run(Brain(Go(view=2, target='sofa')), legs=legs)
    assert legs.moves == [('pixel', 2, (5, 6))]
    assert result.decisions[0].grounding.box_xyxy == (1, 2, 3, 4)
    assert result.distance_driven == 1.5


def test_move_to_takes_fractions_of_the_picture():
    legs = Legs()
    run(Brain(MoveTo(view=1, u=1.0, v=0.5)), legs=legs)
    assert legs.moves == [('pixel', 1, (31, 12))]


def test_goto_and_backtrack_follow_the_memory_s_routes():
    legs, memory = Legs(), Memory()
    run(Brain(Goto(viewpoint='f1'), Backtrack(waypoint=0)), legs=legs, memory=memory)
    assert [move[0] for move in legs.moves] == ['along', 'along']
    assert memory.backtracked == [(0, 'because')]


@pytest.mark.parametrize(
    'action', [Go(view=9, target='sofa'), Goto(viewpoint='f77'), Backtrack(waypoint=5)]
)
def test_what_does_not_exist_never_moves_the_robot(action):
    legs, brain = Legs(), Brain(action)
    run(brain, legs=legs)
    assert legs.moves == []
    assert 'does not exist' in brain.contexts[1].refusals[0]


def test_refused_moves_go_back_into_the_turn_a_bounded_number_of_times():
    go = Go(view=0, target='sofa')
    brain, eyes = Brain(*[go] * 4, Stop()), Eyes()
    run(brain, eyes=eyes, legs=Legs(*[MotionCode.CORRIDOR_BLOCKED] * 4))
    assert [len(c.refusals) for c in brain.contexts] == [0, 1, 2, 3, 0]
    assert eyes.looks == 2, 'after three reselections it stands and looks again'


def test_a_target_that_is_not_in_view_is_refused():
    brain, legs = Brain(Go(view=0, target='piano')), Legs()
    run(brain, pointer=Pointer(GroundingCode.NOT_IN_VIEW), legs=legs)
    assert legs.moves == [] and len(brain.contexts[1].refusals) == 1


def test_a_refused_update_changes_nothing_and_is_told():
    memory, brain, legs = Memory(), Brain(*[Goto(viewpoint='f1')] * 4), Legs()
    memory.refuse_commit = True
    run(brain, memory=memory, legs=legs, max_waypoints=1)
    assert legs.moves == [] and 'done already' in brain.contexts[1].refusals[0]


def test_a_failed_move_is_noted_and_the_episode_goes_on():
    memory = Memory()
    run(Brain(Goto(viewpoint='f1')), memory=memory, legs=Legs(MotionCode.BLOCKED))
    assert memory.notes[0].code == MotionCode.BLOCKED


@pytest.mark.parametrize(
    ('code', 'expected'),
    [
        (MotionCode.CANCELLED, EpisodeCode.CANCELLED),
        (MotionCode.EMERGENCY_STOP, EpisodeCode.MOTION_FAILED),
        (MotionCode.SAFETY_LOST, EpisodeCode.MOTION_FAILED),
    ],
)
def test_some_motions_end_the_episode(code, expected):
    assert run(Brain(Goto(viewpoint='f1')), legs=Legs(code)).code is expected


def test_sensors_that_stay_stale_end_the_episode():
    brain = Brain(*[Goto(viewpoint='f1')] * 5)
    result = run(brain, legs=Legs(*[MotionCode.STALE_INPUT] * 5))
    assert result.code is EpisodeCode.MOTION_FAILED and len(brain.contexts) == 3


def test_the_budget_of_waypoints_ends_the_episode():
    brain = Brain(*[Goto(viewpoint='f1')] * 9)
    result = run(brain, max_waypoints=4)
    assert result.code is EpisodeCode.WAYPOINT_BUDGET and len(result.decisions) == 4
    assert [c.waypoints_left for c in brain.contexts] == [4, 3, 2, 1]


def test_the_time_budget_ends_the_episode():
    ticks = iter(range(1000))
    result = run(
        Brain(*[Goto(viewpoint='f1')] * 99), timeout=20.0, clock=lambda: float(next(ticks))
    )
    assert result.code is EpisodeCode.TIME_BUDGET


def test_a_look_around_may_fail_but_not_for_ever():
    assert run(Brain(Stop(object_id=7)), eyes=Eyes(failures=2)).is_verified
    assert run(Brain(), eyes=Eyes(failures=3)).code is EpisodeCode.PERCEPTION_FAILED


def test_a_planner_that_fails_leaves_the_robot_standing():
    legs = Legs()
    result = run(Brain(PlannerError('endpoint down')), legs=legs)
    assert (result.code, result.message) == (EpisodeCode.PLANNER_FAILED, 'endpoint down')
    assert legs.moves == []


def test_cancel_ends_before_the_next_move():
    cancel, legs = CancelToken(), Legs()
    cancel.cancel()
    assert run(Brain(Goto(viewpoint='f1')), legs=legs, cancel=cancel).code is EpisodeCode.CANCELLED
    assert legs.moves == []


def test_an_empty_instruction_is_a_result_not_a_crash():
    navigator = Navigator(Eyes(), Memory(), Brain(), Pointer(), Legs())
    assert navigator.run('').code is EpisodeCode.BAD_INSTRUCTION


def test_the_recall_call_back_reaches_the_planner():
    brain = Brain(Stop(object_id=7))
    run(brain)
    assert brain.contexts[0].recall(0, 0).shape == (24, 32, 3)
    assert replace(brain.contexts[0], recall=None).recall is None
