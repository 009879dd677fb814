# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Rules planner: directions along a route, which doorway is meant, and what a room is."""

from dataclasses import replace

import pytest
from system2_contexts import context, detection, door, note, opening, thing, with_status

from vln_core.system2.clauses import ClauseJudge
from vln_core.system2.moves import Moves
from vln_core.system2.record import Backtrack, Go, Goto
from vln_core.system2.rules import RulesPlanner
from vln_core.system2.situation import Situation

BEDROOM = (thing(1, 'bed', -1.0, 0.0), thing(2, 'nightstand', -1.0, 1.2))
# Out of the bedroom by a doorway at x = 2 into a corridor along y with doors on both sides.
EXIT_DOOR = door(9, 2.0, 0.0)
DOORS = (
    EXIT_DOOR, door(11, 4.0, 2.0, seen_from=1), door(12, 2.0, 3.5, seen_from=1),
    door(13, 4.0, 5.0, seen_from=1), door(14, 4.0, -2.0, seen_from=1),
)  # fmt: skip


def decide(ctx):
    return RulesPlanner().decide(ctx)


def test_a_turn_is_meant_for_the_clause_that_follows_it():
    """ "Turn left, second door on the right" counts from where one turns, not where one got to."""
    text = 'Leave the bedroom, turn left and enter the second door on the right. Stop at the sink'
    openings = tuple(opening(k, d.position[0] + 0.8, d.position[1], (3.0, 0.0, 0.0), 1)
                     for k, d in enumerate(DOORS[1:], 1))  # fmt: skip
    for track in (
        ((0.0, 0.0, 0.0), (3.0, 0.0, 0.0)),
        ((0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (3.0, 3.0, 1.57)),
    ):
        items = with_status(text, 1, waypoint=1) if len(track) > 2 else None
        ctx = context(
            text, track=track, objects=(*BEDROOM, *DOORS), openings=openings, items=items
        )
        assert decide(ctx).action == Goto(viewpoint='f3')  # x = 4, y = 5


@pytest.mark.parametrize(('word', 'wanted'), [('left', 2.5), ('right', -2.5)])
def test_a_turn_leads_on_along_the_new_heading(word, wanted):
    pose = (3.0, 0.0, 0.0)
    record = decide(
        context(
            f'Leave the bedroom, turn {word} and enter the kitchen. Stop at the stove',
            track=((0.0, 0.0, 0.0), pose),
            objects=(*BEDROOM, EXIT_DOOR),
            openings=(opening(1, 3.0, 2.5, pose, 1), opening(2, 3.0, -2.5, pose, 1)),
        )
    )
    assert record.action == Goto(viewpoint='f1' if wanted > 0 else 'f2')


def test_another_doorway_than_the_one_said_does_not_count():
    """The second door on the right is not seen yet; going through a door is not enough."""
    text = 'Enter the second door on the right and stop at the sink'
    doors = (door(1, 2.0, -1.0, 'x'), door(2, 1.0, 1.0, 'x'))
    ctx = context(
        text,
        track=((0.0, 0.0, 0.0), (1.0, 2.5, 1.57)),
        objects=(*doors, thing(5, 'sink', 1.0, 3.5, seen_from=1)),
        openings=(opening(1, 4.0, 0.0, (1.0, 2.5, 1.57)),),
        items=with_status(text, 0),
    )
    record = decide(ctx)
    assert {u.index: u.status for u in record.notes.progress}.get(0) != 'done'
    assert record.action == Goto(viewpoint='f1')


def test_the_door_ahead_is_done_where_one_step_led_through_two_doorways():
    text = 'Leave the bedroom and go through the door straight ahead. Stop at the sofa'
    pose = (5.8, 0.0, 0.0)
    ahead = door(12, 4.6, 0.0, seen_from=1)
    ctx = context(
        text,
        track=((0.0, 0.0, 0.0), pose),
        objects=(*BEDROOM, EXIT_DOOR, ahead),
        openings=(opening(1, 9.0, 0.0, pose, 1),),
        history=(replace(note(0, 'goto(f3)', 0), rationale='opening f3 5.8 m away'),),
    )
    done = {u.index: u.status for u in decide(ctx).notes.progress}
    assert done[0] == done[1] == 'done'


def test_a_room_to_go_through_leaves_its_doorway_to_the_next_clause():
    text = 'Go through the bedroom and go straight through the doorway ahead. Stop at the sofa'
    ctx = context(
        text, objects=(*BEDROOM, EXIT_DOOR), openings=(opening(1, 3.0, 0.0, (0.0, 0.0, 0.0)),)
    )
    assert {u.index: u.status for u in decide(ctx).notes.progress}[0] == 'done'


def test_ever_so_much_decoration_does_not_make_a_room():
    decoration = [
        thing(10 + k, name, 0.4 * k, 1.0)
        for k, name in enumerate(('plant', 'lamp', 'vase', 'painting', 'rug', 'cabinet'))
    ]
    table = (thing(1, 'dining table', 1.0, 0.0), thing(2, 'chair', 0.4, 0.0))
    s = Situation(context('go to the sofa', objects=(*table, *decoration)))
    assert s.likely(s.room) == 'dining room'


def test_little_seen_of_a_room_says_little_about_it():
    door_state = door(9, 2.0, 0.0)
    near = context('go to the sofa', objects=(door_state, thing(1, 'chair', 3.0, 0.0)))
    sure = context(
        'go to the sofa',
        objects=(door_state, thing(1, 'bed', 3.0, 0.0), thing(2, 'dresser', 3.0, 1.0)),
    )
    chances = []
    for ctx in (near, sure):
        s = Situation(ctx)
        room = s.room_beyond(s.doorways[0], s.room)
        chances.append(s.chance_of(room, ('living room',)))
        assert s.chance_of(room, ('bedroom',)) <= 1.0
    assert 0.3 > chances[0] > chances[1]
    s = Situation(sure)
    assert s.chance_of(s.room_beyond(s.doorways[0], s.room), ('bedroom',)) > 0.5


def test_a_thing_of_another_room_is_not_the_one_said_with_its_room():
    """ "The laundry basket in the laundry room" is not the one in the bathroom one stands in."""
    text = 'Find the laundry basket in the laundry room'
    bath = (
        thing(1, 'toilet', 1.0, 0.0), thing(2, 'bathtub', 1.0, 1.0),
        thing(3, 'laundry basket', 0.5, -1.0),
    )  # fmt: skip
    pose = (0.0, 0.0, 0.0)
    record = decide(
        context(text, objects=(*bath, EXIT_DOOR), openings=(opening(1, 3.0, 0.0, pose),))
    )
    assert record.action == Goto(viewpoint='f1')


def test_no_return_to_a_waypoint_that_does_not_lie_on_the_way():
    text = 'Find the stove'
    track = ((0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (6.0, 0.0, 0.0), (6.0, 6.0, 1.57))
    pose = track[-1]
    beside = replace(opening(1, 0.0, 3.0, pose, seen_from=0), path_length=6.7)
    record = decide(context(text, track=track, openings=(beside,), history=(note(0, 'x', 0),)))
    assert record.action == Goto(viewpoint='f1')
    behind = replace(opening(1, -2.0, 0.0, pose, seen_from=0), path_length=14.0)
    ctx = context(text, track=track, openings=(behind,))
    ways = {'w0': 12.0, 'w1': 9.0, 'w2': 6.0}
    views = tuple(
        replace(v, path_length=ways.get(v.id, v.path_length)) for v in ctx.graph.viewpoints
    )
    record = decide(replace(ctx, graph=replace(ctx.graph, viewpoints=views)))
    assert record.action == Backtrack(waypoint=0)


def test_a_goal_behind_furniture_is_walked_around_to():
    pose = (0.0, 0.0, 0.0)
    table = thing(1, 'coffee table', 2.6, 0.0)
    ctx = context(
        'go to the coffee table', objects=(table,),
        openings=(opening(1, 2.6, 1.4, pose), opening(2, -3.0, 0.0, pose)),
    )  # fmt: skip
    assert Moves(ctx, Situation(ctx)).around(table) == Goto(viewpoint='f1')


def test_the_reference_turns_with_the_words():
    text = 'Leave the bedroom, turn right, follow the hall and enter the first door on the left'
    ctx = context(
        text, track=((0.0, 0.0, 0.0), (3.0, 0.0, 0.0)), objects=(*BEDROOM, *DOORS),
        items=with_status(text, 3, waypoint=1),
    )  # fmt: skip
    judge = ClauseJudge(Situation(ctx), ctx.progress.items)
    assert judge.reference(3).heading == pytest.approx(-1.5708, abs=0.01)
    assert judge.reference(3).is_turned
    assert judge.target_door(3).id == 14


def test_a_landmark_on_the_way_that_is_not_in_sight_holds_nobody_up():
    text = 'Pass the piano and enter the kitchen. Stop at the stove'
    pose = (0.0, 0.0, 0.0)
    record = decide(context(text, openings=(opening(1, 3.0, 0.0, pose),)))
    assert {u.index: u.status for u in record.notes.progress} == {0: 'skipped', 1: 'active'}


@pytest.mark.parametrize(
    'text', ['Enter the bedroom and stop at the lamp', 'Look for the bedroom and go to the lamp']
)
def test_a_room_that_was_led_into_is_looked_through_before_it_is_left(text):
    """Three looks from different spots; then the search goes on elsewhere."""
    track = [(0.0, 0.0, 0.0), (3.0, 0.0, 0.0)]
    beds = (
        thing(1, 'bed', 6.0, 1.5, seen_from=1), thing(2, 'dresser', 5.0, -2.5, seen_from=1),
        thing(3, 'wardrobe', 3.0, 3.0, seen_from=1),
    )  # fmt: skip
    seen = tuple(detection(0, o.category, *o.position[:2]) for o in beds)
    out = opening(1, 0.5, 0.5, (3.0, 0.0, 0.0), 0)
    actions = []
    for step in ((3.0, 0.0, 0.0), (5.0, 0.8, 0.0), (5.0, -1.6, 0.0), (3.0, 2.0, 0.0)):
        points = track if not actions else [*track, step]
        track = points
        ctx = context(
            text, track=tuple(points), objects=(*beds, EXIT_DOOR), detections=seen,
            openings=(out,), items=with_status(text, 1, waypoint=1),
        )  # fmt: skip
        actions.append(decide(ctx).action)
    assert [a.type for a in actions] == ['go', 'go', 'go', 'goto']
    assert len({a.target for a in actions[:3]}) == 3


def test_leaving_into_a_named_room_does_not_go_through_a_known_other_one():
    """ "From the living room into the hallway" is one doorway, not the kitchen's."""
    pose = (0.0, 0.0, 0.0)
    kitchen = (thing(3, 'refrigerator', 3.2, 0.4), thing(4, 'stove', 3.5, -0.6))
    record = decide(
        context(
            'Go from the bedroom into the hallway and stop at the bench',
            objects=(*BEDROOM, EXIT_DOOR, door(8, 0.0, 4.0, 'x'), *kitchen),
            openings=(opening(1, 2.6, 0.0, pose), opening(2, 0.0, 4.6, pose)),
        )
    )
    assert record.action == Goto(viewpoint='f2')


def test_following_a_corridor_leaves_the_doorway_to_the_next_clause():
    """ "Follow the hall, take the first door on the left" goes through no other door before."""
    text = 'Leave the bedroom, turn left, follow the hall and take the first door on the left'
    rack = (thing(20, 'shoe rack', 3.5, 1.0), thing(21, 'coat rack', 3.5, -1.0))
    openings = tuple(
        opening(k, d.position[0], d.position[1], (3.0, 0.0, 0.0), 1)
        for k, d in enumerate(DOORS[1:], 1)
    )
    record = decide(
        context(
            f'{text}. Stop at the sink',
            track=((0.0, 0.0, 0.0), (3.0, 0.0, 0.0)),
            objects=(*BEDROOM, *DOORS, *rack),
            openings=openings,
        )
    )
    assert record.action == Goto(viewpoint='f2')  # x = 2, y = 3.5
    assert {u.index: u.status for u in record.notes.progress}[2] == 'done'


def test_a_side_corridor_is_left_without_a_doorway():
    """ "Walk out of the side hallway, turn left": left of the way that led out of it."""
    text = 'Walk out of the side hallway, turn left and take the first door on the left'
    doors = (door(1, 2.0, 6.0), door(2, 4.0, 2.0, 'x'), door(3, 6.0, -1.0, 'x'))
    racks = (thing(20, 'shoe rack', 0.6, 4.0), thing(21, 'coat rack', 3.0, 0.0))
    out = context(
        f'{text}. Stop at the sink',
        track=((0.0, 6.0, 1.57),),
        objects=(*doors, *racks),
        openings=(opening(1, 2.4, 6.0, (0.0, 6.0, 1.57)), opening(2, 0.0, 1.0, (0.0, 6.0, 1.57))),
    )
    assert decide(out).action == Goto(viewpoint='f2')
    pose = (0.0, 0.5, -2.4)
    there = context(
        f'{text}. Stop at the sink',
        track=((0.0, 6.0, 1.57), (0.0, 3.2, -1.57), pose),
        objects=(*doors, *racks),
        openings=tuple(
            opening(k, d.position[0], d.position[1], pose, 2) for k, d in enumerate(doors, 1)
        ),
    )
    record = decide(there)
    assert {u.index: u.status for u in record.notes.progress}[0] == 'done'
    assert record.action == Goto(viewpoint='f2')


def test_a_room_is_left_where_the_robot_started_on_its_sill():
    """Who starts in the doorway crosses nothing: what stands around tells that it is outside."""
    text = 'Leave the kitchen and enter the living room. Stop at the sofa'
    pose = (3.9, 0.0, 0.0)
    hall = (thing(3, 'shoe rack', 3.6, 1.0), thing(4, 'coat rack', 3.6, -1.0))
    kitchen = (thing(1, 'stove', -1.0, 0.0), thing(2, 'refrigerator', -1.0, 1.2))
    ctx = context(
        text,
        track=((2.2, 0.0, 0.0), pose),
        objects=(*kitchen, EXIT_DOOR, *hall),
        openings=(opening(1, 6.0, 0.0, pose, 1),),
    )
    assert {u.index: u.status for u in decide(ctx).notes.progress}[0] == 'done'


def test_a_room_that_holds_the_goal_is_looked_into_before_its_type_is_sure():
    """A basket, a sink and a cabinet seen from the door: it may be the laundry room."""
    text = 'Search for the laundry room, go in and wait by the laundry basket'
    room = (
        thing(1, 'laundry basket', 3.0, 1.0), thing(2, 'sink', 4.5, -1.0),
        thing(3, 'cabinet', 5.5, 1.5),
    )  # fmt: skip
    room = tuple(replace(o, confidence=0.58, best_view=(1, 0)) for o in room)
    pose = (2.4, 0.0, 0.0)
    record = decide(
        context(
            text, track=((0.0, 0.0, 0.0), pose),
            objects=(EXIT_DOOR, thing(30, 'sofa', -1.0, 0.0), *room),
            detections=tuple(detection(0, o.category, *o.position[:2]) for o in room),
            openings=(opening(1, -2.0, 2.0, pose),),
        )
    )  # fmt: skip
    assert record.action == Go(view=0, target='cabinet')
